"""Where independent tasks run: in this process, in processes of this machine, or on Dask workers of many machines.

``engine.map(function, tasks)`` yields ``(index, result)`` as results arrive; what a task returns does not depend on
the engine. Ctrl-C reaches the tasks that run as a `KeyboardInterrupt`: what they still return is yielded, tasks that
have not begun are left out, then `KeyboardInterrupt` is raised.
"""

import argparse
import os
import re
import signal
import threading
import time
from contextlib import contextmanager, suppress

from evaluation.errors import InputError

AGAIN = 10.0  # seconds after which a worker that goes on is interrupted again: compilers swallow exceptions
ATTEMPTS = 4  # pools of processes used up before a task is taken to be what ends them


def add_cluster(parser):
    """Declare ``--cluster`` of a command that works through `open_engine`."""
    parser.add_argument("--cluster", type=cluster, metavar="N|tcp://HOST:PORT",
                        help="Dask: N workers of one thread on this machine, or those of a running scheduler")


def cluster(text):
    """Check the text of ``--cluster``; `argparse.ArgumentTypeError` where it is neither a number nor an address."""
    if not re.fullmatch(r"[1-9]\d{0,3}|(tcp|tls|ucx|wss?)://.+:\d+", text):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of local workers above 0 nor the address of a "
                                         "Dask scheduler such as tcp://10.0.0.1:8786")
    return text


@contextmanager
def open_engine(cluster=None, jobs=1):
    """An engine for the time of a ``with`` block.

    Parameters
    ----------
    cluster : str, optional
        Number of local Dask workers, or the address of a running scheduler; in place of `jobs`.
    jobs : int
        Processes on this machine; with one, tasks run in this process.

    Yields
    ------
    Here, Processes or evaluation.dask_engine.Dask

    Raises
    ------
    InputError
        Where Dask is not installed, or the scheduler or its workers cannot be used.
    """
    if cluster is None:
        yield Here() if jobs == 1 else Processes(jobs)
        return
    from evaluation.dask_engine import connect

    with connect(str(cluster)) as engine:
        yield engine


def in_order(results):
    """Results of ``engine.map`` in the order of the tasks, each as soon as those before it are there."""
    early, expected = {}, 0
    for index, result in results:
        early[index] = result
        while expected in early:
            yield early.pop(expected)
            expected += 1


class Here:
    """Tasks one after another in this process."""

    def map(self, function, tasks):
        """Yield ``(index, function(task))``; see the module."""
        with noting_interrupts() as noted:
            for index, task in enumerate(tasks):
                result = function(task)
                yield index, result
                if noted:  # a task may take the interrupt for itself and return its best
                    raise KeyboardInterrupt


class Processes:
    """Tasks in processes of this machine, started by spawn."""

    def __init__(self, jobs):
        self.jobs = jobs

    def map(self, function, tasks):
        """Yield ``(index, result)``; see the module. A process that is killed costs its pool's unfinished work.

        Raises
        ------
        InputError
            Where processes are killed again and again.
        """
        from concurrent.futures.process import BrokenProcessPool

        left = dict(enumerate(tasks))
        if len(left) < 2:
            yield from Here().map(function, list(left.values()))
            return
        for attempt in range(1, ATTEMPTS + 1):
            try:
                for index, result in _pooled(function, dict(left), self.jobs):
                    del left[index]
                    yield index, result
                return
            except BrokenProcessPool as error:
                if attempt == ATTEMPTS:
                    raise InputError(f"a worker process was ended from outside, {ATTEMPTS} times (out of memory?); "
                                     "use fewer of them") from error


def _pooled(function, tasks, jobs):
    """Run numbered tasks in one pool."""
    from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
    from multiprocessing import get_context

    context, interrupted = get_context("spawn"), False
    stop = context.Event()
    with (noting_interrupts(),  # also where the process was started with the signal ignored, as nohup does
          ProcessPoolExecutor(min(jobs, len(tasks)), context, _prepare, (stop,)) as pool):
        waiting = {pool.submit(_run, function, task): index for index, task in tasks.items()}
        try:
            while waiting:
                try:
                    finished, _ = wait(waiting, AGAIN if interrupted else None, FIRST_COMPLETED)
                except KeyboardInterrupt:
                    interrupted, finished = True, ()
                if interrupted and not finished:
                    _stop(pool, waiting, stop)
                for future in finished:
                    index = waiting.pop(future)
                    ran, result = (False, None) if future.cancelled() else future.result()
                    if ran:
                        yield index, result
        finally:
            if waiting:  # an error, or nobody wants the rest
                _stop(pool, waiting, stop)
    if interrupted:
        raise KeyboardInterrupt


@contextmanager
def noting_interrupts():
    """A list that grows with each Ctrl-C, each of which raises `KeyboardInterrupt` as well."""
    noted = []

    def note(number, frame):
        noted.append(number)
        if not held_back(threading.get_ident()):
            raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield noted  # only the main thread gets signals
        return
    previous = signal.signal(signal.SIGINT, note)
    try:
        yield noted
    finally:
        signal.signal(signal.SIGINT, previous)


_HOLDING, _LATE = set(), set()  # threads that no interrupt shall reach now, and those that one has come for


@contextmanager
def holding_interrupts():
    """Hold a Ctrl-C that reaches a task back until the block ends, where it is raised.

    For what it would leave half-done: modules that are imported, kernels that are loaded.
    """
    thread = threading.get_ident()
    _HOLDING.add(thread)
    try:
        yield
    finally:
        _HOLDING.discard(thread)
        late = thread in _LATE
        _LATE.discard(thread)
    if late:
        raise KeyboardInterrupt


def held_back(thread):
    """Whether a thread holds interrupts back now; then it gets this one when it has done so."""
    if thread not in _HOLDING:
        return False
    _LATE.add(thread)
    return True


_STOP = []  # in a worker: the event that says that no further task shall begin


def _prepare(stop):
    _STOP.append(stop)
    ignore_interrupts()


def ignore_interrupts():
    """Be deaf to Ctrl-C: the terminal sends it to workers too, and it is for the parent to decide."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _interrupter():
    """A handler that ends the task, deaf for a while: the terminal and the parent may both send the signal."""
    last = -AGAIN

    def handle(number, frame):
        nonlocal last
        if time.monotonic() - last < AGAIN / 2:
            return
        last = time.monotonic()
        if not held_back(threading.get_ident()):
            raise KeyboardInterrupt

    return handle


def _run(function, task):
    """In a worker: whether the task ran to its end, and its result."""
    if _STOP[0].is_set():
        return False, None
    signal.signal(signal.SIGINT, _interrupter())
    try:
        return True, function(task)
    except KeyboardInterrupt:
        return False, None  # before there was anything to return
    finally:
        ignore_interrupts()


def _stop(pool, waiting, stop):
    """Cancel what has not begun and interrupt what runs, in case the signal reached this process alone."""
    stop.set()  # a pool hands out a task or two in advance, which cannot be cancelled
    for future in waiting:
        future.cancel()
    for process in list((pool._processes or {}).values()):
        if process.is_alive():
            with suppress(ProcessLookupError):  # ended since
                os.kill(process.pid, signal.SIGINT)
