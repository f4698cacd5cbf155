"""Tile sizes of a kernel and their runtimes on an explicit model of a TPU v3.

The 24 columns of a tile configuration, as real kernels show them: bounds of the convolution's kernel (0..7), of
the output (8..15) and of the input (16..23, 0 in all kernels seen), each six sizes, their sum and product. Bounds
run from the physically most major axis to the most minor one, the last two in units of 8 and 128 elements, a
single axis in units of 1,024. A reduction's output bounds cut what is reduced. The output features of a
convolution are cut alike in output and kernel, features and the contracted axis in steps of 128. The bounds of an
axis of e units are the distinct ceil(e / k).
"""

from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np

from kit.features.physics import LANES, SUBLANES, dimensions, element_bytes, minor_to_major
from kit.sample.draws import Draws

PARAMETER, FUSION, REDUCE = 63, 41, 70  # opcode ids
COLUMNS, BOUNDS = 24, 6
KERNEL, OUTPUT = 0, 8  # first columns
TILE = LANES * SUBLANES  # elements of one unit of two cut axes
VECTOR_MEMORY = 16 << 20  # bytes a core holds beside its registers; half of it, as tiles are double-buffered
STARTUP = 4e-7  # seconds of a kernel that does nothing: the fastest real ones take 0.6 microseconds
MOST_COMBINATIONS = 200_000


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis of a tensor in memory: its name in the node, its size and how many elements a unit holds."""

    number: int
    size: int
    unit: int

    @property
    def extent(self):
        """Size in units."""
        return -(-self.size // self.unit)


def memory_axes(sizes, layout):
    """Axes from major to minor.

    Parameters
    ----------
    sizes : sequence of int
    layout : sequence of int
        Minor to major, padded with zeros (the layout columns of node_feat).

    Returns
    -------
    list of Axis
    """
    order = minor_to_major(dict.fromkeys(int(d) for d in layout[:len(sizes)]), len(sizes))
    units = (LANES, SUBLANES) if len(sizes) > 1 else (TILE,)
    units = (units + (1,) * len(sizes))[:len(sizes)]
    return [Axis(a, sizes[a], u) for a, u in zip(order, units, strict=True)][::-1]


def pieces(extent):
    """The distinct ceil(extent / k), from the whole to 1."""
    return sorted({-(-extent // k) for k in range(1, extent + 1)}, reverse=True)


class TileKernel:
    """A kernel's tensors, the tiles they may be cut into and what those take.

    Parameters
    ----------
    program : kit.sample.kernels.Kernel
        A fusion or a single instruction with its parameters.
    name : str
    constants : Constants
    seed : int

    Attributes
    ----------
    node : int
        The node that is cut: a convolution, what a reduction reduces, or the largest output.
    input, kernel : int or None
        Operands of the convolution.
    passes : int
        How often memory is gone through for what is cut: once for each parameter of its size, once to write it.
    """

    def __init__(self, program, name, constants, seed):
        self.program = program
        self.shapes = dimensions(program.node_feat)
        self.bytes = element_bytes(program.node_feat)
        self.node, self.input, self.kernel = self._tensors()
        self.passes = self._streams() + (self.program.node_opcode[self.program.root] != REDUCE)
        self.output_axes = self._axes(self.node)
        self.kernel_axes = [] if self.kernel is None else self._axes(self.kernel)
        draws = Draws(seed, "kernel", name)
        around = constants.kernel_spread
        self.bandwidth, self.step, self.run, self.macs = (
            float(draws.around(median, around)) for median in
            (constants.bandwidth, constants.step, constants.run, constants.kernel_macs))
        self.noise = draws.between(constants.quietest, constants.noisiest)

    def _tensors(self):
        """The node that is cut, and a convolution's input and kernel."""
        codes = self.program.node_opcode
        if self.program.product is not None:
            return (self.program.product, *self.program.operands[self.program.product][:2])
        reduced = [p for n in np.flatnonzero(codes == REDUCE) for p in self.program.operands[n]]
        outputs = [n for n in range(len(codes)) if codes[n] not in (PARAMETER, FUSION)]
        return max(reduced or outputs, key=lambda n: prod(self.shapes[n])), None, None

    def _axes(self, node):
        return memory_axes(self.shapes[node], self.program.node_feat[node, 134:140])

    def _feature(self, column, axes, value):
        """Cut features (or the contracted axis) into steps of 128: bound in units of the axis that holds them."""
        number = int(self.program.node_feat[self.node, column])
        return next((i, np.minimum(-(-value * LANES // a.unit), a.extent)) for i, a in enumerate(axes)
                    if a.number == number)

    def bounds(self):
        """Every tile within the memory limit.

        Returns
        -------
        output, kernel : int64 arrays, shapes (c, output axes) and (c, kernel axes)
        """
        if self.kernel is None:
            options = [pieces(a.extent) for a in self.output_axes]
            return self._within_memory(_combinations(options), np.zeros((1, 0), np.int64))
        out_place, _ = self._feature(106, self.output_axes, 1)
        options = [pieces(a.extent) for a in self.output_axes]
        options[out_place] = pieces(-(-self.output_axes[out_place].size // LANES))
        contracted = self._kernel_size(99)
        rows = _combinations([*options, pieces(-(-contracted // LANES))])
        output, kernel = rows[:, :-1].copy(), np.empty((len(rows), len(self.kernel_axes)), np.int64)
        kernel[:] = [a.extent for a in self.kernel_axes]
        for column, value in ((100, output[:, out_place]), (99, rows[:, -1])):
            place, bound = self._feature(column, self.kernel_axes, value)
            kernel[:, place] = bound
        output[:, out_place] = self._feature(106, self.output_axes, output[:, out_place])[1]
        return self._within_memory(output, kernel)

    def _kernel_size(self, column):
        return self.shapes[self.kernel][int(self.program.node_feat[self.node, column])]

    def _within_memory(self, output, kernel):
        kernel = np.broadcast_to(kernel, (len(output), kernel.shape[1]))
        held = self.tile_bytes(output, kernel)
        fits = held <= VECTOR_MEMORY // 2
        if not fits.any():
            fits = held == held.min()
        return output[fits], kernel[fits]

    def tile_bytes(self, output, kernel):
        """Bytes of one tile of what is cut, read and (but for a reduction) written, and of the kernel."""
        held = output.prod(axis=1) * TILE * self.bytes[self.node] * self.passes
        if self.kernel is not None:
            held = held + kernel.prod(axis=1) * TILE * self.bytes[self.kernel]
        return held

    def _streams(self):
        """Parameters of the size of what is cut, each read tile by tile."""
        codes, size = self.program.node_opcode, prod(self.shapes[self.node])
        outer = {p for n in np.flatnonzero(codes == FUSION)[-1:] for p in self.program.operands[n]}
        counted = [n for n in range(len(codes)) if codes[n] == PARAMETER and (not outer or n in outer)]
        return sum(prod(self.shapes[n]) == size and n not in (self.input, self.kernel) for n in counted)

    def columns(self, output, kernel):
        """The 24 columns of a file: float32 array, shape (c, 24)."""
        features = np.zeros((len(output), COLUMNS), np.float32)
        for start, bounds in ((KERNEL, kernel), (OUTPUT, output)):
            axes = bounds.shape[1]
            features[:, start:start + axes] = bounds
            if axes:
                features[:, start + BOUNDS] = bounds.sum(axis=1)
                features[:, start + BOUNDS + 1] = bounds.prod(axis=1)
        return features

    def runtime(self, output, kernel):
        """Seconds without noise: float64 array, shape (c,).

        Transfers and arithmetic overlap, so that the larger counts; each iteration and each piece of consecutive
        memory costs a latency; the first tile's transfer and the last one's overlap with nothing.
        """
        counts = _counts(output, self.output_axes)
        features, others, sums = self._loops(counts, kernel)
        steps = features * others * sums
        moved = self._traffic(output, kernel, features, others, sums)
        runs = steps * _runs(output, self.output_axes) * self.passes
        if self.kernel is not None:
            runs = runs + steps * _runs(kernel, self.kernel_axes)
        transfer = moved / self.bandwidth + runs * self.run
        busy = np.maximum(transfer, self._arithmetic(output, kernel, counts, sums) / self.macs)
        return STARTUP + busy + steps * self.step + self.tile_bytes(output, kernel) / self.bandwidth

    def _loops(self, counts, kernel):
        """Iterations over output features, over the other axes of the output, and over the contracted axes."""
        if self.kernel is None:
            return np.ones(len(counts)), counts.prod(axis=1), np.ones(len(counts))
        place, _ = self._feature(106, self.output_axes, 1)
        kernel_place, _ = self._feature(100, self.kernel_axes, 1)
        sums = np.delete(_counts(kernel, self.kernel_axes), kernel_place, axis=1).prod(axis=1)
        return counts[:, place], np.delete(counts, place, axis=1).prod(axis=1), sums

    def _traffic(self, output, kernel, features, others, sums):
        """Bytes through memory: the kernel again for every tile of the other axes, the input for every feature.

        Measured on real kernels: halving the batch bound of a dense layer doubles its time.
        """
        counts = _counts(output, self.output_axes)
        covered = (counts * output).prod(axis=1) * TILE * self.bytes[self.node]
        moved = covered * self.passes
        if self.kernel is None:
            return moved
        whole = (_counts(kernel, self.kernel_axes) * kernel).prod(axis=1) * TILE * self.bytes[self.kernel]
        read = prod(self.shapes[self.input]) * self.bytes[self.input]
        return moved + whole * np.where(features * sums > 1, others, 1) + read * np.where(sums > 1, features, 1)

    def _arithmetic(self, output, kernel, counts, sums):
        """Multiply-accumulates, the contracted part of a tile padded to the 128 rows of the matrix unit."""
        if self.kernel is None:
            return np.zeros(len(output))
        place, _ = self._feature(99, self.kernel_axes, 1)
        part = np.minimum(kernel[:, place] * self.kernel_axes[place].unit, self._kernel_size(99))
        padding = -(-part // LANES) * LANES / part
        waste = (counts * output).prod(axis=1) / prod(a.extent for a in self.output_axes)
        return self.program.macs * padding * waste


def _combinations(options):
    """Rows of the product; the lists are thinned evenly where there would be too many."""
    while prod(map(len, options)) > MOST_COMBINATIONS:
        longest = max(range(len(options)), key=lambda i: len(options[i]))
        options[longest] = options[longest][::2]
    return np.array(list(product(*options)), np.int64).reshape(-1, len(options))


def _counts(bounds, axes):
    return -(-np.array([a.extent for a in axes], np.int64) // bounds)


def _runs(bounds, axes):
    """Pieces of consecutive memory that a tile consists of."""
    run, whole = np.ones(len(bounds), np.int64), np.ones(len(bounds), bool)
    for place in reversed(range(len(axes))):
        run *= np.where(whole, bounds[:, place], 1)
        whole &= bounds[:, place] == axes[place].extent
    return bounds.prod(axis=1) / run
