"""XLA modules and the tuning files of TpuGraphs to the arrays of the data set's npz files, by protobuf alone."""

import re
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import chain
from pathlib import Path

import numpy as np

from evaluation.errors import InputError
from kit import npz
from kit.hlo.features import node_features
from kit.hlo.macs import macs
from kit.hlo.parse import parse
from kit.hlo.runs import DIGITS, TENSORS, LayoutRuns, TileRuns, runs
from kit.hlo.schema import OPCODE_IDS

CONFIGURABLE = tuple(OPCODE_IDS[name] for name in ("convolution", "dot", "reshape"))
_CUT = re.compile("cluster|while|cond")  # the data set's node_splits have a cut after computations named so


@dataclass(frozen=True, eq=False)
class Module:
    """One program as the arrays of the data set; n nodes, m edges.

    Attributes
    ----------
    name : str
    node_feat : float32 array, shape (n, 140)
    node_opcode : uint8 array, shape (n,)
    edge_index : int64 array, shape (m, 2)
        Distinct rows ``[consumer, producer]``, sorted; a caller consumes the roots of what it calls.
    node_config_ids : int64 array, shape (nc,)
        Nodes whose layouts can be chosen: convolutions, dots and reshapes outside fusions.
    node_splits : int64 array, shape (1, s)
    computation : int32 array, shape (n,)
        Number of the computation that holds the node.
    operands : list of list of int
        Operand nodes in their order, repeats kept (edges lose both).
    calls : list of list of int
        Computations that the node calls.
    macs : float64 array, shape (n,)
        Multiply-accumulates of dots and convolutions, 0 elsewhere.
    runs : TileRuns or LayoutRuns or None
        What was measured, where the file is a tuning file.
    """

    name: str
    node_feat: np.ndarray = field(repr=False)
    node_opcode: np.ndarray = field(repr=False)
    edge_index: np.ndarray = field(repr=False)
    node_config_ids: np.ndarray = field(repr=False)
    node_splits: np.ndarray = field(repr=False)
    computation: np.ndarray = field(repr=False)
    operands: list = field(repr=False)
    calls: list = field(repr=False)
    macs: np.ndarray = field(repr=False)
    runs: TileRuns | LayoutRuns | None = field(default=None, repr=False)

    def arrays(self):
        """The members of an npz file, in the data set's types.

        A module without runs gives a layout file with one configuration, all -1 (the compiler's own choice), whose
        runtime is 0: withheld.
        """
        members = {"node_feat": self.node_feat, "node_opcode": self.node_opcode, "edge_index": self.edge_index}
        if isinstance(self.runs, TileRuns):
            return members | vars(self.runs)
        nodes = len(self.node_config_ids)
        measured = self.runs or LayoutRuns(
            self.node_config_ids, np.full((1, nodes, TENSORS * DIGITS), -1, dtype=np.float32),
            np.zeros(1, dtype=np.int64))
        return members | vars(measured) | {"node_splits": self.node_splits}


def read(path):
    """Read every module of a file.

    Parameters
    ----------
    path : str or Path
        A serialized ``HloModuleProto`` or ``HloProto``, or a tuning file of TpuGraphs (``ModuleTuningData`` or
        ``TuningData``), of any XLA version.

    Returns
    -------
    list of Module

    Raises
    ------
    InputError
        Where the file is none of these (text HLO, StableHLO, an npz file, something else), is truncated, or holds a
        module that does not hang together: operands that are not there or depend on each other in a circle.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a serialized HLO module") from error
    return [build(module, tuned, f"{path}, module {_text(module.name)!r}") for module, tuned in parse(data, path)]


def build(module, tuned=None, where="module"):
    """One parsed module as arrays.

    Parameters
    ----------
    module : HloModuleProto
        Of `kit.hlo.schema.message`.
    tuned : ModuleTuningData, optional
        Its runs.
    where : str
        File and module, for messages.

    Returns
    -------
    Module
    """
    computations = module.computations
    starts = np.cumsum([0] + [len(c.instructions) for c in computations])
    operands = [row for c, start in zip(computations, starts, strict=False) for row in _operands(c, start, where)]
    _has_entry(module, where)
    calls = _calls(computations, where)
    node_feat, node_opcode = node_features(computations)
    computation = np.repeat(np.arange(len(computations), dtype=np.int32), np.diff(starts))
    return Module(
        name=_text(module.name), node_feat=node_feat, node_opcode=node_opcode,
        edge_index=edges(operands, calls, np.flatnonzero(node_feat[:, 0]), computation),
        node_config_ids=configurable(node_opcode, computation, calls), node_splits=_splits(computations, starts),
        computation=computation, operands=operands, calls=calls, macs=_macs(computations, operands),
        runs=runs(tuned, where) if tuned else None)


def _text(name):
    return name.decode("utf-8", "replace")


def _broken(where, found):
    raise InputError(f"{where}: {found}; the file is damaged or incomplete, dump it again")


def _operands(computation, start, where):
    """Operands of one computation's instructions as node numbers; ids need be unique only within it."""
    number = {node.id: start + i for i, node in enumerate(computation.instructions)}
    rows = []
    for node in computation.instructions:
        try:
            rows.append([int(number[i]) for i in node.operand_ids])
        except KeyError as error:
            _broken(where, f"instruction {_text(node.name)!r} has an operand (id {error}) that is not in its "
                           f"computation {_text(computation.name)!r}")
    if computation.root_id not in number:
        _broken(where, f"computation {_text(computation.name)!r} lacks its root (id {computation.root_id})")
    if any(o >= start + i for i, row in enumerate(rows) for o in row):  # not in the usual order: perhaps a circle
        names = [_text(node.name) for node in computation.instructions]
        _acyclic({names[i]: [names[o - start] for o in row] for i, row in enumerate(rows)},
                 f"{where}: operands of computation {_text(computation.name)!r}")
    return rows


