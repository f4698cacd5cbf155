"""SliceGraph: the best slices of one topological order, and a genetic search over orders.

Archer, Fahrbach, Liu and Prabhu, "Practical Performance Guarantees for Pipelined DNN Inference", ICML 2024
(arXiv 2311.03703), algorithms 1 and 2. The genetic algorithm is the biased random-key one of Goncalves and Resende,
Journal of Heuristics 17, 2011.
"""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

from kit.partition.orders import attached_sources, kahn, keys_of, order_by
from kit.partition.problem import bottleneck

ELITE, MUTANTS, BIAS = 0.2, 0.15, 0.7


@njit(cache=True, nogil=True)
def _enter(problem, order, r, position, last, left, step):
    """Account for position r in the difference array: afterwards the sum of step[l:] is work plus io of l .. r.

    ``step[l] += x`` adds x to every window that starts at l or before. A net's outgoing transfer is paid by the
    windows that hold its source until the last consumer is inside; its incoming one by those that start after the
    source and after the previous consumer.
    """
    v = order[r]
    position[v] = r
    step[r] += problem.work[v]
    for i in range(problem.made_start[v], problem.made_start[v + 1]):
        j = problem.made[i]
        step[r] += problem.weight[j]
        last[j] = r
        left[j] = problem.pin_start[j + 1] - problem.pin_start[j]
    for i in range(problem.used_start[v], problem.used_start[v + 1]):
        j = problem.used[i]
        step[r] += problem.weight[j]
        step[last[j]] -= problem.weight[j]
        last[j] = r
        left[j] -= 1
        if left[j] == 0:
            step[position[problem.source[j]]] -= problem.weight[j]


@njit(cache=True, nogil=True)
def slice_below(problem, order, k, upper, best, choice):
    """Algorithm 1: the cheapest slicing of `order` into at most k stages, if it costs less than `upper`.

    Linear memory beside the tables of k columns. The quadratic sweep skips what cannot beat `upper`: windows whose
    work and overflow alone reach it, and prefixes after which too few stages are left for the work behind. Lossless.

    Parameters
    ----------
    problem : Problem
    order : int64 (n,)
    k : int
    upper : float
        Only values below it are looked for; the nearer to the result, the faster.
    best, choice : float64 (n + 1, k + 1), int32 (n + 1, k + 1)
        Written: the value of the first r nodes in at most b stages, and where the last of these starts.

    Returns
    -------
    float
        The value, or `upper` where nothing is cheaper.
    """
    n = len(order)
    step, position = np.zeros(n + 1), np.empty(n, np.int64)
    last, left = np.empty(len(problem.weight), np.int64), np.empty(len(problem.weight), np.int64)
    fewest, most = np.zeros(n + 1, np.int64), np.full(n + 1, k, np.int64)
    done, held, total = np.zeros(n + 1), np.zeros(n + 1), problem.work.sum()
    best[0, :] = 0.0
    low, reached = 0, 0
    for r in range(n):
        _enter(problem, order, r, position, last, left, step)
        done[r + 1], held[r + 1] = done[r] + problem.work[order[r]], held[r] + problem.param[order[r]]
        most[r + 1] = k - int(np.ceil((total - done[r + 1]) / upper - 1e-9))
        while low <= r and (done[r + 1] - done[low]
                            + max(0.0, held[r + 1] - held[low] - problem.capacity)) * (1 - 1e-12) >= upper:
            low += 1
        if reached < low:
            return upper
        row, first, cost = best[r + 1], k + 1, 0.0
        row[:] = np.inf
        for start in range(r, low - 1, -1):
            cost += step[start]
            if cost >= upper or fewest[start] >= most[r + 1]:
                continue
            full = cost + max(0.0, held[r + 1] - held[start] - problem.capacity)
            if full >= upper:
                continue
            first = min(first, fewest[start] + 1)
            for b in range(fewest[start], min(most[r + 1] - 1, most[start]) + 1):
                value = max(best[start, b], full)
                if value < row[b + 1]:
                    row[b + 1] = value
                    choice[r + 1, b + 1] = start
        fewest[r + 1] = first
        if first <= k:
            reached = r + 1
        for b in range(first + 1, k + 1):
            row[b] = min(row[b], row[b - 1])
    return min(best[n, k], upper)


@njit(cache=True, nogil=True)
def _labels(order, k, best, choice, stages):
    """Read the stages of the last `slice_below` back, numbered from 0 without gaps; returns how many there are."""
    r, b, count = len(order), k, 0
    while r > 0:
        while best[r, b - 1] <= best[r, b]:
            b -= 1
        start = choice[r, b]
        for i in range(start, r):
            stages[order[i]] = count
        count += 1
        r, b = start, b - 1
    for v in range(len(stages)):
        stages[v] = count - 1 - stages[v]
    return count


def simple(problem, k):
    """Bound 0, in units: the dearest node alone, or the mean work with the overflow no split of parameters avoids."""
    n = len(problem.work)
    if n == 0:
        return 0.0
    used = min(k, n)
    spill = max(0.0, problem.param.sum() - used * problem.capacity) if np.isfinite(problem.capacity) else 0.0
    alone = problem.work + np.maximum(0.0, problem.param - problem.capacity)
    return float(max(alone.max(), (problem.work.sum() + spill) / used))


