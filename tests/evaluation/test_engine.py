"""Tasks on every engine: the same results, also when workers are killed, and refusals that say what to do."""

import argparse
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from evaluation import engine as engines
from evaluation import pool
from evaluation.engine import open_engine
from evaluation.errors import InputError
from tests import engine_tasks

distributed = pytest.importorskip("distributed")
dask_engine = pytest.importorskip("evaluation.dask_engine")


@pytest.fixture(scope="module")
def two_workers():
    with open_engine("2") as engine:
        yield engine


@pytest.fixture(scope="module")
def expected():
    return [engine_tasks.solved(task) for task in engine_tasks.SOLVES]


@pytest.fixture
def no_patience(monkeypatch):
    monkeypatch.setattr(dask_engine, "PATIENCE", 2.0)


def in_order(results):
    return [result for _, result in sorted(results)]


@pytest.mark.parametrize("options", [{"jobs": 1}, {"jobs": 2}, {"cluster": "1"}])
def test_results_do_not_depend_on_the_engine(options, expected):
    with open_engine(**options) as engine:
        assert in_order(engine.map(engine_tasks.solved, engine_tasks.SOLVES)) == expected


def test_a_dask_worker_killed_in_the_middle_changes_nothing(two_workers, expected):
    pids, found = two_workers.client.run(os.getpid), []
    for number, result in two_workers.map(engine_tasks.solved, engine_tasks.SOLVES):
        if len(found) == 5:
            os.kill(next(iter(pids.values())), signal.SIGKILL)
        found.append((number, result))
    assert in_order(found) == expected
    assert two_workers.client.run(os.getpid) != pids


def test_local_workers_have_one_thread_each(two_workers):
    for name in ("POLARS_MAX_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        assert set(in_order(two_workers.map(engine_tasks.threads, [name] * 2))) == {("1", 1)}


@pytest.mark.parametrize("options", [{"jobs": 1}, {"jobs": 2}])
def test_an_error_of_a_task_is_raised(options):
    with open_engine(**options) as engine, pytest.raises(InputError, match="task 3 is wrong"):
        list(engine.map(engine_tasks.refuse, range(9)))


def test_an_error_of_a_task_is_raised_by_dask_too_and_the_engine_goes_on(two_workers):
    with pytest.raises(InputError, match="task 3 is wrong"):
        list(two_workers.map(engine_tasks.refuse, range(9)))
    assert in_order(two_workers.map(engine_tasks.square, range(4))) == [0, 1, 4, 9]
    assert list(two_workers.map(engine_tasks.square, [])) == []


def test_a_killed_process_changes_nothing(tmp_path):
    with open_engine(jobs=2) as engine:
        tasks = [(str(tmp_path / "died"), number) for number in range(5)]
        assert in_order(engine.map(engine_tasks.die_once, tasks)) == list(range(5))
    assert (tmp_path / "died").exists()


def test_a_task_that_kills_every_process_is_given_up(monkeypatch):
    monkeypatch.setattr(engines, "ATTEMPTS", 2)
    with open_engine(jobs=2) as engine, pytest.raises(InputError, match="out of memory"):
        list(engine.map(engine_tasks.die, range(2)))


def test_stopping_a_process_that_ends_at_that_moment():
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    seen_alive = SimpleNamespace(is_alive=lambda: True, pid=ended.pid)
    pool._stop(SimpleNamespace(_processes={ended.pid: seen_alive}), {}, threading.Event())


def test_a_task_that_kills_every_dask_worker_is_given_up():
    with dask_engine.dask.config.set({"distributed.scheduler.allowed-failures": 1}), open_engine("1") as engine, \
            pytest.raises(InputError, match="ended 2 workers"):
        list(engine.map(engine_tasks.die, range(1)))


@pytest.mark.parametrize("text", ["0", "-1", "two", "10.0.0.1:8786", "tcp://10.0.0.1", "http://10.0.0.1:8786",
                                  "tcp://10.0.0.1:65536"])
def test_what_is_no_cluster_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="tcp://"):
        engines.cluster(text)


