"""Tasks on Dask workers: some of this machine, or those of a running scheduler."""

import asyncio
import ctypes
import itertools
import logging
import os
import platform
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from evaluation.engine import (
    AGAIN,
    attempt,
    held_back,
    holding_interrupts,
    ignore_interrupts,
    keeping_from_workers,
    noting_interrupts,
)
from evaluation.errors import InputError
from evaluation.files import code_digest

try:
    import dask
    import distributed
except ImportError as error:
    raise InputError(f"--cluster needs Dask ({error}): python -m pip install 'dask[distributed]', or the kit with its "
                     "extra: python -m pip install -e '.[cluster]'") from error

PATIENCE = 30.0  # seconds until a scheduler that does not answer, or has no workers, is given up
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS",
                            "POLARS_MAX_THREADS"), "1")
PACKAGES = ("numpy", "scipy", "polars", "numba", "lightgbm", "highspy", "dask", "distributed")


@contextmanager
def connect(cluster):
    """A `Dask` engine on so many local workers, or on the workers of a scheduler, all looked at first.

    Raises
    ------
    InputError
        Where the scheduler does not answer, has no workers, or these have another version of anything that results
        depend on.
    """
    address = cluster if "://" in cluster else None
    with _local(int(cluster)) if address is None else _reached(address) as client:
        if address is None:
            client.register_plugin(_Deaf())
        check_workers(client)
        yield Dask(client)


@contextmanager
def _local(workers):
    """A client of workers of one thread each, which end with the ``with`` block."""
    before = dict(os.environ)
    settings = {"distributed.nanny.pre-spawn-environ": ONE_THREAD}  # libraries read them when they are imported
    with dask.config.set(settings), ExitStack() as stack:
        # Workers that are broken off while they start leave a cluster that can be neither used nor closed.
        with noting_interrupts(), holding_interrupts(), keeping_from_workers(signal.SIGINT):
            made = stack.enter_context(distributed.LocalCluster(
                n_workers=workers, threads_per_worker=1, processes=True, memory_limit=0, dashboard_address=":0",
                silence_logs=logging.CRITICAL))
        client = stack.enter_context(distributed.Client(made))
        for name in ONE_THREAD:  # Dask leaves them set in this process too
            if name not in before:
                os.environ.pop(name, None)
        yield client


@contextmanager
def _reached(address):
    try:
        with ThreadPoolExecutor(1) as thread:  # a notebook has an event loop in this one
            thread.submit(asyncio.run, _greet(address)).result()
        client = distributed.Client(address, timeout=PATIENCE)
    except (OSError, ValueError, TimeoutError) as error:
        reason = str(error) or type(error.__cause__ or error).__name__
        raise InputError(f"{address}: no Dask scheduler answers there within {PATIENCE:g} s ({reason}); start one: "
                         "dask scheduler --port 8786, and give --cluster the tcp:// address that it prints") from error
    with client:
        yield client


async def _greet(address):
    """Exchange greetings: a client alone waits for ever where something listens and never answers."""
    options = distributed.Security().get_connection_args("client")
    async with asyncio.timeout(PATIENCE):
        comm = await distributed.comm.connect(address, timeout=PATIENCE, **options)
        await comm.close()


class _Deaf(distributed.WorkerPlugin):
    """Local workers share the terminal, whose Ctrl-C would end them; also those started in place of a killed one."""

    name = "deaf-to-ctrl-c"

    def setup(self, worker):
        ignore_interrupts()


@cache
def environment():
    """What results depend on, as text by name: Python, packages, and the code of the kit and the judge."""
    found = {"python": ".".join(platform.python_version_tuple()[:2])}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "none"
    for name, what in (("evaluation", "judge"), ("kit", "kit")):
        spec = find_spec(name)
        root = Path(spec.origin).parent if spec and spec.origin else Path(os.devnull)
        found[f"code of the {what}"] = code_digest(root, root.rglob("*.py"))
    return found


