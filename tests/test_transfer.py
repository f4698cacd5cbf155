"""Transfer: what is judged, beside what, and that only the sample is learnt from."""

import argparse
import json

import numpy as np
import pytest

from evaluation.errors import InputError
from kit import sample, transfer
from kit.commands import transfer as command
from kit.graphs import read_graph
from kit.sample import constants as named
from tests.builders import layout_arrays, save, save_data_set, tile_arrays

FAKE = "tests.test_transfer:Counting"


class Counting:
    """A ranker that keeps what it was fitted to; it ranks by index."""

    seen = []  # noqa: RUF012

    def fit(self, train, valid, *, seed, minutes, steps, folder, threads):
        Counting.seen.append([graph.id for part in (train, valid) for graph in part])

    def scores(self, graph):
        return np.arange(graph.configs, dtype=np.float64)

    def save(self, folder):
        raise AssertionError("transfer keeps no rankers")

    @classmethod
    def load(cls, folder):
        raise AssertionError("transfer keeps no rankers")


@pytest.fixture
def stub_sample(monkeypatch):
    """A tiny data set in place of the sample; the constants it was asked for."""
    asked = []

    def write(folder, scale, seed, constants, collections, workers):
        asked.append((constants, collections[0]))
        save_data_set(folder)

    monkeypatch.setattr(sample, "write", write, raising=False)
    Counting.seen.clear()
    return asked


