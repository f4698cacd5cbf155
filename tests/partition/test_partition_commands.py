"""``python -m kit partition`` from files to a board, and the complaints that a partitioner must answer."""

import json
import os
import signal
import threading
import time

import numpy as np
import pytest

from evaluation.instance import Instance
from evaluation.partition import bottleneck, check_stages
from kit.partition.jobs import Task, solve_all
from kit.partition.random_graphs import generate
from kit.partition.show import read_solution, stage_table
from kit.partition.solve import solve
from tests.evaluation.test_partition import make
from tests.partition.test_converters import PROFILE

KEYS = {"file", "k", "bottleneck", "lower_bound", "certified_ratio", "proved", "seconds", "methods"}


@pytest.fixture(scope="module")
def data(tmp_path_factory, run_module):
    """A data set of a profile and a random graph, an entry that solves it, and what was printed."""
    folder = tmp_path_factory.mktemp("partition")
    (folder / "lstm.graph.txt").write_text(PROFILE, encoding="utf-8")
    run_module("kit", "partition", "instances", folder / "lstm.graph.txt", "--random", 1, "--out", folder / "data",
               "-k", 2, "--bandwidth", "1KiB/s", check=0)
    done = run_module("kit", "partition", "solve", folder / "data", "-k", 2, "--evaluations", 200, "--json",
                      "--out", folder / "entries" / "mine", "--pictures", folder / "pictures", "--jobs", 1, check=0)
    return folder, done


def test_solve_prints_one_json_object(data):
    results = json.loads(data[1].stdout)["results"]
    assert [set(result) for result in results] == [KEYS, KEYS]
    for result in results:
        assert 0 < result["lower_bound"] <= result["bottleneck"]
        assert result["certified_ratio"] == pytest.approx(result["lower_bound"] / result["bottleneck"])
        assert result["proved"] == (result["certified_ratio"] >= 0.9999)


def test_the_entry_is_checked_and_scored_by_the_judge(data, run_module):
    folder, _ = data
    csv = folder / "entries" / "mine" / "submission.csv"
    card = json.loads((csv.parent / "card.json").read_text(encoding="utf-8"))
    assert card["track"] == "partition" and card["split"] == "all" and card["parameters"]["evaluations"] == 200
    run_module("evaluation", "check", csv, "--data", folder / "data", "--strict")
    result = json.loads(run_module("evaluation", "score", csv, "--data", folder / "data", "--json", check=0).stdout)
    assert {row["id"].split(":")[1] for row in result["rows"] if row["score"]} == {"lstm", "random-er-50-0.1-0"}
    board = run_module("evaluation", "leaderboard", "--data", folder / "data", "--submissions", folder / "entries",
                       check=0).stdout
    assert "partition track" in board and "mine" in board


def test_pictures_are_written(data):
    assert {path.name for path in (data[0] / "pictures").iterdir()} == {"lstm.k2.png", "random-er-50-0.1-0.k2.png"}
    assert (data[0] / "pictures" / "lstm.k2.png").read_bytes().startswith(b"\x89PNG")


def test_show_and_inspect(data, run_module):
    folder, _ = data
    file = folder / "data" / "instances" / "lstm.json"
    shown = run_module("kit", "partition", "show", file, folder / "entries" / "mine", check=0).stdout
    assert "<- bottleneck" in shown and "overflow" in shown
    assert "2 nodes, 1 edges" in run_module("kit", "inspect", file, check=0).stdout
    everything = run_module("kit", "inspect", folder / "data", check=0).stdout
    assert "(simulated)" in everything and "random-er-50-0.1-0" in everything


@pytest.mark.parametrize(("arguments", "status", "message"), [
    (["solve", "none.json"], 1, "no such file"), (["solve", "none.json", "--bandwidth", "fast"], 2, "bandwidth"),
    (["solve", "none.json", "--memory", "x%"], 2, "memory"), (["solve"], 2, "FILE"), ([], 2, "SUBVERB"),
    (["solve", "none.json", "-k", "0"], 2, "above 0"), (["instances"], 2, "--out"),
    (["solve", "none.json", "--seconds", "1", "--evaluations", "2"], 2, "not allowed")])
def test_wrong_usage(run_module, arguments, status, message):
    done = run_module("kit", "partition", *arguments, check=status)
    assert message in done.stderr and "Traceback" not in done.stderr


