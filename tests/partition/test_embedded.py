"""The embedded set: what it holds, that what is on record holds, and its way through the judge."""

import json

import numpy as np
import pytest

from evaluation.bounds import parse_pair, verify_pair
from evaluation.errors import InputError
from kit.partition import embedded
from kit.partition.architectures import ARCHITECTURES, instance
from kit.partition.demo import demo
from kit.partition.fill import merge, open_tasks
from kit.partition.jobs import Outcome
from kit.partition.stored import write_stored


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("embedded")
    embedded.write(path)
    return path


def test_at_least_24_of_each_kind_with_and_without_binding_memory():
    names = [name for name in embedded.load() if not name.endswith("-memory")]
    random = [name for name in names if name.startswith("random-")]
    assert len(random) >= 24 and len(names) - len(random) >= 24
    assert set(names) | {f"{name}-memory" for name in names} == set(embedded.load())
    assert all(found.simulated for found in embedded.load().values())
    assert {k for found in embedded.load().values() for k in found.k} == {2, 4, 8, 16, 32, 64}


def test_memory_binds_at_every_k():
    for name, found in embedded.load().items():
        if name.endswith("-memory"):
            assert all(k * found.fast_memory < found.parameter_bytes.sum() for k in found.k)


def test_every_pair_is_on_record_and_every_record_holds():
    bounds, known = embedded.bounds(), embedded.load()
    assert set(bounds) == {f"partition:{name}:{k}" for name, found in known.items() for k in found.k}
    for id, pair in bounds.items():
        name, k = parse_pair(id)
        verify_pair(known[name], k, pair)


def test_small_enough_to_be_committed():
    assert sum(path.stat().st_size for path in embedded.HERE.iterdir()) < 2 << 20


@pytest.mark.parametrize("name", ["alexnet", "dcgan", "translator"])
def test_architectures_are_traced_to_what_is_committed(name):
    traced, kept = instance(name, (2,)), embedded.load()[name]
    assert traced.nodes == kept.nodes and np.array_equal(traced.edges, kept.edges)
    assert traced.work == pytest.approx(kept.work)


@pytest.mark.parametrize(("name", "millions"), [("resnet50", 25.6), ("alexnet", 61.1), ("bert-large", 365),
                                                ("densenet121", 8.0), ("gpt2", 163)])
def test_parameter_counts_are_those_published(name, millions):
    assert embedded.load()[name].parameter_bytes.sum() / 4e6 == pytest.approx(millions, rel=0.01)
    assert name in ARCHITECTURES


def test_the_stored_partitions_score_what_is_on_record(folder, tmp_path, run_module):
    card = write_stored(tmp_path / "stored", folder)
    assert card["dataset"]["simulated"] and card["dataset"]["name"] == embedded.NAME
    csv = tmp_path / "stored" / "submission.csv"
    done = run_module("evaluation", "score", csv, "--data", folder, "--json", check=0)
    result = json.loads(done.stdout)
    assert list(result["groups"]) == ["2", "4", "8", "16", "32", "64"]
    assert all(row["over_best"] == pytest.approx(0, abs=1e-12) for row in result["rows"])
    assert 0 < result["score"] <= 1


def outcome(lower, upper, stages=(0, 0)):
    return Outcome("partition:x:2", None, 2, np.array(stages), upper, lower, lower / upper, 1.0,
                   {"anchors": {"lower": lower}, "simple": {"lower": 0.0}, "polish": {"upper": upper}}, None, [])


def test_records_keep_the_better_of_each_side():
    records = {}
    merge(records, outcome(1.0, 2.0), 5)
    merge(records, outcome(0.9, 1.8, (0, 1)), 7)
    merge(records, outcome(1.1, 1.9), 3)
    pair = records["partition:x:2"]
    assert pair["lower"]["value"] == 1.1 and pair["lower"]["method"] == "anchors" and pair["lower"]["seconds"] == 7
    assert pair["best"]["value"] == 1.8 and pair["best"]["stages"] == "0;1" and pair["best"]["method"] == "polish"


def test_pairs_already_proved_or_tried_as_long_are_left_out():
    record = {"method": "m", "solver": "s", "version": "1", "seconds": 10}
    done = {id: {"lower": {"value": 1.0, **record}, "best": {"value": 1.0, **record, "stages": "0;1"}}
            for id in embedded.bounds()}
    assert not open_tasks(done, 100, 0)
    id = next(iter(done))
    done[id]["lower"]["value"] = 0.5
    task, = open_tasks(done, 100, 0)
    assert task.file == id and task.budget["start"].tolist() == [0, 1] and task.budget["low"] == 0.5
    assert not open_tasks(done, 10, 0)


def test_a_corrupt_record_is_refused():
    name, pair = next((parse_pair(id)[0], pair) for id, pair in embedded.bounds().items() if id.endswith(":2"))
    broken = {**pair, "lower": {**pair["lower"], "value": 2 * pair["best"]["value"] + 1}}
    with pytest.raises(InputError, match="is wrong"):
        verify_pair(embedded.load()[name], 2, broken)


def test_the_demo_solves_rescores_and_makes_a_board(folder, tmp_path):
    said = []
    outcomes = demo(tmp_path / "entries", folder, seconds=1, live=[("alexnet", 2)], say=said.append)
    assert len(outcomes) == 1 and 0 < outcomes[0].certified_ratio <= 1
    board = (tmp_path / "entries" / "leaderboard.md").read_text(encoding="utf-8")
    assert board.index("| 1 | embedded-partition-best-known") < board.index("embedded-partition-equal-work")
    assert "SIMULATED" in board and (tmp_path / "entries" / "leaderboard.html").is_file()
    assert any("k = 64" in line for line in said)
