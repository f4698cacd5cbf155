"""The five collections of the runtime track, and where their files lie."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from evaluation.errors import InputError

SPLITS = ("train", "valid", "test")
SEARCH_DEPTH = 5  # npz_all/npz below a competition folder below versions/N of a cache folder


@dataclass(frozen=True)
class Collection:
    """One of the five collections.

    Attributes
    ----------
    name : str
        As in a submission's IDs: ``"layout:xla:default"``.
    kind : {"tile", "layout"}
        What a configuration chooses.
    source : {"xla", "nlp"}
        Which family of programs.
    search : {"default", "random"} or None
        How the layout configurations were found; None for tiles.
    published : dict of str to int
        Files a split of the complete data set holds, after Phothilimthana et al. (arXiv 2308.13490);
        only for telling whether a copy is complete, never for scoring.
    """

    name: str
    kind: str
    source: str
    search: str | None
    published: dict

    @property
    def folder(self):
        """Folder below the data set's root, as a relative `Path`."""
        return Path(*self.name.split(":"))


def _collection(name, train, valid, test):
    kind, source, *search = name.split(":")
    return Collection(name, kind, source, search[0] if search else None,
                      {"train": train, "valid": valid, "test": test})


COLLECTIONS = {c.name: c for c in (
    _collection("tile:xla", 5709, 676, 844),
    _collection("layout:xla:default", 61, 7, 8),
    _collection("layout:xla:random", 69, 7, 8),
    _collection("layout:nlp:default", 198, 20, 17),
    _collection("layout:nlp:random", 207, 20, 17),
)}

_ID = re.compile(r"(tile:xla|layout:(?:xla|nlp):(?:default|random)):(.+)", re.ASCII)


def _is_root(folder):
    return any((folder / c.folder).is_dir() for c in COLLECTIONS.values())


def _folders_below(start):
    """Folders below `start`, nearest first, sorted, to the depth where a copy of the data is looked for."""
    level = [start]
    for _ in range(SEARCH_DEPTH + 1):
        yield from level
        deeper = []
        for folder in level:
            try:
                entries = sorted(e.path for e in os.scandir(folder) if e.is_dir() and not e.name.startswith("."))
            except OSError:
                entries = []  # a folder that cannot be listed holds nothing we could read
            deeper += map(Path, entries)
        level = deeper


def find_root(path):
    """Find the folder that holds ``tile/`` and ``layout/``.

    Accepts that folder, one above it (``DIR/npz_all/npz``, ``DIR/npz``, a cache folder with versions) or
    one inside it.

    Parameters
    ----------
    path : str or Path
        What the user gave as ``--data``.

    Returns
    -------
    Path

    Raises
    ------
    InputError
        Where there is no such folder.
    """
    start = Path(path)
    if not start.is_dir():
        raise InputError(f"{path}: no such folder; give the folder that the data set was unpacked to, "
                         "or make the embedded one: python -m kit sample --out data/sample")
    for folder in _folders_below(start):
        if _is_root(folder):
            return folder
    for folder in list(start.resolve().parents)[:SEARCH_DEPTH]:
        if _is_root(folder):
            return folder
    folders = ", ".join(c.folder.as_posix() for c in COLLECTIONS.values())
    raise InputError(f"{path}: no data set below it: none of {folders} was found; "
                     "give the folder that holds npz_all/ or npz/")


def home(root):
    """The folder that a user thinks of as the data set: `root` less a trailing ``npz`` and ``npz_all``."""
    folder = Path(root).resolve()
    for name in ("npz", "npz_all"):
        if folder.name == name:
            folder = folder.parent
    return folder


def graph_files(root, collection, split):
    """The npz files of one split, sorted by name.

    Parameters
    ----------
    root : Path
        From `find_root`.
    collection : str
        Key of `COLLECTIONS`.
    split : {"train", "valid", "test"}

    Returns
    -------
    list of Path
        Empty where the data set lacks the collection or the split.
    """
    folder = Path(root) / COLLECTIONS[collection].folder / split
    return sorted(folder.glob("*.npz")) if folder.is_dir() else []


def graph_name(path):
    """A graph's name: the file name less ``.npz`` and nothing else (names carry dots)."""
    return Path(path).name.removesuffix(".npz")


def graph_id(collection, path):
    """The full ID of a graph: ``"layout:xla:default:unet3d"``; `default` and `random` share names."""
    return f"{collection}:{graph_name(path)}"


def collection_of(path):
    """The collection whose folder a file lies in, by its path, or None."""
    parts = Path(path).resolve().parts[:-2]
    for name, c in COLLECTIONS.items():
        if parts[-len(c.folder.parts):] == c.folder.parts:
            return name
    return None


def parse_id(text):
    """Split an ID into its `Collection` and the graph's name.

    Raises
    ------
    InputError
        Where it does not begin with one of the five collections.
    """
    match = _ID.fullmatch(text)
    if not match:
        raise InputError(f"{text[:80]!r} is no ID of the runtime track; IDs read <collection>:<graph>, "
                         f"with a collection of {', '.join(COLLECTIONS)}")
    return COLLECTIONS[match[1]], match[2]