def slice_order(problem, order, k, upper=np.inf):
    """The best slicing of one topological order into at most k stages.

    Parameters
    ----------
    problem : Problem
    order : int64 (n,)
    k : int
    upper : float
        A value that must be undercut.

    Returns
    -------
    (value, stages) : float, int64 (n,)
        ``(upper, None)`` where no slicing is below `upper`. Values in units of the problem.
    """
    n, k = len(order), min(k, len(order))
    if n == 0:
        return 0.0, np.zeros(0, np.int64)
    if upper <= 0:
        return upper, None
    best, choice = np.empty((n + 1, k + 1)), np.zeros((n + 1, k + 1), np.int32)
    base = max(simple(problem, k), 1e-300)
    whole = bottleneck(problem, np.zeros(n, np.int64), 1) * (1 + 1e-9) + 1e-300
    slack = 0.02
    while True:
        target = min(upper, base * (1 + slack), whole)
        value = slice_below(problem, order, k, target, best, choice)
        if value < target:
            stages = np.empty(n, np.int64)
            _labels(order, k, best, choice, stages)
            return bottleneck(problem, stages, k), stages
        if target >= min(upper, whole):
            return upper, None
        slack *= 2


@njit(cache=True, nogil=True)
def _evaluate(problem, keys, attached, k, upper, values):
    """Fitness of each row of keys; rows whose order cannot be sliced below `upper` get `upper`."""
    n = keys.shape[1]
    order, best = np.empty(n, np.int64), np.empty((n + 1, k + 1))
    choice = np.empty((n + 1, k + 1), np.int32)
    for i in range(len(keys)):
        kahn(problem, keys[i], attached, order)
        values[i] = slice_below(problem, order, k, upper, best, choice)


class Population:
    """A population of priorities and its fitness, advanced a generation at a time.

    Parameters
    ----------
    problem : Problem
    k : int
    size : int
        Individuals, at least 4.
    seed : int
    orders : sequence of int64 (n,)
        Orders to start from beside random ones.
    threads : int
        Fitness is computed by as many threads; the result does not depend on it.
    """

    def __init__(self, problem, k, size=100, seed=0, orders=(), threads=1):
        self.problem, self.k, self.threads = problem, min(k, max(1, len(problem.work))), threads
        self.attached = attached_sources(problem)
        self.random = np.random.default_rng(seed)
        self.keys = self.random.random((size, len(problem.work)))
        for row, order in zip(self.keys, orders, strict=False):
            row[:] = keys_of(order)
        self.upper = bottleneck(problem, np.zeros(len(problem.work), np.int64), 1) * (1 + 1e-9) + 1e-300
        self.values = self._fitness(self.keys)
        self.evaluations = size
        self._sort()

    def _fitness(self, keys):
        values = np.empty(len(keys))
        parts = np.array_split(np.arange(len(keys)), max(1, self.threads))

        def work(rows):
            part = np.empty(len(rows))
            _evaluate(self.problem, keys[rows], self.attached, self.k, self.upper, part)
            values[rows] = part

        if self.threads <= 1:
            work(np.arange(len(keys)))
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                list(pool.map(work, parts))
        return values

    def _sort(self):
        rank = np.argsort(self.values, kind="stable")
        self.keys, self.values = self.keys[rank], self.values[rank]
        self.elite = max(1, int(ELITE * len(rank)))
        # A child that is no better than the worst of the elite never becomes part of it: its exact value is not needed.
        self.upper = min(self.upper, self.values[self.elite - 1] * (1 + 1e-12))

    def advance(self):
        """One generation: keep the elite, cross elite with others, add random mutants."""
        size, n = self.keys.shape
        mutants = max(1, int(MUTANTS * size))
        children = size - self.elite - mutants
        first = self.random.integers(self.elite, size=children)
        second = self.random.integers(self.elite, size, size=children)
        from_first = self.random.random((children, n)) < BIAS
        fresh = np.vstack([np.where(from_first, self.keys[first], self.keys[second]),
                           self.random.random((mutants, n))])
        self.keys = np.vstack([self.keys[:self.elite], fresh])
        self.values = np.concatenate([self.values[:self.elite], self._fitness(fresh)])
        self.evaluations += len(fresh)
        self._sort()

    def best(self):
        """Value and stages of the best individual: ``(float, int64 (n,))``."""
        return slice_order(self.problem, order_by(self.problem, self.keys[0], self.attached), self.k)


def slicegraph(problem, k, *, population=100, generations=100, seed=0, orders=(), threads=1, deadline=None):
    """Algorithm 2: slicing of the orders that a genetic algorithm over priorities proposes.

    Parameters
    ----------
    problem : Problem
    k, population, generations, seed, threads : int
        The paper's budgets are 10 x 10 and 100 x 100 (population x generations).
    orders : sequence of int64 (n,)
        Orders to start from beside random ones.
    deadline : float, optional
        Stop at this value of `time.monotonic`.

    Returns
    -------
    (value, stages, evaluations) : float, int64 (n,), int
    """
    pool = Population(problem, k, population, seed, orders, threads)
    for _ in range(generations - 1):
        if deadline is not None and time.monotonic() > deadline:
            break
        pool.advance()
    return (*pool.best(), pool.evaluations)
