"""Anchors: whatever k is, some stage holds v, so no partition beats the cheapest convex set around v."""

import numpy as np
from numba import njit

from kit.partition.flow import FREE, IN, minimum_cut
from kit.partition.problem import total

ROUNDS = 8


@njit(cache=True, nogil=True)
def cheapest_stage(problem, state, limit, side):
    """Lower bound on f(S) over convex S that agree with `state` (at least one node IN), overflow included.

    ``max(0, x) >= m x`` for every multiplier m in [0, 1] turns overflow into node costs; the bound is concave in m, and
    its maximum is where the minimisers switch between fitting the memory and not.

    Parameters
    ----------
    problem : Problem
    state : int8 (n,)
    limit : float
        Stop as soon as the bound reaches this.
    side : bool (n,)
        Written: the minimiser at the last multiplier.

    Returns
    -------
    (bound, multiplier) : float, float
    """
    capacity = problem.capacity
    value = minimum_cut(problem, state, problem.work, limit, side)
    if value >= limit or capacity == np.inf:
        return value, 0.0
    held = total(problem.param, side)
    if held <= capacity:
        return value, 0.0
    # Lines value(m) = intercept + slope * m of the two minimisers that enclose the maximum.
    slope0, at0 = held - capacity, value
    best, chosen = value, 0.0
    top = minimum_cut(problem, state, problem.work + problem.param, np.inf, side) - capacity
    if top > best:
        best, chosen = top, 1.0
    slope1 = total(problem.param, side) - capacity
    if slope1 >= 0 or best >= limit:
        return best, chosen
    at1 = top - slope1
    for _ in range(ROUNDS):
        m = (at1 - at0) / (slope0 - slope1)
        if not 0.0 < m < 1.0:
            break
        value = minimum_cut(problem, state, problem.work + m * problem.param, np.inf, side) - m * capacity
        if value > best:
            best, chosen = value, m
        slope = total(problem.param, side) - capacity
        if best >= limit or value >= at0 + slope0 * m - 1e-12:
            break
        if slope > 0:
            slope0, at0 = slope, value - slope * m
        else:
            slope1, at1 = slope, value - slope * m
    return best, chosen


@njit(cache=True, nogil=True)
def anchor_bounds(problem, nodes, limit, bounds):
    """`cheapest_stage` of each of `nodes`, written to `bounds`; stops after one that reaches `limit`."""
    n = len(problem.work)
    state, side = np.zeros(n, np.int8), np.empty(n, np.bool_)
    for i in range(len(nodes)):
        state[nodes[i]] = IN
        bounds[i], _ = cheapest_stage(problem, state, limit, side)
        state[nodes[i]] = FREE
        if bounds[i] >= limit:
            return i + 1
    return len(nodes)
