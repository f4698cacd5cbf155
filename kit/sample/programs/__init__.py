"""The programs of the embedded sample: real architectures, traced once, kept as small compressed arrays.

One ``<architecture>.npz`` holds all programs of an architecture. ``names()`` lists the programs, ``load(name)`` gives
one: its arrays as `kit.hlo.Module` has them, its family (``source``) and its ``architecture``, which is the key that
splits must be made by. Made by `kit.sample.trace`; nothing here needs JAX.

Format. Equal instructions are stored once a file: ``unique_opcode``, ``unique_operands`` (how many), ``unique_macs``,
and the features that are not at rest as ``unique_count`` (u,), ``feature_column`` and ``feature_value`` (row after
row). A program is a run of ``row`` (which unique row a node has), ``computation_size``, ``operand_back`` (consumer less
producer), ``call_count`` with ``call_back``, and ``split``; ``bounds`` (programs + 1, 6) tells where its runs begin.
"""

import zipfile
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from evaluation.errors import InputError
from evaluation.files import atomic
from kit.hlo import Module, configurable, edges
from kit.hlo.features import RESTING
from kit.npz import EPOCH

FOLDER = Path(__file__).parent
_RUNS = ("row", "computation_size", "operand_back", "call_count", "call_back", "split")


@dataclass(frozen=True)
class Program:
    """One program.

    Attributes
    ----------
    name : str
        ``resnet_50.train.b128.bf16``: architecture and size, inference or training, batch a device, type.
    architecture : str
        What splits are made by.
    source : {"xla", "nlp"}
        Family of collections, as in the data set: vision-like and other programs, or transformers over tokens.
    training : bool
    module : kit.hlo.Module
    """

    name: str
    architecture: str
    source: str
    training: bool
    module: Module


@cache
def _index():
    """Program -> (architecture, source, nodes), from all files."""
    index = {}
    for path in sorted(FOLDER.glob("*.npz")):
        with np.load(path, allow_pickle=False) as file:
            nodes = np.diff(file["bounds"][:, 0])
            for name, n in zip(file["names"].tolist(), nodes.tolist(), strict=True):
                index[name] = (path.stem, str(file["source"]), n)
    return index


def names(source=None, max_nodes=None):
    """Names of the programs, sorted.

    Parameters
    ----------
    source : {"xla", "nlp"}, optional
        Only this family.
    max_nodes : int, optional
        Only programs with at most so many nodes.
    """
    return sorted(n for n, (_, kind, size) in _index().items()
                  if source in (None, kind) and (max_nodes is None or size <= max_nodes))


def architecture(name):
    """The architecture of a program, without loading it."""
    return _entry(name)[0]


def source(name):
    """The family of a program, "xla" or "nlp", without loading it."""
    return _entry(name)[1]


def nodes(name):
    """The number of nodes of a program, without loading it."""
    return _entry(name)[2]


def _entry(name):
    if name not in _index():
        raise InputError(f"no embedded program is called {name!r}; kit.sample.programs.names() lists them")
    return _index()[name]


@lru_cache(maxsize=4)
def _file(name):
    with np.load(FOLDER / f"{name}.npz", allow_pickle=False) as file:
        return {member: file[member] for member in file.files}


def forget():
    """Read the files again when they are asked for next: after `write`."""
    _index.cache_clear()
    _file.cache_clear()


def load(name):
    """Load one program.

    Parameters
    ----------
    name : str
        One of `names`.

    Returns
    -------
    Program

    Raises
    ------
    InputError
        Where there is no such program.
    """
    family, kind, _ = _entry(name)
    file = _file(family)
    at = file["names"].tolist().index(name)
    run = {r: file[r][slice(*file["bounds"][at:at + 2, i])] for i, r in enumerate(_RUNS)}
    return Program(name, family, kind, ".train." in name, _module(name, file, run))


def _features(file, rows):
    """The features of the given unique rows."""
    wanted, inverse = np.unique(rows, return_inverse=True)
    features = np.tile(RESTING, (len(wanted), 1))
    ends = np.cumsum(file["unique_count"], dtype=np.int64)
    for at, row in enumerate(wanted):
        span = slice(ends[row] - file["unique_count"][row], ends[row])
        features[at, file["feature_column"][span]] = file["feature_value"][span]
    return features[inverse]


