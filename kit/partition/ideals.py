"""Exact dynamic program over order ideals, for graphs that have few.

An ideal holds all predecessors of its nodes; the first b stages of any partition form one. The program walks the chain
of ideals with the fewest stages that each cost less than a target, and lowers the target until none is left.
"""

import time
from typing import NamedTuple

import numpy as np
from numba import njit

from kit.partition.problem import bottleneck

ONE, WORD = np.uint64(1), np.uint64(63)


class Ideals(NamedTuple):
    """All order ideals, ascending by size, as bit sets; the last is the whole graph."""

    members: np.ndarray  # uint64 (c, words)
    work: np.ndarray  # float64 (c,)
    param: np.ndarray  # float64 (c,)
    next_start: np.ndarray  # int64 (c + 1,)
    next: np.ndarray  # int32, ideals with one node more
    live_start: np.ndarray  # int64 (c + 1,)
    live: np.ndarray  # int32, nets whose source is inside and a pin outside
    live_weight: np.ndarray  # float64 (c,)
    pins: np.ndarray  # uint64 (q, words)


@njit(cache=True, nogil=True)
def _hash(row):
    h = np.uint64(1469598103934665603)
    for word in row:
        h ^= word
        h ^= h >> np.uint64(33)
        h *= np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(33)
    return h


@njit(cache=True, nogil=True)
def _inside(row, v):
    return (row[v >> 6] >> (np.uint64(v) & WORD)) & ONE != 0


@njit(cache=True, nogil=True)
def _insert(row, v):
    row[v >> 6] |= ONE << (np.uint64(v) & WORD)


@njit(cache=True, nogil=True)
def _find(members, table, row, count):
    """Slot of `row` in the open-addressing table: its index if known, else where it belongs."""
    mask = len(table) - 1
    slot = np.int64(_hash(row) & np.uint64(mask))
    while table[slot] >= 0:
        other = members[table[slot]]
        same = True
        for w in range(len(row)):
            if other[w] != row[w]:
                same = False
                break
        if same:
            break
        slot = (slot + 1) & mask
    return slot


@njit(cache=True, nogil=True)
def _enumerate(problem, limit):
    """All ideals breadth first, at most `limit`; the count is -1 beyond."""
    n = len(problem.work)
    words = (n + 63) // 64
    members = np.zeros((limit, words), np.uint64)
    work, param = np.zeros(limit), np.zeros(limit)
    size = 1
    while size < 2 * limit:
        size *= 2
    table, start = np.full(size, -1, np.int32), np.zeros(limit + 1, np.int64)
    links, linked, count = np.empty(4 * limit, np.int32), 0, 1
    table[_find(members, table, members[0], 0)] = 0
    row, current = np.empty(words, np.uint64), 0
    while current < count:
        start[current] = linked
        for v in range(n):
            if _inside(members[current], v):
                continue
            free = True
            for e in range(problem.pred_start[v], problem.pred_start[v + 1]):
                if not _inside(members[current], problem.pred[e]):
                    free = False
                    break
            if not free:
                continue
            row[:] = members[current]
            _insert(row, v)
            slot = _find(members, table, row, count)
            if table[slot] < 0:
                if count == limit:
                    return -1, members, work, param, start, links[:0]
                members[count] = row
                work[count] = work[current] + problem.work[v]
                param[count] = param[current] + problem.param[v]
                table[slot] = count
                count += 1
            if linked == len(links):
                links = np.concatenate((links, np.empty(len(links), np.int32)))
            links[linked] = table[slot]
            linked += 1
        current += 1
    start[count] = linked
    return count, members, work, param, start, links[:linked]


@njit(cache=True, nogil=True)
def _live(problem, members, pins):
    """Nets that cross the border of each ideal, and their weight."""
    count = len(members)
    start, weight = np.zeros(count + 1, np.int64), np.zeros(count)
    live, used = np.empty(8 * count + 8, np.int32), 0
    for i in range(count):
        for j in range(len(problem.weight)):
            if not _inside(members[i], problem.source[j]):
                continue
            for w in range(pins.shape[1]):
                if pins[j, w] & ~members[i, w]:
                    if used == len(live):
                        live = np.concatenate((live, np.empty(len(live), np.int32)))
                    live[used] = j
                    used += 1
                    weight[i] += problem.weight[j]
                    break
        start[i + 1] = used
    return start, live[:used], weight


@njit(cache=True, nogil=True)
def net_pins(problem, words):
    """Consumers of each net as a bit set, uint64 (q, words)."""
    pins = np.zeros((len(problem.weight), words), np.uint64)
    for j in range(len(problem.weight)):
        for p in range(problem.pin_start[j], problem.pin_start[j + 1]):
            _insert(pins[j], problem.pin[p])
    return pins


def enumerate_ideals(problem, limit=200_000):
    """All order ideals of a problem, or None where there are more than `limit`.

    Memory is about ``limit * (n / 4 + 100)`` bytes.
    """
    count, members, work, param, start, links = _enumerate(problem, limit)
    if count < 0:
        return None
    pins = net_pins(problem, members.shape[1])
    members = members[:count].copy()
    return Ideals(members, work[:count].copy(), param[:count].copy(), start[:count + 1].copy(), links,
                  *_live(problem, members, pins), pins)


