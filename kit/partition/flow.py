"""Minimum cuts: the cheapest stage, as a relaxation, that holds some nodes and lacks others.

Leaving overflow aside, the cost of a set S is work(S) plus the weight of the nets that S cuts: a minimum cut in a graph
with two auxiliary nodes per net (Lawler's hypergraph gadget). Stages are convex: what lies on a path between two of
their nodes belongs to them. Towards a node that S must hold this is a set of implications, arcs of infinite capacity.
Among the free nodes convexity is left out: a cut is a lower bound, and exact where its side is convex.
"""

import numpy as np
from numba import njit

FREE, IN, OUT = 0, 1, 2
EPSILON = 1e-13


@njit(cache=True, nogil=True)
def reach(start, other, roots, mask):
    """Set `mask` (bool (n,)) true on every node that some root reaches, the roots included."""
    stack = np.empty(len(mask), np.int64)
    size = 0
    for v in roots:
        if not mask[v]:
            mask[v] = True
            stack[size] = v
            size += 1
    while size > 0:
        size -= 1
        v = stack[size]
        for e in range(start[v], start[v + 1]):
            w = other[e]
            if not mask[w]:
                mask[w] = True
                stack[size] = w
                size += 1


@njit(cache=True, nogil=True)
def _arc(network, count, tail, head, capacity):
    first, follow, to, residual = network
    to[count], residual[count], follow[count] = head, capacity, first[tail]
    first[tail] = count
    to[count + 1], residual[count + 1], follow[count + 1] = tail, 0.0, first[head]
    first[head] = count + 1
    return count + 2


@njit(cache=True, nogil=True)
def _place(v, state, n):
    """Vertex of node v: the terminals stand for the nodes whose side is fixed."""
    if state[v] == FREE:
        return v
    return n if state[v] == IN else n + 1


@njit(cache=True, nogil=True)
def build(problem, state, above, below, spare):
    """The network of the weight of the nets cut by S, over S that agree with `state`; `charge` adds what nodes cost.

    Parameters
    ----------
    problem : Problem
    state : int8 (n,)
        FREE, IN or OUT.
    above, below : bool (n,)
        Ancestors and descendants of the nodes that are IN, these included.
    spare : int
        How many more arcs shall fit.

    Returns
    -------
    (network, count, base) : the arrays (first, next, head, residual), arcs in use, constant part of the value
        Vertices: the nodes, n the source, n + 1 the sink, n + 2 + 2 j and n + 3 + 2 j for net j. The arcs of free
        nodes from the source and to the sink come first.
    """
    n, nets = len(problem.work), len(problem.weight)
    room = 2 * (2 * n + 2 * len(problem.succ) + 3 * nets + 2 * len(problem.pin) + 2 * nets + spare)
    network = (np.full(n + 2 + 2 * nets, -1, np.int64), np.empty(room, np.int64), np.empty(room, np.int64),
               np.empty(room, np.float64))
    count, base, source, sink = 0, 0.0, n, n + 1
    for v in range(n):
        if state[v] == FREE:
            count = _arc(network, count, source, v, 0.0)
            count = _arc(network, count, v, sink, 0.0)
    for j in range(nets):
        enter, leave = n + 2 + 2 * j, n + 3 + 2 * j
        held, lacked, free = False, False, False
        for p in range(problem.pin_start[j] - 1, problem.pin_start[j + 1]):
            v = problem.source[j] if p < problem.pin_start[j] else problem.pin[p]
            held |= state[v] == IN
            lacked |= state[v] == OUT
            free |= state[v] == FREE
        if not free and held != lacked:
            continue
        weight = problem.weight[j]
        if held and lacked:
            base += weight
            continue
        if held:
            enter = source
        if lacked:
            leave = sink
        count = _arc(network, count, enter, leave, weight)
        for p in range(problem.pin_start[j] - 1, problem.pin_start[j + 1]):
            v = problem.source[j] if p < problem.pin_start[j] else problem.pin[p]
            if state[v] == FREE:
                if not held:
                    count = _arc(network, count, v, enter, np.inf)
                if not lacked:
                    count = _arc(network, count, leave, v, np.inf)
    for a in range(n):
        for e in range(problem.succ_start[a], problem.succ_start[a + 1]):
            b = problem.succ[e]
            if above[b]:
                count = _implication(network, count, a, b, state, n)
            if below[a]:
                count = _implication(network, count, b, a, state, n)
    return network, count, base


