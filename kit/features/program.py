"""A layout graph's configurable nodes: what each layout of each operand means for them."""

from collections import defaultdict
from functools import cached_property, lru_cache

import numpy as np

from kit.features import physics

KINDS = ("convolution", "dot", "reshape")
OPCODES = (physics.CONVOLUTION, physics.DOT, physics.RESHAPE)
OPERAND_NAMES = ("output", "input", "kernel")
MOST_VISITED = 64  # nodes of an elementwise chain that are looked through
# Opcodes whose output has their operands' shape and takes any layout alike: a copy can be put before or after.
ELEMENTWISE = frozenset((1, 2, 7, 15, 17, 20, 21, 25, 30, 32, 37, 38, 40, 49, 50, 51, 52, 53, 54, 55, 57, 58, 59,
                         60, 66, 71, 73, 80, 81, 83, 87, 88, 89, 90, 91, 94, 95, 96, 103, 107, 118, 120))

padded_elements = lru_cache(maxsize=1 << 16)(physics.padded_elements)


def unusual(count):
    """One for every layout but the file's most frequent one (the first of them)."""
    return 1.0 * (np.arange(len(count)) != np.argmax(count))


def rarity(count):
    """How much rarer a layout is than the file's most frequent one, as a logarithm; 0 for that one."""
    return np.log(count.max() / count)