def layout_graph(tmp_path, runtime, distinct=None):
    """A graph of so many configurations; `distinct` numbers the layouts that they take."""
    runtime = np.asarray(runtime)
    arrays = layout_arrays(len(runtime))
    kinds = np.arange(len(runtime)) if distinct is None else np.asarray(distinct)
    arrays["node_config_feat"][:] = -1
    arrays["node_config_feat"][:, 0, :6] = np.stack([kinds // 6**i % 6 for i in range(6)], axis=1)
    arrays["config_runtime"] = runtime
    return read_graph(save(tmp_path / "layout/xla/default/train/g.npz", arrays))


def test_only_the_sample_is_learnt_from_and_made_once_for_a_set(tmp_path, stub_sample):
    data = save_data_set(tmp_path / "real", train=2)
    judged = transfer.transfer(data, models=[FAKE], constants="uncalibrated")
    assert {j.id for j in judged} == {f"{c}:graph.{s}" for c in ("tile:xla", "layout:xla:default")
                                      for s in ("train.0", "train.1", "valid.0")}
    assert stub_sample == [(named.UNCALIBRATED, c) for c in ("tile:xla", "layout:xla:default")]
    assert Counting.seen == [[f"{c}:graph.{s}" for s in ("train.0", "train.1", "train.2", "valid.0")]
                             for c in ("tile:xla", "layout:xla:default")]
    assert {j.constants for j in judged} == {"uncalibrated"}


def test_every_graph_gets_the_set_calibrated_without_it(tmp_path, stub_sample, monkeypatch):
    monkeypatch.setitem(named.SETS, "without tile:xla:graph.train.0", named.UNCALIBRATED)
    judged = transfer.transfer(save_data_set(tmp_path / "real", train=2), models=[FAKE])
    sets = {j.id: j.constants for j in judged}
    assert sets["tile:xla:graph.train.0"] == "without tile:xla:graph.train.0"
    assert sets["tile:xla:graph.train.1"] == "calibrated"
    assert stub_sample[:2] == [(named.UNCALIBRATED, "tile:xla"), (named.CALIBRATED, "tile:xla")]


def test_kernels_are_shuffled_and_keep_their_rows(tmp_path):
    graph = read_graph(save(tmp_path / "k.npz", tile_arrays(50)), "tile:xla")
    other = transfer.shuffled(graph, 0)
    assert not np.array_equal(graph.config_feat, other.config_feat)
    rows = {tuple(row): runtime for row, runtime in zip(graph.config_feat.tolist(), graph.config_runtime, strict=True)}
    assert [rows[tuple(row)] for row in other.config_feat.tolist()] == other.config_runtime.tolist()


def test_ranked_tau_breaks_ties_by_index():
    assert transfer.ranked_tau(np.zeros(4), np.array([1, 2, 3, 4])) == 1
    assert transfer.ranked_tau(np.zeros(4), np.array([4, 3, 2, 1])) == -1
    assert transfer.ranked_tau(np.array([3.0, 1.0, 2.0]), np.array([30, 10, 20])) == 1


def test_ceiling_compares_two_measurements(tmp_path):
    kinds = np.repeat(np.arange(10), 3)  # the third measurement is not looked at
    runtime = 100 + 10 * kinds + np.tile([0, 1, 5], 10)
    assert transfer.ceiling(layout_graph(tmp_path, runtime, kinds)) == pytest.approx(1)
    runtime[1::3] = runtime[1::3][::-1]
    assert transfer.ceiling(layout_graph(tmp_path, runtime, kinds)) == pytest.approx(-1)
    assert transfer.ceiling(layout_graph(tmp_path, runtime[:27], kinds[:27])) is None  # nine are too few


def test_best_column_is_found_in_either_direction(tmp_path):
    arrays = tile_arrays(20)
    arrays["config_runtime"] = (1000 - 10 * arrays["config_feat"][:, 15]).astype(np.int64)
    arrays["config_runtime_normalizers"][:] = 1
    graph = read_graph(save(tmp_path / "k.npz", arrays), "tile:xla")
    name, tau = transfer.best_column(graph, graph.config_runtime)
    assert tau == 1
    assert name.startswith("-") or name == "steps"


def judged(kind="tile", configs=9, tau=0.5, model="m"):
    return transfer.Judged(f"{kind}:xla:g", model, "s", configs, configs, tau, {1: 0.1, 5: 0.0, 10: 0.0, 100: 0.0},
                           0.25, 0.75, "c", None)


def test_means_leave_small_kernels_out():
    found = transfer.means([judged(tau=0.5), judged(tau=0.7), judged(configs=8, tau=-1), judged("layout", 3, 0.1)])
    assert [(m["kind"], m["graphs"]) for m in found] == [("tile", 2), ("layout", 1)]
    assert [m["kendall_tau"] for m in found] == pytest.approx([0.6, 0.1])


def test_report_shows_every_graph_and_a_dash_without_a_ceiling():
    text = transfer.report([judged(), judged("layout")])
    assert "tile:xla:g" in text and "layout:xla:g" in text
    assert [line.split()[-2:] for line in text.splitlines() if ":xla:g" in line] == [["-", "c"]] * 2
    assert "simulated" in text


def test_json_has_the_contract_keys(tmp_path, stub_sample, capsys):
    data = save_data_set(tmp_path / "real", train=1)
    parser = argparse.ArgumentParser()
    command.arguments(parser)
    command.run(parser.parse_args(["--data", str(data), "--model", FAKE, "--constants", "uncalibrated", "--json"]))
    graphs = json.loads(capsys.readouterr().out)["graphs"]
    assert set(graphs[0]) >= {"id", "model", "distinct", "kendall_tau", "top1_error", "heuristic", "best_column",
                              "ceiling"}


def test_nothing_labelled_is_refused(tmp_path):
    arrays = layout_arrays()
    arrays["config_runtime"][:] = 0
    save(tmp_path / "layout/xla/default/train/g.npz", arrays)
    with pytest.raises(InputError, match="no labelled graph"):
        list(transfer.labelled(tmp_path))


def test_copies_of_one_configuration_have_nothing_to_rank(tmp_path):
    layout_graph(tmp_path, [5, 6, 7], [1, 1, 1])
    with pytest.raises(InputError, match="no labelled graph"):
        list(transfer.labelled(tmp_path))


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "tau", "top1"), [("layout", 0.33, 0.01), ("tile", 0.70, 0.03)])
def test_what_the_sample_teaches_holds_on_real_graphs(real_data, tmp_path, kind, tau, top1):
    (tmp_path / kind).symlink_to(real_data / "npz" / kind)
    judged = transfer.transfer(tmp_path, models=["gbdt", "analytic"], constants="uncalibrated")
    gbdt, analytic = sorted(transfer.means(judged), key=lambda m: m["model"] != "gbdt")
    assert gbdt["kendall_tau"] >= tau
    assert gbdt["top1_error"] <= top1
    if kind == "layout":
        assert gbdt["kendall_tau"] >= analytic["kendall_tau"]
