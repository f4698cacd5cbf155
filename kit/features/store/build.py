"""Making a store: independent tasks a file, each written whole, the manifest last; what is there and good is kept."""

import json
import shutil
from pathlib import Path

from evaluation import dataset
from evaluation.collections import COLLECTIONS, SPLITS, find_root, graph_files
from evaluation.engine import open_engine
from evaluation.errors import InputError
from evaluation.files import atomic
from evaluation.lock import locked
from kit.features import store as stores
from kit.features.store import FORMAT, MANIFEST, Store, packed_file, read_manifest
from kit.progress import progress

GROUP_FILES, GROUP_BYTES = 64, 1 << 25  # of a task: small files go together
MEMORY_OF_A_WORKER = 1 << 30  # bytes; the largest file of the data set takes about half


def build(data, *, workers=1, memory=None, cluster=None, features=("physical",), report=print):
    """Make the store of a data set, or finish it.

    Parameters
    ----------
    data : str or Path
    workers : int
        Processes.
    memory : int, optional
        Bytes for all of them together.
    cluster : str, optional
        Dask workers in place of processes, see `evaluation.engine.open_engine`; they need the same files.
    features : sequence of {"physical", "wide"}
        Feature tables to make.
    report : callable
        Gets lines of text.

    Returns
    -------
    Store

    Raises
    ------
    InputError
        Where a file of the data set is damaged, or nothing can be written where the store should lie.
    """
    root = find_root(data)
    if not dataset.data_files(root)[1]:
        raise InputError(f"{data}: no files; download the data set, or make the embedded one")
    workers = max(1, min(workers, (memory or workers * MEMORY_OF_A_WORKER) // MEMORY_OF_A_WORKER))
    folder = _place(root)
    with locked(folder / ".lock"), open_engine(cluster, workers) as engine:
        _sweep(folder)
        store = _pack_all(root, folder, engine)
        for feature_set in features:
            _make_tables(store, feature_set, engine)
    report(f"store of {len(store.graphs)} graphs: {folder}")
    return store


def run_tasks(function, tasks, engine, sizes, desc):
    """Call a module's function for every tuple of arguments on an engine: results in the order of the tasks.

    The largest tasks are begun first.
    """
    order = sorted(range(len(tasks)), key=lambda i: -sizes[i])
    found = [None] * len(tasks)
    with progress(total=sum(sizes), desc=desc, unit="B", unit_scale=True) as bar:
        for place, result in engine.map(_call, [(function, tasks[i]) for i in order]):
            found[order[place]] = result
            bar.update(sizes[order[place]])
    return found


def _call(task):
    function, arguments = task
    return function(*arguments)


def _place(root):
    """The first place for a store that can be written."""
    for folder in stores.places(root):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return folder
        except OSError as error:
            reason = f"{folder}: cannot be made ({error})"
    raise InputError(f"{reason}; name a folder for stores in the environment variable {stores.VARIABLE}")


def _sweep(folder):
    """Remove what killed processes left half-written."""
    for file in folder.rglob(".*.tmp"):
        file.unlink(missing_ok=True)


def _pack_all(root, folder, engine):
    fingerprint, manifest = dataset.describe(root).fingerprint, read_manifest(folder)
    files = [(f, name) for name in COLLECTIONS for split in SPLITS for f in graph_files(root, name, split)]
    if manifest is not None and manifest["fingerprint"] == fingerprint:
        return Store(folder, root, manifest["graphs"])
    (folder / MANIFEST).unlink(missing_ok=True)
    shutil.rmtree(folder / "features", ignore_errors=True)
    shutil.rmtree(folder / "cache", ignore_errors=True)
    tasks = [([(file, name, packed_file(folder, root, file)) for file, name in group],) for group in _groups(files)]
    sizes = [sum(file.stat().st_size for file, _, _ in task[0]) for task in tasks]
    entries = [e for part in run_tasks(pack_files, tasks, engine, sizes, "packing") for e in part]
    graphs = {file.relative_to(root).as_posix(): entry for (file, _), entry in zip(files, entries, strict=True)}
    _remove_others(folder / "graphs", {packed_file(folder, root, file) for file, _ in files})
    with atomic(folder / MANIFEST) as out:
        json.dump({"format": FORMAT, "fingerprint": fingerprint, "graphs": graphs}, out, indent=0)
    return Store(folder, root, graphs)


def _groups(files):
    """Consecutive files, small ones together."""
    group, size = [], 0
    for file, name in files:
        group.append((file, name))
        size += file.stat().st_size
        if len(group) == GROUP_FILES or size > GROUP_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def pack_files(files):
    """Pack some files, given as (file, collection, target): the manifest's entries."""
    from kit.features.store.graph import store_graph

    found = []
    for file, collection, target in files:
        entry = store_graph(file, collection, target)
        found.append({**entry, "bytes": Path(target).stat().st_size})
    return found


def _remove_others(folder, wanted):
    for file in folder.rglob("*.npz"):
        if file not in wanted:
            file.unlink()


def _make_tables(store, feature_set, engine):
    from kit.features.store.tables import folder_of, parts, write_part

    kept = folder_of(store, feature_set)
    for old in kept.parent.glob(f"{feature_set}-*"):  # made by other code
        if old != kept:
            shutil.rmtree(old)
    missing = {part: files for part, files in parts(store, feature_set).items() if not part.is_file()}
    tasks = [(store.folder, store.root, files, feature_set, part) for part, files in missing.items()]
    sizes = [sum(store.entry(file)["bytes"] for file in files) for files in missing.values()]
    run_tasks(write_part, tasks, engine, sizes, f"{feature_set} features")
