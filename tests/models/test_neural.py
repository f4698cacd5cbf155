"""The networks as rankers: they learn, score each configuration for itself, repeat, and come back from disk."""

import json

import numpy as np
import pytest
import torch
from scipy.stats import kendalltau

from evaluation.errors import InputError
from kit import probe
from kit.bench.learning import fitted as fitted_in_memory
from kit.bench.learning import labelled
from kit.graphs import read_graph
from kit.models import neural
from kit.models.encoding import encode
from kit.models.gru import Gru
from kit.models.sage import Sage
from tests.builders import layout_arrays, save, tile_arrays

MODELS = pytest.mark.parametrize("model", [Gru, Sage])


def layout_graph(folder, name, configs=24, seed=0):
    """A program whose runtime is decided by the padding of two outputs, of which one costs more."""
    rng = np.random.default_rng(seed)
    arrays = layout_arrays(configs=configs, nodes=8, configurable=3, seed=seed)
    digits = np.full((configs, 3, 18), -1, np.float32)
    away = rng.integers(0, 2, (configs, 3)).astype(bool)
    digits[:, :, :4] = np.where(away[..., None], [0, 1, 2, 3], [3, 2, 1, 0])
    arrays["node_config_feat"] = digits
    arrays["config_runtime"] = (1e6 * (1 + away @ [0.5, 0.2, 0.01]) + rng.integers(0, 50, configs)).astype(np.int64)
    return read_graph(save(folder / f"{name}.npz", arrays))


def tile_graph(folder, name, configs=24, seed=0):
    """A kernel whose runtime falls with the tile's size."""
    arrays = tile_arrays(configs)
    size = np.random.default_rng(seed).permutation(configs) + 1.0
    arrays["config_feat"][:, 8] = arrays["config_feat"][:, 14] = arrays["config_feat"][:, 15] = size
    arrays["config_runtime"] = (1e6 * (1 + 10 / size)).astype(np.int64)
    return read_graph(save(folder / f"{name}.npz", arrays))


MAKERS = {"tile": tile_graph, "layout": layout_graph}
KINDS = pytest.mark.parametrize("kind", MAKERS)


def graphs_of(kind, folder, count=3):
    return [MAKERS[kind](folder, f"{kind}{i}", seed=i) for i in range(count)]


def fitted(model, graphs, steps=2, **options):
    ranker = model()
    ranker.fit(graphs, [], seed=0, steps=steps, width=16, **options)
    return ranker


@MODELS
@KINDS
@pytest.mark.parametrize("join", neural.JOINS)
def test_learns_what_is_there(model, kind, join, tmp_path):
    graphs = graphs_of(kind, tmp_path, 4)
    ranker = fitted(model, graphs[:3], steps=60, join=join, rate=1e-2)
    assert kendalltau(ranker.scores(graphs[3]), graphs[3].config_runtime).statistic > 0.6


@MODELS
@KINDS
@pytest.mark.parametrize("options", [{}, {"join": "late"}, {"pool": "meanmax"}, {"cost": False}],
                         ids=["early", "late", "meanmax", "no cost"])
def test_scores_do_not_depend_on_the_batch(model, kind, options, tmp_path, monkeypatch):
    graph = graphs_of(kind, tmp_path, 1)[0]
    ranker = fitted(model, [graph], **options)
    expected = ranker.scores(graph)
    assert len(np.unique(expected)) > 1
    monkeypatch.setattr(neural, "MOST_CONFIGS", 5)
    np.testing.assert_allclose(ranker.scores(graph), expected, atol=1e-5)
    order = np.random.default_rng(1).permutation(graph.configs)
    name = "config_feat" if kind == "tile" else "node_config_feat"
    shuffled = type(graph)(**{**vars(graph), name: getattr(graph, name)[order]})
    np.testing.assert_allclose(ranker.scores(shuffled), expected[order], atol=1e-5)


@KINDS
def test_attention_across_configurations(kind, tmp_path, monkeypatch):
    graph = graphs_of(kind, tmp_path, 1)[0]
    ranker = fitted(Gru, [graph], across=True)
    expected = ranker.scores(graph)
    monkeypatch.setattr(neural, "MOST_CONFIGS", 5)
    assert np.abs(ranker.scores(graph) - expected).max() > 1e-4  # the point of it


@MODELS
def test_looking_node_layouts_up_changes_nothing(model, tmp_path):
    """Training embeds the node layouts of its rows alone, prediction those of the whole file at once."""
    graph = graphs_of("layout", tmp_path, 1)[0]
    ranker = fitted(model, [graph])
    encoded = encode(graph)
    with torch.inference_mode():
        np.testing.assert_allclose(ranker.scores(graph), ranker.network(encoded).numpy(), atol=1e-5)


def test_copies_of_a_configuration_score_alike(tmp_path):
    arrays = layout_arrays(configs=6)
    arrays["node_config_feat"][4] = arrays["node_config_feat"][1]
    graph = read_graph(save(tmp_path / "a.npz", arrays))
    scores = fitted(Gru, [graph]).scores(graph)
    assert scores[4] == scores[1]
    assert len(np.unique(scores)) == 5


def test_the_order_of_the_nodes_tells_the_gru_something(tmp_path):
    graph = graphs_of("layout", tmp_path, 1)[0]
    ranker = fitted(Gru, [graph])
    expected = ranker.scores(graph)
    ranker.network.body.shuffle = 3  # of three nodes: another order
    assert np.abs(ranker.scores(graph) - expected).max() > 1e-6


