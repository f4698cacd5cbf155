"""Slicing of an order against a quadratic table, and the genetic search."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.partition.orders import attached_sources, keys_of, order_by, standard_orders
from kit.partition.problem import bottleneck, from_instance, stage_costs
from kit.partition.slicegraph import simple, slice_order, slicegraph
from tests.partition.small import cost, instance, optimum, random_instance, worst


def slow_slicing(graph, order, k):
    """Algorithm 1 word by word, every window's cost from the definition."""
    n = len(order)
    best = np.full((k + 1, n + 1), np.inf)
    best[:, 0] = 0
    for b in range(1, k + 1):
        for end in range(1, n + 1):
            best[b, end] = min(best[b - 1, end], *(max(best[b - 1, start], cost(graph, order[start:end]))
                                                   for start in range(end)))
    return best[k, n]


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 9))
def test_slicing_equals_the_slow_table(seed, k):
    graph = random_instance(seed, most=9)
    problem, unit = from_instance(graph)
    order = order_by(problem, np.random.default_rng(seed).random(len(problem.work)))
    value, stages = slice_order(problem, order, k)
    assert value * unit == pytest.approx(slow_slicing(graph, order, k), rel=1e-9, abs=1e-12)
    assert worst(graph, stages.tolist()) == pytest.approx(value * unit, rel=1e-9, abs=1e-12)
    assert (stages[graph.edges[:, 0]] <= stages[graph.edges[:, 1]]).all() if len(graph.edges) else True
    assert stages.max() < k


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.floats(0.5, 2.0))
def test_a_limit_prunes_only_what_does_not_beat_it(seed, k, factor):
    graph = random_instance(seed, most=9)
    problem, _ = from_instance(graph)
    order = order_by(problem, np.arange(len(problem.work)))
    value, _ = slice_order(problem, order, k)
    limited, stages = slice_order(problem, order, k, value * factor)
    if stages is None:
        assert value >= limited * (1 - 1e-9)
    else:
        assert limited == pytest.approx(value)


@pytest.mark.parametrize("seed", range(40))
def test_stage_costs_follow_the_definition(seed):
    graph = random_instance(seed)
    problem, unit = from_instance(graph)
    stages = np.sort(np.random.default_rng(seed).integers(0, 3, len(problem.work)))
    expected = [cost(graph, np.flatnonzero(stages == s)) for s in range(3)]
    np.testing.assert_allclose(stage_costs(problem, stages, 3) * unit, expected, rtol=1e-9, atol=1e-12)


def test_a_chain_by_hand():
    graph = instance([2, 3, 4], [1, 1, 0], [(0, 1), (1, 2)])
    problem, unit = from_instance(graph)
    value, stages = slice_order(problem, np.array([0, 1, 2]), 2)
    assert value * unit == pytest.approx(6)  # 2 + 3 work and 1 out, or 4 work and 1 in
    assert stages.tolist() == [0, 0, 1]


def test_orders_are_topological_and_keys_reproduce_them():
    for seed in range(20):
        graph = random_instance(seed, most=12)
        problem, _ = from_instance(graph)
        for order in standard_orders(problem):
            position = np.argsort(order)
            assert sorted(order) == list(range(len(problem.work)))
            assert all(position[u] < position[v] for u, v in graph.edges)
            assert order_by(problem, keys_of(order)).tolist() == order.tolist()


def test_attached_sources_stand_before_their_first_consumer():
    graph = instance([0, 5, 5, 5], [1, 1, 1, 0], [(0, 3), (1, 2), (2, 3)])
    problem, _ = from_instance(graph)
    attached = attached_sources(problem)
    assert attached.tolist() == [True, False, False, False]
    assert order_by(problem, np.zeros(4), attached).tolist() == [1, 2, 0, 3]


@pytest.mark.parametrize("seed", range(12))
def test_slicegraph_reaches_small_optima(seed):
    graph = random_instance(seed, most=6)
    problem, unit = from_instance(graph)
    value, stages, count = slicegraph(problem, 3, population=40, generations=20)
    assert bottleneck(problem, stages, 3) == pytest.approx(value)
    assert value * unit == pytest.approx(optimum(graph, 3), rel=1e-9)
    assert count == 40 + 19 * 32


def test_slicegraph_does_not_depend_on_threads():
    problem, _ = from_instance(random_instance(7, most=9))
    one = slicegraph(problem, 3, population=10, generations=5, seed=3)
    two = slicegraph(problem, 3, population=10, generations=5, seed=3, threads=2)
    assert one[0] == two[0] and one[1].tolist() == two[1].tolist()


def test_simple_bound_by_hand():
    graph = instance([4, 2], [0, 0], [], param=[6, 6], memory=5)
    problem, unit = from_instance(graph)
    # Two stages: 6 of work and 12 - 2 * 5 of overflow shared; the first node alone costs 4 + 1.
    assert simple(problem, 2) * unit == pytest.approx(5)
    assert simple(problem, 1) * unit == pytest.approx(6 + 7)
