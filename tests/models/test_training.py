"""The training loop: what a step sees, when it stops, and that kills, processes and damage change nothing unseen."""

import argparse
import json
import math
import pickle
import signal
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from evaluation.errors import InputError
from kit.commands import train as command
from kit.graphs import Graphs
from kit.models import checkpoints, curve, training
from kit.models import ranker as rankers
from kit.models.examples import Example
from kit.models.training import Settings, draw_step, learning_rate, train_network
from kit.runs import train
from tests.builders import save_data_set
from tests.conftest import REPOSITORY

COLLECTION = "layout:xla:default"


class Rows:
    """Configurations that are one number each, in place of an encoding."""

    def __init__(self, values):
        self.values = values

    def rows(self, rows):
        return Rows(self.values[rows])

    def to(self, device):
        return self


class Slope(torch.nn.Module):
    """Scores are the numbers times a weight."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor(0.0))

    def forward(self, graph):
        return self.weight * graph.values


def example(configs, name="a", scale=1.0):
    values = torch.arange(configs, dtype=torch.float32) + 1
    return Example(name, Rows(scale * values), values.double())


def settings(**changes):
    return Settings(**{"seed": 0, "minutes": None, "steps": 10, "objective": "listmle", "rows": 64, "graphs": 2,
                       "rate": 0.1, "kind": "layout"} | changes)


def test_a_step_draws_as_many_rows_of_a_large_graph_as_of_a_small_one():
    drawn = draw_step([example(100_040, "large"), example(1_000, "small")], settings(), 0)
    assert sorted((e.id, len(rows)) for e, rows in drawn) == [("large", 64), ("small", 64)]
    assert all(len(rows.unique()) == 64 for _, rows in drawn)


def test_every_graph_comes_once_an_epoch():
    examples = [example(5, name) for name in "abcd"]
    for epoch in range(3):
        names = [e.id for step in (2 * epoch, 2 * epoch + 1) for e, _ in draw_step(examples, settings(), step)]
        assert sorted(names) == list("abcd")


def test_the_learning_rate_warms_up_and_falls_as_a_cosine():
    rates = [learning_rate(settings(rate=1.0), done) for done in (0.0, 0.025, 0.05, 0.525, 1.0)]
    assert rates == pytest.approx([0.02, 0.52, 1.0, 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi / 2)), 0.05])


def test_gradients_are_clipped():
    state = training._Training(Slope(), settings(objective="mse"), "cpu")
    state.advance([example(8, scale=1e4)])
    assert float(state.network.weight.grad.abs()) == pytest.approx(training.CLIP, rel=1e-4)


def judged(monkeypatch, rows, **changes):
    """Train while evaluations give these rows in turn; the network and its weight at each evaluation."""
    network, given, weights = Slope(), iter(rows), []

    def evaluate(network, *_):
        weights.append(float(network.weight.detach()))
        return next(given)

    monkeypatch.setattr(training, "evaluate", evaluate)
    monkeypatch.setattr(training, "EVALUATE_EVERY", 1)
    monkeypatch.setattr(training, "PATIENCE", 2)
    train_network(network, [example(8)], [example(8)], settings(steps=len(rows), **changes))
    return float(network.weight.detach()), weights


def test_layouts_stop_by_tau_and_keep_the_best_weights(monkeypatch):
    kept, weights = judged(monkeypatch, [{"tau": tau} for tau in (0.1, 0.5, 0.4, 0.3, 0.9)])
    assert len(weights) == 4  # two evaluations in a row were no better
    assert kept == weights[1]


def test_tiles_stop_by_their_score_and_then_tau(monkeypatch):
    rows = [(0.901, 0.2), (0.903, 0.1), (0.899, 0.3), (0.80, 0.9), (0.80, 0.9)]
    kept, weights = judged(monkeypatch, [{"tile_score": s, "tau": t} for s, t in rows], kind="tile")
    assert kept == weights[2]


def test_time_ends_the_training_after_the_step_in_which_it_is_up(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(training, "time", SimpleNamespace(monotonic=lambda: 3.0 * next(clock)))
    steps = []
    advance = training._Training.advance
    monkeypatch.setattr(training._Training, "advance", lambda self, learn: steps.append(1) or advance(self, learn))
    train_network(Slope(), [example(8)], [], settings(steps=None, minutes=10 / 60))
    assert len(steps) == 4  # a step takes three seconds here: ten are up in the fourth


def run_steps(data, run, steps=60):
    train("gru", data, run, collections=[COLLECTION], steps=steps, width=16, report=lambda line: None)
    return run / COLLECTION.replace(":", "-") / "seed0"


def weights_of(folder):
    return checkpoints.read_tensors(folder / "model.pt")


_KILLED = """
import os, signal, sys
from pathlib import Path
from kit.models import training
from tests.models import test_training
advance = training._Training.advance
def fatal(self, learn):
    if self.step == 37:
        os.kill(os.getpid(), signal.SIGKILL)
    return advance(self, learn)
