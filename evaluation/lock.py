"""One writer at a time, across processes."""

import time
from contextlib import contextmanager
from pathlib import Path

from evaluation.errors import InputError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None
    import msvcrt


def _try(file):
    """Take the lock of an open file without waiting; OSError where another process has it."""
    if fcntl:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    else:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)


@contextmanager
def locked(path, seconds=600, step=0.05):
    """Hold an exclusive lock, which the system gives back when the process ends, however it ends.

    Parameters
    ----------
    path : str or Path
        A file of its own for the lock; made if need be and left behind, since removing it would let two
        processes lock two different files.
    seconds : float
        How long to wait for another process.
    step : float
        Seconds between two tries.

    Raises
    ------
    InputError
        Where another process still holds it.
    """
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + seconds
    with open(path, "a+b") as file:
        while True:
            try:
                _try(file)
                break
            except OSError as error:
                if time.monotonic() > deadline:
                    raise InputError(f"{path}: another process has been writing here for {seconds:.0f} s; "
                                     "wait for it to end, then run again") from error
                time.sleep(step)
        yield
