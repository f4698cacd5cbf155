"""From what a verb raises, or what the system sends, to an exit status and one paragraph."""

import errno
import os
import signal

import pytest

from evaluation import cli
from evaluation.files import atomic


def raising(error):
    def run(args):
        raise error

    return run


@pytest.mark.parametrize(("number", "mend"), [(errno.ENOSPC, "free some space"), (errno.EACCES, "right"),
                                              (errno.EROFS, "can be written"), (errno.ENOENT, "still there")])
def test_what_the_machine_lacks_is_said_without_a_traceback(capsys, number, mend):
    assert cli.guarded(raising(OSError(number, os.strerror(number), "some/file")), None) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"error: some/file: {os.strerror(number)}; ") and mend in said


def test_other_errors_of_the_system_are_faults():
    with pytest.raises(OSError, match="Bad file descriptor"):
        cli.guarded(raising(OSError(errno.EBADF, "Bad file descriptor")), None)


def test_a_full_disk_names_the_file_and_leaves_nothing(tmp_path, monkeypatch):
    def full(handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as error, atomic(tmp_path / "made") as file:
        file.write("half")
    assert error.value.filename == str(tmp_path / "made")
    assert list(tmp_path.iterdir()) == []


def test_sigterm_does_what_ctrl_c_does():
    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # so that a fault fails this test, not all of them
    try:
        with pytest.raises(KeyboardInterrupt), cli._ended_like_ctrl_c():
            signal.raise_signal(signal.SIGTERM)
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_sigterm_is_heard_where_ctrl_c_is_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt), cli._ended_like_ctrl_c():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_same_sigterm_twice_is_one():
    with cli._ended_like_ctrl_c():
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
