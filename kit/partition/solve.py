"""One call that spends a budget over all solvers and bounds: `solve`."""

import threading
import time
from dataclasses import dataclass, field

import numpy as np

from evaluation.engine import holding_interrupts, was_interrupted
from evaluation.errors import InputError
from kit.partition import bounds, mip
from kit.partition.orders import standard_orders
from kit.partition.problem import bottleneck, from_instance, is_monotone
from kit.partition.search import anneal, polish
from kit.partition.slicegraph import Population, slice_order
from kit.partition.splice import splice

PROVED = 0.9999
CLOSED = 1 - 1e-5  # a gap that small is not worth more time
MOVES = 2000  # annealing moves that count as one evaluation
IDEALS = 200_000
EXACT_SIZE = 1000  # nodes times stage borders up to which HiGHS is worth a try
LARGE = 250  # nodes from which partitions are spliced, too
SPLICED = 5000  # nodes up to which they are
BORDERS = 700  # binaries that large graphs may have left, once a good partition has fixed the others
CONFIGURATION_SIZE = 2000  # nodes up to which the configuration program is


@dataclass
class Solution:
    """A partition, the bound it is measured against, and how both came about.

    Attributes
    ----------
    stages : int64 (n,)
        Stage of every node, monotone along edges, numbered from 0.
    bottleneck, lower_bound : float
        Seconds; the bound is rounded down.
    proved : bool
        ``lower_bound / bottleneck`` is at least 0.9999.
    seconds : float
        What was spent.
    methods : dict
        Per method what it reached, in seconds: ``{"upper": ..., "lower": ..., "seconds": spent}``.
    certificate : dict or None
        What `kit.partition.certificate.check` proves the bound from again; JSON-able.
    history : list of (seconds, bottleneck, lower_bound)
        One entry per improvement, for the picture of the closing gap.
    """

    stages: np.ndarray
    bottleneck: float
    lower_bound: float
    proved: bool
    seconds: float
    methods: dict
    certificate: dict | None = None
    history: list = field(default_factory=list)


class _Run:
    """The best partition and the best bound so far, in units of the problem."""

    def __init__(self, problem, unit, k, deadline):
        self.problem, self.unit, self.k, self.deadline = problem, unit, k, deadline
        self.begin, self.lock = time.monotonic(), threading.Lock()
        self.stages = np.zeros(len(problem.work), np.int64)
        self.value = bottleneck(problem, self.stages, k)
        self.lower, self.certificate, self.methods, self.history = 0.0, None, {}, []
        self.slicing = 0.0  # the longest that an order took, in seconds

    def left(self):
        """Seconds left."""
        return self.deadline - time.monotonic()

    def closed(self):
        """Whether nothing is left to gain."""
        return self.lower >= CLOSED * self.value

    def over(self):
        """Whether to stop: no time or no gap left."""
        return self.closed() or self.left() <= 0

    def _note(self, method, side, value):
        entry = self.methods.setdefault(method, {})
        entry[side] = value * self.unit
        entry["seconds"] = round(time.monotonic() - self.begin, 3)
        self.history.append((time.monotonic() - self.begin, self.value * self.unit,
                             min(self.lower, self.value) * self.unit))

    def offer(self, stages, method):
        """Take a partition if it is better."""
        value = bottleneck(self.problem, stages, self.k)
        with self.lock:
            known = self.methods.get(method, {}).get("upper", np.inf)
            if value < self.value:
                self.value, self.stages = value, np.array(stages, np.int64)
            if value * self.unit < known:
                self._note(method, "upper", value)

    def claim(self, lower, certificate):
        """Take a lower bound if it is better."""
        with self.lock:
            if lower > self.lower:
                self.lower = lower
                self.certificate = {**certificate, "bound": lower * self.unit}
            if lower * self.unit > self.methods.get(certificate["method"], {}).get("lower", 0.0):
                self._note(certificate["method"], "lower", lower)

    def solution(self):
        """What `solve` returns."""
        lower = min(self.lower, self.value)
        return Solution(self.stages, self.value * self.unit, lower * self.unit, lower >= PROVED * self.value,
                        time.monotonic() - self.begin, self.methods, self.certificate, self.history)


