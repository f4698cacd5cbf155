"""Many instances and numbers of stages at once: one process a pair, the judge's figures, interruptible."""

import os
import signal
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context

from evaluation.instance import Instance
from evaluation.partition import bottleneck, certified_ratio, check_stages
from kit.partition.instances import with_memory
from kit.progress import progress

PROVED = 0.9999
AGAIN = 10.0  # seconds after which a worker that goes on is interrupted again: compilers swallow exceptions


@dataclass(frozen=True)
class Task:
    """One pair to solve.

    Attributes
    ----------
    file : str
        For the report.
    instance : Instance
    k : int
    memory : str or None
        ``64MiB`` or ``50%``, in place of the instance's own fast memory.
    budget : dict
        ``seconds`` or ``evaluations``, and ``seed``.
    """

    file: str
    instance: Instance
    k: int
    memory: str | None = None
    budget: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What came of a task; times in seconds, bottleneck and ratio as the judge computes them.

    Attributes
    ----------
    instance : Instance
        With the fast memory it was solved for.
    stages : int64 array (n,)
    methods : dict
        As the solver reports them.
    certificate : dict or None
    history : list of (seconds, bottleneck, lower bound)
    """

    file: str
    instance: Instance
    k: int
    stages: object
    bottleneck: float
    lower_bound: float
    certified_ratio: float
    seconds: float
    methods: dict
    certificate: dict | None
    history: list

    @property
    def proved(self):
        """Whether the partition is proved optimal, to four digits."""
        return self.certified_ratio >= PROVED

    def to_json(self):
        """The keys that ``solve --json`` prints."""
        keys = ("file", "k", "bottleneck", "lower_bound", "certified_ratio", "proved", "seconds", "methods")
        return {key: getattr(self, key) for key in keys}


def solve_task(task):
    """Solve one pair and let the judge look at the answer."""
    from kit.partition.solve import solve

    instance = with_memory(task.instance, task.memory, task.k)
    start = time.monotonic()
    found = solve(instance, task.k, **task.budget)
    stages = check_stages(instance, found.stages, task.k)
    seconds = bottleneck(instance, stages)
    lower = min(found.lower_bound, seconds)
    return Outcome(task.file, instance, task.k, stages, seconds, lower, certified_ratio(lower, seconds),
                   time.monotonic() - start, found.methods, found.certificate, found.history)


def solve_all(tasks, jobs=1, done=lambda outcome: None):
    """Solve many pairs; Ctrl-C ends those that run with the best so far and leaves out those not begun.

    Parameters
    ----------
    tasks : list of Task
    jobs : int
        Processes at a time.
    done : callable
        Called with each outcome as it arrives, in this process.

    Returns
    -------
    (list of Outcome, bool)
        In the order of the tasks; whether it was interrupted.
    """
    if jobs == 1 or len(tasks) == 1:
        return _one_by_one(tasks, done)
    outcomes, interrupted, context = {}, False, get_context("spawn")
    stop = context.Event()
    with (_noting_interrupts(),  # also where the process was started with the signal ignored, as nohup does
          ProcessPoolExecutor(min(jobs, len(tasks)), context, _prepare, (stop,)) as pool):
        waiting = {pool.submit(_worker, task): number for number, task in enumerate(tasks)}
        bar = progress(total=len(tasks), desc="partitions", unit="pair")
        while waiting:
            try:
                finished, _ = wait(waiting, AGAIN if interrupted else None, FIRST_COMPLETED)
            except KeyboardInterrupt:
                interrupted, finished = True, ()
            if interrupted and not finished:
                _stop(pool, waiting, stop)
            for future in finished:
                number = waiting.pop(future)
                outcome = None if future.cancelled() else future.result()
                bar.update()
                if outcome is not None:
                    outcomes[number] = outcome
                    done(outcome)
        bar.close()
    return [outcomes[number] for number in sorted(outcomes)], interrupted


def _one_by_one(tasks, done):
    outcomes = []
    with _noting_interrupts() as interrupts:
        for task in progress(tasks, desc="partitions", unit="pair"):
            try:
                outcomes.append(solve_task(task))
                done(outcomes[-1])
            except KeyboardInterrupt:
                interrupts.append(signal.SIGINT)
            if interrupts:
                break
    return outcomes, bool(interrupts)


@contextmanager
def _noting_interrupts():
    """A list that grows with each Ctrl-C: the solver takes the interrupt for itself and returns its best."""
    noted = []

    def note(number, frame):
        noted.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield noted  # only the main thread gets signals
        return
    previous = signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, previous)


_STOP = []  # in a worker: the event that says that no further task shall begin


def _prepare(stop):
    _STOP.append(stop)
    _ignore()


def _ignore():
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _interrupter():
    """A handler that ends the search, deaf for a while: the terminal and the parent may both send the signal."""
    last = -AGAIN

    def handle(number, frame):
        nonlocal last
        if time.monotonic() - last < AGAIN / 2:
            return
        last = time.monotonic()
        raise KeyboardInterrupt

    return handle


def _worker(task):
    if _STOP[0].is_set():
        return None
    signal.signal(signal.SIGINT, _interrupter())
    try:
        return solve_task(task)
    except KeyboardInterrupt:
        return None  # before there was anything to return
    finally:
        _ignore()


def _stop(pool, waiting, stop):
    """Cancel what has not begun and interrupt what runs, in case the signal reached this process alone."""
    stop.set()  # a pool hands out a task or two in advance, which cannot be cancelled
    for future in waiting:
        future.cancel()
    for process in list(pool._processes.values()):
        if process.is_alive():
            os.kill(process.pid, signal.SIGINT)