training._Training.advance = fatal
test_training.run_steps(sys.argv[1], Path(sys.argv[2]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL")
def test_a_killed_run_ends_as_one_that_was_not(tmp_path):
    data = save_data_set(tmp_path / "data")
    whole = run_steps(data, tmp_path / "whole")
    done = subprocess.run([sys.executable, "-c", _KILLED, data, tmp_path / "killed"], cwd=REPOSITORY, check=False)
    assert done.returncode == -signal.SIGKILL
    left = tmp_path / "killed" / COLLECTION.replace(":", "-") / "seed0"
    assert [file.name for file in checkpoints.checkpoints(left)] == ["checkpoint-00000025.pt"]
    continued = run_steps(data, tmp_path / "killed")
    expected, found = weights_of(whole), weights_of(continued)
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    rows = [[{k: v for k, v in row.items() if k != "seconds"} for row in curve.read_curve(folder)]
            for folder in (whole, continued)]
    assert rows[0] == rows[1]
    assert [row["step"] for row in rows[0]] == [25, 50, 60]
    assert {"loss", "valid_loss", "tau", "top1_error"} <= set(rows[0][0])
    assert (continued / curve.PICTURE_FILE).read_bytes().startswith(b"\x89PNG")
    assert not checkpoints.checkpoints(continued)


@pytest.mark.slow
def test_two_processes_do_what_one_does(tmp_path, run_module):
    data = save_data_set(tmp_path / "data")
    alone = run_steps(data, tmp_path / "alone", steps=6)
    run_module("torch.distributed.run", "--standalone", "--nproc-per-node", 2, "-m", "--", "kit", "train",
               "--model", "gru", "--data", data, "--run", tmp_path / "two", "--collection", COLLECTION,
               "--steps", 6, "--width", 16, "--threads", 1, check=0)
    expected, found = weights_of(alone), weights_of(tmp_path / "two" / alone.relative_to(tmp_path / "alone"))
    for name in expected:
        torch.testing.assert_close(found[name], expected[name], rtol=1e-3, atol=1e-4)


def test_seeds_folds_and_both_splits(tmp_path):
    data = save_data_set(tmp_path / "data")
    record = train("gru", data, tmp_path / "run", collections=[COLLECTION], steps=1, width=16, seeds=2, folds=2,
                   fit="train+valid", report=lambda line: None)
    assert record["collections"][COLLECTION]["members"] == [f"seed{s}-fold{f}" for s in (0, 1) for f in (0, 1)]
    graph = Graphs(data, COLLECTION, "valid")[0]
    scores = rankers.load(tmp_path / "run", COLLECTION).scores(graph)
    assert scores.shape == (graph.configs,)
    assert 0 <= scores.min() < scores.max() <= 1


def test_the_cost_can_be_left_out_from_the_command_line(tmp_path):
    data = save_data_set(tmp_path / "data", train=1)
    parser = argparse.ArgumentParser()
    command.arguments(parser)
    command.run(parser.parse_args(f"--model sage --data {data} --run {tmp_path / 'run'} --collection {COLLECTION} "
                                  "--steps 1 --width 16 --no-cost".split()))
    ranker, = rankers.load(tmp_path / "run", COLLECTION).rankers
    assert ranker.options["cost"] is False
    assert not ranker.network.cost.rates.any()


@pytest.fixture
def two_checkpoints(tmp_path):
    for step in (25, 50):
        checkpoints.write(tmp_path, step, {"weights": {"w": torch.arange(200.0)}, "step": step, "best": [0.5, 0.1]})
    return checkpoints.checkpoints(tmp_path)


def truncated(data):
    return data[:len(data) // 2]


def flipped(data):
    middle = data.index(np.float32(100).tobytes() + np.float32(101).tobytes())
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1:]


class Evil:
    def __reduce__(self):
        return print, ("executed",)


def evil(data):
    return pickle.dumps(Evil())


@pytest.mark.parametrize("damage", [truncated, flipped, evil, lambda data: b""],
                         ids=["truncated", "flipped", "pickle", "empty"])
def test_a_damaged_checkpoint_is_refused_and_the_one_before_offered(damage, two_checkpoints, capsys):
    last = two_checkpoints[-1]
    last.write_bytes(damage(last.read_bytes()))
    with pytest.raises(InputError, match=f"{last.name}: .*checkpoint-00000025.pt before it is whole: "
                                         f"delete {last.name} and run the same command again"):
        checkpoints.read_last(last.parent)
    assert "executed" not in capsys.readouterr().out
    last.unlink()
    assert checkpoints.read_last(last.parent)["step"] == 25


def test_nothing_whole_is_left(two_checkpoints):
    for file in two_checkpoints:
        file.write_bytes(truncated(file.read_bytes()))
    with pytest.raises(InputError, match="no whole one before it"):
        checkpoints.read_last(two_checkpoints[0].parent)


def test_no_flipped_bit_goes_unnoticed(two_checkpoints):
    """Either the damage is found, or it hit bytes that say nothing and the state is what it was."""
    file = two_checkpoints[-1]
    data, expected = file.read_bytes(), checkpoints.read_tensors(file)
    for place in range(0, len(data), 13):
        file.write_bytes(data[:place] + bytes([data[place] ^ 16]) + data[place + 1:])
        try:
            found = checkpoints.read_tensors(file)
        except ValueError as error:
            assert file.name in str(error)
            continue
        assert found["step"] == 50
        assert torch.equal(found["weights"]["w"], expected["weights"]["w"])


def test_only_the_last_two_are_kept(two_checkpoints):
    checkpoints.write(two_checkpoints[0].parent, 75, {"step": 75})
    assert [file.name[-6:-3] for file in checkpoints.checkpoints(two_checkpoints[0].parent)] == ["050", "075"]


def test_a_line_of_the_curve_that_was_cut_off_is_dropped(tmp_path):
    for step in (25, 50, 75):
        curve.append(tmp_path, {"step": step, "loss": 1.0})
    with open(tmp_path / curve.CURVE_FILE, "a", encoding="utf-8") as out:
        out.write('{"step": 100, "lo')
    curve.restart(tmp_path, 50)
    lines = (tmp_path / curve.CURVE_FILE).read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["step"] for line in lines] == [25, 50]
