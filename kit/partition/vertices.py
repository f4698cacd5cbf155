"""The search below one anchor: branch on nodes, bound by minimum cuts; see `kit.partition.refutation`."""

import numpy as np
from numba import njit

from kit.partition.flow import FREE, IN, OUT, build, charge, cheapest, is_convex, surroundings
from kit.partition.implications import exclude_far, propagate
from kit.partition.problem import set_cost, total, work_and_transfers

MARGIN = 1e-9
ROUNDING = 1e-13
PROVED, FOUND, LIMIT = 1, 0, -1


@njit(cache=True, nogil=True)
def _relaxed_cost(problem, side, multiplier):
    """f(S) with the overflow term replaced by its multiple, ``m (param(S) - capacity) <= overflow``."""
    cost, held, _ = work_and_transfers(problem, side)
    if multiplier > 0:
        cost += multiplier * (held - problem.capacity)
    return cost


@njit(cache=True, nogil=True)
def _network(problem, state):
    """What all cuts of a vertex share: the network, its capacities before any flow, constant part of the value."""
    above, below = surroundings(problem, state)
    network, count, fixed = build(problem, state, above, below, 0)
    return network, network[3][:count].copy(), fixed


@njit(cache=True, nogil=True)
def _cheapest(shared, state, cost, limit, side):
    """`kit.partition.flow.minimum_cut` in a network that is there."""
    network, capacities, fixed = shared
    network[3][:len(capacities)] = capacities
    return cheapest(network, state, fixed + charge(network, state, cost), limit, side)


@njit(cache=True, nogil=True)
def _bound(problem, values, target, threshold, state, shared, multiplier, mu, low, high):
    """Lower the Lagrangian bound over mu; `low` and `high` hold minimisers within and beyond the target.

    Returns (proved, mu): whether some mu bounds the worth by `threshold`.
    """
    side = np.empty(len(values), np.bool_)
    low_cost, low_worth = _relaxed_cost(problem, low, multiplier), total(values, low)
    high_cost, high_worth = _relaxed_cost(problem, high, multiplier), total(values, high)
    constant = multiplier * problem.capacity if multiplier > 0 else 0.0
    cost = problem.work + multiplier * problem.param
    # A steep slope makes large numbers cancel: what that may lose counts against the proof.
    loss = ROUNDING * (target + abs(constant) + cost.sum() + problem.weight.sum())
    for step in range(10):
        if step > 0 or mu <= 0:
            if high_cost - low_cost < 1e-12:
                break
            mu = (high_worth - low_worth) / (high_cost - low_cost)
            # The bound is convex in mu, and above the lines of the two sets, which cross here.
            if mu <= 0 or low_worth + mu * (target - low_cost) > threshold * (1 + MARGIN):
                break
        enough = target + constant + loss - threshold / mu
        if _cheapest(shared, state, cost - values / mu, enough + MARGIN * abs(enough), side) >= enough:
            return True, mu
        side_cost, worth = _relaxed_cost(problem, side, multiplier), total(values, side)
        if side_cost <= target:
            if step > 0 and worth - mu * side_cost <= low_worth - mu * low_cost + 1e-9:
                break
            low[:], low_cost, low_worth = side, side_cost, worth
        else:
            if step > 0 and worth - mu * side_cost <= high_worth - mu * high_cost + 1e-9:
                break
            high[:], high_cost, high_worth = side, side_cost, worth
    return False, mu


@njit(cache=True, nogil=True)
def _branch_node(values, state, low, high):
    """A free node on which the two minimisers disagree, the most valuable; else the most valuable free one."""
    chosen, worth = -1, -1.0
    for v in range(len(values)):
        if state[v] == FREE and high[v] != low[v] and values[v] > worth:
            chosen, worth = v, values[v]
    if chosen < 0:
        for v in range(len(values)):
            if state[v] == FREE and values[v] > worth:
                chosen, worth = v, values[v]
    return chosen


@njit(cache=True, nogil=True)
def _agrees(side, state):
    return not (np.any((state == IN) & ~side) or np.any((state == OUT) & side))


@njit(cache=True, nogil=True)
def search(problem, values, target, threshold, pairs, states, lows, highs, slopes, size, budget, found):
    """Depth-first search from the open vertices ``states[:size]``, ``budget`` of them at most.

    A vertex starts from the sets its parent ended with: `lows`, which keep to the target, and `highs`, which do not;
    where one still agrees with what is fixed, it saves a cut. Returns (status, open vertices left, vertices looked at);
    a counterexample is written to `found`.
    """
    n, looked, ceiling = len(values), 0, target * (1 + MARGIN)
    low, high = np.empty(n, np.bool_), np.empty(n, np.bool_)
    while size > 0:
        if looked >= budget:
            return LIMIT, size, looked
        size -= 1
        looked += 1
        state, mu = states[size].copy(), slopes[size]
        if not propagate(problem, state, pairs, ceiling):
            continue
        low[:], high[:] = lows[size], highs[size]
        worth = 0.0
        for v in range(n):
            if state[v] != OUT:
                worth += values[v]
        if worth <= threshold:
            continue
        shared = _network(problem, state)
        if not _agrees(low, state) and _cheapest(shared, state, problem.work, ceiling * (1 + MARGIN), low) > ceiling:
            continue
        if _agrees(high, state):
            mu = 0.0
        else:
            for v in range(n):
                high[v] = state[v] != OUT
        proved, mu = _bound(problem, values, target, threshold, state, shared, 0.0, mu, low, high)
        slopes[size] = mu
        if not proved and problem.capacity < np.inf and total(problem.param, low) > problem.capacity:
            proved = _spill(problem, values, target, threshold, state, shared, mu)
        if proved:
            continue
        if total(values, low) > threshold and set_cost(problem, low) <= target and is_convex(problem, low):
            found[:] = low
            return FOUND, size, looked
        v = _branch_node(values, state, low, high)
        if v < 0:
            # Every node is fixed and the set neither costs too much nor is worth too little: only the rounding
            # margin is between it and a counterexample.
            found[:] = low
            return FOUND, size, looked
        for side in (OUT, IN):
            states[size], lows[size], highs[size], slopes[size] = state, low, high, mu
            states[size, v] = side
            if side == IN:
                exclude_far(problem, v, ceiling, states[size])
            size += 1
    return PROVED, 0, looked


@njit(cache=True, nogil=True)
def _spill(problem, values, target, threshold, state, shared, mu):
    """Bounds with overflow stated: as a full cost, then by half."""
    n = len(values)
    low, high = np.empty(n, np.bool_), np.empty(n, np.bool_)
    for multiplier in (1.0, 0.5):
        for v in range(n):
            high[v] = state[v] != OUT
        cost = problem.work + multiplier * problem.param
        constant = multiplier * problem.capacity
        least = _cheapest(shared, state, cost, np.inf, low) - constant
        if least > target * (1 + MARGIN):
            return True
        proved, _ = _bound(problem, values, target, threshold, state, shared, multiplier, mu, low, high)
        if proved:
            return True
    return False
