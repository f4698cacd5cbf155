"""Proof that no stage is worth its share: branch and bound over minimum cuts.

For node values y >= 0, let every convex set S with cost f(S) <= T be worth y(S) < y(V) / k. The stages of a partition
into k stages of cost at most T would be worth y(V) together: there is none, so OPT > T. The proof goes through the
nodes as *anchors*: sets that hold the anchor and none of the anchors before it. At each vertex of the search
the Lagrangian

    y(S) <= mu T - min over S of (mu f(S) - y(S))        for every mu >= 0

is a minimum cut, and so is the cheapest set, ``min f(S) > T``.
"""

import time

import numpy as np
from numba import njit

from kit.partition.flow import FREE, IN, OUT, reach
from kit.partition.implications import exclude_far, propagate
from kit.partition.problem import Problem
from kit.partition.vertices import FOUND, LIMIT, MARGIN, PROVED, search

SMALL = 200  # nodes up to which the search works on the whole graph
FIRST, GROWTH = 60, 4  # vertices for an anchor before the next one has its turn: some are far harder than others


@njit(cache=True, nogil=True)
def _grouped(keys, n):
    """Counting sort of small integers: a stable order, int64 (m,), and where runs start, int64 (n + 1,)."""
    start, order = np.zeros(n + 1, np.int64), np.empty(len(keys), np.int64)
    for key in keys:
        start[key + 1] += 1
    for v in range(n):
        start[v + 1] += start[v]
    at = start.copy()
    for i in range(len(keys)):
        order[at[keys[i]]] = i
        at[keys[i]] += 1
    return order, start


@njit(cache=True, nogil=True)
def _kept_nets(problem, index, outside):
    """Nets that touch a node with an index below `outside`: (weight, source, pin_start, pin, net of each pin)."""
    nets = len(problem.weight)
    weight, source, start = np.empty(nets), np.empty(nets, np.int64), np.zeros(nets + 1, np.int64)
    pin, net = np.empty(len(problem.pin), np.int64), np.empty(len(problem.pin), np.int64)
    kept, end = 0, 0
    for j in range(nets):
        source[kept], touched, beyond = index[problem.source[j]], index[problem.source[j]] < outside, False
        for p in range(problem.pin_start[j], problem.pin_start[j + 1]):
            if index[problem.pin[p]] < outside:
                pin[end], net[end], touched = index[problem.pin[p]], kept, True
                end += 1
            else:
                beyond = True
        if not touched:
            continue
        if beyond and source[kept] < outside:
            pin[end], net[end] = outside, kept
            end += 1
        weight[kept] = problem.weight[j]
        kept += 1
        start[kept] = end
    return weight[:kept], source[:kept], start[:kept + 1], pin[:end], net[:end]


@njit(cache=True, nogil=True)
def _kept_links(start, other, nodes, index):
    """Neighbours of the kept nodes among themselves: int64 (p + 2,), int64; the last node has none."""
    outside = len(nodes)
    first, kept, end = np.zeros(outside + 2, np.int64), np.empty(len(other), np.int64), 0
    for i in range(outside):
        for e in range(start[nodes[i]], start[nodes[i] + 1]):
            if index[other[e]] < outside:
                kept[end] = index[other[e]]
                end += 1
        first[i + 1] = end
    first[outside + 1] = end
    return first, kept[:end]


@njit(cache=True, nogil=True)
def restrict(problem, keep):
    """The problem on the nodes `keep`, bool (n,), all others standing outside of every set in question.

    Returns
    -------
    (part, nodes) : Problem, int64 (p,)
        Node i of the part is ``nodes[i]``; its last node, without work or edges, stands for whatever else nets touch.
    """
    nodes = np.flatnonzero(keep)
    outside = len(nodes)
    index = np.full(len(keep), outside)
    index[nodes] = np.arange(outside)
    weight, source, pin_start, pin, net = _kept_nets(problem, index, outside)
    made, made_start = _grouped(source, outside + 1)
    used, used_start = _grouped(pin, outside + 1)
    succ_start, succ = _kept_links(problem.succ_start, problem.succ, nodes, index)
    pred_start, pred = _kept_links(problem.pred_start, problem.pred, nodes, index)
    work, param = np.zeros(outside + 1), np.zeros(outside + 1)
    work[:outside], param[:outside] = problem.work[nodes], problem.param[nodes]
    return Problem(work, param, problem.capacity, weight, source, pin_start, pin, made_start, made, used_start,
                   net[used], succ_start, succ, pred_start, pred), nodes


