"""Fitted exponents of the bench table."""

import re

import numpy as np
import pytest

from kit.bench.growth import exponent, growth, layout_graph
from kit.features import layout


@pytest.mark.parametrize("power", [0, 0.5, 1, 2, 3])
def test_exact_powers_are_found(power):
    sizes = np.array([10, 20, 70, 1_000])
    assert exponent(sizes, 3.5 * sizes**float(power)) == pytest.approx(power)


def test_a_row_names_sizes_and_exponent():
    what, figure, note = growth("waiting", "sizes", (1, 2), lambda size: size, lambda size: None)
    assert what == "waiting, growth with sizes" and note.endswith("MB at 1, 2")
    assert re.fullmatch(r"time -?\d+\.\d\d, memory not seen", figure)


def test_memory_that_grows_with_the_size_is_seen():
    _, figure, _ = growth("ones", "bytes", (10**8, 4 * 10**8), lambda size: size,
                          lambda size: np.ones(size, np.uint8).sum())
    assert float(figure.split()[-1]) == pytest.approx(1, abs=0.1)


def test_the_graph_that_is_measured_is_one_that_features_take():
    table = layout.table(layout_graph(50, 200), "wide")
    assert table.height == 50 and table["occurrences"].is_finite().all()
