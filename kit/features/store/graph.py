"""One graph in a store: an npz file whose packed configurations lie plain, so that rows are read by mapping them."""

import hashlib
import json
import zipfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from evaluation import dataset
from evaluation.collections import graph_id, graph_name
from evaluation.errors import InputError
from evaluation.files import DAMAGE
from kit import npz
from kit.distinct import distinct_configs, distinct_from, merged_runtimes
from kit.features.packed import Packed
from kit.features.store import FORMAT, MANIFEST, packed_file
from kit.graphs import PackedLayoutGraph, TileGraph, read_graph

COMMON = ("node_feat", "node_opcode", "edge_index")
TILE = ("config_feat", "config_runtime_normalizers")
LAYOUT = ("node_config_ids", "node_splits")
PACKED = ("codes", "width", "pattern", "sizes", "keys", "of_slot")
FAST = 1  # deflate level: node features shrink a hundredfold at any


@dataclass(frozen=True, eq=False)
class Stored:
    """What a store keeps of a graph besides its arrays; c configurations, d distinct ones.

    Attributes
    ----------
    store : Store
    file : Path
        The data set's.
    inverse : uint32 array, shape (c,)
    median, spread : float64 arrays, shape (d,), or None
        As `kit.distinct.merged_runtimes` gives them; None where runtimes are withheld.
    """

    store: object
    file: Path
    inverse: np.ndarray = field(repr=False)
    median: np.ndarray | None = field(repr=False)
    spread: np.ndarray | None = field(repr=False)

    @cached_property
    def distinct(self):
        """The distinct configurations."""
        return distinct_from(self.inverse)

    def features(self, feature_set):
        """The rows of ``distinct_table`` of a feature set, or None where the store has no such tables."""
        from kit.features.store.tables import read_table

        return read_table(self.store, self.file, feature_set)


def mark(file):
    """A digest of a file's checksums: what is stored of it is good as long as it stays the same."""
    return hashlib.sha256(dataset.checksum(file).encode()).hexdigest()[:32]


def stored_mark(target):
    """(mark, entry) of a graph in a store, or (None, None) where it is missing, of another format or damaged."""
    try:
        with zipfile.ZipFile(target) as archive:
            about = json.loads(archive.comment)
        return (about["mark"], about["entry"]) if about["format"] == FORMAT else (None, None)
    except (*DAMAGE, TypeError):
        return None, None


def store_graph(file, collection, target):
    """Pack one file, unless what is stored of it is good.

    Parameters
    ----------
    file, target : Path
    collection : str

    Returns
    -------
    dict
        The manifest's entry, see `Store`.
    """
    now = mark(file)
    before, entry = stored_mark(target)
    if before == now:
        return entry
    graph = read_graph(file, collection, packed=True)
    arrays, entry = _arrays(graph), _entry(graph, file)
    npz.write(target, arrays, plain=("codes",), level=FAST,
              comment=json.dumps({"format": FORMAT, "mark": now, "entry": entry}))
    return entry


def _arrays(graph):
    names = (*COMMON, *(TILE if isinstance(graph, TileGraph) else LAYOUT))
    found = {name: value for name in names if (value := getattr(graph, name)) is not None}
    if isinstance(graph, PackedLayoutGraph):
        found |= {name: getattr(graph.packed, name) for name in PACKED}
    found["inverse"] = distinct_configs(graph).inverse.astype(np.uint32)
    if graph.config_runtime is not None:
        median, spread = merged_runtimes(graph)
        found |= {"config_runtime": graph.config_runtime, "median": median, "spread": spread}
    return found


def _entry(graph, file):
    layout, labelled = isinstance(graph, PackedLayoutGraph), graph.config_runtime is not None
    return {"size": file.stat().st_size, "configs": graph.configs, "distinct": len(distinct_configs(graph).first),
            "nodes": graph.nodes, "configurable": len(graph.node_config_ids) if layout else 0,
            "codes": graph.packed.codes.size if layout else 0, "labelled": labelled,
            "rankable": labelled and len(np.unique(merged_runtimes(graph)[0])) > 1}


def read(store, file, collection):
    """The graph of a file from a store; configurations are mapped, not read.

    Raises
    ------
    InputError
        Where what is stored is missing or damaged.
    """
    target = packed_file(store.folder, store.root, file)
    with _opened(target, store) as archive:
        return _read(store, file, collection, archive)


def read_packed(store, file):
    """The packed configurations of a stored graph, None for tiles, and the distinct ones' median runtimes."""
    target = packed_file(store.folder, store.root, file)
    with _opened(target, store) as archive:
        layout = "codes.npy" in archive.namelist()
        return (_packed(archive, npz.read_member(archive, "inverse", npz.damaged)) if layout else None,
                npz.read_member(archive, "median", npz.damaged))


@contextmanager
def _opened(target, store):
    try:
        with zipfile.ZipFile(target) as archive:
            yield archive
    except DAMAGE as error:
        raise InputError(f"{target}: cannot be read ({error}); delete it and {MANIFEST} and run python -m kit store "
                         f"--data {store.root}, which makes it again") from error


def _packed(archive, inverse):
    return Packed(codes=npz.mapped(archive, "codes"), inverse=inverse,
                  **{name: npz.read_member(archive, name, npz.damaged) for name in PACKED[1:]})


def _read(store, file, collection, archive):
    def member(name):
        return npz.read_member(archive, name, npz.damaged)

    names = {name.removesuffix(".npy") for name in archive.namelist()}
    runtime, median, spread = (member(name) if "median" in names else None
                               for name in ("config_runtime", "median", "spread"))
    inverse = member("inverse")
    common = {name: member(name) for name in COMMON} | {
        "id": graph_id(collection, file) if collection else graph_name(file), "collection": collection,
        "config_runtime": runtime, "stored": Stored(store, Path(file), inverse, median, spread)}
    if "config_feat" in names:
        normalizers = None if runtime is None else member("config_runtime_normalizers")
        return TileGraph(**common, config_feat=member("config_feat"), config_runtime_normalizers=normalizers)
    return PackedLayoutGraph(**common, packed=_packed(archive, inverse), **{name: member(name) for name in LAYOUT})