class _Stack:
    """Open vertices of a search, with room for one search of n nodes."""

    def __init__(self, n, slope):
        self.states, self.slopes = np.zeros((2 * n + 2, n), np.int8), np.zeros(2 * n + 2)
        self.lows, self.highs = np.zeros((2, 2 * n + 2, n), bool)
        self.slope = slope

    def begin(self, state):
        """Only the root, in this state."""
        self.states[0], self.lows[0], self.highs[0], self.slopes[0] = state, False, False, self.slope

    def arrays(self):
        """What `search` takes."""
        return self.states, self.lows, self.highs, self.slopes


def _local(problem, values, threshold, state, slope):
    """What is left around an anchor: (part, its values, nodes, stack), or None where it is not worth enough."""
    if not propagate(problem, state, np.zeros((0, len(state))), np.inf) or values[state != OUT].sum() <= threshold:
        return None
    above, below = np.zeros((2, len(state)), bool)
    held = np.flatnonzero(state != OUT)
    reach(problem.pred_start, problem.pred, held, above)
    reach(problem.succ_start, problem.succ, held, below)
    part, nodes = restrict(problem, above & below)
    stack = _Stack(len(nodes) + 1, slope)
    stack.begin(np.append(state[nodes], np.int8(OUT)))
    return part, np.append(values[nodes], 0.0), nodes, stack


def refute(problem, values, target, k, *, deadline=None, budget=100_000, pairs=None, order=None, most=1, local=None):
    """Prove that no convex set of cost at most `target` is worth a k-th of all values.

    Parameters
    ----------
    problem : Problem
    values : float64 (n,)
        Not negative.
    target : float
    k : int
    deadline : float, optional
        Of `time.monotonic`.
    budget : int
        Vertices of the search at most.
    pairs : float64 (n, n), optional
        `pair_costs` of the problem; with them the search is shorter.
    order : int64 (n,), optional
        The anchors' order; by falling value if not given.
    most : int
        Stop after so many counterexamples, one an anchor.
    local : bool, optional
        Search on what is left of the graph around each anchor; without `pairs` only. If not given, on large graphs.

    Returns
    -------
    (status, found) : int, bool (s, n)
        PROVED: OPT > target. FOUND: the sets of `found` are worth more. LIMIT: undecided.
    """
    n = len(problem.work)
    threshold = values.sum() / k * (1 - MARGIN)
    order = np.argsort(-values, kind="stable") if order is None else order
    local = pairs is None and n > SMALL if local is None else local
    pairs = np.zeros((0, n)) if pairs is None else pairs
    found, slope = [], values.sum() / max(problem.work.sum(), target, 1e-9)
    whole = (problem, values, np.arange(n), _Stack(0 if local else n, slope))
    rest = np.cumsum(values[order[::-1]])[::-1]  # what an anchor and those after it are worth
    waiting, allowance, state = np.flatnonzero(rest > threshold), FIRST, np.empty(n, np.int8)
    while len(waiting) and not found:
        late = []
        for at in waiting:
            state[:] = FREE
            state[order[:at]] = OUT
            state[order[at]] = IN
            exclude_far(problem, order[at], target * (1 + MARGIN), state)
            place = _local(problem, values, threshold, state, slope) if local else whole
            if place is None:
                continue
            if not local:
                whole[3].begin(state)
            status, inside, looked = _drain(*place, target, threshold, pairs, min(allowance, budget), deadline)
            budget -= looked
            if status == FOUND:
                found.append(np.zeros(n, bool))
                found[-1][place[2]] = inside[:len(place[2])]
                if len(found) >= most:
                    break
            elif status == LIMIT:
                late.append(at)
                if budget <= 0 or (deadline is not None and time.monotonic() > deadline):
                    return FOUND if found else LIMIT, np.array(found, bool).reshape(-1, n)
        waiting, allowance = late, GROWTH * allowance
    return FOUND if found else PROVED, np.array(found, bool).reshape(-1, n)


def _drain(problem, values, nodes, stack, target, threshold, pairs, budget, deadline):
    """Search from the root to the end, with looks at the clock: (status, counterexample, vertices looked at)."""
    inside, size, looked = np.zeros(len(values), bool), 1, 0
    pairs = pairs if len(pairs) else np.zeros((0, len(values)))
    while size > 0:
        if looked >= budget or (deadline is not None and time.monotonic() > deadline):
            return LIMIT, inside, looked
        status, size, more = search(problem, values, target, threshold, pairs, *stack.arrays(), size,
                                     min(budget - looked, 50), inside)
        looked += more
        if status == FOUND:
            return FOUND, inside, looked
    return PROVED, inside, looked
