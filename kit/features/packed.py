"""The configurations of a layout graph, packed without loss: few layouts occur in a node, and nodes move together.

A file with 100,040 configurations of 364 nodes has a handful of layouts in each node and some twenty patterns in
which nodes change them. What is kept is a row of small numbers for each distinct configuration, one for each pattern,
and what the numbers mean for each node.
"""

import zlib
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from kit.distinct import distinct_from, distinct_rows
from kit.features.choices import OPERANDS, Choices, first_met, layout_of

SLOTS, SLOT_BITS = 18, 18
NODES_AT_ONCE = 64  # columns turned into rows at once: few cache misses, little memory
ROWS_AT_ONCE = 1 << 12
FIRST_TABLE = 1 << 10


@dataclass(frozen=True, eq=False)
class Packed:
    """c configurations, d of them distinct; nc configurable nodes, p patterns, w bytes a distinct configuration.

    Numbers count layouts in order of first occurrence, patterns in order of nodes.

    Attributes
    ----------
    codes : uint8 array, shape (d, w)
        For every pattern the number of the layout that its nodes take: one, two or four bytes, little end first.
        May be mapped from a file; rows are read on their own.
    width : uint8 array, shape (p,)
        Bytes of each pattern.
    pattern : int32 array, shape (nc,)
        The pattern of each node; -1 where its layout never changes.
    sizes : int32 array, shape (nc,)
        How many layouts occur in each node.
    keys : uint64 array, shape (sum of sizes,)
        Node by node the layouts: digit d at place i as ``(d + 1) << 3 i``.
    of_slot : int32 array, shape (nc, 3)
        `Choices.of_slot`.
    inverse : uint32 array, shape (c,)
        Which distinct configuration each one is; numbered in order of first occurrence.
    """

    codes: np.ndarray
    width: np.ndarray
    pattern: np.ndarray
    sizes: np.ndarray
    keys: np.ndarray
    of_slot: np.ndarray
    inverse: np.ndarray

    @property
    def configs(self):
        """Number of configurations, copies counted."""
        return len(self.inverse)

    @cached_property
    def distinct(self):
        """The distinct configurations, as `kit.distinct.distinct_configs` finds them."""
        return distinct_from(self.inverse)

    def numbers(self, pattern, rows=slice(None)):
        """Which layout the nodes of a pattern take in some distinct configurations: int64, shape (rows,)."""
        start = int(self.width[:pattern].sum())
        total = np.zeros(len(self.codes[rows, :0]), np.int64)
        for byte in range(self.width[pattern]):
            total |= self.codes[rows, start + byte].astype(np.int64) << 8 * byte
        return total

    @cached_property
    def offset(self):
        """Where each node's layouts begin in `keys`: int64, shape (nc + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes, dtype=np.int64)])

    @cached_property
    def slots(self):
        """(codes, numbers) of every slot ``3 * node + operand``.

        Codes are the operand's layouts in order of first occurrence, numbers tell for each layout of the node which
        of them it has.
        """
        return slots_of(self.keys, self.sizes)

    @cached_property
    def count(self):
        """For every pattern, how many configurations take each layout: list of int64 array."""
        return [np.bincount(self.numbers(p), self.distinct.count).astype(np.int64) for p in range(len(self.width))]

    def choices(self, rows=slice(None)):
        """The free choices of some distinct configurations; layouts and counts are those of all configurations.

        Parameters
        ----------
        rows : slice or int array
            Of the distinct configurations.

        Returns
        -------
        Choices
        """
        index, layouts, count = {}, [], []
        for slot, (codes, numbers) in enumerate(self.slots):
            pattern, choice = self.pattern[slot // OPERANDS], self.of_slot.flat[slot]
            layouts.append([layout_of(code) for code in codes])
            taken = [self.configs] if pattern < 0 else self.count[pattern]
            count.append(np.bincount(numbers, taken, len(codes)).astype(np.int64))
            if choice >= 0 and choice not in index:
                index[choice] = numbers.astype(np.uint16)[self.numbers(pattern, rows)]
        found = [index[choice] for choice in range(len(index))]
        return Choices(np.array(found, np.uint16).reshape(len(found), len(self.codes[rows, :0])),
                       self.of_slot.astype(np.int64), layouts, count)

    def digits(self, rows):
        """Layout digits of some distinct configurations: int8, shape (rows, nc, 18)."""
        table = _table(self.keys)
        numbers = [self.numbers(p, rows) for p in range(len(self.width))]
        out = np.empty((len(self.codes[rows, :0]), len(self.pattern), SLOTS), np.int8)
        for node, (pattern, start) in enumerate(zip(self.pattern, self.offset, strict=False)):
            out[:, node] = table[start] if pattern < 0 else table[start + numbers[pattern]]
        return out

    def checksum(self, dtype):
        """CRC-32 of all configurations as numbers of a type, in C order: what the codes say is what was packed."""
        from kit import checksum

        layouts = _table(self.keys).astype(dtype)
        size, node = layouts.itemsize * SLOTS, np.repeat(np.arange(len(self.sizes)), self.sizes)
        each = np.array([zlib.crc32(layout) for layout in layouts], np.uint32)
        each = checksum.times(each, checksum.powers(checksum.power(size), len(self.sizes))[::-1][node])
        row = np.zeros(len(self.codes), np.uint32)
        row ^= np.bitwise_xor.reduce(each[self.offset[:-1][self.pattern < 0]])
        for pattern in range(len(self.width)):
            starts = self.offset[:-1][self.pattern == pattern]
            count = self.sizes[self.pattern == pattern][0]
            row ^= np.bitwise_xor.reduce(each[starts[:, None] + np.arange(count)])[self.numbers(pattern)]
        return checksum.folded(row[self.inverse], size * len(self.sizes))

    def arrays(self):
        """The members by name, for writing."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def _table(keys):
    """Digits of layouts: int8, shape (len(keys), 18)."""
    shifts = 3 * np.arange(SLOTS, dtype=np.uint64)
    return ((keys[:, None] >> shifts) & np.uint64(7)).astype(np.int8) - np.int8(1)