def check_workers(client):
    """Raise `InputError` where there are no workers, or some have other versions than this process."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError as error:
        raise InputError(f"{client.scheduler.address}: the scheduler has no workers, also not after {PATIENCE:g} s; "
                         f"start some: dask worker {client.scheduler.address} --nthreads 1") from error
    for worker, theirs in client.run(environment, on_error="return").items():
        if isinstance(theirs, Exception):
            raise InputError(f"worker {worker} cannot run the kit ({theirs}); install the same version of it there")
        _compare(environment(), theirs, f"worker {worker}")


def _compare(needed, found, who):
    """Refuse a worker with another environment: results must not depend on where they are computed."""
    other = [f"{name} {found.get(name)} (here {needed[name]})" for name in needed if found.get(name) != needed[name]]
    if other:
        raise InputError(f"{who} has another {', '.join(other)}; install the same there and start it again")


class Dask:
    """Tasks on the workers of a scheduler; a worker that ends in the middle costs the time of its tasks.

    Parameters
    ----------
    client : distributed.Client
    """

    _numbers = itertools.count()

    def __init__(self, client):
        self.client = client

    def map(self, function, tasks):
        """Yield ``(index, result)``; see `evaluation.engine`.

        Raises
        ------
        InputError
            Where a task ends its worker again and again, or the scheduler goes away.
        """
        token = f"{os.getpid()}-{next(self._numbers)}-{os.urandom(4).hex()}"
        waiting = {self.client.submit(_run, token, environment(), function, task,
                                      key=f"{function.__name__}-{token}-{index}"): index
                   for index, task in enumerate(tasks)}
        done = distributed.as_completed(list(waiting))
        try:
            with noting_interrupts():
                try:
                    while waiting:
                        yield from self._result(next(done), waiting)
                except KeyboardInterrupt:
                    yield from self._last(token, waiting)
                    raise
        finally:
            self.client.cancel(list(waiting))

    def _result(self, future, waiting):
        """What one finished future adds: its index and result, or nothing where it was not to begin."""
        try:
            ran, result = future.result()
        except distributed.KilledWorker as error:
            raise InputError(f"one task ended {dask.config.get('distributed.scheduler.allowed-failures') + 1} workers, "
                             "one after another (out of memory?); give workers more memory") from error
        except distributed.client.FutureCancelledError as error:
            raise InputError("the connection to the Dask scheduler is lost; start it again, then this command"
                             ) from error
        index = waiting.pop(future)
        if ran:
            yield index, result

    def _last(self, token, waiting):
        """After Ctrl-C: results of the tasks that run; those that have not begun return at once."""
        while waiting:
            self.client.run(_interrupt, token, on_error="ignore")
            try:
                finished = distributed.wait(list(waiting), timeout=AGAIN).done
            except TimeoutError:
                finished = [future for future in waiting if future.done()]
            for future in list(finished):
                yield from self._result(future, waiting)


_LOCK, _STOPPED, _RUNNING = threading.Lock(), set(), {}  # in a worker: tokens of maps, thread -> token


def _run(token, needed, function, task):
    """In a worker's thread: whether the task ran to its end, and its result."""
    _compare(needed, environment(), f"worker {platform.node()}")  # it may have come after `check_workers`
    if token in _STOPPED:
        return False, None
    thread = threading.get_ident()
    _RUNNING[thread] = token
    try:
        return attempt(function, task)
    except KeyboardInterrupt:
        return False, None  # it came when all was done
    finally:
        with _LOCK:
            del _RUNNING[thread]
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), None)


def _interrupt(token):
    """In a worker: begin no task of a map any more, and interrupt the one that runs.

    Signals reach the main thread alone; an exception can be set in any.
    """
    _STOPPED.add(token)
    with _LOCK:
        for thread, running in _RUNNING.items():
            if running == token and not held_back(thread):
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(KeyboardInterrupt))
