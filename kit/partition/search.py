"""Local search over stage labels: annealing by single-node moves, then a strict polish.

Labels stay monotone along edges, so every state is a partition with an acyclic quotient. The energy is a smooth maximum
of the stage costs, the 16-norm: it also sees stages just below the bottleneck, which the maximum does not.
"""

import time

import numpy as np
from numba import njit

from kit.partition.problem import bottleneck

BACK = 0.7  # probability that a node makes place for another by taking its stage, where it can
SEGMENT = 200_000  # moves between two looks at the clock


@njit(cache=True, nogil=True)
def _tally(problem, stages, k):
    """Consumers of each net per stage, int32 (q, k)."""
    count = np.zeros((len(problem.weight), k), np.int32)
    for j in range(len(problem.weight)):
        for p in range(problem.pin_start[j], problem.pin_start[j + 1]):
            count[j, stages[problem.pin[p]]] += 1
    return count


@njit(cache=True, nogil=True, inline="always")
def _shift(problem, v, old, new, stages, count, load, held, filled):
    """Move node v from stage `old` to `new`: update tallies and loads (work plus io) in O(nets of v)."""
    load[old] -= problem.work[v]
    load[new] += problem.work[v]
    held[old] -= problem.param[v]
    held[new] += problem.param[v]
    filled[old] -= 1
    filled[new] += 1
    for i in range(problem.made_start[v], problem.made_start[v + 1]):
        j = problem.made[i]
        weight, pins = problem.weight[j], problem.pin_start[j + 1] - problem.pin_start[j]
        if count[j, new] > 0:
            load[new] -= weight
        if count[j, old] > 0:
            load[old] += weight
        if count[j, old] < pins:
            load[old] -= weight
        if count[j, new] < pins:
            load[new] += weight
    for i in range(problem.used_start[v], problem.used_start[v + 1]):
        j = problem.used[i]
        weight, home = problem.weight[j], stages[problem.source[j]]
        pins = problem.pin_start[j + 1] - problem.pin_start[j]
        outside = pins - count[j, home]
        count[j, old] -= 1
        count[j, new] += 1
        if old != home and count[j, old] == 0:
            load[old] -= weight
        if new != home and count[j, new] == 1:
            load[new] += weight
        now = pins - count[j, home]
        if outside == 0 and now > 0:
            load[home] += weight
        elif outside > 0 and now == 0:
            load[home] -= weight
    stages[v] = new


@njit(cache=True, nogil=True, inline="always")
def _energy(load, held, filled, capacity, target):
    """The 16-norm of the stage costs over the target, and the largest cost."""
    total, most = 0.0, 0.0
    for stage in range(len(load)):
        cost = load[stage]
        if filled[stage] > 0 and held[stage] > capacity:
            cost += held[stage] - capacity
        most = max(most, cost)
        x = cost / target
        x *= x
        x *= x
        x *= x
        total += x * x
    return np.sqrt(np.sqrt(np.sqrt(np.sqrt(total)))), most


@njit(cache=True, nogil=True, inline="always")
def _room(problem, v, stages, k):
    """First and last stage that node v can take while all others stay."""
    low, high = 0, k - 1
    for e in range(problem.pred_start[v], problem.pred_start[v + 1]):
        low = max(low, stages[problem.pred[e]])
    for e in range(problem.succ_start[v], problem.succ_start[v + 1]):
        high = min(high, stages[problem.succ[e]])
    return low, high


@njit(cache=True, nogil=True)
def _loads(problem, stages, k, count):
    """Work plus io, parameters and number of nodes of every stage."""
    load, held, filled = np.zeros(k), np.zeros(k), np.zeros(k, np.int64)
    for v in range(len(stages)):
        load[stages[v]] += problem.work[v]
        held[stages[v]] += problem.param[v]
        filled[stages[v]] += 1
    for j in range(len(problem.weight)):
        home = stages[problem.source[j]]
        for stage in range(k):
            if stage != home and count[j, stage] > 0:
                load[stage] += problem.weight[j]
        if count[j, home] < problem.pin_start[j + 1] - problem.pin_start[j]:
            load[home] += problem.weight[j]
    return load, held, filled


@njit(cache=True, nogil=True, inline="always")
def _enlist(problem, v, stages, k, movable, place, size):
    """Keep `movable[:size]` the nodes with room to move; `place` is where each stands there, -1 if nowhere."""
    low, high = _room(problem, v, stages, k)
    if low < high and place[v] < 0:
        movable[size], place[v] = v, size
        return size + 1
    if low >= high and place[v] >= 0:
        size -= 1
        movable[place[v]] = movable[size]
        place[movable[size]] = place[v]
        place[v] = -1
    return size


@njit(cache=True, nogil=True, inline="always")
def _enlist_around(problem, v, stages, k, movable, place, size):
    """`_enlist` node v and its neighbours after v has moved."""
    size = _enlist(problem, v, stages, k, movable, place, size)
    for e in range(problem.pred_start[v], problem.pred_start[v + 1]):
        size = _enlist(problem, problem.pred[e], stages, k, movable, place, size)
    for e in range(problem.succ_start[v], problem.succ_start[v + 1]):
        size = _enlist(problem, problem.succ[e], stages, k, movable, place, size)
    return size


@njit(cache=True, nogil=True, inline="always")
def _relist(members, sizes, slot, v, old, new):
    """Move node v from the list of stage `old`, ``members[old, :sizes[old]]``, to that of `new`."""
    sizes[old] -= 1
    last = members[old, sizes[old]]
    members[old, slot[v]], slot[last] = last, slot[v]
    members[new, sizes[new]], slot[v] = v, sizes[new]
    sizes[new] += 1