def _acyclic(graph, what):
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = " <- ".join(error.args[1][:8])
        raise InputError(f"{what} form a circle ({circle}), which no XLA module does; dump the module again "
                         "from the framework that made it") from error


def _has_entry(module, where):
    """A file that was cut off between two fields still decodes; its entry computation, the last one, is missing."""
    entry, name = module.entry_computation_id, module.entry_computation_name
    if ((entry and all(c.id != entry for c in module.computations))
            or (name and all(c.name != name for c in module.computations))):
        _broken(where, f"the entry computation {_text(name)!r} (id {entry}) is missing")


def _calls(computations, where):
    """Called computations of every instruction, as numbers."""
    number = {c.id: i for i, c in enumerate(computations)}
    calls = []
    for c in computations:
        for node in c.instructions:
            missing = [i for i in node.called_computation_ids if i not in number]
            if missing:
                _broken(where, f"instruction {_text(node.name)!r} calls a missing computation (id {missing[0]})")
            calls.append([number[i] for i in node.called_computation_ids])
    callees = {i: set() for i in range(len(computations))}
    holder = (i for i, c in enumerate(computations) for _ in c.instructions)
    for i, called in zip(holder, calls, strict=True):
        callees[i].update(called)
    names = {i: f"{_text(c.name)}" for i, c in enumerate(computations)}
    _acyclic({names[i]: [names[j] for j in sorted(called)] for i, called in callees.items()},
             f"{where}: calls between computations")
    return calls


def edges(operands, calls, roots, computation):
    """Distinct (consumer, producer) pairs, sorted; a caller's producers include the roots of what it calls."""
    root = dict(zip(computation[roots].tolist(), roots.tolist(), strict=True))
    producers = [*chain.from_iterable(operands), *(root[c] for row in calls for c in row)]
    consumers = np.concatenate([np.repeat(np.arange(len(rows)), list(map(len, rows))) for rows in (operands, calls)])
    pairs = np.unique(consumers * len(computation) + np.array(producers, dtype=np.int64))
    return np.column_stack(np.divmod(pairs, len(computation)))


def configurable(opcode, computation, calls):
    """Convolutions, dots and reshapes; those inside fusions take the layouts that the fusion gets."""
    fused = {c for node in np.flatnonzero(opcode == OPCODE_IDS["fusion"]) for c in calls[node]}
    free = ~np.isin(computation, sorted(fused))
    return np.flatnonzero(np.isin(opcode, CONFIGURABLE) & free).astype(np.int64)


def _splits(computations, starts):
    """Ends of segments: 0, after every computation of a loop, a condition or a cluster, and the number of nodes."""
    cuts = {int(end) for c, end in zip(computations, starts[1:], strict=True) if _CUT.search(_text(c.name))}
    return np.array([sorted(cuts | {0, int(starts[-1])})], dtype=np.int64)


def _macs(computations, operands):
    nodes = [node for c in computations for node in c.instructions]
    return np.array([macs(node, [nodes[o].shape for o in row]) if node.opcode in (b"dot", b"convolution") else 0
                     for node, row in zip(nodes, operands, strict=True)], dtype=np.float64)


def convert(files, out, force=False):
    """Write one npz file a module.

    Parameters
    ----------
    files : list of str or Path
    out : str or Path
        Folder, made if need be. A file with one module gives ``<file's name>.npz``, a file with several
        ``<module's name>.npz``.
    force : bool
        Whether files that are there may be replaced.

    Returns
    -------
    list of (Path, Module)

    Raises
    ------
    InputError
        As `read`; where a file is there already, or two modules would share a name.
    """
    written = {}
    for file in files:
        modules = read(file)
        for module in modules:
            name = module.name if len(modules) > 1 else _stem(file)
            path = Path(out) / f"{re.sub(r'[^A-Za-z0-9_.-]', '_', name)}.npz"
            if path in written or (path.exists() and not force):
                raise InputError(f"{path}: is there already; give another --out, or --force to replace it"
                                 if path not in written else
                                 f"{file}: two modules would be written to {path}; convert them into two folders")
            npz.write(path, module.arrays())
            written[path] = module
    return list(written.items())


def _stem(file):
    """A file's name without what dumps append to it."""
    return re.sub(r"(\.hlo)?\.(pb|bin|proto)$", "", Path(file).name) or Path(file).name
