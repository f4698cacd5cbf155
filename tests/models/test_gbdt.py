"""Gradient boosting: which rows are learnt from, that it learns, that it repeats, that it comes back from disk."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from evaluation.errors import InputError
from kit.distinct import runtimes
from kit.graphs import TileGraph, read_graph
from kit.models.gbdt import OBJECTIVES, Gbdt
from kit.models.tables import sample_rows
from tests.builders import save, tile_arrays


def tile_graph(tmp_path, name, configs=60, seed=0):
    """A kernel whose runtime falls with the tile's size."""
    rng = np.random.default_rng(seed)
    arrays = tile_arrays(configs)
    size = rng.permutation(configs) + 1.0
    arrays["config_feat"][:, 8] = arrays["config_feat"][:, 14] = arrays["config_feat"][:, 15] = size
    arrays["node_feat"][:, 21] = arrays["node_feat"][:, 27] = arrays["node_feat"][:, 28] = configs
    arrays["config_runtime"] = (1e6 * (1 + 10 / size)).astype(np.int64)
    return read_graph(save(tmp_path / f"tile/xla/train/{name}.npz", arrays))


@pytest.fixture
def graphs(tmp_path):
    return [tile_graph(tmp_path, f"k{i}", seed=i) for i in range(4)]


class _Graph:
    """As much of a graph as row sampling needs."""

    def __init__(self, rows, runtime):
        self.config_rows, self.config_runtime = np.asarray(rows, np.int8).reshape(-1, 1), np.asarray(runtime)


def test_copies_become_one_row_at_their_median():
    chosen, runtime = sample_rows(_Graph([1, 2, 1, 1, 2], [10, 7, 30, 20, 8]), 10, np.random.default_rng(0))
    np.testing.assert_array_equal(chosen, [0, 1])
    np.testing.assert_array_equal(runtime, [20, 7.5])


@settings(deadline=None)
@given(st.lists(st.integers(1, 50), min_size=1, max_size=100), st.integers(1, 20))
def test_sampled_rows_spread_over_the_runtimes(runtime, rows):
    count = len(runtime)
    graph = _Graph(np.arange(count) - 50, runtime)
    chosen, found = sample_rows(graph, rows, np.random.default_rng(0))
    assert len(chosen) == min(rows, count)
    np.testing.assert_array_equal(np.sort(chosen), chosen)
    np.testing.assert_array_equal(found, np.array(runtime)[chosen])
    if count > rows:  # one of each of `rows` equal strata of the sorted runtimes
        place = np.sort(np.argsort(np.argsort(runtime, kind="stable"))[chosen])
        assert (np.abs(place - (np.arange(rows) + 0.5) * count / rows) <= 1 + count / rows).all()


def test_tiles_are_ranked_by_runtime_over_normalizer(tmp_path):
    graph = tile_graph(tmp_path, "k")
    assert isinstance(graph, TileGraph)
    np.testing.assert_allclose(runtimes(graph), graph.config_runtime / 4000)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_learns_what_is_there(graphs, objective):
    ranker = Gbdt()
    ranker.fit(graphs[:3], graphs[3:], seed=0, objective=objective, threads=1)
    assert kendalltau(ranker.scores(graphs[3]), graphs[3].config_runtime).statistic > 0.8


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_same_seed_and_steps_write_the_same_file(graphs, tmp_path, objective):
    for name in "ab":
        ranker = Gbdt()
        ranker.fit(graphs, [], seed=7, steps=20, objective=objective, threads=1)
        (tmp_path / name).mkdir()
        ranker.save(tmp_path / name)
    for file in ("model.txt", "ranker.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    assert ranker.booster.num_trees() == 20


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_comes_back_from_disk(graphs, tmp_path, objective):
    ranker = Gbdt()
    ranker.fit(graphs, [], seed=0, steps=10, objective=objective, features="wide")
    ranker.save(tmp_path)
    np.testing.assert_array_equal(Gbdt.load(tmp_path).scores(graphs[0]), ranker.scores(graphs[0]))


def test_time_ends_boosting(graphs):
    ranker = Gbdt()
    ranker.fit(graphs, [], seed=0, minutes=1e-6)
    assert ranker.booster.num_trees() < 10


@pytest.mark.parametrize(("options", "message"), [
    ({"objective": "magic"}, "'magic' is unknown"), ({"features": "narrow"}, "'narrow' is unknown")])
def test_unknown_options(graphs, options, message):
    with pytest.raises(InputError, match=message):
        Gbdt().fit(graphs, [], **options)


def test_nothing_to_rank(tmp_path):
    graph = read_graph(save(tmp_path / "a.npz", {**tile_arrays(), "config_runtime": np.full(6, 5)}))
    with pytest.raises(InputError, match="no training graph"):
        Gbdt().fit([graph], [])


def test_a_damaged_model_is_named(graphs, tmp_path):
    ranker = Gbdt()
    ranker.fit(graphs, [], steps=5)
    ranker.save(tmp_path)
    (tmp_path / "model.txt").write_text("tree\nrubbish", encoding="utf-8")
    with pytest.raises(InputError, match="not a saved gbdt"):
        Gbdt.load(tmp_path)
