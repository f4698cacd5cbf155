"""One npz file to a checked, frozen graph: the only place where the files of the data set are read.

Formats after Phothilimthana et al., "TpuGraphs" (arXiv 2308.13490), corrected by what the files hold.
"""

import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from evaluation.collections import COLLECTIONS, collection_of, find_root, graph_files, graph_id, graph_name
from evaluation.errors import InputError
from kit.distinct import Distinct, distinct_configs
from kit.npz import is_fortran, read_layout_digits, read_member, stream_layout_digits

__all__ = ["Distinct", "Graph", "Graphs", "LayoutGraph", "PackedLayoutGraph", "TileGraph", "distinct_configs",
           "read_graph"]

NODE_FEATURES, TILE_FEATURES, LAYOUT_SLOTS = 140, 24, 18


@dataclass(frozen=True, eq=False)
class Graph:
    """What tile kernels and layout graphs share; n nodes, m edges, c configurations.

    Attributes
    ----------
    id : str
        Full ID, ``"layout:xla:default:unet3d"``; the bare name outside a data set's folders.
    collection : str or None
    node_feat : float32 array, shape (n, 140)
    node_opcode : uint8 array, shape (n,)
    edge_index : int64 array, shape (m, 2)
        Rows ``[u, v]``: u consumes the output of v.
    config_runtime : int64 array, shape (c,), or None
        Nanoseconds; None where the runtimes are withheld (test files).
    stored : kit.features.store.graph.Stored or None
        What a store keeps of this graph besides its arrays.
    """

    id: str
    collection: str | None
    node_feat: np.ndarray = field(repr=False)
    node_opcode: np.ndarray = field(repr=False)
    edge_index: np.ndarray = field(repr=False)
    config_runtime: np.ndarray | None = field(repr=False)
    stored: object = field(repr=False, default=None, kw_only=True)

    @property
    def nodes(self):
        """Number of nodes."""
        return len(self.node_opcode)

    @property
    def distinct(self):
        """The distinct configurations where a store knows them, else None: see `distinct_configs`."""
        return None if self.stored is None else self.stored.distinct


@dataclass(frozen=True, eq=False)
class TileGraph(Graph):
    """A kernel and its tile sizes.

    Attributes
    ----------
    config_feat : float32 array, shape (c, 24)
        Kernel bounds 0..7, output bounds 8..15, input bounds 16..23, each six sizes, their sum and product.
    config_runtime_normalizers : int64 array, shape (c,), or None
        Nanoseconds of the kernel's default configuration on the same machine.
    """

    config_feat: np.ndarray = field(repr=False)
    config_runtime_normalizers: np.ndarray | None = field(repr=False)

    @property
    def configs(self):
        """Number of configurations."""
        return len(self.config_feat)

    @property
    def config_rows(self):
        """The configurations as one row each, shape (c, 24)."""
        return self.config_feat


@dataclass(frozen=True, eq=False)
class LayoutGraph(Graph):
    """A program and the layouts of its configurable nodes.

    Attributes
    ----------
    node_config_ids : int64 array, shape (nc,)
        Configurable nodes, distinct.
    node_config_feat : int8 array, shape (c, nc, 18)
        Output, input and kernel layout, six digits each, minor to major, -1 where there is none.
    node_splits : int64 array, shape (s,)
        Ends of the segments that the authors cut the graph into.
    """

    node_config_ids: np.ndarray = field(repr=False)
    node_config_feat: np.ndarray = field(repr=False)
    node_splits: np.ndarray = field(repr=False)

    @property
    def configs(self):
        """Number of configurations."""
        return len(self.node_config_feat)

    @property
    def config_rows(self):
        """The configurations as one row each, shape (c, nc * 18)."""
        return self.node_config_feat.reshape(self.configs, -1)

    @property
    def packed(self):
        """The configurations packed, made anew at every access."""
        from kit.features.packed import pack

        return pack(self.node_config_feat)


