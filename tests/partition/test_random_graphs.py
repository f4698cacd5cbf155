"""Random graphs: reproducible, acyclic, of the size and ratio asked for."""

import numpy as np
import pytest

from evaluation.errors import InputError
from evaluation.instance import dumps
from kit.partition.random_graphs import RATIOS, TOPOLOGIES, generate, series


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("n", [1, 2, 3, 5, 50, 200])
def test_any_size(topology, n):
    instance = generate(topology, n, 0.5, 3)
    assert len(instance) == n and instance.simulated
    assert all(k <= max(2, n // 2) for k in instance.k)


@pytest.mark.parametrize("topology", TOPOLOGIES)
@pytest.mark.parametrize("ratio", RATIOS)
def test_ratio_and_degree(topology, ratio):
    instance = generate(topology, 1000, ratio, 1)
    assert instance.output_bytes.mean() / instance.bandwidth / instance.work.mean() == pytest.approx(ratio, rel=0.05)
    assert 2 * len(instance.edges) / 1000 == pytest.approx(4, rel=0.15)
    assert instance.work.mean() == pytest.approx(50e-6, rel=0.05)


def test_the_same_seed_makes_the_same_graph_and_another_another():
    assert dumps(generate("ba", 60, 0.5, 7)) == dumps(generate("ba", 60, 0.5, 7))
    assert generate("ba", 60, 0.5, 7).edges.tolist() != generate("ba", 60, 0.5, 8).edges.tolist()


def test_blocks_hold_most_links():
    instance = generate("sbm", 400, 0.5, 0)
    ws = generate("er", 400, 0.5, 0)
    assert len(instance.edges) > 0 and instance.edges.tolist() != ws.edges.tolist()


def test_a_series_goes_through_all_kinds_and_repeats_none():
    made = list(series(100, seed=5))
    assert len({instance.name for instance in made}) == 100
    kinds = {(instance.name.split("-")[1], len(instance)) for instance in made}
    assert kinds == {(topology, size) for topology in TOPOLOGIES for size in (50, 100, 150, 200)}


@pytest.mark.parametrize(("arguments", "message"), [(("xx", 5), "topology 'xx'"), (("er", 0), "n = 0"),
                                                    (("er", 5, 0.0), "ratio = 0")])
def test_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        generate(*arguments)


def test_barabasi_albert_grows_hubs():
    degree = np.bincount(generate("ba", 1000, 0.5, 0).edges.ravel(), minlength=1000)
    assert degree.max() > 5 * degree.mean() and degree.min() >= 1
