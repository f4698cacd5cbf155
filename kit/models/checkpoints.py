"""Checkpoints of a training: written whole, checked when read, the last two kept."""

import pickle
import struct
import zipfile
import zlib
from pathlib import Path

import torch

from evaluation.errors import InputError
from evaluation.files import atomic

KEPT = 2
DAMAGE = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, RuntimeError, NotImplementedError,
          ValueError, LookupError, OverflowError, AttributeError)  # what readers of a zip file trip over


def read_tensors(file):
    """What `torch.save` wrote, checksums checked, nothing but tensors and plain values unpickled.

    Raises
    ------
    ValueError
        Where the file is truncated or damaged.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            damaged = archive.testzip()
        state = None if damaged else torch.load(file, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ValueError(f"{file}: holds something else than tensors and plain values") from error
    except DAMAGE as error:
        raise ValueError(f"{file}: truncated or damaged ({error})") from error
    if damaged:
        raise ValueError(f"{file}: damaged in {damaged}")
    return state


def checkpoints(folder):
    """The checkpoints in a folder, oldest first."""
    return sorted(Path(folder).glob("checkpoint-*.pt"))


def write(folder, step, state):
    """Write a checkpoint and remove all but the last two."""
    with atomic(Path(folder) / f"checkpoint-{step:08d}.pt", "wb") as out:
        torch.save(state, out)
    for old in checkpoints(folder)[:-KEPT]:
        old.unlink()


def read_last(folder):
    """The last checkpoint, or None where there is none.

    Raises
    ------
    InputError
        Where it is damaged; the message offers the one before, where that is whole.
    """
    found = checkpoints(folder)
    if not found:
        return None
    try:
        return read_tensors(found[-1])
    except ValueError as error:
        raise InputError(f"{error}; {_way_out(found)}") from error


def _way_out(found):
    remove = f"delete {found[-1].name} and run the same command again"
    for before in reversed(found[:-1]):
        try:
            read_tensors(before)
        except ValueError:
            continue
        return f"{before.name} before it is whole: {remove} to continue from there"
    return f"there is no whole one before it: {remove} to begin this training anew"


def remove(folder):
    """Remove the checkpoints of a finished training."""
    for file in checkpoints(folder):
        file.unlink()
