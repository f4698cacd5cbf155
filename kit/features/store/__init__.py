"""What is made once per data set: packed configurations, distinct rows and their runtimes, feature tables.

A store lies beside the data, in ``DIR/.store``; where that cannot be written, in the user's cache folder; or below the
folder that the environment variable ``KIT_STORE`` names. Everything that reads graphs by split reads them from the
store where a finished one of the same data is there, and gets the same numbers.
"""

import hashlib
import json
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from evaluation import dataset
from evaluation.collections import find_root, graph_name, home
from evaluation.errors import InputError

FORMAT = 1  # of the packed graphs: raise it when what is written changes
MANIFEST, VARIABLE = "manifest.json", "KIT_STORE"


@dataclass(frozen=True, eq=False)
class Store:
    """A finished store.

    Attributes
    ----------
    folder : Path
    root : Path
        The data set's, as `evaluation.collections.find_root` gives it.
    graphs : dict of str to dict
        By the file's path relative to the root: ``size`` and ``bytes`` (of the file and of what is stored of it),
        ``configs``, ``distinct``, ``nodes``, ``configurable``, ``codes`` (bytes of packed configurations),
        ``labelled``, and ``rankable``: whether two distinct configurations differ in runtime.
    """

    folder: Path
    root: Path
    graphs: dict

    def entry(self, file):
        """What the manifest says of a file, or None where it does not know it."""
        return self.graphs.get(_name(self.root, file))

    def read(self, file, collection):
        """The graph of a file: from the store, or from the file itself where that has changed since."""
        from kit.features.store.graph import read
        from kit.graphs import read_graph

        entry = self.entry(file)
        if entry is None or entry["size"] != Path(file).stat().st_size:
            return read_graph(file, collection)
        return read(self, file, collection)


def _name(root, file):
    return Path(file).relative_to(root).as_posix()


def packed_file(folder, root, file):
    """Where a store keeps the graph of a file."""
    return Path(folder) / "graphs" / Path(file).relative_to(root).parent / f"{graph_name(file)}.npz"


def places(data):
    """Where the store of a data set may lie, the first that can be written being where it is made.

    Parameters
    ----------
    data : str or Path

    Returns
    -------
    list of Path
    """
    folder = home(find_root(data))
    name = f"{folder.name}-{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
    if os.environ.get(VARIABLE):
        return [Path(os.environ[VARIABLE]) / name]
    cached = dataset.cache_folder() / "stores" / name
    return [folder / ".store", cached] if dataset.is_writable(folder) else [cached, folder / ".store"]


def find(data):
    """The finished store of a data set, or None.

    Whether it belongs to the data as they are is checked once in a process and manifest.

    Parameters
    ----------
    data : str or Path

    Returns
    -------
    Store or None

    Raises
    ------
    InputError
        Where a manifest cannot be read.
    """
    root = find_root(data)
    for folder in places(root):
        try:
            changed = (folder / MANIFEST).stat().st_mtime_ns
        except OSError:
            continue
        found = _checked(folder, root, changed)
        if found is not None:
            return found
    return None


@lru_cache(maxsize=64)
def _checked(folder, root, changed):
    manifest = read_manifest(folder)
    if manifest is None or manifest["fingerprint"] != dataset.describe(root).fingerprint:
        return None
    return Store(folder, root, manifest["graphs"])


def read_manifest(folder):
    """The manifest of a store of the present format, or None where there is none."""
    file = Path(folder) / MANIFEST
    try:
        manifest = json.loads(file.read_text(encoding="utf-8"))
        return manifest if manifest["format"] == FORMAT else None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file}: cannot be read ({error}); delete it and run python -m kit store again, which finds "
                         "what is in place") from error
