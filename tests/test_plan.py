"""What a full run costs: few files are measured, sums are extrapolated."""

from pathlib import Path

import numpy as np
import pytest

from kit import plan as planning
from kit.plan import Size, extrapolate, few, size_of
from tests.builders import layout_arrays, save, tile_arrays


def size(inflated):
    return Size(Path("a.npz"), "tile:xla", "train", 10, 5, 0, inflated)


def test_sizes_are_those_of_the_members(tmp_path):
    found = size_of(save(tmp_path / "a.npz", layout_arrays(configs=7, nodes=6, configurable=2)),
                    "layout:xla:default", "train")
    assert (found.configs, found.nodes, found.configurable, found.is_tile) == (7, 6, 2, False)
    assert found.inflated > 7 * 2 * 18 * 4
    tile = size_of(save(tmp_path / "b.npz", tile_arrays(configs=9)), "tile:xla", "train")
    assert (tile.configs, tile.configurable, tile.is_tile) == (9, 0, True)


def test_few_files_are_measured_and_none_takes_all_of_the_share():
    sizes = [size(n) for n in range(1, 1001)]
    chosen = few(sizes, 0.05)
    assert sum(s.inflated for s in chosen) <= 0.05 * sum(s.inflated for s in sizes)
    assert len(chosen) == planning.MOST
    assert max(s.inflated for s in chosen) > 900


def test_a_cost_that_follows_its_terms_is_found_exactly():
    terms = np.array([[1, 10], [1, 20], [1, 40], [1, 80]])
    total, error = extrapolate(terms, terms @ [2, 0.5], [[1, 1000], [1, 500]])
    assert total == pytest.approx(4 + 750)
    assert error < 1e-6


def test_noise_shows_in_the_error():
    rng = np.random.default_rng(0)
    terms = np.stack([np.ones(20), np.arange(1, 21)], axis=1)
    total, error = extrapolate(terms, terms @ [1, 1] * rng.uniform(0.7, 1.3, 20), terms * 10)
    assert 0 < error < 0.2 * total
