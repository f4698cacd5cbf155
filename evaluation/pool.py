"""Tasks in a pool of processes of this machine: what happens in the pool's owner, and what in its workers.

Workers hear neither Ctrl-C nor SIGTERM, which terminals and batch systems send to them too: the owner decides, and
interrupts the tasks that run. Where the owner ends without a word, so do they.
"""

import os
import signal
import sys
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import parent_process
from multiprocessing.context import SpawnContext, SpawnProcess

from evaluation.engine import (
    AGAIN,
    attempt,
    held_back,
    holding_interrupts,
    ignore_interrupts,
    keeping_from_workers,
    noting_interrupts,
)

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _Worker(SpawnProcess):
    """A process whose SIGTERM is for nobody; a pool that breaks ends those that are left."""

    terminate = SpawnProcess.kill


class _Workers(SpawnContext):
    Process = _Worker


def pooled(function, tasks, jobs):
    """Run numbered tasks in one pool; yield ``(number, result)``, see `evaluation.engine`.

    Raises
    ------
    BrokenProcessPool
        Where a process was ended from outside.
    """
    context, waiting, interrupted = _Workers(), {}, False
    stop = context.Event()
    with (noting_interrupts(),  # also where the process was started with the signal ignored, as nohup does
          ProcessPoolExecutor(min(jobs, len(tasks)), context, _prepare, (stop,)) as pool):
        try:
            try:
                with holding_interrupts(), keeping_from_workers(*SIGNALS):
                    for index, task in tasks.items():
                        waiting[pool.submit(_run, function, task)] = index
            except KeyboardInterrupt:
                interrupted = True
                _stop(pool, waiting, stop)
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
        except BrokenProcessPool:
            if not interrupted:
                raise
        finally:
            if waiting:  # an error, or nobody wants the rest
                _stop(pool, waiting, stop)
    if interrupted:
        raise KeyboardInterrupt


def _stop(pool, waiting, stop):
    """Cancel what has not begun and interrupt what runs, in case the signal reached this process alone."""
    stop.set()  # a pool hands out a task or two in advance, which cannot be cancelled
    for future in waiting:
        future.cancel()
    for process in list((pool._processes or {}).values()):
        if process.is_alive():
            with suppress(ProcessLookupError):  # ended since
                os.kill(process.pid, signal.SIGINT)


_STOP = []  # in a worker: the event that says that no further task shall begin


def _prepare(stop):
    _STOP.append(stop)
    ignore_interrupts()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)  # the owner's interrupts shall be heard
    sys.unraisablehook = _quiet
    threading.Thread(target=_end_with_owner, daemon=True).start()


def _quiet(unraisable):
    """Say nothing of an interrupt that a compiler's callback swallows; other such exceptions as ever."""
    if unraisable.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(unraisable)


def _end_with_owner():
    """End once the owner has, however that came about: else this process would wait for work for ever."""
    parent_process().join()
    os._exit(1)


def _run(function, task):
    """In a worker: whether the task ran to its end, and its result."""
    if _STOP[0].is_set():
        return False, None
    signal.signal(signal.SIGINT, _interrupter())
    try:
        return attempt(function, task)
    finally:
        ignore_interrupts()


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