def _lists(counts, back, origin):
    """Ragged rows of ``origin - back``."""
    ends = np.cumsum(counts, dtype=np.int64)
    values = (np.repeat(origin, counts) - back).tolist()
    return [values[end - count:end] for end, count in zip(ends.tolist(), counts.tolist(), strict=True)]


def _module(name, file, run):
    rows = run["row"]
    opcode = file["unique_opcode"][rows]
    computation = np.repeat(np.arange(len(run["computation_size"]), dtype=np.int32), run["computation_size"])
    operands = _lists(file["unique_operands"][rows].astype(np.int64), run["operand_back"], np.arange(len(rows)))
    calls = _lists(run["call_count"].astype(np.int64), run["call_back"], computation)
    node_feat = _features(file, rows)
    return Module(
        name=name, node_feat=node_feat, node_opcode=opcode,
        edge_index=edges(operands, calls, np.flatnonzero(node_feat[:, 0]), computation),
        node_config_ids=configurable(opcode, computation, calls), node_splits=run["split"][None].astype(np.int64),
        computation=computation, operands=operands, calls=calls, macs=file["unique_macs"][rows])


# ---------------------------------------------------------------- writing, by kit.sample.trace

def _flat(lists, origin):
    return np.array([o - v for row, o in zip(lists, origin, strict=True) for v in row], dtype=np.int32)


def _runs(module):
    sizes = np.bincount(module.computation)
    return {"computation_size": sizes.astype(np.int32),
            "operand_back": _flat(module.operands, range(len(module.operands))),
            "call_count": np.array([len(c) for c in module.calls], dtype=np.uint8),
            "call_back": _flat(module.calls, module.computation.tolist()),
            "split": module.node_splits[0].astype(np.int32)}


def _keys(module):
    """What makes two instructions one unique row: features, opcode, number of operands, multiply-accumulates."""
    count = np.array([len(o) for o in module.operands])
    return np.column_stack([module.node_feat.astype(np.float64), module.node_opcode, count, module.macs])


def write(architecture, source, modules):
    """Store the programs of one architecture.

    Parameters
    ----------
    architecture : str
    source : {"xla", "nlp"}
    modules : dict of str to kit.hlo.Module
        Program -> arrays.
    """
    unique, rows = np.unique(np.concatenate([_keys(m) for m in modules.values()]), axis=0, return_inverse=True)
    features = unique[:, :len(RESTING)].astype(np.float32)
    where = features != RESTING
    ends = np.cumsum([0] + [len(m.node_opcode) for m in modules.values()])
    runs = [{"row": rows[a:b].astype(np.int32), **_runs(m)}
            for a, b, m in zip(ends, ends[1:], modules.values(), strict=False)]
    bounds = np.cumsum([[0] * len(_RUNS)] + [[len(r[name]) for name in _RUNS] for r in runs], axis=0)
    opcode, operands, macs = unique[:, len(RESTING):].T
    _save(FOLDER / f"{architecture}.npz", {
        "names": np.array(list(modules)), "source": np.array(source), "bounds": bounds.astype(np.int64),
        "unique_opcode": opcode.astype(np.uint8), "unique_operands": operands.astype(np.uint16),
        "unique_macs": macs, "unique_count": where.sum(1).astype(np.uint8),
        "feature_column": np.nonzero(where)[1].astype(np.uint8), "feature_value": features[where],
        **{name: np.concatenate([r[name] for r in runs]) for name in _RUNS}})


def _save(path, arrays):
    """An npz file whose members are compressed by LZMA, half the size of deflated ones; NumPy reads both."""
    with atomic(path, "wb") as out, zipfile.ZipFile(out, "w", zipfile.ZIP_LZMA) as archive:
        for name, array in arrays.items():
            info = zipfile.ZipInfo(f"{name}.npy", EPOCH)
            info.compress_type = zipfile.ZIP_LZMA
            with archive.open(info, "w") as member:
                npy.write_array(member, array, allow_pickle=False)
