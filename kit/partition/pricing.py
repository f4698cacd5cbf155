"""Heuristic pricing: convex sets of large value that cost at most a target, by annealing.

A convex set is the middle of a monotone labelling before / inside / after: the moves of `kit.partition.search` apply.
"""

import numpy as np
from numba import njit

from kit.partition.problem import set_cost
from kit.partition.search import _enlist, _enlist_around, _loads, _room, _shift, _tally

BEFORE, INSIDE, AFTER = 0, 1, 2
PENALTY = 3.0


@njit(cache=True, nogil=True)
def _climb(problem, value, target, labels, steps, hot, random, best):
    """Anneal one set from `labels`; the best one that keeps to `target` goes to `best`, its value is returned."""
    n = len(labels)
    count = _tally(problem, labels, 3)
    load, held, filled = _loads(problem, labels, 3, count)
    movable, place, size = np.empty(n, np.int64), np.full(n, -1, np.int64), 0
    for v in range(n):
        size = _enlist(problem, v, labels, 3, movable, place, size)
    total, most = 0.0, 0.0
    for v in range(n):
        if labels[v] == INSIDE:
            total += value[v]
    cost = load[INSIDE] + max(0.0, held[INSIDE] - problem.capacity)
    energy = PENALTY * max(0.0, cost / target - 1) - total
    temperature, cooling = hot, 0.02 ** (1.0 / max(1, steps))
    for _ in range(steps):
        if size == 0:
            break
        temperature *= cooling
        v = movable[int(random.random() * size)]
        low, high = _room(problem, v, labels, 3)
        old = labels[v]
        new = low + int(random.random() * (high - low))
        new += new >= old
        gain = value[v] * ((new == INSIDE) - (old == INSIDE))
        _shift(problem, v, old, new, labels, count, load, held, filled)
        cost = load[INSIDE]
        if filled[INSIDE] > 0:
            cost += max(0.0, held[INSIDE] - problem.capacity)
        changed = PENALTY * max(0.0, cost / target - 1) - total - gain
        if changed <= energy or random.random() < np.exp((energy - changed) / temperature):
            energy = changed
            total += gain
            size = _enlist_around(problem, v, labels, 3, movable, place, size)
            if cost <= target and total > most + 1e-12:
                most = total
                for w in range(n):
                    best[w] = labels[w] == INSIDE
        else:
            _shift(problem, v, new, old, labels, count, load, held, filled)
    return most


@njit(cache=True, nogil=True)
def _price(problem, value, target, starts, steps, hot, random, threshold, found, values):
    """Climb from each row of `starts`; rows of `found` above `threshold` are kept. Returns (kept, largest value)."""
    kept, most = 0, 0.0
    for i in range(len(starts)):
        best = np.zeros(len(value), np.bool_)
        worth = _climb(problem, value, target, starts[i], steps, hot, random, best)
        if worth > threshold and set_cost(problem, best) <= target:
            found[kept], values[kept] = best, worth
            kept += 1
        most = max(most, worth)
    return kept, most


def labels_around(problem, inside, order):
    """Monotone labels whose middle is a convex set; `order` is any topological order."""
    position = np.empty(len(order), np.int64)
    position[order] = np.arange(len(order))
    labels = np.where(inside, INSIDE, BEFORE).astype(np.int64)
    _push_after(problem, order, labels)
    return labels


@njit(cache=True, nogil=True)
def _push_after(problem, order, labels):
    for v in order:
        for e in range(problem.pred_start[v], problem.pred_start[v + 1]):
            u = problem.pred[e]
            if labels[v] != INSIDE and labels[u] != BEFORE:
                labels[v] = AFTER


def price(problem, value, target, starts, *, steps=2000, hot=0.1, seed=0, threshold=1.0):
    """Convex sets S with cost(S) <= target and value(S) > threshold.

    Parameters
    ----------
    problem : Problem
    value : float64 (n,)
        Worth of every node; 1 is what a whole stage should be worth.
    target : float
    starts : int64 (r, n)
        Labels 0, 1, 2 to start from; changed.
    steps : int
        Moves per start.
    hot : float
        First temperature, in worth.
    seed : int
    threshold : float

    Returns
    -------
    (sets, most) : bool (s, n), float
        The sets found, and the largest worth met, above the threshold or not.
    """
    found, values = np.empty((len(starts), len(value)), bool), np.empty(len(starts))
    rng = np.random.default_rng(seed)
    kept, most = _price(problem, value, target, starts, steps, hot, rng, threshold, found, values)
    return found[:kept], most
