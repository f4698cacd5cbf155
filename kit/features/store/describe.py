"""What a store holds and lacks, as lines for a terminal."""

from pathlib import Path

from kit.features.store import MANIFEST, Store, find, places, read_manifest
from kit.features.store.tables import parts
from kit.progress import human

FEATURE_SETS = ("physical", "wide")


def lines(data):
    """Lines on the store of a data set.

    Parameters
    ----------
    data : str or Path

    Returns
    -------
    list of str
    """
    store = find(data)
    if store is not None:
        return of_folder(store.folder, store)
    made = [folder for folder in places(data) if folder.is_dir()]
    if not made:
        return [f"no store; python -m kit store --data {data} makes one"]
    there = sum(1 for _ in (made[0] / "graphs").rglob("*.npz"))
    what = "of other data or another version" if (made[0] / MANIFEST).is_file() else "unfinished"
    return [f"store {made[0]}: {what}, {there} graphs packed; python -m kit store --data {data} makes or finishes it"]


def of_folder(folder, store=None):
    """Lines on the store in a folder: how much there is of what.

    Parameters
    ----------
    folder : str or Path
        With a manifest.
    store : Store, optional
        The same, where the data set is known: tells which tables are missing.
    """
    folder = Path(folder)
    graphs = store.graphs if store is not None else (read_manifest(folder) or {"graphs": {}})["graphs"]
    layouts = [e for e in graphs.values() if e["configurable"]]
    codes, sites = sum(e["codes"] for e in layouts), sum(e["configs"] * e["configurable"] for e in layouts)
    found = [f"store {folder}",
             f"{'graphs':<22}{len(graphs):>10,} files {human(sum(e['bytes'] for e in graphs.values())):>10}"]
    if sites:
        found.append(f"{'layout configurations':<22}{sum(e['configs'] for e in layouts):>10,}       {human(codes):>10}"
                     f", {codes / sites:.3f} bytes a configurable node and configuration")
    found += [_tables(folder, name, store) for name in FEATURE_SETS]
    cache = [file for file in (folder / "cache").rglob("*") if file.is_file()]
    return [*found, f"{'cache':<22}{len(cache):>10,} files {human(sum(f.stat().st_size for f in cache)):>10}"
                    ", made while training; may be deleted"]


def _tables(folder, name, store):
    there = list((folder / "features").glob(f"{name}-*/**/*.parquet"))
    text = f"{name + ' features':<22}{len(there):>10,} files {human(sum(f.stat().st_size for f in there)):>10}"
    if not isinstance(store, Store):
        return text
    missing = sum(not part.is_file() for part in parts(store, name))
    return text + (f", {missing:,} missing: they are computed when needed" if missing else ", complete")
