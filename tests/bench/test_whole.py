"""Training and ranking a whole data set, as it is measured: of all processes of a command together."""

import os
import subprocess
import sys

import pytest

from kit.bench import whole
from tests.builders import save_data_set

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory of processes is read from /proc")
_SPENDS = "import sys, subprocess\nheld = bytearray({size})\nfor at in range(0, {size}, 4096): held[at] = 1\n"
_PARENT = _SPENDS + "child = subprocess.Popen([sys.executable, '-c', {child!r}], stdout=subprocess.PIPE)\n" \
                    "child.stdout.read(1)\nprint('ready', flush=True)\nsys.stdin.read()\n"


@linux
def test_a_child_counts():
    child = _SPENDS.format(size=30_000_000) + "print('x', flush=True)\nsys.stdin.read()\n"
    process = subprocess.Popen([sys.executable, "-c", _PARENT.format(size=60_000_000, child=child)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        process.stdout.readline()
        found = whole.members(process.pid)
        assert len(found) == 2
        assert 90_000_000 < whole.held(found) < 150_000_000
        assert whole.held(found[:1]) < 90_000_000
    finally:
        process.communicate(b"")


def test_a_process_that_has_ended_holds_nothing():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    assert whole.held(whole.members(process.pid)) == 0


def test_a_command_that_fails_says_why(tmp_path):
    with pytest.raises(subprocess.CalledProcessError) as raised:
        whole.command("inspect", tmp_path / "missing")
    assert "missing" in raised.value.stderr


def test_rows_of_a_data_set(monkeypatch, tmp_path):
    monkeypatch.setenv(whole.VARIABLE, str(save_data_set(tmp_path / "mine", train=2)))
    monkeypatch.setattr(whole, "MODELS", ("gbdt",))
    what, figures, _ = zip(*whole.rows(), strict=True)
    assert what == ("mine: store, 2 processes", "mine: training gbdt, 8 steps a collection, --max-memory 8GB",
                    "mine: ranking the test split with gbdt")
    assert all(" s, " in figure for figure in figures)
    assert not list(tmp_path.rglob(".store")), "the data set is left as it was"
    assert "KIT_STORE" not in os.environ
