"""Convex sets of large graphs: every window of a topological order is one, and a sweep gives the cost of all.

Also the groups of nodes that large graphs are covered by, in place of single nodes.
"""

import numpy as np
from numba import njit

from kit.partition.orders import attached_sources, keys_of, order_by
from kit.partition.slicegraph import _enter

NOISE = (0.003, 0.01, 0.03, 0.1)  # of random priorities, as a share of the order's length


@njit(cache=True, nogil=True)
def best_windows(problem, order, value, target, start, worth):
    """The most valuable window that ends at each position and costs at most `target`, in O(n times its length).

    Parameters
    ----------
    problem : Problem
    order : int64 (n,)
    value : float64 (n,)
        Worth of every node, not negative.
    target : float
    start, worth : int64 (n,), float64 (n,)
        Written: ``order[start[r]:r + 1]`` is worth ``worth[r]``; a worth of 0 where no window keeps to the target.
    """
    n = len(order)
    step, position = np.zeros(n + 1), np.empty(n, np.int64)
    last, left = np.empty(len(problem.weight), np.int64), np.empty(len(problem.weight), np.int64)
    done, held, gained = np.zeros(n + 1), np.zeros(n + 1), np.zeros(n + 1)
    low = 0
    for r in range(n):
        _enter(problem, order, r, position, last, left, step)
        v = order[r]
        done[r + 1], held[r + 1] = done[r] + problem.work[v], held[r] + problem.param[v]
        gained[r + 1] = gained[r] + value[v]
        while low <= r and done[r + 1] - done[low] + max(0.0, held[r + 1] - held[low] - problem.capacity) > target:
            low += 1
        start[r], worth[r], cost = r + 1, 0.0, 0.0
        for at in range(r, low - 1, -1):
            cost += step[at]
            if cost + max(0.0, held[r + 1] - held[at] - problem.capacity) <= target:
                start[r], worth[r] = at, gained[r + 1] - gained[at]


class WindowSearch:
    """Valuable windows of random orders near good ones.

    Parameters
    ----------
    problem : Problem
    orders : sequence of int64 (n,)
    k : int
        Windows are looked for in 2 k places of an order.
    seed : int
    """

    def __init__(self, problem, orders, k, seed=0):
        self.problem, self.keys = problem, [keys_of(order) for order in orders]
        self.attached, self.random = attached_sources(problem), np.random.default_rng(seed)
        n = len(problem.work)
        self.borders = np.unique(np.linspace(0, n, 2 * k + 1).astype(np.int64))[:-1]

    def find(self, value, target, count, most=100):
        """The best windows of `count` orders, at most `most` of them: ``(sets bool (s, n), worths float64 (s,))``."""
        n, sets, worths = len(self.problem.work), [], []
        start, worth = np.empty(n, np.int64), np.empty(n)
        for _ in range(count):
            key = self.keys[self.random.integers(len(self.keys))]
            order = order_by(self.problem, key + self.random.choice(NOISE) * self.random.random(n), self.attached)
            best_windows(self.problem, order, value, target, start, worth)
            for low, high in zip(self.borders, np.append(self.borders[1:], n), strict=True):
                end = low + int(np.argmax(worth[low:high]))
                inside = np.zeros(n, bool)
                inside[order[start[end]:end + 1]] = True
                sets.append(inside)
                worths.append(worth[end])
        rank = np.argsort(-np.array(worths), kind="stable")[:most]
        return np.array(sets)[rank], np.array(worths)[rank]


def rough_values(problem):
    """Worth of every node by what it costs alone, float64 (n,): work, half of its share in transfers, and a little."""
    pins = np.diff(problem.pin_start)
    value = problem.work + np.bincount(problem.source, 0.5 * problem.weight, len(problem.work))
    value += np.bincount(problem.pin, np.repeat(0.5 * problem.weight / pins, pins), len(problem.work))
    return value + (1e-6 * value.sum() / max(1, len(value)) or 1.0)


def groups_along(problem, order, value, rows):
    """Groups of neighbours in an order, about `rows` of equal value; chains stay whole where they fit.

    Returns
    -------
    int64 (n,)
        Group of every node, numbered along the order.
    """
    single_out, single_in = np.diff(problem.succ_start) == 1, np.diff(problem.pred_start) == 1
    cap, group = value.sum() / rows, np.empty(len(order), np.int64)
    pieces, previous = [], -1
    for v in order:
        linked = previous >= 0 and single_out[previous] and single_in[v] and problem.pred[problem.pred_start[v]] == \
            previous
        if linked and value[pieces[-1]].sum() + value[v] <= cap:
            pieces[-1].append(v)
        else:
            pieces.append([v])
        previous = v
    number, filled = -1, np.inf
    for piece in pieces:
        mass = value[piece].sum()
        if filled + mass > cap:
            number, filled = number + 1, 0.0
        group[piece] = number
        filled += mass
    return group
