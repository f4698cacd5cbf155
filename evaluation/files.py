"""Writing files so that nobody ever sees half of one."""

import hashlib
import os
import struct
import tempfile
import tokenize
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path

# What readers of zip files and of the NumPy arrays in them trip over where a byte is wrong.
DAMAGE = (OSError, EOFError, ValueError, LookupError, RuntimeError, OverflowError, struct.error, zipfile.BadZipFile,
          zlib.error, tokenize.TokenError)


@contextmanager
def atomic(path, mode="w"):
    """Open a temporary file beside `path` and move it into place once the block has succeeded.

    Parameters
    ----------
    path : str or Path
        Where the finished file shall stand; its folder is made if need be.
    mode : {"w", "wb"}
        Text is written as UTF-8 with ``\\n`` line ends on every platform.

    Yields
    ------
    file object
        Open for writing. If the block raises, `path` is left as it was.

    Raises
    ------
    OSError
        Where it cannot be written; names `path`, also where the system names no file (a full disk).
    """
    path = Path(path)
    try:
        with _atomic(path, mode) as file:
            yield file
    except OSError as error:
        if error.filename is None or str(error.filename).startswith(str(path.parent / f".{path.name}.")):
            error.filename, error.filename2 = str(path), None
        raise


@contextmanager
def _atomic(path, mode):
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    text = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    try:
        with os.fdopen(handle, mode, **text) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def code_digest(root, files):
    """Twelve hexadecimal digits that change with the names below `root`, or the bytes, of files of code."""
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(f"{file.relative_to(root).as_posix()}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def sha256(path):
    """Hexadecimal SHA-256 of a file's bytes, read in pieces."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
