"""Graphs as tensors for the networks: kept nodes, what they cost, and what a configuration says of them.

Everything here is a function of one graph alone and is made once a graph; the networks look configurations up in it.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch

from kit.distinct import distinct_configs
from kit.features import physics
from kit.features.choices import DIGITS, OPERANDS
from kit.features.kernel import Kernel
from kit.features.program import Program, padded_elements
from kit.graphs import TileGraph

OPCODES = 256
NODE_COLUMNS = 142  # node_feat, logarithms of bytes and of multiply-accumulates
TILE_COLUMNS = 36  # config_feat, logarithms of the number of tiles along six axes of output and kernel
SLOT_COLUMNS = 2  # of a layout digit: size of the axis it names, that axis's padding at this place
OPERAND_COLUMNS = 3  # of an operand's layout: padding, how unusual it is, whether it is the usual one


@dataclass(frozen=True, eq=False)
class Encoding:
    """A graph for the networks; n kept nodes in topological order, e edges, k nodes that configurations speak of.

    Attributes
    ----------
    opcode : int64 tensor, shape (n,)
    nodes : float32 tensor, shape (n, 142)
        Log-scaled, not standardised.
    amounts : float64 tensor, shape (n, 2)
        Bytes (of the output and of what is read) and multiply-accumulates.
    edges : int64 tensor, shape (2, e)
        Operand and consumer, positions among the kept nodes.
    totals : float64 array, shape (256, 2)
        The amounts of the whole graph by opcode, nodes that are not kept included.
    configs : TileConfigs, LayoutConfigs or PackedConfigs
    """

    opcode: torch.Tensor
    nodes: torch.Tensor
    amounts: torch.Tensor
    edges: torch.Tensor
    totals: np.ndarray
    configs: object

    def rows(self, rows):
        """The same graph with some of its configurations."""
        return replace(self, configs=self.configs.rows(rows))

    def to(self, device):
        """The same graph with its tensors on a device."""
        moved = {name: value.to(device) for name, value in vars(self).items() if isinstance(value, torch.Tensor)}
        return replace(self, **moved, configs=self.configs.to(device))


@dataclass(frozen=True, eq=False)
class TileConfigs:
    """Configurations of a kernel.

    Attributes
    ----------
    values : float32 tensor, shape (c, 36)
        Log-scaled, not standardised.
    """

    values: torch.Tensor

    def __len__(self):
        return len(self.values)

    def rows(self, rows):
        """Some of the configurations."""
        return TileConfigs(self.values[rows])

    def to(self, device):
        """The same on a device."""
        return TileConfigs(self.values.to(device))


@dataclass(frozen=True, eq=False)
class LayoutConfigs:
    """Configurations of a layout graph; k configurable nodes, a operand layouts, u node layouts, p patterns.

    A node layout is a combination of the layouts of a node's output, input and kernel that occurs in the file.
    What a configuration costs a network is a look-up: few node layouts are distinct, and nodes that move
    together share one pattern.

    Attributes
    ----------
    place : int64 tensor, shape (k,)
        Positions of the configurable nodes among the kept ones, increasing.
    digits : int64 tensor, shape (a, 6)
        Layout digits plus one, 0 where there is none.
    slots : float32 tensor, shape (a, 6, 2)
    operands : float32 tensor, shape (a, 3)
    combination : int64 tensor, shape (u, 3)
        The operand layouts that a node layout consists of.
    node : int64 tensor, shape (u,)
        Which of the k nodes a node layout belongs to.
    first : int64 tensor, shape (k,)
        The node's first node layout.
    pattern : int64 tensor, shape (k,)
        The node's row of `index`.
    index : int32 tensor, shape (p, c)
        Number of the node layout, counted from the node's first.
    varies : bool tensor, shape (k,)
        Whether the configurations differ at all in this node.
    """

    place: torch.Tensor
    digits: torch.Tensor
    slots: torch.Tensor
    operands: torch.Tensor
    combination: torch.Tensor
    node: torch.Tensor
    first: torch.Tensor
    pattern: torch.Tensor
    index: torch.Tensor
    varies: torch.Tensor

    def __len__(self):
        return self.index.shape[1]

    def rows(self, rows):
        """Some of the configurations."""
        return replace(self, index=self.index[:, rows])

    def to(self, device):
        """The same on a device."""
        return LayoutConfigs(**{name: value.to(device) for name, value in vars(self).items()})

    def lookup(self):
        """The node layout that each configuration gives each configurable node: int64, shape (k, c)."""
        return self.first[:, None] + self.index[self.pattern].long()


@dataclass(frozen=True, eq=False)
class PackedConfigs:
    """Configurations of a layout graph that are looked up when some of them are asked for.

    Attributes
    ----------
    base : LayoutConfigs
        Of no configuration.
    packed : kit.features.packed.Packed
    source : int64 array, shape (p,)
        For every row of `LayoutConfigs.index` the pattern of `packed` that it follows, -1 where it is constant.
    ranks : list of int32 array
        For every row of `LayoutConfigs.index` what the pattern's numbers become.
    chosen : int64 array, shape (c,)
        Which distinct configuration each one is.
    """

    base: LayoutConfigs
    packed: object
    source: np.ndarray
    ranks: list
    chosen: np.ndarray

    def __len__(self):
        return len(self.chosen)

    def rows(self, rows):
        """Some of the configurations, as `LayoutConfigs`; of a mapped file, nothing else is read."""
        chosen = self.chosen[np.asarray(rows)]
        some = replace(self.packed, codes=np.asarray(self.packed.codes[chosen]))
        index = np.zeros((len(self.source), len(chosen)), np.int32)
        for row, (pattern, rank) in enumerate(zip(self.source, self.ranks, strict=True)):
            if pattern >= 0:
                index[row] = rank[some.numbers(pattern)]
        return replace(self.base, index=torch.from_numpy(index))

    def only(self, chosen):
        """Other configurations of the same graph, given as distinct ones."""
        return replace(self, chosen=chosen)


def encode(graph):
    """Encode a graph with all its configurations.

    Parameters
    ----------
    graph : TileGraph or LayoutGraph

    Returns
    -------
    Encoding
        Of a kernel all nodes are kept, of a layout graph the configurable nodes and their neighbours.
    """
    found = encode_distinct(graph)
    return found.rows(torch.from_numpy(distinct_configs(graph).inverse))


def encode_distinct(graph):
    """Encode a graph with its distinct configurations; those of a layout graph are looked up when they are asked for.

    Returns
    -------
    Encoding
        With `TileConfigs` or `PackedConfigs`.
    """
    program = None if isinstance(graph, TileGraph) else Program(graph)
    kept = np.arange(graph.nodes) if program is None else neighbourhood(graph)
    kept = kept[np.argsort(topological_position(graph)[kept], kind="stable")]
    place = np.full(graph.nodes, -1)
    place[kept] = np.arange(len(kept))
    amounts = _amounts(graph, program)
    edges = place[graph.edge_index]
    edges = edges[(edges >= 0).all(axis=1)]
    return Encoding(
        opcode=torch.from_numpy(graph.node_opcode[kept].astype(np.int64)),
        nodes=torch.from_numpy(_log(np.concatenate([graph.node_feat[kept], amounts[kept]], axis=1))),
        amounts=torch.from_numpy(amounts[kept]), edges=torch.from_numpy(edges[:, ::-1].T.copy()),
        totals=np.stack([np.bincount(graph.node_opcode, a, OPCODES) for a in amounts.T], axis=1),
        configs=_tile_configs(graph) if program is None else _layout_configs(graph, program, place))


def neighbourhood(graph):
    """Configurable nodes of a layout graph, their operands and their consumers: int64, increasing."""
    mine = np.zeros(graph.nodes, bool)
    mine[graph.node_config_ids] = True
    consumer, producer = graph.edge_index.T
    kept = mine.copy()
    kept[producer[mine[consumer]]] = True
    kept[consumer[mine[producer]]] = True
    return np.flatnonzero(kept)


def topological_position(graph):
    """Position of every node in an order in which operands come first: int64, shape (n,).

    The files' own order where it is one, as in all files of the data set; else by levels, ties by index.
    Nodes on a cycle, which no computation has, come last.
    """
    consumer, producer = graph.edge_index.T
    if (producer < consumer).all():
        return np.arange(graph.nodes)
    level = np.zeros(graph.nodes, np.int64)
    for _ in range(graph.nodes):
        deeper = level.copy()
        np.maximum.at(deeper, consumer, level[producer] + 1)
        if (deeper == level).all():
            break
        level = deeper
    position = np.empty(graph.nodes, np.int64)
    position[np.argsort(level, kind="stable")] = np.arange(graph.nodes)
    return position


def _log(values):
    return (np.sign(values) * np.log1p(np.abs(values))).astype(np.float32)


def _amounts(graph, program):
    """Bytes that a node writes and reads, and its multiply-accumulates: float64, shape (n, 2)."""
    sizes = physics.dimensions(graph.node_feat) if program is None else program.sizes
    written = np.array([np.prod(s, dtype=float) for s in sizes]) * physics.element_bytes(graph.node_feat)
    consumer, producer = graph.edge_index.T
    read = np.bincount(consumer, written[producer], graph.nodes)
    return np.stack([written + read, physics.arithmetic(graph) if program is None else program.all_work], axis=1)


def _tile_configs(graph):
    kernel, first = Kernel(graph), distinct_configs(graph).first
    counts = np.ones((graph.configs, 12))
    for start, tiling in ((0, kernel.output), (6, kernel.kernel)):
        counts[:, start:start + tiling.counts.shape[1]] = tiling.counts
    return TileConfigs(torch.from_numpy(np.concatenate([_log(graph.config_feat), _log(counts - 1)], axis=1)[first]))


def _layout_configs(graph, program, place):
    packed = graph.packed
    choices = packed.choices(slice(0))
    where = place[graph.node_config_ids]
    order = np.argsort(where, kind="stable")
    digits, slots, operands, offset = _operand_layouts(program, choices)
    (source, ranks), pattern, combination, node, first = _node_layouts(packed, order, offset)
    arrays = {"place": where[order], "digits": digits, "slots": slots, "operands": operands,
              "combination": combination, "node": node, "first": first, "pattern": pattern,
              "index": np.zeros((len(source), 0), np.int32), "varies": packed.pattern[order] >= 0}
    base = LayoutConfigs(**{name: torch.from_numpy(np.ascontiguousarray(a)) for name, a in arrays.items()})
    return PackedConfigs(base, packed, np.array(source, np.int64), ranks, np.arange(len(packed.codes)))


def _operand_layouts(program, choices):
    """Digits and values of every layout of every slot, and the number of each slot's first one."""
    sizes = [len(layouts) for layouts in choices.layouts]
    offset = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    digits = np.zeros((offset[-1], DIGITS), np.int64)
    slots = np.zeros((offset[-1], DIGITS, SLOT_COLUMNS), np.float32)
    operands = np.zeros((offset[-1], OPERAND_COLUMNS), np.float32)
    for slot, layouts in enumerate(choices.layouts):
        holder = program.operands[slot // OPERANDS][slot % OPERANDS]
        shape = () if holder is None else program.sizes[holder]
        count = choices.count[slot]
        for row, (layout, times) in enumerate(zip(layouts, count, strict=True), offset[slot]):
            digits[row, :len(layout)] = np.array(layout, np.int64) + 1
            slots[row] = _slot_values(shape, layout)
            operands[row] = _padding(shape, layout), np.log(count.max() / times), times == count.max()
    return digits, slots, operands, offset


def _slot_values(shape, layout):
    """Of every digit the logarithm of the axis's size and, at the two most minor places, of its padding."""
    values = np.zeros((DIGITS, SLOT_COLUMNS))
    for p, axis in enumerate(physics.minor_to_major(layout, len(shape)) if layout else ()):
        tile = (physics.LANES, physics.SUBLANES, 1)[min(p, 2)]
        values[p] = np.log1p(shape[axis]) / 4, np.log(-(-shape[axis] // tile) * tile / max(1, shape[axis]))
    return values


def _padding(shape, layout):
    return np.log(padded_elements(shape, layout, True) / max(1, np.prod(shape, dtype=float)))


def _node_layouts(packed, order, offset):
    """Number the combinations of layouts that occur in each node, once for all nodes with the same choices."""
    known, source, ranks, pattern, combination, node, first = {}, [], [], [], [], [], []
    for position, member in enumerate(order):
        key = tuple(packed.of_slot[member])
        if key not in known:
            found, rank = _combinations(packed, member)
            known[key] = len(source), found
            source.append(packed.pattern[member])
            ranks.append(rank)
        row, found = known[key]
        first.append(sum(map(len, node)))
        pattern.append(row)
        combination.append(found + offset[3 * member:3 * member + OPERANDS])
        node.append(np.full(len(found), position))
    return ((source, ranks), np.array(pattern, np.int64),
            np.concatenate(combination) if combination else np.zeros((0, OPERANDS), np.int64),
            np.concatenate(node) if node else np.zeros(0, np.int64), np.array(first, np.int64))


def _combinations(packed, member):
    """Alternatives of the combinations of a node's three layouts, sorted, shape (found, 3); which each layout is."""
    numbers = [packed.slots[OPERANDS * member + operand][1] for operand in range(OPERANDS)]
    sizes = [int(n.max()) + 1 for n in numbers]
    found, rank = np.unique(np.ravel_multi_index(numbers, sizes), return_inverse=True)
    return np.stack(np.unravel_index(found, sizes), axis=1), rank.astype(np.int32)