def pack(digits):
    """Pack configurations that stand in memory.

    Parameters
    ----------
    digits : int8 array, shape (c, nc, 18)

    Returns
    -------
    Packed
    """
    packer = Packer()
    packer.start(digits.shape)
    packer.take(np.ascontiguousarray(digits).reshape(-1))
    return packer.packed()


class Packer:
    """Packs configurations as they come; four bytes a node and configuration are used until the end."""

    def start(self, shape):
        """Make room for configurations of shape (c, nc, 18)."""
        configs, nodes, _ = shape
        self.shape, self.filled, self.used, self.found = shape, 0, 0, None
        self.codes, self.sizes = np.empty((configs, nodes), np.int32), np.zeros(nodes, np.int32)
        self.node, self.key, self.code = np.empty(0, np.int32), np.empty(0, np.uint64), np.empty(0, np.int32)
        self._grow()

    def _grow(self):
        from kit.features.compiled import fill_table

        size = max(FIRST_TABLE, 4 * len(self.key))
        self.place = np.full(size, -1, np.int32)
        for name in ("node", "key", "code"):
            before = getattr(self, name)
            grown = np.empty(size // 2, before.dtype)
            grown[:len(before)] = before
            setattr(self, name, grown)
        fill_table(self.place, self.node, self.key, self.used)

    def take(self, block):
        """Add whole configurations, int8 digits one after the other."""
        from kit.features.compiled import code_layouts

        nodes = self.shape[1]
        rows = (block.view("<u2").reshape(-1, nodes, SLOTS // 2) if block.size
                else np.empty((self.shape[0], 0, SLOTS // 2), np.uint16))
        while len(rows):
            codes = self.codes[self.filled:self.filled + len(rows)]
            done, self.used = code_layouts(rows, codes, self.place, self.node, self.key, self.code, self.sizes,
                                           self.used)
            rows, self.filled = rows[done:], self.filled + done
            if len(rows):
                self._grow()

    def packed(self):
        """What was taken, as `Packed`; ends the packing."""
        if self.found is None:
            self.found = self._packed()
        return self.found

    def checksum(self, dtype):
        """`Packed.checksum` of what was taken; ends the packing."""
        return self.packed().checksum(dtype)

    def _packed(self):
        order = np.lexsort((self.code[:self.used], self.node[:self.used]))
        keys = self.key[:self.used][order]
        pattern, columns = _patterns(self.codes, self.sizes)
        configs, self.codes = len(self.codes), None
        of_slot = _choices_of_slots(pattern, columns, slots_of(keys, self.sizes))
        codes = _matrix(columns, configs)
        first, inverse = _distinct(codes)
        width = np.array([column.itemsize for column in columns], np.uint8)
        return Packed(codes if len(first) == configs else codes[first], width, pattern, self.sizes, keys, of_slot,
                      inverse)


def _patterns(codes, sizes):
    """Each node's pattern, and of each pattern the numbers: uint8, uint16 or uint32, shape (c,)."""
    known, columns, pattern = {}, [], np.full(len(sizes), -1, np.int32)
    for start in range(0, len(sizes), NODES_AT_ONCE):
        block = codes[:, start:start + NODES_AT_ONCE]
        small = block.astype(np.uint8).T.copy()
        for node, size in enumerate(sizes[start:start + NODES_AT_ONCE], start):
            if size < 2:
                continue
            column = small[node - start] if size <= 1 << 8 else block[:, node - start].astype(
                "<u2" if size <= 1 << 16 else "<u4")
            key = column.tobytes()
            if key not in known:
                known[key] = len(columns)
                columns.append(np.frombuffer(key, column.dtype))
            pattern[node] = known[key]
    return pattern, columns


def _matrix(columns, configs):
    """The bytes of all columns, a row for each configuration: uint8, shape (c, w)."""
    parts = [part for column in columns for part in column.view(np.uint8).reshape(configs, -1).T]
    codes = np.empty((configs, len(parts)), np.uint8)
    for start in range(0, configs, ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        if parts:
            codes[rows] = np.array([part[rows] for part in parts]).T
    return codes


def _distinct(codes):
    """First rows, and which distinct row each one is (uint32)."""
    if not codes.shape[1]:
        return np.zeros(1, np.int64), np.zeros(len(codes), np.uint32)
    found = distinct_rows(codes)
    return found.first, found.inverse.astype(np.uint32)


def slots_of(keys, sizes):
    """`Packed.slots` from the layouts of all nodes and their number in each node."""
    parts = (keys[:, None] >> (SLOT_BITS * np.arange(OPERANDS, dtype=np.uint64))) & np.uint64(2**SLOT_BITS - 1)
    ends = np.cumsum(sizes, dtype=np.int64)
    return [first_met(parts[end - size:end, operand]) for size, end in zip(sizes, ends, strict=True)
            for operand in range(OPERANDS)]


def _choices_of_slots(pattern, columns, slots):
    """`Choices.of_slot`: two slots are one choice where they number their layouts alike in every configuration."""
    by_numbers, known = {}, {}
    of_slot = np.full((len(pattern), OPERANDS), -1, np.int32)
    for slot, (codes, numbers) in enumerate(slots):
        if len(codes) < 2:
            continue
        mine = pattern[slot // OPERANDS]
        short = mine, numbers.tobytes()
        if short not in by_numbers:  # else the same pattern and the same numbers: no need to compare configurations
            index = numbers.astype(np.uint16).take(columns[mine]).tobytes()
            by_numbers[short] = known.setdefault(index, len(known))
        of_slot.flat[slot] = by_numbers[short]
    return of_slot