def _first(run, seed, threads):
    """Orders anybody would try."""
    if run.k == 1:
        run.claim(run.value * (1 - bounds.MARGIN), {"method": "simple"})
    orders = standard_orders(run.problem)
    for order in orders:
        if run.over() or run.left() < run.slicing:
            return orders
        begin = time.monotonic()
        _, stages = slice_order(run.problem, order, run.k, run.value)
        run.slicing = max(run.slicing, time.monotonic() - begin)
        if stages is not None:
            run.offer(stages, "slicing")
    return orders


def _cheap_bounds(run, timed):
    """Anchors, then ideals where they are few."""
    if run.over():
        return
    n = len(run.problem.work)
    share = time.monotonic() + 0.15 * run.left() if timed else np.inf
    run.claim(*bounds.anchor_bound(run.problem, run.k, low=run.lower, limit=run.value, deadline=share))
    if run.over() or n > 4000:
        return
    deadline = time.monotonic() + 0.4 * run.left() if timed else None
    lower, certificate, stages = bounds.ideals_bound(run.problem, run.k, run.stages, deadline=deadline,
                                                     limit=min(IDEALS, 100_000_000 // max(1, n * n // 8)))
    run.offer(stages, "ideals")
    run.claim(lower, certificate)


def _genetic(run, seed, orders, threads, evaluations=None, seconds=np.inf):
    """SliceGraph until it stalls, its evaluations are used up, or its time is."""
    if run.over():
        return
    end, size = min(run.deadline, time.monotonic() + seconds), _population(evaluations)
    if evaluations is None and len(run.problem.work) > 2 * LARGE:
        # An order of random priorities takes longer than a good one, which can be cut short.
        size = min(size, int(seconds / (4 * run.slicing + 1e-9)))
        if size < 4:
            return
    pool = Population(run.problem, run.k, size, seed, orders, threads)
    stalled, best = 0, pool.values[0]
    while stalled < 30 and time.monotonic() < end and (evaluations is None or pool.evaluations < evaluations):
        pool.advance()
        stalled = 0 if pool.values[0] < best * (1 - 1e-6) else stalled + 1
        best = pool.values[0]
    run.offer(pool.best()[1], "slicegraph")


def _population(evaluations):
    return 100 if evaluations is None else int(np.clip(evaluations // 10, 4, 100))


def _annealing(run, seed, stop, evaluations=None, seconds=np.inf, patience=np.inf):
    """Annealing from the best partition and from the start of the search in turn, longer each time.

    Ends early when nothing has come of it for `patience` seconds and for twice as long as it took to get there.
    """
    begin = better = time.monotonic()
    end, value = min(run.deadline, begin + seconds), run.value
    base, random, steps, number = run.stages.copy(), np.random.default_rng(seed), 500_000, 0
    budget = np.inf if evaluations is None else evaluations * MOVES
    while not run.closed() and not stop.is_set() and budget > 0 and time.monotonic() < end:
        start = run.stages if number % 3 else base
        hot = (0.005, 0.02, 0.002, 0.01)[number % 4]
        if budget < np.inf:
            steps = int(min(budget, max(200_000, evaluations * MOVES // 8)))
        budget -= steps
        _, stages = anneal(run.problem, run.k, start, steps=steps, hot=hot, seed=int(random.integers(2**31)),
                           deadline=end)
        run.offer(stages, "annealing")
        number, now = number + 1, time.monotonic()
        if run.value < value * (1 - 1e-6):
            value, better = run.value, now
        elif now - better > max(patience, 2 * (better - begin)):
            break
        if LARGE < len(base) <= SPLICED and number % 2:
            orders = 625_000 // len(base)
            budget -= orders * MOVES
            run.offer(splice(run.problem, run.k, run.stages, orders=orders, low=run.lower,
                             seed=int(random.integers(2**31)), deadline=end)[1], "splicing")
        if number % 4 == 0 and steps < 20_000_000:
            steps *= 2


def _exact(run, threads, late=False):
    """HiGHS on the exact program, where it is small: early, or on large graphs once a good partition is known."""
    size = len(run.problem.work) * (run.k - 1)
    if run.over() or late != (size > EXACT_SIZE) or len(run.problem.work) > CONFIGURATION_SIZE:
        return
    if late and (len(run.problem.work) <= LARGE or _open_borders(run) > BORDERS):
        return
    lower, certificate, stages = bounds.exact_bound(run.problem, run.k, run.stages,
                                                    seconds=(0.5 if late else 0.25) * run.left(), threads=threads)
    run.offer(stages, "exact")
    run.claim(lower, certificate)


def _open_borders(run):
    low, high = mip.borders(run.problem, run.k, run.value)
    return int((low < high).sum())


def _configuration(run, seed, seconds):
    """The configuration program for some seconds."""
    n = len(run.problem.work)
    if run.over() or n > CONFIGURATION_SIZE or (n > 100 and run.left() < 1):  # what comes first may take as long
        return
    end = min(run.deadline, time.monotonic() + seconds)
    for lower, certificate in bounds.configuration_bound(run.problem, run.k, run.lower, run.value, deadline=end,
                                                         partitions=[run.stages], seed=seed):
        run.claim(lower, certificate)
        if run.closed():
            break


def _timed(run, seed, orders, threads):
    """Spend what is left of a time budget: on partitions first, then on bounds, with two threads on both at once."""
    left = run.left()
    _genetic(run, seed, orders, threads, seconds=(0.08 if len(run.problem.work) <= 2 * LARGE else 0.02) * left)
    _exact(run, threads)
    stop = threading.Event()
    if threads > 1:
        worker = threading.Thread(target=_annealing, args=(run, seed, stop))
        worker.start()
        try:
            time.sleep(min(0.05 * left, max(0.0, run.left())))
            _exact(run, 1, late=True)
            _configuration(run, seed, run.left())
        finally:
            if run.closed():
                stop.set()
            worker.join()
        return
    bounded = len(run.problem.work) <= CONFIGURATION_SIZE
    _annealing(run, seed, stop, seconds=0.3 * run.left() if bounded else np.inf,
               patience=0.1 * run.left() if bounded else np.inf)
    _exact(run, threads, late=True)
    _configuration(run, seed, run.left())


def _checked(problem, start, k):
    """A partition somebody gives, renumbered without gaps where it has more numbers than nodes."""
    start = np.asarray(start, np.int64)
    known = start.shape == problem.work.shape and ((start >= 0) & (start < k)).all()
    if not known or not is_monotone(problem, start):
        raise InputError(f"start: {len(problem.work)} stages from 0 to {k - 1}, never falling along an edge, needed")
    return np.unique(start, return_inverse=True)[1]


def solve(instance, k, *, seconds=None, evaluations=None, seed=0, threads=1, start=None, low=0.0):
    """Split an instance into at most k stages, with a lower bound on what any split can reach.

    Parameters
    ----------
    instance : evaluation.instance.Instance
    k : int
    seconds : float, optional
        Time to spend, 60 if neither budget is given; less is used where optimality is proved. Compiling the kernels on
        a machine's first run comes on top.
    evaluations : int, optional
        Orders sliced, or thousands of annealing moves: with a number instead of a time, the same seed gives the same
        partition on any machine.
    seed : int
    threads : int
        More than one also lets the search for partitions and that for bounds run at the same time.
    start : int64 (n,), optional
        A partition known, monotone along edges, in 0 .. k - 1: the result is never worse.
    low : float
        A lower bound known, in seconds; it is trusted.

    Returns
    -------
    Solution
        The best so far where Ctrl-C interrupts.
    """
    timed, run = evaluations is None, None
    seconds = (60.0 if timed else np.inf) if seconds is None else float(seconds)
    try:
        with holding_interrupts():  # kernels are loaded, which cannot be done again once it was broken off
            run = _begun(instance, k, seconds, start, low)
        orders = _first(run, seed, threads)
        _cheap_bounds(run, timed)
        if timed:
            _timed(run, seed, orders, threads)
        else:
            _genetic(run, seed, orders, threads, evaluations // 2)
            _annealing(run, seed, threading.Event(), evaluations - evaluations // 2)
        if not run.closed():
            run.offer(polish(run.problem, run.k, run.stages)[1], "polish")
    except (KeyboardInterrupt, Exception) as error:
        if run is None or not (isinstance(error, KeyboardInterrupt) or was_interrupted()):
            raise
    return run.solution()


def _begun(instance, k, seconds, start, low):
    """A run that knows all nodes in one stage, the simple bound and what the caller knows."""
    problem, unit = from_instance(instance)
    run = _Run(problem, unit, max(1, min(k, len(problem.work))), time.monotonic() + seconds)
    if start is not None:
        run.offer(_checked(problem, start, k), "known")
    run.claim(low / unit, {"method": "known"})
    run.claim(*bounds.simple_bound(problem, run.k))
    return run
