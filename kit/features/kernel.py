"""A tile kernel: which tensors its bounds cut, into how many tiles, and what those move."""

from functools import cached_property
from math import prod

import numpy as np

from kit.features import physics

KERNEL, OUTPUT, AXES = 0, 8, 6  # columns of config_feat: six bounds, their sum, their product
PARAMETER, FUSION, REDUCE = 63, 41, 70
OPCODE_GROUPS = {
    "convolution": (26,), "dot": (34,), "reduce": (70, 72), "broadcast": (13,), "copy": (27,), "reshape": (75, 11),
    "transpose": (98,), "concatenate": (22,), "slice": (92, 35, 36), "pad": (62,), "select": (83, 84),
    "transcendental": (37, 38, 50, 51, 66, 81, 94, 96, 107), "convert": (25,),
    "arithmetic": (2, 32, 57, 58, 59, 95),
}
UNIT = physics.LANES * physics.SUBLANES  # elements of one unit of volume where two axes are cut


class Tiling:
    """A tensor cut by bounds; a axes, c configurations.

    Parameters
    ----------
    bounds : int64 array, shape (c, a)
        In units of memory tiles: the last two axes in 8s and 128s.
    extents : int64 array, shape (a,)
        Of the tensor, in the same units.
    """

    def __init__(self, bounds, extents):
        self.bounds = np.minimum(np.maximum(bounds, 1), extents)
        self.extents = extents
        self.counts = -(-extents // self.bounds)

    @cached_property
    def tiles(self):
        """Number of tiles."""
        return self.counts.prod(axis=1)

    @cached_property
    def volume(self):
        """Memory tiles that one tile holds."""
        return self.bounds.prod(axis=1)

    @property
    def share(self):
        """Part of the tensor that one tile covers."""
        return self.volume / max(1, self.extents.prod())

    @property
    def waste(self):
        """What the tiles cover over what the tensor holds, at least 1."""
        return self.tiles * self.volume / max(1, self.extents.prod())

    @cached_property
    def run(self):
        """Memory tiles of a tile that follow one another in memory."""
        run, whole = np.ones(len(self.bounds), np.int64), np.ones(len(self.bounds), bool)
        for axis in reversed(range(len(self.extents))):
            run *= np.where(whole, self.bounds[:, axis], 1)
            whole &= self.bounds[:, axis] == self.extents[axis]
        return run

    def ratio(self, axis):
        """Part of an axis that a bound covers; 1 where there is no such axis."""
        if axis >= len(self.extents):
            return np.ones(len(self.bounds))
        return self.bounds[:, axis] / self.extents[axis]


class Kernel:
    """What the feature columns ask of a tile kernel.

    Parameters
    ----------
    graph : TileGraph

    Attributes
    ----------
    output, kernel : Tiling
        Of the tensor that is computed (a reduction's operand, a convolution's output) and of the kernel of a
        convolution; of one tile where the configuration does not cut it.
    """

    def __init__(self, graph):
        self.graph = graph
        self.sizes = physics.dimensions(graph.node_feat)
        self.bytes = physics.element_bytes(graph.node_feat)
        self.producers = physics.producers(graph)
        self.work = physics.arithmetic(graph)
        self.centre = int(np.argmax(self.work)) if self.work.any() else None
        self.output_node, self.kernel_node = self._output_node(), self._kernel_node()
        self.output = self._tiling(OUTPUT, self.output_node)
        self.kernel = self._tiling(KERNEL, self.kernel_node)

    def _tiling(self, column, node):
        bounds = self.graph.config_feat[:, column:column + AXES].astype(np.int64)
        used = int(np.flatnonzero(bounds.any(axis=0)).max(initial=-1)) + 1
        bounds, largest = bounds[:, :used], bounds[:, :used].max(axis=0)
        extents = np.array(self._extents(node) if node is not None and used else largest, np.int64)
        fits = len(extents) == used and (extents >= largest).all()
        return Tiling(bounds, extents if fits else largest)

    def _extents(self, node):
        """Sizes of a node's output in memory tiles, major to minor."""
        layout = self.graph.node_feat[node, 134:140].astype(int)[:len(self.sizes[node])]
        order = [self.sizes[node][axis] for axis in self._order(layout, len(self.sizes[node]))]
        units = (physics.LANES, physics.SUBLANES) if len(order) > 1 else (UNIT,)
        return [-(-s // u) for s, u in zip(order, units, strict=False)][::-1] if len(order) < 3 else [
            *reversed(order[2:]), -(-order[1] // units[1]), -(-order[0] // units[0])]

    @staticmethod
    def _order(layout, rank):
        return physics.minor_to_major(dict.fromkeys(layout), rank)

    def _output_node(self):
        """The node whose shape explains the output bounds: the convolution, else the largest that fits."""
        bounds = self.graph.config_feat[:, OUTPUT:OUTPUT + AXES]
        largest = bounds.max(axis=0)
        used = int(np.flatnonzero(largest).max(initial=-1)) + 1

        def fits(node):
            return len(self.sizes[node]) == used and (np.array(self._extents(node)) >= largest[:used]).all()

        if self.centre is not None and (not used or fits(self.centre)):
            return self.centre
        found = [n for n in range(len(self.sizes)) if fits(n)] if used else []
        return max(found, key=lambda n: prod(self.sizes[n]), default=None)

    def _kernel_node(self):
        if self.centre is None or self.graph.node_opcode[self.centre] != physics.CONVOLUTION:
            return None
        feeding = self.producers[self.centre]
        return physics.convolution_operands(self.graph.node_feat[self.centre], self.sizes, feeding)[1]

    def _place(self, node, axis):
        """Position of an axis among the bounds, which go from major to minor."""
        layout = self.graph.node_feat[node, 134:140].astype(int)[:len(self.sizes[node])]
        order = self._order(layout, len(self.sizes[node]))
        return len(order) - 1 - order.index(axis)

    def _feature_counts(self, tiling, node, column):
        """Tiles along a feature axis, and along the others together."""
        axis = int(self.graph.node_feat[self.centre, column])
        counts = tiling.counts
        if len(tiling.extents) != len(self.sizes[node]) or axis >= len(self.sizes[node]):
            return np.ones(len(counts), np.int64), counts.prod(axis=1)
        place = self._place(node, axis)
        return counts[:, place], np.delete(counts, place, axis=1).prod(axis=1)

    @cached_property
    def contraction_steps(self):
        """Pieces that a convolution's sum is cut into by the kernel bounds; 1 for other kernels."""
        if self.kernel_node is None or not len(self.kernel.extents):
            return np.ones(self.graph.configs, np.int64)
        return self._feature_counts(self.kernel, self.kernel_node, physics.KERNEL_OUTPUT)[1]

    @cached_property
    def steps(self):
        """Iterations of the loop over tiles."""
        return self.output.tiles * self.contraction_steps

    @cached_property
    def traffic(self):
        """Bytes that go through memory: parameters and output, with a convolution's operands read again.

        The kernel is read for every tile of the output's other axes, the input for every tile along its
        features; what the tiles overlap their tensor is moved too.
        """
        moved = self.parameter_bytes + self._bytes(self.output_node)
        total = moved * self.output.waste
        if self.kernel_node is None:
            return total
        features, others = self._feature_counts(self.output, self.output_node, physics.OUTPUT_FEATURE)
        feeding = [n for n in self.producers[self.centre] if n != self.kernel_node]
        read = self._bytes(self.kernel_node) * (others - 1) * self.kernel.waste
        return total + read + sum(map(self._bytes, feeding)) * (features - 1)

    @cached_property
    def runs(self):
        """Pieces of consecutive memory that all steps move, of output and kernel tiles."""
        return sum(tiling.volume / tiling.run * self.steps for tiling in (self.output, self.kernel))

    @cached_property
    def tile_bytes(self):
        """Bytes of one output tile and one kernel tile."""
        return sum(tiling.volume * UNIT * (4.0 if node is None else self.bytes[node]) * (len(tiling.extents) > 0)
                   for tiling, node in ((self.output, self.output_node), (self.kernel, self.kernel_node)))

    def _bytes(self, node):
        return 0.0 if node is None else prod(map(float, self.sizes[node])) * self.bytes[node]

    @cached_property
    def parameter_bytes(self):
        """Bytes of the kernel's arguments: those of the computation of its root, fusions' inner ones left out."""
        consumers = set(self.graph.edge_index[:, 0].tolist())
        outer = self.graph.edge_index[np.isin(self.graph.edge_index[:, 0], self._outer_nodes(consumers)), 1]
        return sum(self._bytes(n) for n in np.unique(outer) if self.graph.node_opcode[n] == PARAMETER)

    def _outer_nodes(self, consumers):
        fusions = np.flatnonzero(self.graph.node_opcode == FUSION)
        return fusions[-1:] if len(fusions) else sorted(consumers)

    def amounts(self):
        """Logarithms of what the kernel reads, writes and computes, and of arithmetic a byte."""
        work, output = self.work.sum(), self._bytes(self.output_node)
        return {"parameter_bytes": np.log1p(self.parameter_bytes), "output_bytes": np.log1p(output),
                "arithmetic": np.log1p(work), "intensity": np.log1p(work / max(1.0, self.parameter_bytes + output))}

    def opcodes(self):
        """Number of nodes (its logarithm), and of those of each group of opcodes."""
        found = {f"opcodes_{g}": float(np.isin(self.graph.node_opcode, ids).sum()) for g, ids in OPCODE_GROUPS.items()}
        return {"nodes": np.log(self.graph.nodes)} | found