def test_pairs_that_no_board_asks_for_are_not_in_an_entry(data, run_module, tmp_path):
    options = ["--evaluations", 10, "--jobs", 1, "--out", tmp_path / "x"]
    refused = run_module("kit", "partition", "solve", data[0] / "data", "-k", 3, *options, check=1)
    assert "ask for none of those given" in refused.stderr
    run_module("kit", "partition", "solve", data[0] / "data", "-k", 2, 3, *options, check=0)
    assert ":3," not in (tmp_path / "x" / "submission.csv").read_text(encoding="utf-8")


def test_an_entry_that_leaves_pairs_out_is_called_worthless(data, run_module, tmp_path):
    run_module("kit", "partition", "instances", data[0] / "lstm.graph.txt", "--out", tmp_path / "data", "-k", 1, 2, 3,
               check=0)
    done = run_module("kit", "partition", "solve", tmp_path / "data", "-k", 1, "--evaluations", 10, "--jobs", 1,
                      "--out", tmp_path / "x", check=0)
    assert "2 pairs that the instances ask for are not in it" in done.stderr


def test_a_number_of_stages_given_twice_is_solved_once(data, run_module, tmp_path):
    run_module("kit", "partition", "solve", data[0] / "data", "-k", 2, 2, "--evaluations", 10, "--jobs", 1, "--out",
               tmp_path / "x", check=0)
    lines = (tmp_path / "x" / "submission.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[0] for line in lines[1:]] == ["partition:lstm:2", "partition:random-er-50-0.1-0:2"]


def test_nothing_but_json_on_standard_output_whatever_solvers_print(data, run_module):
    file = data[0] / "data" / "instances" / "random-er-50-0.1-0.json"
    done = run_module("kit", "partition", "solve", file, "-k", 8, "--seconds", 4, "--json", check=0)
    assert done.stdout.count("\n") == 1 and json.loads(done.stdout)["results"][0]["k"] == 8


def test_an_entry_needs_a_data_set_as_it_is(data, run_module, tmp_path):
    folder, _ = data
    loose = run_module("kit", "partition", "solve", folder / "lstm.graph.txt", "--out", tmp_path / "x", check=1)
    assert "partition instances" in loose.stderr
    changed = run_module("kit", "partition", "solve", folder / "data", "--memory", "50%", "--out", tmp_path / "x",
                         check=1)
    assert "--memory change the instances" in changed.stderr


def test_a_share_of_memory_makes_parameters_overflow(data, run_module):
    folder, _ = data
    done = run_module("kit", "partition", "solve", folder / "lstm.graph.txt", "-k", 2, "--memory", "50%",
                      "--bandwidth", "1KiB/s", "--evaluations", 100, "--json", check=0)
    # parameters 60 bytes, 15 a stage: {40} overflows by 25 and {20} by 5, at 1 KiB/s; the tensor has 9 bytes
    assert json.loads(done.stdout)["results"][0]["bottleneck"] == pytest.approx(0.0025 + (25 + 9) / 1024)


def test_bounds_are_written_and_proved_again(data, run_module, tmp_path):
    pytest.importorskip("kit.partition.certificate").__dict__.get("check") or pytest.skip("no checker yet")
    folder, _ = data
    options = [folder / "lstm.graph.txt", "-k", 2, "--bandwidth", "1KiB/s", "--out", tmp_path]
    assert "no such file; python -m kit partition bound" in run_module("kit", "partition", "bound", *options,
                                                                       "--check", check=1).stderr
    run_module("kit", "partition", "bound", *options, "--seconds", 5, check=0)
    assert "lstm k = 2" in run_module("kit", "partition", "bound", *options, "--check", check=0).stdout
    file = tmp_path / "lstm.k2.bound.json"
    record = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(record | {"lower_bound": 2 * record["lower_bound"]}), encoding="utf-8")
    if record["certificate"]:
        assert "proved again" in run_module("kit", "partition", "bound", *options, "--check", check=1).stderr
    other = [folder / "lstm.graph.txt", "-k", 2, "--out", tmp_path, "--check"]
    assert "another version" in run_module("kit", "partition", "bound", *other, check=1).stderr


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize(("jobs", "cluster"), [(1, None), (2, None), (2, "2")])
def test_ctrl_c_returns_the_best_so_far(jobs, cluster):
    if cluster:
        pytest.importorskip("distributed")
    budget = {"seconds": 300, "seed": 0}
    tasks = [Task(str(seed), generate("er", 100, 1.0, seed), 16, None, budget) for seed in range(3)]
    solve(tasks[0].instance, 16, seconds=0.1)  # compiled before the clock runs
    begin = time.monotonic()
    timer = threading.Timer(4 if jobs == 1 else 25 if cluster else 15, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    try:
        outcomes, interrupted = solve_all(tasks, jobs, cluster=cluster)
    finally:
        timer.cancel()
    assert interrupted and time.monotonic() - begin < 120
    assert [outcome.file for outcome in outcomes] == ["0", "1"][:jobs]
    assert all(0 < outcome.certified_ratio <= 1 for outcome in outcomes)


COMPLAINTS = {
    "chain, n no multiple of k": (make([[i, i + 1] for i in range(9)], [1.0] * 10, output=[0] * 10), 3, 4),
    "k greater than n": (make([[0, 1]], [1.0, 2.0], output=[0, 0]), 9, 2),
    "k = 1": (make([[0, 1]], [1.0, 2.0]), 1, 3),
    "one node": (make([], [3.0]), 4, 3),
    "an empty last stage is fastest": (make([[0, 1]], [1.0, 1.0], output=[1000, 0]), 2, 2),
    "cheap embedding, dear head": (make([[0, 1], [1, 2]], [1.0, 1.0, 5.0], output=[0] * 3, parameters=[900, 0, 0]),
                                   2, 5),
    "skip connection": (make([[0, 1], [1, 2], [0, 2]], [2.0, 2.0, 2.0], output=[10, 10, 0]), 3, 4),
    "isolated nodes": (make([], [4.0, 3.0, 3.0, 2.0]), 2, 6),
    "several components": (make([[0, 1], [2, 3]], [2.0, 2.0, 2.0, 2.0]), 2, 4),
    "zero work": (make([[0, 1], [1, 2]], [0.0, 0.0, 0.0], output=[0] * 3), 2, 0),
    "the remainder is spread": (make([[i, i + 1] for i in range(7)], [1.0] * 8, output=[0] * 8), 5, 2),
    "huge sizes": (make([[0, 1]], [1.0, 1.0], output=[2**52, 0]), 2, 2),
}


@pytest.mark.parametrize("name", COMPLAINTS)
def test_complaints_about_partitioners(name):
    instance, k, optimum = COMPLAINTS[name]
    found = solve(instance, k, evaluations=100)
    stages = check_stages(instance, found.stages, k)  # every node once, at most k, acyclic
    assert len(stages) == len(instance)
    assert bottleneck(instance, stages) == pytest.approx(optimum)
    assert found.bottleneck == pytest.approx(optimum)
    assert found.lower_bound <= optimum


def test_every_solution_says_how_good_it_is():
    instance = generate("ws", 40, 0.5, 0)
    outcomes, interrupted = solve_all([Task("x", instance, 4, None, {"evaluations": 50, "seed": 1})])
    assert not interrupted and 0 < outcomes[0].certified_ratio <= 1


def test_a_cluster_solves_the_same_from_the_command_line(data, run_module):
    pytest.importorskip("distributed")
    found = run_module("kit", "partition", "solve", data[0] / "data", "-k", 2, "--evaluations", 200, "--json",
                       "--cluster", 1, check=0)
    first, again = (json.loads(done.stdout)["results"] for done in (data[1], found))
    assert [{**r, "seconds": 0, "methods": 0} for r in first] == [{**r, "seconds": 0, "methods": 0} for r in again]


def test_the_same_seed_and_evaluations_give_the_same_partition():
    instance = generate("ba", 60, 0.5, 2)
    first, second = (solve(instance, 4, evaluations=150, seed=5).stages.tolist() for _ in range(2))
    assert first == second


def test_the_table_names_the_bottleneck_and_shows_empty_stages():
    text = stage_table(make([[0, 1]], [1.0, 3.0]), np.array([0, 2]), 4)
    assert [line.split()[:2] for line in text.splitlines()[1:]] == [["0", "1"], ["1", "0"], ["2", "1"], ["3", "0"]]
    assert text.splitlines()[3].endswith("<- bottleneck")


def test_a_cyclic_solution_is_not_shown(tmp_path):
    (tmp_path / "s.csv").write_text("ID,Stages\npartition:small:2,0;1;0\n", encoding="utf-8")
    chain = Instance.from_json(make([[0, 1], [1, 2]], [1.0] * 3).to_json())
    with pytest.raises(Exception, match="circle"):
        read_solution(tmp_path / "s.csv", chain)
