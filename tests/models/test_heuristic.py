"""The two floors: pinned on the real slice, and that they come back from disk."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from evaluation.errors import InputError
from kit.graphs import Graphs, read_graph
from kit.models.heuristic import Analytic, Heuristic
from tests.builders import save, tile_arrays


def ranks(scores):
    """Place of every configuration in the submitted ranking: ties by index."""
    place = np.empty(len(scores), np.int64)
    place[np.argsort(scores, kind="stable")] = np.arange(len(scores))
    return place


@pytest.mark.real
@pytest.mark.parametrize(("place", "scores_tau", "ranked_tau"), [
    ("valid/unet_3d.4x4.bf16", 0.287, 0.245), ("train/unet3d", -0.029, -0.003)])
def test_padded_bytes_on_real_programs(real_data, place, scores_tau, ranked_tau):
    graph = read_graph(real_data / f"npz/layout/xla/default/{place}.npz")
    scores = Heuristic().scores(graph)
    assert kendalltau(scores, graph.config_runtime)[0] == pytest.approx(scores_tau, abs=5e-4)
    assert kendalltau(ranks(scores), graph.config_runtime)[0] == pytest.approx(ranked_tau, abs=5e-4)


@pytest.mark.real
def test_tile_volume_on_real_kernels(real_data):
    top5, top1 = [], []
    for split in ("train", "valid"):
        for graph in Graphs(real_data, "tile:xla", split):
            runtime = graph.config_runtime / graph.config_runtime_normalizers
            best = np.argsort(Heuristic().scores(graph), kind="stable")
            top5.append(2 - runtime[best[:5]].min() / runtime.min())
            top1.append(runtime[best[0]] / runtime.min() - 1)
    assert len(top5) == 13
    assert np.mean(top5) == pytest.approx(0.996, abs=5e-4)
    assert np.mean(top1) == pytest.approx(0.038, abs=5e-4)


def test_the_largest_tile_comes_first(tmp_path):
    graph = read_graph(save(tmp_path / "k.npz", tile_arrays(5)), "tile:xla")
    np.testing.assert_array_equal(Heuristic().scores(graph), [-1, -2, -3, -4, -5])


@pytest.mark.parametrize("ranker", [Heuristic, Analytic])
def test_saved_and_loaded(tmp_path, ranker):
    ranker().save(tmp_path)
    assert isinstance(ranker.load(tmp_path), ranker)
    with pytest.raises(InputError, match="holds|not"):
        (Analytic if ranker is Heuristic else Heuristic).load(tmp_path)
    (tmp_path / "ranker.json").write_text("[]", encoding="utf-8")
    with pytest.raises(InputError, match="train again"):
        ranker.load(tmp_path)
