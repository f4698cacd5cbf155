"""Feature tables in a store: Parquet, a row for each distinct configuration; layout graphs apart, kernels together.

They lie below ``features/SET-DIGEST/``, the digest being one of the code that makes them, so that who changes a feature
gets new tables; old ones may be deleted.
"""

from functools import lru_cache
from pathlib import Path

from evaluation.collections import COLLECTIONS, collection_of, graph_id, graph_name
from evaluation.files import atomic, code_digest
from kit.features.store import Store

KERNELS_OF_A_PART = 64


@lru_cache(maxsize=1)
def _code():
    folder = Path(__file__).resolve().parents[1]
    return code_digest(folder, folder.glob("*.py"))


def folder_of(store, feature_set):
    """Where a store keeps the tables of a feature set."""
    return store.folder / "features" / f"{feature_set}-{_code()}"


@lru_cache(maxsize=8)
def parts(store, feature_set):
    """The files of tables that a store should have: {Path of the Parquet file: files of the data set}."""
    folder = folder_of(store, feature_set)
    found, kernels = {}, {}
    for name in sorted(store.graphs):
        file = store.root / name
        if store.graphs[name]["configurable"]:
            found[folder / Path(name).parent / f"{graph_name(file)}.parquet"] = [file]
        else:
            mine = kernels.setdefault(Path(name).parent, [])
            mine.append(file)
            part = folder / Path(name).parent / f"part-{(len(mine) - 1) // KERNELS_OF_A_PART:04d}.parquet"
            found.setdefault(part, []).append(file)
    return found


@lru_cache(maxsize=8)
def _part_of(store, feature_set):
    return {file: part for part, files in parts(store, feature_set).items() for file in files}


def write_part(folder, root, files, feature_set, target):
    """Make one file of tables from stored graphs; they are compressed, and lossless.

    Parameters
    ----------
    folder, root, target : Path
        The store's, the data set's, and the file to write.
    files : list of Path
    feature_set : str
    """
    import polars as pl

    from kit.features import layout, tile
    from kit.features.store.graph import read

    store, frames = Store(folder, root, {}), []
    for file in files:
        collection = collection_of(file)
        module = tile if COLLECTIONS[collection].kind == "tile" else layout
        frames.append(module.distinct_table(read(store, file, collection), feature_set))
    frame = pl.concat(frames).with_columns(pl.col("config").cast(pl.Int32))
    with atomic(target, "wb") as out:
        frame.write_parquet(out, compression="zstd", compression_level=1)


def read_table(store, file, feature_set):
    """The table of a graph as ``distinct_table`` gives it, or None where it was not made."""
    part = _part_of(store, feature_set).get(Path(file))
    if part is None or not part.is_file():
        return None
    return _read_part(part)[graph_id(collection_of(file), file)]


@lru_cache(maxsize=2)  # graphs are looked at in order
def _read_part(part):
    import polars as pl

    frame = pl.read_parquet(part)
    return {name: rows for (name,), rows in frame.group_by("graph_id", maintain_order=True)}