@njit(cache=True, nogil=True, inline="always")
def _partner(problem, old, new, stages, k, members, sizes, random):
    """A node of stage `new` that may leave it, and the stage for it: `old` where that can be; -1 if there is none."""
    if sizes[new] == 0:
        return -1, 0
    w = members[new, int(random.random() * sizes[new])]
    low, high = _room(problem, w, stages, k)
    if low <= old <= high and random.random() < BACK:
        return w, old
    if low == high:
        return -1, 0
    to = low + int(random.random() * (high - low))
    return w, to + (to >= new)


@njit(cache=True, nogil=True)
def _anneal(problem, k, stages, steps, hot, cold, random, best):
    """Annealing with a geometric schedule; the best labels go to `best` and their value is returned.

    Half of the moves take a second node out of the stage that the first one enters: full stages exchange nodes.
    """
    n = len(stages)
    count = _tally(problem, stages, k)
    load, held, filled = _loads(problem, stages, k, count)
    movable, place, size = np.empty(n, np.int64), np.full(n, -1, np.int64), 0
    members, sizes, slot = np.empty((k, n), np.int32), np.zeros(k, np.int64), np.empty(n, np.int64)
    for v in range(n):
        size = _enlist(problem, v, stages, k, movable, place, size)
        members[stages[v], sizes[stages[v]]], slot[v] = v, sizes[stages[v]]
        sizes[stages[v]] += 1
    _, target = _energy(load, held, filled, problem.capacity, 1.0)
    energy, _ = _energy(load, held, filled, problem.capacity, target)
    least, temperature, cooling = target, hot, (cold / hot) ** (1.0 / max(1, steps // 64))
    best[:] = stages
    for step in range(steps):
        if step & 63 == 0:
            temperature *= cooling
        if size == 0:
            break
        v = movable[int(random.random() * size)]
        low, high = _room(problem, v, stages, k)
        old = stages[v]
        new = low + int(random.random() * (high - low))
        new += new >= old
        _shift(problem, v, old, new, stages, count, load, held, filled)
        w, to = -1, 0
        if step & 1:
            w, to = _partner(problem, old, new, stages, k, members, sizes, random)
            if w >= 0:
                _shift(problem, w, new, to, stages, count, load, held, filled)
        changed, most = _energy(load, held, filled, problem.capacity, target)
        if changed <= energy or random.random() < np.exp((energy - changed) / temperature):
            energy = changed
            size = _enlist_around(problem, v, stages, k, movable, place, size)
            _relist(members, sizes, slot, v, old, new)
            if w >= 0:
                size = _enlist_around(problem, w, stages, k, movable, place, size)
                _relist(members, sizes, slot, w, new, to)
            if most < least * (1 - 1e-9):
                least = most
                best[:] = stages
        else:
            if w >= 0:
                _shift(problem, w, to, new, stages, count, load, held, filled)
            _shift(problem, v, new, old, stages, count, load, held, filled)
    return least


@njit(cache=True, nogil=True)
def _polish(problem, k, stages, rounds):
    """Take single-node moves while they lower the energy; returns the number of moves."""
    count = _tally(problem, stages, k)
    load, held, filled = _loads(problem, stages, k, count)
    _, target = _energy(load, held, filled, problem.capacity, 1.0)
    if target <= 0:
        return 0
    energy, _ = _energy(load, held, filled, problem.capacity, target)
    moves = 0
    for _ in range(rounds):
        before = moves
        for v in range(len(stages)):
            low, high = _room(problem, v, stages, k)
            for new in range(low, high + 1):
                old = stages[v]
                if new == old:
                    continue
                _shift(problem, v, old, new, stages, count, load, held, filled)
                changed, _ = _energy(load, held, filled, problem.capacity, target)
                if changed < energy * (1 - 1e-12):
                    energy = changed
                    moves += 1
                else:
                    _shift(problem, v, new, old, stages, count, load, held, filled)
        if moves == before:
            break
    return moves


def polish(problem, k, stages, rounds=20):
    """Improve a partition by single-node moves until none helps.

    Parameters
    ----------
    problem : Problem
    k : int
    stages : int64 (n,)
        Monotone along edges; left as it is.
    rounds : int
        Passes over the nodes at most.

    Returns
    -------
    (value, stages) : float, int64 (n,)
        Never worse than what was given.
    """
    better = np.array(stages, np.int64)
    _polish(problem, k, better, rounds)
    value, old = bottleneck(problem, better, k), bottleneck(problem, stages, k)
    return (value, better) if value < old else (old, np.array(stages, np.int64))


def anneal(problem, k, stages, *, steps=1_000_000, hot=0.02, cold=0.0003, seed=0, deadline=None):
    """Anneal stage labels from a given partition.

    Parameters
    ----------
    problem : Problem
    k : int
    stages : int64 (n,)
        Monotone along edges.
    steps : int
        Moves tried; about a million a second.
    hot, cold : float
        First and last temperature, as a share of the bottleneck.
    seed : int
    deadline : float, optional
        Stop at this value of `time.monotonic`.

    Returns
    -------
    (value, stages) : float, int64 (n,)
        The best partition met, never worse than what was given.
    """
    current = np.array(stages, np.int64)
    value = bottleneck(problem, current, k)
    best, found, random = current.copy(), np.empty_like(current), np.random.default_rng(seed)
    parts = max(1, steps // SEGMENT)
    for part in range(parts):
        if value <= 0 or (deadline is not None and time.monotonic() > deadline):
            break
        warm, cool = (hot * (cold / hot) ** (at / parts) for at in (part, part + 1))
        _anneal(problem, k, current, steps // parts, warm, cool, random, found)
        reached = bottleneck(problem, found, k)
        if reached < value:
            value, best = reached, found.copy()
    return value, best
