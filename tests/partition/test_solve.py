"""The solver as a whole: right on small graphs, reproducible, on time, and calm about odd inputs."""

import threading
import time

import numpy as np
import pytest

from evaluation import engine
from evaluation.errors import InputError
from kit.partition import solve as solving
from kit.partition.baselines import BASELINES
from kit.partition.certificate import check
from kit.partition.ideals import solve_ideals
from kit.partition.problem import bottleneck, from_instance, is_monotone
from kit.partition.search import _anneal, anneal, polish
from kit.partition.solve import solve
from kit.partition.splice import _ascending, splice
from tests.partition.small import instance, optimum, random_instance, worst


def layered(n, seed=0, memory=None):
    """A wide random graph on which no bound closes the gap."""
    random = np.random.default_rng(seed)
    edges = [(u, v) for v in range(1, n) for u in random.integers(max(0, v - 12), v, 2)]
    return instance(random.uniform(1, 2, n), random.uniform(0.2, 0.5, n), edges, param=random.uniform(0, 1, n),
                    memory=memory)


@pytest.mark.parametrize("seed", range(40))
def test_small_graphs_are_solved_to_optimality(seed):
    graph, k = random_instance(seed), 1 + seed % 4
    best, found = optimum(graph, k), solve(graph, k, evaluations=100)
    assert found.bottleneck == pytest.approx(best, rel=1e-9, abs=1e-12)
    assert worst(graph, found.stages.tolist()) == pytest.approx(best, rel=1e-9, abs=1e-12)
    assert found.proved or best == 0
    assert found.lower_bound <= best + 1e-9
    assert check(graph, k, found.certificate) >= found.lower_bound * (1 - 1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_ideals_equal_brute_force(seed):
    graph, k = random_instance(seed), 1 + seed % 5
    problem, unit = from_instance(graph)
    value, stages, proved = solve_ideals(problem, k, np.zeros(len(problem.work), np.int64))
    assert proved
    assert value * unit == pytest.approx(optimum(graph, k), rel=1e-8, abs=1e-12)
    assert is_monotone(problem, stages)


@pytest.mark.parametrize("memory", [None, 4.0])
def test_annealing_and_polish_keep_partitions_valid_and_never_lose(memory):
    problem, _ = from_instance(layered(60, memory=memory))
    start = (np.arange(60) * 5 // 60).astype(np.int64)
    before = bottleneck(problem, start, 5)
    for value, stages in (polish(problem, 5, start), anneal(problem, 5, start, steps=100_000)):
        assert value < before
        assert value == pytest.approx(bottleneck(problem, stages, 5))
        assert is_monotone(problem, stages) and stages.min() >= 0 and stages.max() < 5


def test_annealing_exchanges_nodes_between_full_stages():
    """Loads 9 and 7: whichever node moves alone, a stage of 10 or more comes of it; 3 for 2 gives 8 and 8."""
    problem, unit = from_instance(instance([3, 3, 3, 5, 2], [0] * 5, []))
    value, _ = anneal(problem, 2, np.array([0, 0, 0, 1, 1]), steps=2000, hot=1e-9, cold=1e-9)
    assert value * unit == pytest.approx(8)


@pytest.mark.parametrize("memory", [None, 4.0])
def test_annealing_counts_what_it_moves(memory):
    problem, _ = from_instance(layered(40, memory=memory))
    start, found = (np.arange(40) * 4 // 40).astype(np.int64), np.empty(40, np.int64)
    least = _anneal(problem, 4, start, 50_000, 0.05, 0.01, np.random.default_rng(0), found)
    assert least == pytest.approx(bottleneck(problem, found, 4), rel=1e-9)


@pytest.mark.parametrize("memory", [None, 4.0])
def test_splicing_keeps_partitions_valid_and_finds_what_one_order_lacks(memory):
    problem, _ = from_instance(layered(80, memory=memory))
    start = (np.arange(80) * 5 // 80).astype(np.int64)
    value, stages = splice(problem, 5, start, orders=100)
    assert value < bottleneck(problem, start, 5)
    assert value == pytest.approx(bottleneck(problem, stages, 5))
    assert is_monotone(problem, stages) and stages.min() >= 0 and stages.max() < 5
    assert splice(problem, 5, stages, orders=10, seed=1)[0] <= value
    assert splice(problem, 5, start, orders=100)[1].tolist() == stages.tolist()


def test_splicing_ends_with_the_whole_graph():
    """Rounding may place the sum of a prefix that lacks a node without work above that of the whole."""
    bits = np.array([[1, 1, 1], [0, 0, 0], [1, 1, 0], [1, 0, 0]], np.uint8)
    rank, done = _ascending(bits, np.array([3.0, 0.0, 3.0000000000000004, 1.0]))
    assert rank.tolist() == [1, 3, 2, 0]
    assert done.tolist() == [0.0, 1.0, 3.0000000000000004, 3.0000000000000004]
    assert _ascending(bits[[1, 3, 0]], np.array([0.0, 1.0, 3.0]))[1].tolist() == [0.0, 1.0, 3.0]


def test_annealing_lands_on_its_own_count():
    """The incremental loads end where a fresh count starts: annealing on from the result changes nothing but labels."""
    problem, _ = from_instance(layered(40, memory=3.0))
    start = (np.arange(40) * 4 // 40).astype(np.int64)
    first = anneal(problem, 4, start, steps=400_000, seed=5)
    assert first[0] == pytest.approx(bottleneck(problem, first[1], 4), rel=1e-12)


def test_same_seed_and_evaluations_give_the_same_partition():
    graph = layered(150)
    one, two = solve(graph, 6, evaluations=600, seed=4), solve(graph, 6, evaluations=600, seed=4)
    assert one.stages.tolist() == two.stages.tolist()
    assert one.lower_bound == two.lower_bound
    assert one.stages.tolist() != solve(graph, 6, evaluations=600, seed=5).stages.tolist()


def test_a_search_goes_on_from_what_is_known():
    graph = layered(60)
    known = solve(graph, 5, evaluations=300)
    again = solve(graph, 5, evaluations=10, start=known.stages, low=known.lower_bound)
    assert again.bottleneck <= known.bottleneck and again.lower_bound >= known.lower_bound * (1 - 1e-12)
    for start in (known.stages[:-1], known.stages + 1, known.stages[::-1]):
        with pytest.raises(InputError):
            solve(graph, 5, evaluations=10, start=start)


def test_a_time_budget_is_kept():
    graph = layered(300)
    solve(graph, 8, seconds=2)  # compiles what graphs of this size use
    begin = time.monotonic()
    found = solve(graph, 8, seconds=2)
    assert time.monotonic() - begin < 4
    assert 0 < found.lower_bound <= found.bottleneck
    assert not found.proved


def test_history_only_improves():
    history = solve(layered(80), 5, evaluations=400).history
    seconds, values, lowers = zip(*history, strict=True)
    assert list(seconds) == sorted(seconds)
    assert list(values) == sorted(values, reverse=True)
    assert list(lowers) == sorted(lowers)


def test_an_interrupt_returns_the_best_so_far(monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("kit.partition.solve._cheap_bounds", interrupt)
    graph = layered(40)
    found = solve(graph, 3, evaluations=100)
    assert found.bottleneck == pytest.approx(worst(graph, found.stages.tolist()))
    assert found.lower_bound > 0


@pytest.mark.parametrize(("work", "output", "edges", "k", "expected"), [
    ([3.0], [1.0], [], 4, 3.0),  # k greater than n
    ([1.0, 2.0, 4.0], [9.0] * 3, [], 3, 4.0),  # isolated nodes: nobody consumes what they make
    ([0.0, 0.0], [1.0, 1.0], [(0, 1)], 2, 0.0),  # no work at all: one stage, no transfer
    ([1.0, 1.0, 1.0, 1.0], [0.0] * 4, [(0, 1), (2, 3)], 2, 2.0),  # two components
    ([1.0, 1.0, 1.0], [1e9, 1.0, 0.0], [(0, 1), (0, 2), (1, 2)], 3, 3.0),  # a dear skip connection
    ([1.0] * 7, [0.0] * 7, [(i, i + 1) for i in range(6)], 3, 3.0),  # n is no multiple of k
])
def test_odd_inputs(work, output, edges, k, expected):
    found = solve(instance(work, output, edges), k, evaluations=50)
    assert found.bottleneck == pytest.approx(expected)
    assert len(found.stages) == len(work)
    assert found.stages.max() < k


def test_units_do_not_matter():
    graph = layered(30)
    tiny = instance(graph.work * 1e-9, graph.output_bytes * 1e-9, graph.edges)
    one, two = solve(graph, 4, evaluations=200), solve(tiny, 4, evaluations=200)
    assert one.bottleneck == pytest.approx(two.bottleneck * 1e9, rel=1e-6)


@pytest.mark.parametrize("name", BASELINES)
@pytest.mark.parametrize("k", [1, 3, 50])
def test_baselines_give_valid_partitions(name, k):
    graph = layered(31)
    problem, _ = from_instance(graph)
    stages = BASELINES[name](graph, k)
    assert len(stages) == 31 and is_monotone(problem, stages)
    assert stages.min() >= 0 and stages.max() < k


def test_baselines_by_hand():
    graph = instance([1, 1, 1, 5], [0] * 4, [(0, 1), (1, 2), (2, 3)], param=[8, 1, 1, 0])
    assert BASELINES["equal nodes"](graph, 2).tolist() == [0, 0, 1, 1]
    assert BASELINES["work only"](graph, 2).tolist() == [0, 0, 0, 1]
    assert BASELINES["equal parameters"](graph, 2).tolist() == [0, 1, 1, 1]
    assert BASELINES["greedy"](graph, 2).tolist() == [0, 0, 0, 1]


def breaks_off(*arguments):
    raise RuntimeError("no compiled object yet")


def test_a_compiler_that_an_interrupt_breaks_off_leaves_the_best_so_far(monkeypatch):
    monkeypatch.setattr(solving, "_cheap_bounds", breaks_off)
    monkeypatch.setattr(solving, "was_interrupted", lambda: True)
    assert solve(layered(20), 3, evaluations=100).lower_bound > 0


def test_a_compiler_that_fails_by_itself_is_a_fault(monkeypatch):
    monkeypatch.setattr(solving, "_cheap_bounds", breaks_off)
    with pytest.raises(RuntimeError, match="no compiled object"):
        solve(layered(20), 3, evaluations=100)


def test_ctrl_c_while_kernels_load_returns_the_simplest_answer(monkeypatch):
    real = solving.from_instance

    def interrupted(instance):
        assert engine.held_back(threading.get_ident())  # as when a signal comes now
        return real(instance)

    monkeypatch.setattr(solving, "from_instance", interrupted)
    found = solve(layered(20), 3, evaluations=10**9)
    assert len(found.stages) == 20 and set(found.methods) == {"simple"} and 0 < found.lower_bound <= found.bottleneck
