"""The command line shared by ``python -m kit`` and ``python -m evaluation``: verbs in, exit status out."""

import argparse
import errno
import importlib
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager

from evaluation.errors import InputError

DONE, WRONG_INPUT, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130
ONCE = 5.0  # seconds in which a second request to end is the same one: some senders ask a process and its group
_RIGHTS = "give yourself the right to, or choose another place"
_SPACE = "free some space there, or choose a place on another disk; then run the same command again"
CIRCUMSTANCES = {  # what the system may say to a program without a fault, and how it is mended
    errno.ENOSPC: _SPACE, errno.EDQUOT: _SPACE, errno.EFBIG: _SPACE, errno.EACCES: _RIGHTS, errno.EPERM: _RIGHTS,
    errno.EROFS: "choose a place that can be written", errno.EIO: "the disk or the network fails: copy the data",
    errno.ENOENT: "look whether it is still there, then run the same command again",
    errno.ENOTDIR: "a file stands where a folder is needed: choose another place",
    errno.EISDIR: "a folder stands where a file is needed: choose another place",
    errno.ENAMETOOLONG: "choose a shorter name", errno.EMFILE: "allow more open files: ulimit -n 4096",
}


def main(program, verbs, description, argv=None):
    """Run one verb and turn its outcome into an exit status.

    Only the module of the chosen verb is imported, so that help and cheap verbs start at once.

    Parameters
    ----------
    program : str
        How the user started it, for usage lines: ``"python -m kit"``.
    verbs : dict of str to (str, str)
        Verb -> (module with ``arguments(parser)`` and ``run(args)``, one line of help).
    description : str
        What the program is for.
    argv : list of str, optional
        Arguments after the program's name; those of the process by default.

    Returns
    -------
    int
        0 done, 1 the user's input or the machine's state is wrong, 2 wrong usage, 130 interrupted.
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    overview = argparse.ArgumentParser(prog=program, description=description)
    sub = overview.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, (_, text) in verbs.items():
        sub.add_parser(name, help=text, add_help=False)
    if not argv or argv[0] not in verbs:
        overview.parse_args(argv)
        return WRONG_USAGE
    module = importlib.import_module(verbs[argv[0]][0])
    parser = argparse.ArgumentParser(prog=f"{program} {argv[0]}", description=module.__doc__)
    module.arguments(parser)
    with _ended_like_ctrl_c():
        return guarded(module.run, parser.parse_args(argv[1:]))


@contextmanager
def _ended_like_ctrl_c():
    """Let SIGTERM, with which batch systems end jobs, do what Ctrl-C does: keep what is found, end all workers."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread gets signals
        return
    last = -ONCE

    def end(number, frame):
        nonlocal last
        if time.monotonic() - last < ONCE:
            return
        last, handler = time.monotonic(), signal.getsignal(signal.SIGINT)
        if not callable(handler):  # Ctrl-C is ignored, as by nohup
            raise KeyboardInterrupt
        handler(signal.SIGINT, frame)

    previous = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


def guarded(run, args):
    """Call ``run(args)``; print what the user can mend without a traceback and map it to an exit status."""
    try:
        return run(args) or DONE
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return WRONG_INPUT
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:
        if error.errno not in CIRCUMSTANCES:
            raise
        where = error.filename2 or error.filename or "a file"
        print(f"error: {where}: {error.strerror}; {CIRCUMSTANCES[error.errno]}", file=sys.stderr)
        return WRONG_INPUT
