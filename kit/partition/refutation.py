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

from kit.partition.flow import FREE, IN, OUT, build, charge, cheapest, is_convex, minimum_cut, reach, surroundings
from kit.partition.problem import assemble, edge_list, set_cost, total, work_and_transfers

SMALL = 200  # nodes up to which the search works on the whole graph
MARGIN = 1e-9
ROUNDING = 1e-13
PROVED, FOUND, LIMIT = 1, 0, -1
FIRST, GROWTH = 60, 4  # vertices for an anchor, before the search turns to the next one: some are far harder than others


@njit(cache=True, nogil=True)
def _relaxed_cost(problem, side, multiplier):
    """f(S) with the overflow term replaced by its multiple, ``m (param(S) - capacity) <= overflow``."""
    cost, held, _ = work_and_transfers(problem, side)
    if multiplier > 0:
        cost += multiplier * (held - problem.capacity)
    return cost


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


@njit(cache=True, nogil=True)
def _bound(problem, values, target, threshold, state, multiplier, mu, low, high):
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
    above, below = surroundings(problem, state)
    network, count, fixed = build(problem, state, above, below, 0)
    capacities = network[3][:count].copy()
    for step in range(10):
        if step > 0 or mu <= 0:
            if high_cost - low_cost < 1e-12:
                break
            mu = (high_worth - low_worth) / (high_cost - low_cost)
            # The bound is convex in mu, and above the lines of the two sets, which cross here.
            if mu <= 0 or low_worth + mu * (target - low_cost) > threshold * (1 + MARGIN):
                break
        network[3][:count] = capacities
        base = fixed + charge(network, state, cost - values / mu)
        enough = target + constant + loss - threshold / mu
        if cheapest(network, state, base, enough + MARGIN * abs(enough), side) >= enough:
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
def _search(problem, values, target, threshold, pairs, states, lows, highs, slopes, size, budget, found):
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
        if not _agrees(low, state) and minimum_cut(problem, state, problem.work, ceiling * (1 + MARGIN),
                                                   low) > ceiling:
            continue
        if _agrees(high, state):
            mu = 0.0
        else:
            for v in range(n):
                high[v] = state[v] != OUT
        proved, mu = _bound(problem, values, target, threshold, state, 0.0, mu, low, high)
        slopes[size] = mu
        if not proved and problem.capacity < np.inf and total(problem.param, low) > problem.capacity:
            proved = _spill(problem, values, target, threshold, state, mu)
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
def _spill(problem, values, target, threshold, state, mu):
    """Bounds with overflow stated: as a full cost, then by half."""
    n = len(values)
    low, high = np.empty(n, np.bool_), np.empty(n, np.bool_)
    for multiplier in (1.0, 0.5):
        for v in range(n):
            high[v] = state[v] != OUT
        cost = problem.work + multiplier * problem.param
        constant = multiplier * problem.capacity
        least = minimum_cut(problem, state, cost, np.inf, low) - constant
        if least > target * (1 + MARGIN):
            return True
        proved, _ = _bound(problem, values, target, threshold, state, multiplier, mu, low, high)
        if proved:
            return True
    return False


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
        """What `_search` takes."""
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
        status, size, more = _search(problem, values, target, threshold, pairs, *stack.arrays(), size,
                                     min(budget - looked, 50), inside)
        looked += more
        if status == FOUND:
            return FOUND, inside, looked
    return PROVED, inside, looked
