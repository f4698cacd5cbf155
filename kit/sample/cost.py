"""Runtimes of layout configurations on an explicit model of a TPU v3.

A program takes the sum of its nodes' times. The terms of a convolution or dot:

- arithmetic: multiply-accumulates times the padding of the *output*, over a rate. The two most minor axes longer
  than 1 fill whole tiles of 8 x 128, of which the matrix unit writes every lane (Jouppi et al., CACM 63(7), 2020;
  that the output's padding decides was measured on real U-Nets, where input and kernel layouts showed no effect);
- memory: bytes of output and operands over the bandwidth; the larger of this and the arithmetic counts, as the two
  overlap. Only dots read operands in the layout they are given, and only some of them do: real default
  collections avoid 8-fold padded operands of some attention products and are indifferent to those of others;
- away from the compiler's own choice of output a node takes up to `unusual` longer: equally padded layouts cost
  up to 0.3 of a node's time in a real U-Net;
- a copy: a dot's output that is not in the order that its consumers want is read and written once more. Mostly they
  want it row-major (normalisations, sums): real default collections of transformers avoid other outputs although
  they are not padded; of 14 groups of dots in one of them 3 were indifferent and one preferred the other order.
  Convolutions and reshapes pay none: none was measurable;
- weight gradients of a single channel whose output has that channel most minor, while their input has not,
  use one lane of 128 (three times the whole runtime in a real U-Net).

The rest of the program, whose layouts cannot be chosen, takes a share of the least time that is drawn per program:
the spread of real runtimes reaches from 1.6 % to a factor of 3.

Rates are drawn per program and node (they differed 30-fold between two real U-Nets), and some nodes are
indifferent to their layouts, as real ones are.
"""

from functools import cache
from math import prod

import numpy as np

from kit.features.physics import CONVOLUTION, DOT, LANES, element_bytes, padded_elements
from kit.sample.configurations import SLOT
from kit.sample.draws import Draws

STARTUP = 1e-5  # seconds a program takes before its first node


def _orders(row):
    """Orders that an option gives to output, input and kernel, each a tuple; empty where it gives none."""
    digits = row.tolist()
    return tuple(tuple(d for d in digits[slot:slot + SLOT] if d >= 0) for slot in range(0, len(digits), SLOT))


_padded = cache(padded_elements)  # a program's layers repeat the same few shapes


def _padding(sizes, order):
    return _padded(sizes, order, skip_ones=True) / max(1, prod(sizes))


class LayoutCost:
    """Time of every option of every free choice of one program.

    Parameters
    ----------
    program : Program
    shapes : list of tuple of int
    choices : list of Choice
    constants : Constants
    seed : int
    """

    def __init__(self, program, shapes, choices, constants, seed):
        self.program, self.shapes, self.constants, self.seed = program, shapes, constants, seed
        self.bytes = element_bytes(program.node_feat).tolist()
        draws = Draws(seed, "rates", program.name)
        self.rate = draws.between(constants.slowest_macs, constants.fastest_macs)
        self.noise = draws.between(constants.quietest, constants.noisiest)
        self.node_rate = draws.around(self.rate, constants.node_spread, len(program.node_config_ids))
        self.indifferent = draws.uniform(len(program.node_config_ids)) < constants.indifferent
        self.reads_as_given = draws.uniform(len(program.node_config_ids)) < constants.operands
        self.unusual = constants.unusual * draws.uniform(len(program.node_config_ids))
        self.tables = [self._table(choice) for choice in choices]
        least = sum(float(table.min()) for table in self.tables)
        self.fixed = STARTUP + least * draws.between(constants.least_elsewhere, constants.most_elsewhere)

    def _table(self, choice):
        total = np.zeros(len(choice.options))
        wanted, orders = self._wanted(choice), [_orders(row) for row in choice.options]
        for member in choice.members:
            total += self._node(member, choice.default, orders, wanted)
        return total

    def _wanted(self, choice):
        """The order, sorted by axis, that a group's consumers want: descending (row-major), ascending or any."""
        u = Draws(self.seed, "wanted", self.program.name, choice.options.tobytes().hex()).uniform()
        indifferent, ascending = self.constants.any_order, self.constants.ascending
        return None if u < indifferent else u >= indifferent + ascending

    def _node(self, member, default, orders, wanted):
        """Seconds of one node under each option; `wanted` is whether its consumers want it row-major."""
        node = int(self.program.node_config_ids[member])
        if self.program.node_opcode[node] not in (CONVOLUTION, DOT):
            return np.zeros(len(orders))
        if self.indifferent[member]:
            return np.full(len(orders), self._arithmetic_node(node, member, orders[default], wanted))
        seconds = np.array([self._arithmetic_node(node, member, order, wanted) for order in orders])
        away = np.array([order[0] != orders[default][0] for order in orders])
        return seconds * np.where(away, 1.0 + self.unusual[member], 1.0)

    def _arithmetic_node(self, node, member, order, wanted):
        out, shape = order[0], self.shapes[node]
        seconds = self.program.macs[node] * _padding(shape, out) / self.node_rate[member]
        seconds = max(seconds, self._bytes(node, member, order) / self.constants.bandwidth)
        if self.program.node_opcode[node] == CONVOLUTION:
            return seconds + self._single_channel(node, member, order)
        if wanted is not None and out != tuple(sorted(out, reverse=wanted)):
            copied = 2 * _padded(shape, out) * self.bytes[node]
            seconds += self.constants.transposed * copied / self.constants.bandwidth
        return seconds

    def _bytes(self, node, member, order):
        """Bytes that a node moves: operands padded where a dot honours their layouts, else as they lie anyway."""
        moved = _padded(self.shapes[node], order[0], skip_ones=True) * self.bytes[node]
        as_given = self.reads_as_given[member] and self.program.node_opcode[node] == DOT
        for slot, operand in enumerate(self.program.operands[node][:2], 1):
            moved += _padded(self.shapes[operand], order[slot] if as_given else ()) * self.bytes[operand]
        return moved

    def _single_channel(self, node, member, order):
        """Seconds more of a weight gradient whose output keeps an axis of size 1 most minor, its input not."""
        sizes, operand = self.shapes[node], self.program.operands[node][0]
        out, given = order[:2]
        wasteful = out and given and sizes[out[0]] == 1 and self.shapes[operand][given[0]] != 1
        if not self.constants.single_channel or not wasteful:
            return 0.0
        return self.constants.single_channel * LANES * self.program.macs[node] / self.node_rate[member]

    def runtime(self, picks):
        """Seconds without noise.

        Parameters
        ----------
        picks : uint8 array, shape (c, choices)

        Returns
        -------
        float64 array, shape (c,)
            Summed choice by choice, in one order on every machine.
        """
        total = np.full(len(picks), self.fixed)
        for column, table in enumerate(self.tables):
            total += table[picks[:, column]]
        return total


def noisy(seconds, spread, draws):
    """Log-normal measurement noise, to the second order of its exponential (exact to 1e-9 at 1e-3).

    Parameters
    ----------
    seconds : float64 array, shape (c,)
    spread : float
        Standard deviation of the logarithm.
    draws : Draws

    Returns
    -------
    float64 array, shape (c,)
    """
    z = spread * draws.normal(seconds.shape)
    return seconds * (1.0 + z + 0.5 * z * z)


def nanoseconds(seconds):
    """Whole nanoseconds, at least 2 (runs of 0 or 1 ns were dropped from the data set): int64 array."""
    return np.maximum(2, np.rint(seconds * 1e9)).astype(np.int64)