@pytest.mark.parametrize("text", ["0", "-1", "two", "1000", ""])
def test_what_is_no_number_of_processes_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="whole number from 1 to 999"):
        engines.jobs(text)


@pytest.mark.parametrize("listening", [False, True])
def test_an_address_without_a_scheduler_is_refused_in_time(no_patience, listening):
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        if listening:
            held.listen()  # something is there that never answers
        start = time.monotonic()
        with pytest.raises(InputError, match="no Dask scheduler answers"), \
                open_engine(f"tcp://127.0.0.1:{held.getsockname()[1]}"):
            pass
        assert time.monotonic() - start < 60


def test_a_scheduler_without_workers_says_so(no_patience):
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=logging.CRITICAL) as empty, \
            pytest.raises(InputError, match="dask worker tcp://"), open_engine(empty.scheduler_address):
        pass


def test_workers_with_other_versions_are_refused(two_workers, monkeypatch):
    monkeypatch.setattr(dask_engine, "version", lambda package: "0.0.1")
    dask_engine.environment.cache_clear()
    try:
        with pytest.raises(InputError, match=r"numpy .* \(here 0\.0\.1\)"), \
                open_engine(two_workers.client.scheduler.address):
            pass
    finally:
        dask_engine.environment.cache_clear()


def test_workers_that_cannot_import_the_kit_are_refused(tmp_path):
    (tmp_path / "evaluation.py").write_text("raise ImportError('nothing here')", encoding="utf-8")
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0", silence_logs=logging.CRITICAL) as made:
        worker = subprocess.Popen([sys.executable, "-m", "distributed.cli.dask_worker", made.scheduler_address,
                                   "--nthreads", "1", "--no-nanny", "--no-dashboard"], cwd=tmp_path,
                                  env={**os.environ, "PYTHONPATH": str(tmp_path)}, stderr=subprocess.DEVNULL)
        try:
            with pytest.raises(InputError, match="cannot run the kit"), open_engine(made.scheduler_address):
                pass
        finally:
            worker.terminate()
            worker.wait()


def test_without_dask_the_message_says_what_to_install(run_module, tmp_path):
    Path(tmp_path / "dask.py").write_text("raise ImportError('no Dask')", encoding="utf-8")
    code = "from evaluation.engine import open_engine\nwith open_engine('2'): pass"
    Path(tmp_path / "without.py").write_text(code, encoding="utf-8")
    done = run_module("without", env={"PYTHONPATH": os.pathsep.join([str(tmp_path), os.getcwd()])}, cwd=tmp_path)
    assert "pip install" in done.stderr and ".[cluster]" in done.stderr


def interrupt_at(event):
    """A Ctrl-C for this process once a task says that it is in the middle."""
    threading.Thread(target=lambda: (event.wait(60), os.kill(os.getpid(), signal.SIGINT)), daemon=True).start()


def test_what_holds_interrupts_back_is_done_first():
    inside, done = threading.Event(), []
    interrupt_at(inside)

    def task(_):
        with engines.holding_interrupts():
            inside.set()
            time.sleep(1)
            done.append("whole")
        done.append("too far")

    with pytest.raises(KeyboardInterrupt):
        list(engines.Here().map(task, [0]))
    assert done == ["whole"]


def test_interrupts_that_come_later_are_not_held():
    with engines.holding_interrupts():
        pass
    assert not engines.held_back(threading.get_ident())


def test_a_dask_task_holds_interrupts_back_too(monkeypatch):
    monkeypatch.setitem(dask_engine._RUNNING, threading.get_ident(), "mine")
    with pytest.raises(KeyboardInterrupt), engines.holding_interrupts():
        dask_engine._interrupt("mine")
        done = sum(range(1000))
    assert done == 499500
