"""Where independent tasks run: in this process, in processes of this machine, or on Dask workers of many machines.

``engine.map(function, tasks)`` yields ``(index, result)`` as results arrive; what a task returns does not depend on
the engine. Ctrl-C reaches the tasks that run as a `KeyboardInterrupt`: what they still return is yielded, tasks that
have not begun are left out, then `KeyboardInterrupt` is raised.
"""

import argparse
import re
import signal
import threading
from contextlib import contextmanager

from evaluation.errors import InputError

AGAIN = 10.0  # seconds after which a worker that goes on is interrupted again: compilers swallow exceptions
MOST_PORT = 65535
ATTEMPTS = 4  # pools of processes used up before a task is taken to be what ends them


def add_cluster(parser):
    """Declare ``--cluster`` of a command that works through `open_engine`."""
    parser.add_argument("--cluster", type=cluster, metavar="N|tcp://HOST:PORT",
                        help="Dask: N workers of one thread on this machine, or those of a running scheduler")


def cluster(text):
    """Check the text of ``--cluster``; `argparse.ArgumentTypeError` where it is neither a number nor an address."""
    found = re.fullmatch(r"[1-9]\d{0,3}|(tcp|tls|ucx|wss?)://.+:(\d+)", text)
    if not found or int(found[2] or 0) > MOST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a number of local workers above 0 nor the address of a "
                                         "Dask scheduler such as tcp://10.0.0.1:8786")
    return text


def jobs(text):
    """Check the text of ``--jobs``; `argparse.ArgumentTypeError` where it is no number of processes."""
    if not re.fullmatch(r"[1-9]\d{0,2}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 999")
    return int(text)


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
                try:
                    result = function(task)
                except Exception as error:
                    if noted:
                        raise KeyboardInterrupt from error  # see `was_interrupted`
                    raise
                yield index, result
                if noted:  # a task may take the interrupt for itself and return its best
                    raise KeyboardInterrupt


class Processes:
    """Tasks in processes of this machine, started by spawn.

    Parameters
    ----------
    jobs : int
    apart : bool
        Also a task that is alone gets a process of its own.
    """

    def __init__(self, jobs, apart=False):
        self.jobs, self.apart = jobs, apart

    def map(self, function, tasks):
        """Yield ``(index, result)``; see the module. A process that is killed costs its pool's unfinished work.

        Raises
        ------
        InputError
            Where processes are killed again and again.
        """
        from evaluation.pool import BrokenProcessPool, pooled

        left = dict(enumerate(tasks))
        if len(left) < 2 and not self.apart:
            yield from Here().map(function, list(left.values()))
            return
        for attempt in range(1, ATTEMPTS + 1):
            try:
                for index, result in pooled(function, dict(left), self.jobs):
                    del left[index]
                    yield index, result
                return
            except BrokenProcessPool as error:
                if attempt == ATTEMPTS:
                    raise InputError(f"a worker process was ended from outside, {ATTEMPTS} times (out of memory?); "
                                     "use fewer of them") from error


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
        _REACHED.discard(threading.get_ident())


_HOLDING, _LATE = set(), set()  # threads that no interrupt shall reach now, and those that one has come for
_REACHED = set()  # threads whose task one has reached


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
        _REACHED.add(thread)
        raise KeyboardInterrupt


@contextmanager
def keeping_from_workers(*signals):
    """Keep signals from processes that are started in the block: they inherit what is blocked."""
    if not hasattr(signal, "pthread_sigmask"):
        yield  # Windows
        return
    from multiprocessing import resource_tracker

    resource_tracker.ensure_running()  # which would unblock them in the middle
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def held_back(thread):
    """Whether a thread holds interrupts back now; then it gets this one when it has done so."""
    if thread not in _HOLDING:
        _REACHED.add(thread)
        return False
    _LATE.add(thread)
    return True


def was_interrupted():
    """Whether Ctrl-C has reached the task of this thread.

    Then any exception may stand for the interrupt: a compiler that swallows it fails later with one of its own.
    """
    return threading.get_ident() in _REACHED


def ignore_interrupts():
    """Be deaf to Ctrl-C: the terminal sends it to workers too, and it is for the parent to decide."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def attempt(function, task):
    """In a worker: whether a task ran to its end, and its result; one that was interrupted may have none."""
    thread = threading.get_ident()
    _REACHED.discard(thread)
    try:
        return True, function(task)
    except (KeyboardInterrupt, Exception) as error:
        if isinstance(error, KeyboardInterrupt) or was_interrupted():
            return False, None
        raise
    finally:
        _REACHED.discard(thread)
