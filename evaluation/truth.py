"""What the runtime track is judged against: the runtimes of a split.

Reads the two runtime members of each npz file and nothing else, or a table of answers kept apart.
"""

import hashlib
import io
import re
import zipfile
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import numpy as np

from evaluation.collections import COLLECTIONS, SPLITS, collection_of, find_root, graph_files, graph_id, parse_id
from evaluation.errors import InputError
from evaluation.files import DAMAGE, sha256

RUNTIME, NORMALIZER = "config_runtime", "config_runtime_normalizers"
ANSWER_COLUMNS = ("id", "config", "runtime", "normalizer")
# What nearly all of them look like; NumPy's own parser of headers takes a third of the time of reading a small file.
_PLAIN = re.compile(rb"\x93NUMPY\x01\x00..\{'descr': '<i8', 'fortran_order': False, 'shape': \((\d+),\), \} *\n",
                    re.DOTALL)


@dataclass(frozen=True)
class Runtimes:
    """Measured times of the configurations of one graph.

    Attributes
    ----------
    runtime : ndarray of int64, shape (c,)
        Nanoseconds, as in the npz file.
    normalizer : ndarray of int64, shape (c,)
        Nanoseconds of the default configuration (tiles); 1 for layouts, whose files have none.
    """

    runtime: np.ndarray
    normalizer: np.ndarray

    @property
    def normalized(self):
        """Runtime over normalizer, float64, shape (c,)."""
        return self.runtime / self.normalizer


def _unreadable(path, error):
    what = error.args[0] if isinstance(error, KeyError) else error
    return InputError(f"{path}: runtimes cannot be read ({what}); fetch or make the file again")


def _normalizers(archive, path, configs):
    """Normalizers of a graph; layout files have none, and 1 leaves runtimes as they are."""
    if f"{NORMALIZER}.npy" in archive.NameToInfo or str(collection_of(path)).startswith("tile"):
        return _array(archive, NORMALIZER)
    return np.ones(configs, dtype=np.int64)


def _array(archive, name):
    raw = archive.read(f"{name}.npy")
    plain = _PLAIN.match(raw)
    if plain and len(raw) - plain.end() == 8 * int(plain[1]):
        return np.frombuffer(raw, dtype="<i8", offset=plain.end())
    data = np.lib.format.read_array(io.BytesIO(raw), allow_pickle=False)
    return data.reshape(-1).astype(np.int64, casting="safe")