@dataclass(frozen=True, eq=False)
class PackedLayoutGraph(Graph):
    """A layout graph whose configurations are kept packed: the same attributes, a fraction of the memory.

    Attributes
    ----------
    node_config_ids, node_splits : arrays
        As of `LayoutGraph`.
    packed : kit.features.packed.Packed
    """

    node_config_ids: np.ndarray = field(repr=False)
    packed: object = field(repr=False)
    node_splits: np.ndarray = field(repr=False)

    @property
    def configs(self):
        """Number of configurations."""
        return self.packed.configs

    @property
    def distinct(self):
        """The distinct configurations."""
        return self.packed.distinct

    @property
    def node_config_feat(self):
        """All layout digits, rebuilt at every access: int8, shape (c, nc, 18)."""
        return self.packed.digits(self.packed.inverse)

    @property
    def config_rows(self):
        """The configurations as one row each, rebuilt at every access: shape (c, nc * 18)."""
        return self.node_config_feat.reshape(self.configs, -1)


def read_graph(path, collection=None, packed=False):
    """Read and check one npz file.

    Parameters
    ----------
    path : str or Path
    collection : str, optional
        Key of `evaluation.collections.COLLECTIONS`; by default what the file's folder says.
    packed : bool
        Pack layout configurations while they are inflated.

    Returns
    -------
    TileGraph, LayoutGraph or PackedLayoutGraph
        By the members that the file holds. Arrays are read-only.

    Raises
    ------
    InputError
        Where the file is no npz file, is damaged, lacks a member, or a member's shape, type or range is
        wrong. Nothing is ever unpickled.

    Notes
    -----
    Layout configurations are narrowed to int8 while they are inflated, in blocks: the float32 array of the
    largest files (100,040 x 364 x 18, 2.6 GB) never stands in memory.
    """
    path = Path(path)
    collection = collection or collection_of(path)
    try:
        with zipfile.ZipFile(path) as archive:
            return _assemble(_Members(path, archive), collection, packed)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except zipfile.BadZipFile as error:
        raise InputError(f"{path}: {_not_a_zip(path, error)}; fetch or make the file again") from error
    except (zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"{path}: damaged or unreadable ({error}); fetch or make the file again") from error


def _not_a_zip(path, error):
    with open(path, "rb") as file:
        start = file.read(16)
    if start[:4] == b"PK\x03\x04":
        return f"a truncated or damaged zip file ({error})"
    return f"not an npz file, it begins with {start!r}" if start else "an empty file"


class _Members:
    """The members of one npz file, and errors that name the file and the member."""

    def __init__(self, path, archive):
        self.path, self.archive = path, archive
        self.names = {name.removesuffix(".npy") for name in archive.namelist()}

    def fail(self, member, found, fix="the file does not follow the data set's format"):
        raise InputError(f"{self.path}: {member}: {found}; {fix}")

    def read(self, member, kinds, shape):
        """A member as an array, its type among NumPy's kind letters, its shape as given (None: any)."""
        if member not in self.names:
            self.fail(member, f"missing, the file holds {', '.join(sorted(self.names)) or 'nothing'}")
        array = read_member(self.archive, member, self.fail)
        if array.dtype.kind not in kinds:
            self.fail(member, f"type {array.dtype}, not {' or '.join(_KINDS[k] for k in kinds)}")
        if shape is None:
            return array
        if len(shape) != array.ndim or any(s not in (None, a) for s, a in zip(shape, array.shape, strict=True)):
            wanted = ", ".join("any" if s is None else str(s) for s in shape)
            self.fail(member, f"shape {array.shape}, not ({wanted})")
        return array

    def integers(self, member, shape, low, high):
        """A member of integers within low .. high, as int64."""
        array = self.read(member, "iu", shape)
        if array.size and (array.min() < low or array.max() > high):
            place = np.unravel_index(np.argmax((array < low) | (array > high)), array.shape)
            self.fail(member, f"{array[place]} at {_place(place)}, outside {low} .. {high}")
        return np.ascontiguousarray(array, dtype=np.int64)

    def finite(self, member, shape):
        """A member of finite numbers, as float32."""
        array = np.ascontiguousarray(self.read(member, "fiu", shape), dtype=np.float32)
        if not np.isfinite(array).all():
            place = np.unravel_index(np.argmax(~np.isfinite(array)), array.shape)
            self.fail(member, f"{array[place]} at {_place(place)}, where a finite number is needed")
        return array


_KINDS = {"f": "floating point", "i": "integer", "u": "unsigned integer"}
_LARGEST = np.iinfo(np.int64).max


def _place(index):
    return "[" + ", ".join(map(str, map(int, index))) + "]"


