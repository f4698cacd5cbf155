"""What follows for other nodes once some are in a convex set of limited cost, and some are not."""

import numpy as np
from numba import njit

from kit.partition.flow import FREE, IN, OUT, minimum_cut, reach, surroundings


@njit(cache=True, nogil=True)
def pair_costs(problem, limit):
    """Lower bound on the cost of a convex set that holds both nodes of each pair, float64 (n, n), capped at `limit`."""
    n = len(problem.work)
    state, side, costs = np.zeros(n, np.int8), np.empty(n, np.bool_), np.zeros((n, n))
    for u in range(n):
        for v in range(u, n):
            state[u], state[v] = IN, IN
            costs[u, v] = min(limit, minimum_cut(problem, state, problem.work, limit, side))
            costs[v, u] = costs[u, v]
            state[u], state[v] = FREE, FREE
    return costs


@njit(cache=True, nogil=True)
def propagate(problem, state, pairs, ceiling):
    """Fix what convexity and dear pairs imply; False where that contradicts itself."""
    n = len(state)
    for u in range(len(pairs)):
        if state[u] == IN:
            for v in range(n):
                if pairs[u, v] > ceiling:
                    if state[v] == IN:
                        return False
                    state[v] = OUT
    above, below = surroundings(problem, state)
    lost_below, lost_above = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    lost = state == OUT
    reach(problem.succ_start, problem.succ, np.flatnonzero(lost & below), lost_below)
    reach(problem.pred_start, problem.pred, np.flatnonzero(lost & above), lost_above)
    for v in range(n):
        if above[v] and below[v]:
            if state[v] == OUT:
                return False
            state[v] = IN
        elif lost_below[v] or lost_above[v]:
            if state[v] == IN:
                return False
            state[v] = OUT
    return True


@njit(cache=True, nogil=True)
def _exclude(start, other, back_start, back, work, v, ceiling, state, wait, mark, stack):
    """Descendants along `other` that need more work than `ceiling` together with what lies between v and them: OUT.

    What lies between grows along a path, so everything behind such a node is out as well. `wait` (zeros) and `mark`
    (minus ones) are int64 (n,) and left as found.
    """
    first, end = 0, 1
    stack[0] = v
    mark[v] = v
    while first < end:
        x = stack[first]
        first += 1
        for e in range(start[x], start[x + 1]):
            if mark[other[e]] != v:
                mark[other[e]] = v
                stack[end] = other[e]
                end += 1
            wait[other[e]] += 1
    # Topological order of what v reaches, ended where the ceiling is passed.
    head, tail = 0, 1
    order = np.empty(end, np.int64)
    order[0] = v
    between = np.empty(end, np.int64)
    seen = np.full(len(state), -1, np.int64)
    while head < tail:
        x = order[head]
        head += 1
        if x != v and state[x] == FREE:
            total, size = 0.0, 1
            between[0] = x
            seen[x] = x
            while size > 0 and total <= ceiling:
                size -= 1
                y = between[size]
                total += work[y]
                for e in range(back_start[y], back_start[y + 1]):
                    z = back[e]
                    if mark[z] == v and seen[z] != x:
                        seen[z] = x
                        between[size] = z
                        size += 1
            if total > ceiling:
                state[x] = OUT
        if x != v and state[x] == OUT:
            continue
        for e in range(start[x], start[x + 1]):
            wait[other[e]] -= 1
            if wait[other[e]] == 0:
                order[tail] = other[e]
                tail += 1
    for i in range(end):
        w = stack[i]
        # Never reached from the front: behind a node that is out.
        if wait[w] > 0 and w != v and state[w] == FREE:
            state[w] = OUT
        wait[w] = 0
        mark[w] = -1


@njit(cache=True, nogil=True)
def exclude_far(problem, v, ceiling, state):
    """Mark OUT what cannot share a stage with v because the work between them passes `ceiling`."""
    n = len(state)
    wait, mark, stack = np.zeros(n, np.int64), np.full(n, -1, np.int64), np.empty(n, np.int64)
    _exclude(problem.succ_start, problem.succ, problem.pred_start, problem.pred, problem.work, v, ceiling, state, wait,
             mark, stack)
    _exclude(problem.pred_start, problem.pred, problem.succ_start, problem.succ, problem.work, v, ceiling, state, wait,
             mark, stack)