def read_runtimes(path):
    """Runtimes and normalizers of one npz file, unchecked for being withheld.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Runtimes

    Raises
    ------
    InputError
        Where the file or one of the two members cannot be read, or they do not fit each other.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            runtime = _array(archive, RUNTIME)
            found = Runtimes(runtime, _normalizers(archive, path, len(runtime)))
    except (*DAMAGE, TypeError) as error:
        raise _unreadable(path, error) from error
    if len(found.runtime) != len(found.normalizer) or not len(found.runtime):
        raise InputError(f"{path}: {len(found.runtime)} runtimes, {len(found.normalizer)} normalizers; "
                         "there must be one of each for every configuration")
    return found


class NpzTruth:
    """Runtimes of one split of a data set in the Kaggle layout, read when asked for.

    Parameters
    ----------
    data : str or Path
        The data set.
    split : {"train", "valid", "test"}

    Attributes
    ----------
    ids : list of str
        Full IDs in the order of the collections, then of the names.
    """

    def __init__(self, data, split):
        if split not in SPLITS:
            raise InputError(f"split {split!r}: the runtime track has {', '.join(SPLITS)}")
        self.root, self.split = find_root(data), split
        self._files = {graph_id(name, file): file
                       for name in COLLECTIONS for file in graph_files(self.root, name, split)}
        if not self._files:
            raise InputError(f"{self.root}: no npz files of the split {split!r}; choose another --split")
        self.ids = list(self._files)
        self._read = cache(read_runtimes)  # asked for by the check and by the score; 16 bytes a configuration

    def configs(self, graph):
        """Number of configurations of a graph."""
        return len(self._read(self._files[graph]).runtime)

    def runtimes(self, graph):
        """The graph's `Runtimes`.

        Raises
        ------
        InputError
            Where they are withheld (0, as in the test files) or not positive.
        """
        found = self._read(self._files[graph])
        if not found.runtime.any():
            raise InputError(f"{self._files[graph]}: its runtimes are withheld (all 0); score another --split, or "
                             "give the runtimes kept apart with --answers FILE")
        if found.runtime.min() <= 0 or found.normalizer.min() <= 0:
            raise InputError(f"{self._files[graph]}: runtimes and normalizers must be positive; "
                             "fetch or make the file again")
        return found

    @cached_property
    def fingerprint(self):
        """SHA-256 over IDs and the checksums of their runtime members, as hexadecimal text."""
        digest = hashlib.sha256()
        for graph, file in self._files.items():
            try:
                with zipfile.ZipFile(file) as archive:
                    sums = [m.CRC for m in sorted(archive.infolist(), key=lambda m: m.filename)
                            if m.filename.removesuffix(".npy") in (RUNTIME, NORMALIZER)]
            except DAMAGE as error:
                raise _unreadable(file, error) from error
            digest.update(f"{graph}\0{sums}\n".encode())
        return digest.hexdigest()


class AnswersTruth:
    """Runtimes of a split from a Parquet table with the columns id, config, runtime, normalizer.

    Parameters
    ----------
    path : str or Path

    Raises
    ------
    InputError
        Where the table cannot be read, lacks a column, names an unknown collection, lacks or repeats a
        configuration, or holds a time that is not positive.
    """

    def __init__(self, path):
        self.path = Path(path)
        table = self._read().sort("id", "config")
        columns = {name: table[name].to_numpy() for name in ANSWER_COLUMNS[1:]}
        ids, first, counts = np.unique(table["id"].to_numpy().astype(str), return_index=True, return_counts=True)
        within = np.arange(len(table)) - np.repeat(first, counts)
        self._refuse("config", columns["config"] != within, table["id"], "every graph needs 0, 1, 2 ... once each")
        for name in ("runtime", "normalizer"):
            self._refuse(name, columns[name] <= 0, table["id"], "answers must be positive")
        self._parts = {str(name): Runtimes(columns["runtime"][a:a + n], columns["normalizer"][a:a + n])
                       for name, a, n in zip(ids, first, counts, strict=True)}
        order = list(COLLECTIONS)
        self.ids = sorted(self._parts, key=lambda text: (order.index(parse_id(text)[0].name), text))

    def _read(self):
        import polars as pl  # half a second, and only this way in needs it

        try:
            table = pl.read_parquet(self.path, columns=list(ANSWER_COLUMNS))
            return table.with_columns(pl.col("id").cast(pl.String),
                                      *(pl.col(c).cast(pl.Int64) for c in ANSWER_COLUMNS[1:]))
        except FileNotFoundError as error:
            raise InputError(f"{self.path}: no such file of answers") from error
        except (pl.exceptions.PolarsError, OSError) as error:
            raise InputError(f"{self.path}: not a Parquet table with the columns {', '.join(ANSWER_COLUMNS)} "
                             f"({error})") from error

    def _refuse(self, column, wrong, ids, rule):
        if wrong.any():
            raise InputError(f"{self.path}: column {column!r} of {ids[int(np.argmax(wrong))]}: {rule}")

    def configs(self, graph):
        """Number of configurations of a graph."""
        return len(self._parts[graph].runtime)

    def runtimes(self, graph):
        """The graph's `Runtimes`."""
        return self._parts[graph]

    @cached_property
    def fingerprint(self):
        """SHA-256 of the file, as hexadecimal text."""
        return sha256(self.path)


def load_truth(data, split, answers=None):
    """The runtimes of a split, from a table of answers where one is given, else from the npz files.

    Parameters
    ----------
    data : str or Path
    split : {"train", "valid", "test"}
    answers : str or Path, optional

    Returns
    -------
    AnswersTruth or NpzTruth
        Both have ``ids``, ``configs(id)``, ``runtimes(id)`` and ``fingerprint``.
    """
    return AnswersTruth(answers) if answers else NpzTruth(data, split)