def _assemble(members, collection, packed):
    """All members to a graph of the right kind."""
    name = graph_id(collection, members.path) if collection else graph_name(members.path)
    opcode = members.integers("node_opcode", (None,), 0, 255).astype(np.uint8)
    n = len(opcode)
    if n == 0:
        members.fail("node_opcode", "no nodes")
    common = {
        "id": name, "collection": collection, "node_opcode": opcode,
        "node_feat": members.finite("node_feat", (n, NODE_FEATURES)),
        "edge_index": members.integers("edge_index", (None, 2), 0, n - 1),
    }
    kind = "layout" if "node_config_feat" in members.names else "tile"
    wanted = COLLECTIONS[collection].kind if collection else kind
    if kind != wanted:
        members.fail("node_config_feat", f"{'missing' if kind == 'tile' else 'there'}, so that it is no {wanted} graph",
                     f"it stands among the files of {collection}: move it to the collection that it belongs to")
    return _frozen(_layout(members, common, n, packed) if kind == "layout" else _tile(members, common, n))


def _tile(members, common, n):
    config_feat = members.finite("config_feat", (None, TILE_FEATURES))
    if not len(config_feat):
        members.fail("config_feat", "zero configurations", "at least one is needed")
    runtime = _runtimes(members, "config_runtime", len(config_feat))
    normalizers = _runtimes(members, "config_runtime_normalizers", len(config_feat))
    return TileGraph(**common, config_feat=config_feat, config_runtime=runtime,
                     config_runtime_normalizers=None if runtime is None else normalizers)


def _layout(members, common, n, packed):
    ids = members.integers("node_config_ids", (None,), 0, n - 1)
    if len(np.unique(ids)) != len(ids):
        members.fail("node_config_ids", "a node is listed twice")
    splits = members.integers("node_splits", None, 0, n).reshape(-1)  # (1, s) in the files
    common |= {"node_config_ids": ids, "node_splits": splits}
    if packed:
        found = _packed(members, len(ids))
        return PackedLayoutGraph(**common, packed=found,
                                 config_runtime=_runtimes(members, "config_runtime", found.configs))
    digits = read_layout_digits(members.archive, len(ids), LAYOUT_SLOTS, members.fail)
    return LayoutGraph(**common, node_config_feat=digits,
                       config_runtime=_runtimes(members, "config_runtime", len(digits)))


def _packed(members, nodes):
    """The layout configurations, packed as they come; those in Fortran order are read first."""
    from kit.features.packed import Packer, pack

    if is_fortran(members.archive, "node_config_feat", members.fail):
        return pack(read_layout_digits(members.archive, nodes, LAYOUT_SLOTS, members.fail))
    packer = Packer()
    stream_layout_digits(members.archive, nodes, LAYOUT_SLOTS, members.fail, packer.start, packer.take,
                         packer.checksum)
    return packer.packed()


def _runtimes(members, member, configs):
    """Nanoseconds a configuration, or None where all are 0: withheld."""
    runtime = members.integers(member, (configs,), 0, _LARGEST)
    if not runtime.any():
        return None
    if not runtime.all():
        members.fail(member, f"0 at {_place([np.argmin(runtime)])} among positive ones",
                     "runtimes are all positive, or all 0 where they are withheld")
    return runtime


def _frozen(graph):
    for value in vars(graph).values():
        if isinstance(value, np.ndarray):
            value.flags.writeable = False
    return graph


class Graphs(Sequence):
    """The graphs of one split of one collection, read one at a time when asked for: from a store where there is one.

    Parameters
    ----------
    data : str or Path
        The data set, as given to ``--data``.
    collection : str
        Key of `evaluation.collections.COLLECTIONS`.
    split : {"train", "valid", "test"}

    Attributes
    ----------
    files : list of Path
    ids : list of str
        Full IDs, in the order of `files`; no array is read for them.
    store : kit.features.store.Store or None
    """

    def __init__(self, data, collection, split):
        from kit.features import store

        root = find_root(data)
        self.collection, self.files = collection, graph_files(root, collection, split)
        self.store = store.find(root)

    @classmethod
    def of(cls, files, collection, store=None):
        """The graphs of given files."""
        graphs = cls.__new__(cls)
        graphs.collection, graphs.files, graphs.store = collection, list(files), store
        return graphs

    @property
    def ids(self):
        """Full IDs, in the order of the files."""
        return [graph_id(self.collection, file) for file in self.files]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return Graphs.of(self.files[index], self.collection, self.store)
        if self.store is not None:
            return self.store.read(self.files[index], self.collection)
        return read_graph(self.files[index], self.collection)