@MODELS
@KINDS
def test_comes_back_from_disk(model, kind, tmp_path):
    graph = graphs_of(kind, tmp_path, 1)[0]
    ranker = fitted(model, [graph])
    ranker.save(tmp_path)
    np.testing.assert_array_equal(model.load(tmp_path).scores(graph), ranker.scores(graph))


@MODELS
def test_the_same_seed_and_steps_give_the_same_weights(model, tmp_path):
    graphs = graphs_of("layout", tmp_path)
    first, second = (fitted(model, graphs, steps=5).network.state_dict() for _ in range(2))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_statistics_come_from_the_training_graphs_alone(tmp_path):
    graphs = graphs_of("layout", tmp_path)
    alone, judged = Gru(), Gru()
    alone.fit(graphs[:2], [], seed=0, steps=1, width=16)
    judged.fit(graphs[:2], graphs[2:], seed=0, steps=1, width=16)
    torch.testing.assert_close(alone.network.nodes.standard.mean, judged.network.nodes.standard.mean)
    expected = torch.cat([encode(g).nodes for g in graphs[:2]]).double().mean(dim=0).float()
    torch.testing.assert_close(alone.network.nodes.standard.mean, expected)


def test_constant_columns_are_dropped(tmp_path):
    graph = graphs_of("layout", tmp_path, 1)[0]
    network = fitted(Gru, [graph]).network
    nodes = encode(graph).nodes
    constant = (nodes == nodes[0]).all(dim=0)
    assert (network.nodes.standard(nodes + 100)[:, constant] == 0).all()
    assert (network.nodes.standard(nodes).abs().max(dim=0).values[~constant] > 0).all()


def test_costs_are_a_non_negative_fit():
    totals = np.zeros((3, 256, 2))
    totals[:, 26, 1], totals[:, 63, 0] = [1e9, 2e9, 4e9], [1e6, 1e6, 3e6]
    cost = neural.Network("tile", Gru.body(16), width=16).cost
    cost.fit(totals, totals[:, 26, 1] * 3 + totals[:, 63, 0] * 50)
    assert (cost.rates >= 0).all()
    assert float(cost.rates[26, 1]) == pytest.approx(3, rel=0.02)
    assert np.count_nonzero(cost.rates.numpy()) == 2


def test_graphs_without_labels_are_passed_over(tmp_path):
    arrays = layout_arrays()
    arrays["config_runtime"] = np.zeros_like(arrays["config_runtime"])
    withheld = read_graph(save(tmp_path / "withheld.npz", arrays))
    good = graphs_of("layout", tmp_path, 1)
    assert np.isfinite(fitted(Gru, [withheld, *good]).scores(withheld)).all()
    with pytest.raises(InputError, match="no training graph"):
        fitted(Gru, [withheld])


@pytest.mark.parametrize(("options", "message"), [
    ({"objective": "magic"}, "'magic' is unknown"), ({"join": "never"}, "'never' is unknown"),
    ({"pool": "sum"}, "'sum' is unknown"), ({"width": 12}, "a width of 12")])
def test_unknown_options(options, message, tmp_path):
    with pytest.raises(InputError, match=message):
        Gru().fit(graphs_of("tile", tmp_path, 1), [], **options)


def test_a_graph_of_the_other_kind(tmp_path):
    ranker = fitted(Gru, graphs_of("tile", tmp_path, 1))
    with pytest.raises(InputError, match="layout graph, and this ranker learnt from tile graphs"):
        ranker.scores(graphs_of("layout", tmp_path, 1)[0])


@pytest.fixture
def saved(tmp_path):
    fitted(Gru, graphs_of("tile", tmp_path, 1)).save(tmp_path / "saved")
    return tmp_path / "saved"


def test_damaged_weights_are_named(saved):
    file = saved / neural.MODEL_FILE
    damaged = bytearray(file.read_bytes())
    damaged[len(damaged) // 2] ^= 255
    file.write_bytes(damaged)
    with pytest.raises(InputError, match="not a saved Gru .*model.pt.*damaged"):
        Gru.load(saved)


def test_weights_of_another_shape_are_named(saved):
    record = json.loads((saved / neural.RECORD_FILE).read_text(encoding="utf-8"))
    record["options"]["width"] = 32
    (saved / neural.RECORD_FILE).write_text(json.dumps(record), encoding="utf-8")
    with pytest.raises(InputError, match="not a saved Gru"):
        Gru.load(saved)


def test_another_network_is_named(saved):
    with pytest.raises(InputError, match="it holds a Gru"):
        Sage.load(saved)


class _Evil:
    def __reduce__(self):
        return print, ("executed",)


def test_nothing_is_executed(saved, capsys):
    torch.save({"network": _Evil()}, saved / neural.MODEL_FILE)
    with pytest.raises(InputError, match="not a saved Gru"):
        Gru.load(saved)
    assert "executed" not in capsys.readouterr().out


def grown(small, large):
    """Bytes that a process grows by when it ranks a graph of `large` configurations after one of `small`."""
    neural.CHUNK = 300_000  # chunks of a few configurations, whose tensors are still large for an allocator
    ranker = fitted_in_memory("sage", labelled(100))
    ranker.scores(labelled(small, 256)[0])
    graph = labelled(large, 256)[0]
    before = probe.peak()
    ranker.scores(graph)
    return probe.peak() - before


def test_memory_does_not_grow_with_the_number_of_chunks():
    """400 chunks and more; results that were kept among what they free let a process grow by 100 MB here."""
    assert probe.apart(grown, 200, 2_000) < 40_000_000