@njit(cache=True, nogil=True)
def charge(network, state, cost):
    """Let holding each node cost ``cost``, float64 (n,), which may be negative; returns the constant part of that.

    No flow may have passed since `build`, or the residuals of then have to be put back first.
    """
    residual, arc, base = network[3], 0, 0.0
    for v in range(len(state)):
        if state[v] == IN:
            base += cost[v]
        elif state[v] == FREE:
            residual[arc], residual[arc + 2] = max(0.0, -cost[v]), max(0.0, cost[v])
            base += min(0.0, cost[v])
            arc += 4
    return base


@njit(cache=True, nogil=True)
def _implication(network, count, a, b, state, n):
    """An arc for "a in S implies b in S"; nothing where a side is fixed so that it holds anyhow."""
    tail, head = _place(a, state, n), _place(b, state, n)
    if tail == head or tail == n + 1 or head == n:
        return count
    return _arc(network, count, tail, head, np.inf)


@njit(cache=True, nogil=True)
def maximum_flow(network, source, sink, limit):
    """Dinic's algorithm; stops early once the flow reaches `limit`.

    Every augmentation is feasible, so the value is a valid lower bound on the cut even with rounding.

    Returns
    -------
    (flow, level) : float, int64 (vertices,)
        Once finished, vertices with a level of 0 or more are the source's side of the smallest minimum cut.
    """
    first, follow, to, residual = network
    vertices = len(first)
    level, queue = np.empty(vertices, np.int64), np.empty(vertices, np.int64)
    path, at, flow = np.empty(vertices + 1, np.int64), np.empty(vertices, np.int64), 0.0
    while True:
        level[:] = -1
        level[source], queue[0], front, end = 0, source, 0, 1
        while front < end and level[sink] < 0:
            u = queue[front]
            front += 1
            e = first[u]
            while e >= 0:
                if residual[e] > EPSILON and level[to[e]] < 0:
                    level[to[e]] = level[u] + 1
                    queue[end] = to[e]
                    end += 1
                e = follow[e]
        if level[sink] < 0:
            return flow, level
        at[:] = first
        size, u = 0, source
        while True:
            if u == sink:
                push, tight = np.inf, 0
                for i in range(size):
                    if residual[path[i]] < push:
                        push, tight = residual[path[i]], i
                if push == np.inf:
                    return np.inf, level
                for i in range(size):
                    residual[path[i]] -= push
                    residual[path[i] ^ 1] += push
                flow += push
                if flow >= limit:
                    return flow, level
                size = tight
                u = to[path[tight] ^ 1]
                continue
            e = at[u]
            while e >= 0 and not (residual[e] > EPSILON and level[to[e]] == level[u] + 1):
                e = follow[e]
            at[u] = e
            if e >= 0:
                path[size] = e
                size += 1
                u = to[e]
            elif u == source:
                break
            else:
                level[u] = -1
                size -= 1
                u = to[path[size] ^ 1]
                at[u] = follow[at[u]]


@njit(cache=True, nogil=True)
def surroundings(problem, state):
    """Ancestors and descendants of the IN nodes, these included: two bool (n,)."""
    n = len(problem.work)
    above, below = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    held = np.flatnonzero(state == IN)
    reach(problem.pred_start, problem.pred, held, above)
    reach(problem.succ_start, problem.succ, held, below)
    return above, below


@njit(cache=True, nogil=True)
def minimum_cut(problem, state, cost, limit, side):
    """Value of ``min cost(S) + cut(S)`` and, in `side` (bool (n,)), a minimiser unless `limit` was reached."""
    above, below = surroundings(problem, state)
    network, _, base = build(problem, state, above, below, 0)
    return cheapest(network, state, base + charge(network, state, cost), limit, side)


@njit(cache=True, nogil=True)
def cheapest(network, state, base, limit, side):
    """`minimum_cut` of a network whose value has the constant part `base`."""
    n = len(state)
    flow, level = maximum_flow(network, n, n + 1, limit - base)
    for v in range(n):
        side[v] = state[v] == IN or (state[v] == FREE and level[v] >= 0)
    return flow + base


@njit(cache=True, nogil=True)
def is_convex(problem, inside):
    """Whether no path leaves `inside` (bool (n,)) and comes back."""
    n = len(inside)
    above, below = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    held = np.flatnonzero(inside)
    reach(problem.pred_start, problem.pred, held, above)
    reach(problem.succ_start, problem.succ, held, below)
    return not np.any(above & below & ~inside)
