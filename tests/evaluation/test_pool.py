"""Processes and the signals that terminals, batch systems and the lack of memory send."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from types import SimpleNamespace

import pytest

from evaluation import engine as engines
from evaluation import pool
from tests.conftest import REPOSITORY

pytestmark = pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="POSIX signals")

OWNER = """
import os, sys, time
from pathlib import Path
from evaluation.cli import _ended_like_ctrl_c
from evaluation.engine import Processes

def task(file):
    try:
        Path(file).write_text(str(os.getpid()), encoding="utf-8")
        time.sleep(600)
    except KeyboardInterrupt:
        return "the best so far"

if __name__ == "__main__":
    with _ended_like_ctrl_c():
        try:
            for found in Processes(2).map(task, sys.argv[1:]):
                print(found, flush=True)
        except KeyboardInterrupt:
            print("interrupted")
"""


@pytest.fixture
def owner(tmp_path):
    """A process, in a group of its own, whose two workers are in the middle of their tasks; and their numbers."""
    (tmp_path / "owner.py").write_text(OWNER, encoding="utf-8")
    files = [tmp_path / "a", tmp_path / "b"]
    process = subprocess.Popen([sys.executable, tmp_path / "owner.py", *files], stdout=subprocess.PIPE, text=True,
                               env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, stderr=subprocess.PIPE,
                               start_new_session=True)
    try:
        until(lambda: all(file.is_file() and file.read_text(encoding="utf-8") for file in files))
        yield process, [int(file.read_text(encoding="utf-8")) for file in files]
    finally:
        process.kill()
        process.communicate()


def until(there, seconds=300):
    end = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_workers_end_with_an_owner_that_is_killed(owner):
    process, workers = owner
    process.kill()
    process.wait()
    try:
        until(lambda: not any(map(is_there, workers)), 60)
    finally:
        for worker in filter(is_there, workers):
            os.kill(worker, signal.SIGKILL)


@pytest.mark.parametrize("send", [os.kill, os.killpg], ids=["owner", "group"])
def test_sigterm_keeps_what_tasks_still_return(owner, send):
    process, _ = owner
    send(process.pid, signal.SIGTERM)
    out, err = process.communicate(timeout=120)
    assert sorted(out.splitlines()) == ["(0, 'the best so far')", "(1, 'the best so far')", "interrupted"]
    assert err == ""


BLOCKED = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"


def test_what_starts_in_the_block_inherits_that_the_signal_is_blocked():
    code = (f"import subprocess, sys\nfrom multiprocessing import get_context\nfrom evaluation import engine\n"
            f"import signal\nwith engine.keeping_from_workers(signal.SIGINT):\n    get_context('spawn').Event()\n"
            f"    subprocess.run([sys.executable, '-c', {BLOCKED!r}])\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=REPOSITORY)
    assert done.stdout == "True\n"
    after = subprocess.run([sys.executable, "-c", code.replace("    subprocess", "subprocess")], capture_output=True,
                           text=True, check=True, cwd=REPOSITORY)
    assert after.stdout == "False\n"


def test_only_interrupts_are_swallowed_quietly(monkeypatch):
    shown = []
    monkeypatch.setattr(sys, "__unraisablehook__", shown.append)
    interrupt, fault = (SimpleNamespace(exc_type=kind) for kind in (KeyboardInterrupt, ZeroDivisionError))
    pool._quiet(interrupt)
    pool._quiet(fault)
    assert shown == [fault]


def fails_of_it(number):
    """As a compiler does that swallows the interrupt."""
    with suppress(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    raise RuntimeError("no compiled object yet")


def test_an_interrupted_task_may_fail_with_anything():
    with pytest.raises(KeyboardInterrupt):
        list(engines.Here().map(fails_of_it, [0]))


def test_a_worker_whose_interrupted_task_fails_has_nothing_to_say():
    with engines.noting_interrupts():
        assert engines.attempt(fails_of_it, 0) == (False, None)


def test_a_task_that_fails_by_itself_is_a_fault_also_after_an_interrupted_one():
    def fails(number):
        raise RuntimeError("a fault")

    with engines.noting_interrupts():
        engines.attempt(fails_of_it, 0)
        with pytest.raises(RuntimeError, match="a fault"):
            engines.attempt(fails, 0)
