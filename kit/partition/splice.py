"""Recombination for large graphs: the best chain through many prefixes of many orders at once.

Prefixes of random orders near a good one are pooled, those with the least to transfer for every amount of work. A chain
of nested prefixes is a partition, whichever orders its links came from: the program that walks all ideals
(`kit.partition.ideals`) walks these alone, which is no proof, but looks at far more partitions than any one order has.
"""

import time

import numpy as np
from numba import njit

from kit.partition.ideals import Ideals, _insert, _live, _stage_cost, _stages_of, net_pins
from kit.partition.orders import attached_sources, kahn, keys_of, order_by, standard_orders
from kit.partition.problem import bottleneck

BUCKETS, SLOTS = 2000, 4
NOISE = (0.003, 0.01, 0.03, 0.1)
RESOLUTION = 1e-4


@njit(cache=True, nogil=True)
def _pool(problem, order, members, cut, work):
    """Put the prefixes of one order into the pool: per bucket of work the SLOTS different ones that transfer least.

    `members` is uint64 (buckets, slots, words), `cut` and `work` are float64 (buckets, slots), infinite where empty.
    """
    left = np.diff(problem.pin_start)
    row, live, done, whole = np.zeros(members.shape[2], np.uint64), 0.0, 0.0, problem.work.sum()
    for v in order[:-1]:
        _insert(row, v)
        done += problem.work[v]
        for i in range(problem.made_start[v], problem.made_start[v + 1]):
            live += problem.weight[problem.made[i]]
        for i in range(problem.used_start[v], problem.used_start[v + 1]):
            j = problem.used[i]
            left[j] -= 1
            if left[j] == 0:
                live -= problem.weight[j]
        at = min(len(cut) - 1, int(done / whole * len(cut))) if whole > 0 else 0
        worst = 0
        for slot in range(cut.shape[1]):
            if np.all(members[at, slot] == row):
                worst = -1
                break
            if cut[at, slot] > cut[at, worst]:
                worst = slot
        if worst >= 0 and live < cut[at, worst]:
            members[at, worst], cut[at, worst], work[at, worst] = row, live, done


@njit(cache=True, nogil=True)
def _perturbed(problem, keys, attached, members, cut, work):
    """Pool the orders of many rows of priorities."""
    order = np.empty(keys.shape[1], np.int64)
    for i in range(len(keys)):
        kahn(problem, keys[i], attached, order)
        _pool(problem, order, members, cut, work)


@njit(cache=True, nogil=True)
def _chain(problem, ideals, k, target, fewest, before):
    """Fewest stages below `target` that lead to each prefix, from the empty one; prefixes ascend by work."""
    last = len(ideals.work) - 1
    fewest[:] = k + 1
    fewest[0] = 0
    for i in range(last):
        rest = ideals.work[last] - ideals.work[i]
        if fewest[i] >= k or fewest[i] + rest / target > k + 1e-9:
            continue
        for j in range(i + 1, last + 1):
            work = ideals.work[j] - ideals.work[i]
            if work >= target:
                break
            if fewest[j] <= fewest[i] + 1 or work + ideals.param[j] - ideals.param[i] - problem.capacity >= target:
                continue
            if np.any(ideals.members[i] & ~ideals.members[j]):
                continue
            if _stage_cost(problem, ideals, i, j) < target:
                fewest[j], before[j] = fewest[i] + 1, i


def _ascending(bits, done):
    """Order of prefixes by work, and their works in it; the whole comes last.

    Sums are rounded differently from row to row: without care a prefix that lacks nodes without work could come
    after the whole.
    """
    rank = np.lexsort((bits.sum(1), np.where(bits.all(1), np.inf, done)))
    done = done[rank]
    done[-1] = done.max()
    return rank, done


def _prefixes(problem, k, stages, orders, seed):
    """The pool as `Ideals` without links: the prefixes of the partition, and those of random orders near it."""
    n, random = len(problem.work), np.random.default_rng(seed)
    words = (n + 63) // 64
    along = standard_orders(problem)
    own = order_by(problem, stages + keys_of(along[2]))
    bases = np.stack([keys_of(order) for order in (own, own, own, own, *along)])
    members = np.zeros((BUCKETS, SLOTS, words), np.uint64)
    cut, work = np.full((BUCKETS, SLOTS), np.inf), np.zeros((BUCKETS, SLOTS))
    keys = np.concatenate([bases, bases[random.integers(len(bases), size=orders)]])
    keys[len(bases):] += random.choice(NOISE, (orders, 1)) * random.random((orders, n))
    _perturbed(problem, keys, attached_sources(problem), members, cut, work)
    rows = members[np.isfinite(cut)]
    inside = np.stack([stages < b for b in range(k + 1)])
    padded = np.zeros((k + 1, 64 * words), bool)
    padded[:, :n] = inside
    rows = np.unique(np.concatenate([rows, np.packbits(padded, axis=1, bitorder="little").view(np.uint64)]), axis=0)
    bits = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")[:, :n]
    rank, done = _ascending(bits, bits @ problem.work)
    rows, pins = rows[rank], net_pins(problem, words)
    nothing = np.zeros(0, np.int32)
    return Ideals(rows, done, bits[rank] @ problem.param, np.zeros(1, np.int64), nothing,
                  *_live(problem, rows, pins), pins)


def splice(problem, k, stages, *, orders=500, low=0.0, seed=0, deadline=np.inf):
    """The best chain of pooled prefixes.

    Parameters
    ----------
    problem : Problem
    k : int
    stages : int64 (n,)
        A partition to start from, monotone along edges, in 0 .. k - 1.
    orders : int
        Random orders whose prefixes are pooled.
    low : float
        A bound below which nothing is to be looked for.
    seed : int
    deadline : float
        Of `time.monotonic`.

    Returns
    -------
    (value, stages) : float, int64 (n,)
        Never worse than what was given.
    """
    value, best = bottleneck(problem, stages, k), np.array(stages, np.int64)
    ideals = _prefixes(problem, k, best, orders, seed)
    fewest, before = np.empty(len(ideals.work), np.int64), np.empty(len(ideals.work), np.int64)
    low = max(low, 0.9 * value)
    while value - low > RESOLUTION * value and time.monotonic() < deadline:
        target = (low + 3 * value) / 4
        _chain(problem, ideals, k, target, fewest, before)
        spliced = _stages_of(ideals, before, len(best)) if fewest[-1] <= k else best
        reached = bottleneck(problem, spliced, k)
        if reached < value:
            best, value = spliced, reached
        else:
            low = target
    return value, best
