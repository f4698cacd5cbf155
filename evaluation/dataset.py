"""What a data set is known by: a name, whether it is simulated, and a fingerprint."""

import hashlib
import json
import os
import zipfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from evaluation.collections import COLLECTIONS, SPLITS, find_root, graph_files, home
from evaluation.errors import InputError
from evaluation.files import DAMAGE, atomic, sha256

FILE = "dataset.json"


@dataclass(frozen=True)
class Dataset:
    """Identity of a data set.

    Attributes
    ----------
    name : str
        For people; the name of its folder unless its ``dataset.json`` says otherwise.
    simulated : bool
        Whether its runtimes were simulated.
    fingerprint : str
        Hexadecimal SHA-256 over relative paths, sizes and zip checksums of its files.
    """

    name: str
    simulated: bool
    fingerprint: str

    @property
    def label(self):
        """Name with the word simulated where it applies."""
        return f"{self.name} (simulated)" if self.simulated else self.name


def data_files(path):
    """The files whose contents make up a data set, and the folder their names are relative to.

    Parameters
    ----------
    path : str or Path
        What the user gave as ``--data``: a runtime data set, or a partition one with ``instances/``.

    Returns
    -------
    base : Path
    files : list of Path
        Sorted.
    """
    if (Path(path) / "instances").is_dir():
        return Path(path), sorted((Path(path) / "instances").glob("*.json*"))
    root = find_root(path)
    return root, [file for name in COLLECTIONS for split in SPLITS for file in graph_files(root, name, split)]


def _stamp(base, files):
    """A cheap digest of names, sizes and times: when it is unchanged, so is the fingerprint."""
    digest = hashlib.sha256()
    for file in files:
        status = file.stat()
        digest.update(f"{file.relative_to(base).as_posix()}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def checksum(file):
    """CRCs of a zip file's members, or SHA-256 of any other file, as text."""
    if file.suffix != ".npz":
        return sha256(file)
    try:
        with zipfile.ZipFile(file) as archive:
            return ",".join(sorted(f"{m.filename}:{m.CRC:08x}" for m in archive.infolist()))
    except DAMAGE as error:
        raise InputError(f"{file}: cannot be read as an npz file ({error}); fetch or make it again") from error


def fingerprint(base, files):
    """SHA-256 over relative paths, sizes and checksums of `files` (sorted), as hexadecimal text."""
    digest = hashlib.sha256()
    for file in files:
        name = file.relative_to(base).as_posix()
        digest.update(f"{name}\0{file.stat().st_size}\0{checksum(file)}\n".encode())
    return digest.hexdigest()


def cache_folder():
    """The kit's folder in the user's cache."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fast-or-slow-kit"


def is_writable(folder):
    """Whether a folder's owner lets anybody write there; root may write anywhere, and respects what the owner said."""
    return bool(folder.stat().st_mode & 0o222) and os.access(folder, os.W_OK)


def _cache_file(folder):
    return cache_folder() / "datasets" / (hashlib.sha256(str(folder).encode()).hexdigest()[:24] + ".json")


def _read(file):
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: not readable as JSON ({error}); delete it, it is made again") from error
    return record if isinstance(record, dict) else {}


def _keep(folder, record):
    """Write the record at the data set's root, or in the user's cache where that cannot be written."""
    for file in (folder / FILE, _cache_file(folder)) if is_writable(folder) else (_cache_file(folder),):
        try:
            with atomic(file) as out:
                json.dump(record, out, indent=1)
            return
        except OSError:
            continue  # a read-only root is common (Kaggle's input folder); without a cache we recompute


def _record(folder):
    return _read(folder / FILE) or _read(_cache_file(folder))


def _known(record, folder):
    """What is on record; by default the folder's name, and measured."""
    return Dataset(str(record.get("name") or folder.name), bool(record.get("simulated", False)),
                   str(record.get("fingerprint", "")))


def label(path):
    """`Dataset.label` of the data set at `path`, by its record alone: no file is looked at, and nothing is kept."""
    folder = home(data_files(path)[0])
    return _known(_record(folder), folder).label


def describe(path, *, name=None, simulated=None):
    """Name, kind and fingerprint of the data set at `path`.

    The fingerprint is kept in ``dataset.json`` with a stamp of the files' names, sizes and times, and is
    computed again when those have changed.

    Parameters
    ----------
    path : str or Path
        What the user gave as ``--data``.
    name, simulated : optional
        Set by whoever makes a data set; by default what is on record, else the folder's name and False.

    Returns
    -------
    Dataset

    Raises
    ------
    InputError
        Where there is no data set, or a file or the record cannot be read.
    """
    base, files = data_files(path)
    folder = home(base)
    record, stamp = _record(folder), _stamp(base, files)
    known = _known(record, folder)
    known = Dataset(name or known.name, known.simulated if simulated is None else simulated, known.fingerprint)
    if record.get("stamp") != stamp or not known.fingerprint:
        known = replace(known, fingerprint=fingerprint(base, files))
    kept = {**record, **asdict(known), "stamp": stamp}
    if kept != record:
        _keep(folder, kept)
    return known