@njit(cache=True, nogil=True)
def _stage_cost(problem, ideals, i, j):
    """Cost of the stage between ideals i and j, i a proper subset of j."""
    cost = ideals.work[j] - ideals.work[i] + ideals.live_weight[j]
    cost += max(0.0, ideals.param[j] - ideals.param[i] - problem.capacity)
    for e in range(ideals.live_start[i], ideals.live_start[i + 1]):
        net = ideals.live[e]
        consumed, open_still = False, False
        for w in range(ideals.pins.shape[1]):
            waiting = ideals.pins[net, w] & ~ideals.members[i, w]
            consumed |= (waiting & ideals.members[j, w]) != 0
            open_still |= (waiting & ~ideals.members[j, w]) != 0
        if consumed:
            cost += problem.weight[net]
        if open_still:
            cost -= problem.weight[net]
    return cost


@njit(cache=True, nogil=True)
def _extend(problem, ideals, k, target, i, fewest, before, stamp, stack):
    """Try every stage that starts at ideal i and costs less than `target`; returns the number of pairs looked at."""
    last, pairs = len(ideals.work) - 1, 0
    if fewest[i] + 1 >= k:
        if fewest[i] + 1 == k and fewest[last] > k and _stage_cost(problem, ideals, i, last) < target:
            fewest[last], before[last] = k, i
        return 1
    stack[0], size = i, 1
    while size > 0:
        size -= 1
        x = stack[size]
        for e in range(ideals.next_start[x], ideals.next_start[x + 1]):
            j = ideals.next[e]
            if stamp[j] == i:
                continue
            stamp[j] = i
            work = ideals.work[j] - ideals.work[i]
            if work + max(0.0, ideals.param[j] - ideals.param[i] - problem.capacity) >= target:
                continue
            stack[size] = j
            size += 1
            pairs += 1
            rest = ideals.work[last] - ideals.work[j] + ideals.live_weight[j]
            if fewest[j] <= fewest[i] + 1 or fewest[i] + 1 + rest / target > k + 1e-9:
                continue
            if _stage_cost(problem, ideals, i, j) < target:
                fewest[j], before[j] = fewest[i] + 1, i
    return pairs


@njit(cache=True, nogil=True)
def _sweep(problem, ideals, k, target, begin, fewest, before, stamp, stack, budget):
    """Extend from ideals `begin` onwards until about `budget` pairs are seen; returns where to go on."""
    last = len(ideals.work) - 1
    for i in range(begin, last):
        rest = ideals.work[last] - ideals.work[i] + ideals.live_weight[i]
        if fewest[i] < k and fewest[i] + rest / target <= k + 1e-9:
            budget -= _extend(problem, ideals, k, target, i, fewest, before, stamp, stack)
            if budget < 0:
                return i + 1
    return last


def _stages_of(ideals, before, n):
    """Stages along the chain of ideals that `before` spells from the last one backwards."""
    chain = [len(ideals.work) - 1]
    while chain[-1] > 0:
        chain.append(int(before[chain[-1]]))
    bits = np.unpackbits(ideals.members[chain].view(np.uint8), axis=1, bitorder="little")[:, :n]
    return len(chain) - 1 - bits.sum(0).astype(np.int64)


def improve(problem, ideals, k, target, *, deadline=None):
    """A partition whose stages all cost less than `target`.

    Returns
    -------
    (stages, finished) : int64 (n,) or None, bool
        ``(None, True)`` proves that no partition into at most k stages is below `target`; ``(None, False)`` means that
        the deadline (of `time.monotonic`) came first.
    """
    if target <= 0:
        return None, True
    count = len(ideals.work)
    fewest, before = np.full(count, k + 1, np.int64), np.full(count, -1, np.int64)
    stamp, stack, at = np.full(count, -1, np.int32), np.empty(count, np.int32), 0
    fewest[0] = 0
    while at < count - 1:
        if deadline is not None and time.monotonic() > deadline:
            return None, False
        at = _sweep(problem, ideals, k, target, at, fewest, before, stamp, stack, 20_000_000)
    if fewest[-1] > k:
        return None, True
    return _stages_of(ideals, before, len(problem.work)), True


def solve_ideals(problem, k, stages, *, limit=200_000, deadline=None, ideals=None):
    """Improve a partition until it is proved optimal.

    Parameters
    ----------
    problem : Problem
    k : int
    stages : int64 (n,)
        Where to start from.
    limit : int
        Give up on graphs with more ideals than this.
    deadline : float, optional
        Of `time.monotonic`.
    ideals : Ideals, optional
        Of this problem, where at hand.

    Returns
    -------
    (value, stages, proved) : float, int64 (n,), bool
    """
    value = bottleneck(problem, stages, k)
    ideals = ideals if ideals is not None else enumerate_ideals(problem, limit)
    while ideals is not None:
        better, finished = improve(problem, ideals, k, value * (1 - 1e-9), deadline=deadline)
        if better is None:
            return value, stages, finished
        stages, value = better, bottleneck(problem, better, k)
    return value, stages, False