class Program:
    """What the feature columns ask of a layout graph.

    Parameters
    ----------
    graph : LayoutGraph

    Attributes
    ----------
    ids : int64 array, shape (nc,)
        Configurable nodes; below, `node` is a position in it.
    kind : int64 array, shape (nc,)
        Index into `KINDS`, -1 for another opcode.
    work : float64 array, shape (nc,)
        Multiply-accumulates.
    operands : list of (int or None, int or None, int or None)
        Graph nodes that hold a configurable node's output, input and kernel.
    """

    def __init__(self, graph):
        self.graph, self.ids = graph, graph.node_config_ids
        self.sizes = physics.dimensions(graph.node_feat)
        self.bytes = physics.element_bytes(graph.node_feat)
        self.all_work = physics.arithmetic(graph)
        self.work = self.all_work[self.ids]
        opcodes = graph.node_opcode[self.ids]
        self.kind = np.select([opcodes == code for code in OPCODES], range(len(OPCODES)), -1)
        self.producers = physics.producers(graph)
        self.operands = [self._operands(node) for node in self.ids]

    def _operands(self, node):
        feeding = self.producers[node]
        if self.graph.node_opcode[node] == physics.CONVOLUTION:
            return (node, *physics.convolution_operands(self.graph.node_feat[node], self.sizes, feeding))
        if not feeding:
            return node, None, None
        return node, feeding[0], feeding[-1] if self.graph.node_opcode[node] == physics.DOT else None

    def _shape(self, node, operand):
        holder = self.operands[node][operand]
        return () if holder is None else self.sizes[holder]

    # Values of one layout: functions of (position of the configurable node, digits).

    def output_bytes(self, node, layout):
        """Padded bytes of the output; 2 bytes an element for 16-bit floats, 4 otherwise."""
        features = self.graph.node_feat[self.ids[node]]
        width = 2 if features[12] or features[15] else 4
        return float(width * padded_elements(self._shape(node, 0), layout))

    def padded_work(self, node, layout):
        """Arithmetic times the padding of the output, axes of size 1 passed over."""
        return self.weighted_padding(0)(node, layout)

    def weighted_padding(self, operand):
        """Arithmetic times the padding of an operand."""
        def value(node, layout):
            sizes = self._shape(node, operand)
            return self.work[node] * padded_elements(sizes, layout, True) / max(1, np.prod(sizes, dtype=float))

        return value

    def padded(self, operand):
        """Padded bytes of an operand, by the width of its type."""
        def value(node, layout):
            holder = self.operands[node][operand]
            return 0.0 if holder is None else self.bytes[holder] * padded_elements(self.sizes[holder], layout)

        return value

    def minor_size(self, operand):
        """Logarithm of the size of an operand's most minor axis; 0 for scalars."""
        def value(node, layout):
            sizes = self._shape(node, operand)
            order = physics.minor_to_major(layout, len(sizes))
            return float(np.log2(max(1, sizes[order[0]]))) if order else 0.0

        return value

    @cached_property
    def computed_bytes(self):
        """Bytes of the outputs of convolutions and dots, not padded: float64, shape (nc,), 0 for other nodes."""
        size = [np.prod(self.sizes[node], dtype=float) for node in self.ids]
        return size * self.bytes[self.ids] * (self.work > 0)

    def transposed_bytes(self, node, layout):
        """Bytes of a dot's output that is not row-major, which what consumes it may have to copy."""
        return self.computed_bytes[node] * (self.kind[node] == 1 and list(layout) != sorted(layout, reverse=True))

    # Columns: values summed over the configurable nodes.

    def summed(self, choices, operand, value, mine=None):
        """Sum of a value of one operand's layout over configurable nodes: float64, shape (c,)."""
        tables = defaultdict(float)
        for node in range(len(self.ids)) if mine is None else np.flatnonzero(mine):
            layouts = choices.layouts[3 * node + operand]
            tables[choices.of_slot[node, operand]] += np.array([value(node, layout) for layout in layouts])
        return choices.column(tables)

    def mean(self, choices, operand, value, mine):
        """Mean of a value over the nodes marked in `mine`; 0 where there are none."""
        return self.summed(choices, operand, value, mine) / max(1, mine.sum())

    def by_count(self, choices, operand, weight, value):
        """Sum of weight x value, a function of how many configurations take each layout: float64, shape (c,)."""
        tables = defaultdict(float)
        for node in range(len(self.ids)):
            tables[choices.of_slot[node, operand]] += weight[node] * value(choices.count[3 * node + operand])
        return choices.column(tables)

    def rare_choices(self, choices):
        """Rarity summed over the free choices that decide the output of a convolution or dot: float64, shape (c,).

        A search keeps what is fast: a layout that it seldom kept was slow, one that costs nothing drifted.
        """
        tables = {}
        for node in np.flatnonzero(self.work):
            tables[choices.of_slot[node, 0]] = rarity(choices.count[3 * node])
        return choices.column(tables)

    def paired(self, choices, terms):
        """Sum of values that depend on two layouts: terms (slot, slot, function of both layouts)."""
        tables = defaultdict(float)
        for first, second, value in terms:
            pair = choices.of_slot.flat[first], choices.of_slot.flat[second]
            layouts, others = choices.layouts[first], choices.layouts[second]
            tables[pair] += np.array([[value(a, b) for b in others] for a in layouts])
        total = np.zeros(choices.index.shape[1])
        for (a, b), values in tables.items():
            total += values[choices.index[a] if a >= 0 else 0, choices.index[b] if b >= 0 else 0]
        return total

    def idle_lanes(self):
        """Terms: arithmetic of nodes whose output has an axis of size 1 most minor and whose input has not.

        Such an output fills one lane of 128; where the input has its own axis of size 1 there, both are
        the same memory without it.
        """
        def term(node):
            out, feed = self._shape(node, 0), self._shape(node, 1)

            def value(a, b):
                one = [sizes[physics.minor_to_major(layout, len(sizes))[0]] == 1
                       for sizes, layout in ((out, a), (feed, b))]
                return self.work[node] * (one[0] and not one[1])

            return 3 * node, 3 * node + 1, value

        return [term(node) for node in np.flatnonzero(self.work)
                if 1 in self._shape(node, 0) and self._shape(node, 1)]

    def copies(self, chained):
        """Terms: one, and the bytes moved, where a consumer wants another layout than its producer gives.

        Parameters
        ----------
        chained : bool
            Look through elementwise operations between the two, too.

        Returns
        -------
        count, size : lists of terms for `paired`
        """
        count, size = [], []
        for node in range(len(self.ids)):
            for operand in (1, 2):
                for source in self._sources(self.operands[node][operand], chained):
                    slots = 3 * node + operand, 3 * self._position[source]
                    moved = float(np.prod(self.sizes[source], dtype=float) * self.bytes[source])
                    rank = len(self.sizes[source])
                    count.append((*slots, _Disagreement(rank, 1.0)))
                    size.append((*slots, _Disagreement(rank, moved)))
        return count, size

    @cached_property
    def _position(self):
        return {int(node): position for position, node in enumerate(self.ids)}

    def _sources(self, holder, chained):
        """Configurable nodes that an operand comes from, through elementwise nodes of the same shape."""
        if holder is None:
            return []
        found, seen, waiting = [], {holder}, [holder]
        while waiting and len(seen) < MOST_VISITED:
            node = waiting.pop()
            if node in self._position:
                found.append(node)
            elif chained and self.graph.node_opcode[node] in ELEMENTWISE:
                fresh = [p for p in self.producers[node] if p not in seen and self.sizes[p] == self.sizes[node]]
                seen.update(fresh)
                waiting += fresh
        return found

    def aggregates(self):
        """Constants of the graph: logarithms of nodes, configurable nodes and arithmetic; shares by kind."""
        share = [np.mean(self.kind == k) for k in range(len(KINDS))]
        return [np.log(len(self.sizes)), np.log1p(len(self.ids)), np.log1p(self.all_work.sum()), *share]


class _Disagreement:
    """A value that is paid where two layouts differ; a layout left to the compiler agrees with all."""

    def __init__(self, rank, value):
        self.rank, self.value = rank, value

    def __call__(self, wanted, given):
        if not wanted or not given:
            return 0.0
        differ = physics.minor_to_major(wanted, self.rank) != physics.minor_to_major(given, self.rank)
        return self.value * differ
