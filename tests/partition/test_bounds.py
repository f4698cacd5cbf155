"""Every bound against brute force: none may exceed the optimum."""

import time
from itertools import product

import numpy as np
import pytest

from kit.partition import bounds, configuration_lp, mip
from kit.partition.anchors import anchor_bounds
from kit.partition.certificate import check
from kit.partition.contraction import contract
from kit.partition.flow import FREE, IN, OUT, is_convex, minimum_cut
from kit.partition.implications import pair_costs
from kit.partition.orders import order_by
from kit.partition.problem import assemble, edge_list, from_instance, set_cost
from kit.partition.refutation import refute, restrict
from kit.partition.vertices import FOUND, PROVED
from kit.partition.windows import best_windows, groups_along, rough_values
from tests.partition.small import cost, instance, optimum, random_instance, worst

SLACK = 1e-9


def convex_sets(problem):
    """Every convex set that is not empty, as bool (n,)."""
    n = len(problem.work)
    sets = [np.array([code >> v & 1 for v in range(n)], bool) for code in range(1, 2**n)]
    return [inside for inside in sets if is_convex(problem, inside)]


@pytest.mark.parametrize("seed", range(120))
def test_cheap_bounds_never_exceed_the_optimum(seed):
    graph, k = random_instance(seed), 1 + seed % 4
    problem, unit = from_instance(graph)
    best = optimum(graph, k)
    assert bounds.simple_bound(problem, k)[0] * unit <= best + SLACK
    assert bounds.anchor_bound(problem, k)[0] * unit <= best + SLACK
    lower, _, _ = bounds.ideals_bound(problem, k, np.zeros(len(problem.work), np.int64), limit=1000)
    assert lower * unit == pytest.approx(best, rel=1e-8, abs=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_configuration_bound_never_exceeds_the_optimum(seed):
    graph, k = random_instance(seed, most=6), 2 + seed % 3
    problem, unit = from_instance(graph)
    best = optimum(graph, k)
    low = bounds.simple_bound(problem, k)[0]
    found = list(bounds.configuration_bound(problem, k, low, 1.05 * best / unit, deadline=time.monotonic() + 0.15))
    for lower, certificate in found:
        assert lower * unit <= best + SLACK
        again = check(graph, k, {**certificate, "bound": lower * unit})
        assert again == pytest.approx(lower * unit)
    tops = [lower for lower, _ in found]
    assert tops == sorted(tops)


@pytest.mark.parametrize("seed", range(40))
def test_configuration_bound_over_groups_never_exceeds_the_optimum(seed, monkeypatch):
    monkeypatch.setattr(configuration_lp, "SINGLE", 0)
    monkeypatch.setattr(configuration_lp, "ROWS", 1 + seed % 5)
    monkeypatch.setattr(configuration_lp, "ORDERS", 4)
    graph, k = random_instance(seed, most=6), 2 + seed % 3
    problem, unit = from_instance(graph)
    best = optimum(graph, k)
    low = bounds.simple_bound(problem, k)[0]
    for lower, certificate in bounds.configuration_bound(problem, k, low, 1.05 * best / unit,
                                                         deadline=time.monotonic() + 0.15):
        assert lower * unit <= best + SLACK
        assert check(graph, k, {**certificate, "bound": lower * unit}) == pytest.approx(lower * unit)


@pytest.mark.parametrize("seed", range(40))
def test_borders_hold_for_every_partition_below_the_ceiling(seed):
    graph, k = random_instance(seed, most=5), 2 + seed % 3
    problem, unit = from_instance(graph)
    n, edges = len(graph.work), graph.edges
    ceiling = 1.2 * optimum(graph, k)
    low, high = mip.borders(problem, k, ceiling / unit)
    for stages in map(np.array, product(range(k), repeat=n)):
        if (stages[edges[:, 0]] <= stages[edges[:, 1]]).all() and worst(graph, stages) <= ceiling:
            first = stages[:, None] <= np.arange(k - 1)
            assert (low <= first).all() and (first <= high).all()


@pytest.mark.parametrize("seed", range(30))
def test_windows_are_the_most_valuable_below_their_target(seed):
    graph = random_instance(seed)
    problem, unit = from_instance(graph)
    random, n = np.random.default_rng(seed), len(graph.work)
    order = order_by(problem, random.random(n))
    value, target = random.uniform(0, 1, n), random.uniform(0, 1.2) * cost(graph, range(n)) + 1e-9
    start, worth = np.empty(n, np.int64), np.empty(n)
    best_windows(problem, order, value, target / unit, start, worth)
    for r in range(n):
        fitting = [value[order[low:r + 1]].sum() for low in range(r + 1)
                   if cost(graph, order[low:r + 1].tolist()) <= target]
        assert worth[r] == pytest.approx(max(fitting, default=0))
        assert value[order[start[r]:r + 1]].sum() == pytest.approx(worth[r])


@pytest.mark.parametrize("rows", [1, 3, 100])
def test_groups_share_the_nodes_along_an_order(rows):
    graph = random_instance(11, most=9)
    problem, _ = from_instance(graph)
    value, order = rough_values(problem), order_by(problem, np.arange(len(graph.work)))
    group = groups_along(problem, order, value, rows)
    assert (value > 0).all()
    assert sorted(set(group.tolist())) == list(range(group.max() + 1))
    assert (np.diff(group[order]) >= 0).all()


@pytest.mark.parametrize("seed", range(60))
def test_integer_programs_never_exceed_the_optimum(seed):
    graph, k = random_instance(seed, most=6), 2 + seed % 3
    problem, unit = from_instance(graph)
    best = optimum(graph, k)
    assert bounds.bottleneck_bound(problem, k, seconds=5)[0] * unit <= best + SLACK
    assert bounds.guess_bound(problem, k, seconds=5)[0] * unit <= best + SLACK
    lower, _, _ = bounds.exact_bound(problem, k, np.zeros(len(problem.work), np.int64), seconds=5)
    assert lower * unit <= best + SLACK
    assert lower * unit >= best * (1 - 1e-5) - SLACK


@pytest.mark.parametrize("seed", range(60))
def test_refutation_is_right_about_every_convex_set(seed):
    graph = random_instance(seed, most=7)
    problem, _ = from_instance(graph)
    random, k = np.random.default_rng(seed), 2 + seed % 3
    values, sets = random.uniform(0, 1, len(problem.work)), convex_sets(problem)
    costs = np.array([set_cost(problem, inside) for inside in sets])
    target = float(np.quantile(costs, random.uniform(0.1, 0.9)))
    worth = max([values[s].sum() for s, c in zip(sets, costs, strict=True) if c <= target], default=0.0)
    for pairs, local in ((None, False), (None, True), (pair_costs(problem, costs.max()), False)):
        status, found = refute(problem, values, target, k, pairs=pairs, local=local)
        assert status == (PROVED if worth <= values.sum() / k * (1 - 1e-9) else FOUND)
        for inside in found:
            assert set_cost(problem, inside) <= target * (1 + 1e-8)
            assert values[inside].sum() > values.sum() / k * (1 - 2e-9) and is_convex(problem, inside)


@pytest.mark.parametrize("seed", range(40))
def test_minimum_cut_is_no_dearer_than_any_convex_set(seed):
    problem, _ = from_instance(random_instance(seed, overflow=False))
    random, n = np.random.default_rng(seed), len(problem.work)
    state = random.choice([FREE, OUT], n).astype(np.int8)
    state[random.integers(n)] = IN
    cost, side = problem.work - random.uniform(0, 1, n), np.empty(n, bool)
    value = minimum_cut(problem, state, cost, np.inf, side)
    own = [cost[s].sum() + (set_cost(problem, s) - problem.work[s].sum()) for s in convex_sets(problem)
           if s[state == IN].all() and not s[state == OUT].any()]
    assert value <= min(own, default=np.inf) + 1e-9
    if is_convex(problem, side):
        assert value == pytest.approx(cost[side].sum() + (set_cost(problem, side) - problem.work[side].sum()))


@pytest.mark.parametrize("seed", range(60))
def test_anchors_lie_below_the_cheapest_convex_set_around(seed):
    problem, _ = from_instance(random_instance(seed))
    n, sets = len(problem.work), convex_sets(problem)
    values = np.zeros(n)
    anchor_bounds(problem, np.arange(n), np.inf, values)
    for v in range(n):
        assert values[v] <= min(set_cost(problem, s) for s in sets if s[v]) + 1e-9


@pytest.mark.parametrize("seed", range(60))
def test_contraction_keeps_every_partition_below_its_target(seed):
    graph, k = random_instance(seed, most=6), 2 + seed % 3
    problem, unit = from_instance(graph)
    best = optimum(graph, k) / unit
    target = best * (1 + 1e-6) + 1e-9
    merged = contract(problem, target)
    assert not merged.closed
    lower, _, _ = bounds.ideals_bound(merged.problem, k, np.zeros(len(merged.problem.work), np.int64), limit=1000)
    assert lower == pytest.approx(best, rel=1e-8, abs=1e-12)
    assert contract(problem, best * 0.999).closed or bounds.ideals_bound(
        contract(problem, best * 0.999).problem, k, np.zeros(contract(problem, best * 0.999).group.max() + 1, np.int64),
        limit=1000)[0] >= best * 0.998


def test_anchor_by_hand():
    # The middle node alone pays 1 + 5 + 5; with the source 4 + 1 + 5; all three together 4 + 1 + 4.
    graph = instance([4, 1, 4], [5, 5, 0], [(0, 1), (1, 2)])
    problem, unit = from_instance(graph)
    values = np.zeros(3)
    anchor_bounds(problem, np.arange(3), np.inf, values)
    np.testing.assert_allclose(values * unit, [9, 9, 9])


CERTIFIED = [(5, 3), (8, 2), (13, 3), (21, 4)]


@pytest.mark.parametrize(("seed", "k"), CERTIFIED)
def test_a_tampered_certificate_proves_nothing(seed, k):
    graph = random_instance(seed)
    best = optimum(graph, k)
    certificate = {"method": "ideals", "limit": 1000, "bound": best * (1 - 1e-8)}
    assert check(graph, k, certificate) == pytest.approx(best, rel=1e-6)
    assert check(graph, k, {**certificate, "bound": best * 1.01}) == 0
    values = {"method": "configuration", "values": graph.work.tolist(), "bound": best * 1.01}
    assert check(graph, k, values) == 0


def test_certificates_refuse_what_does_not_fit():
    from evaluation.errors import InputError

    graph = random_instance(5)
    for certificate in ({"method": "anchor", "node": 99}, {"method": "configuration", "bound": 1.0, "values": [1.0]},
                        {"method": "configuration", "bound": 1.0, "values": [-1.0] * len(graph.work)},
                        {"method": "ideals", "bound": float("nan")}):
        with pytest.raises(InputError):
            check(graph, 2, certificate)
    assert check(graph, 2, {"method": "exact", "bound": 1.0}) == 0


def plainly_restricted(problem, keep):
    """What `restrict` returns, by sorting and searching whole arrays."""
    nodes = np.flatnonzero(keep)
    outside = len(nodes)
    index = np.full(len(keep), outside)
    index[nodes] = np.arange(outside)
    net = np.repeat(np.arange(len(problem.weight)), np.diff(problem.pin_start))
    source, pin = index[problem.source], index[problem.pin]
    touched = source < outside
    touched[net[pin < outside]] = True
    pairs = np.unique(np.stack([net, pin], 1)[touched[net] & (pin != source[net])], axis=0)
    start = np.zeros(touched.sum() + 1, np.int64)
    np.cumsum(np.bincount(pairs[:, 0], minlength=len(touched))[touched], out=start[1:])
    edges = index[edge_list(problem)]
    nets = (problem.weight[touched], source[touched], start, np.ascontiguousarray(pairs[:, 1]))
    return assemble(np.append(problem.work[nodes], 0.0), np.append(problem.param[nodes], 0.0), problem.capacity,
                    edges[(edges < outside).all(1)], nets), nodes


@pytest.mark.parametrize("seed", range(40))
def test_a_restricted_problem_is_the_plain_one(seed):
    problem, _ = from_instance(random_instance(seed, most=12))
    keep = np.random.default_rng(seed).random(len(problem.work)) < 0.6
    (part, nodes), (expected, own) = restrict(problem, keep), plainly_restricted(problem, keep)
    assert nodes.tolist() == own.tolist()
    for name, values in expected._asdict().items():
        assert np.array_equal(getattr(part, name), values), name
