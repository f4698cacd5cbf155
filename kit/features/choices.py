"""The free choices of a layout graph: nodes whose layouts move together are looked at once.

A file with 100,040 configurations of 364 nodes has some twenty choices that vary independently and a
handful of layouts in each. Everything a feature needs is computed for those few layouts and looked up.
"""

from dataclasses import dataclass

import numpy as np

OPERANDS, DIGITS = 3, 6  # output, input, kernel; digits of a layout
NODES_AT_ONCE = 64  # about a kilobyte of a configuration: few cache misses, little memory


@dataclass(frozen=True, eq=False)
class Choices:
    """What varies in a graph's configurations; f choices, c configurations, nc configurable nodes.

    Attributes
    ----------
    index : uint16 array, shape (f, c)
        Which of its alternatives each choice takes; numbered in order of first occurrence.
    of_slot : int64 array, shape (nc, 3)
        The choice that decides the layout of a node's output, input or kernel; -1 where it never changes.
    layouts : list of list of tuple of int
        For slot ``3 * node + operand`` the digits (-1 left out) of each alternative.
    count : list of int64 array
        For every slot, how many configurations take each alternative.
    """

    index: np.ndarray
    of_slot: np.ndarray
    layouts: list
    count: list

    def column(self, tables):
        """Sum table look-ups: {choice: value of each alternative} to float64, shape (c,)."""
        total = np.zeros(self.index.shape[1])
        for choice, table in tables.items():
            total += table[self.index[choice]] if choice >= 0 else table[0]
        return total


def find_choices(config):
    """Find the free choices.

    Parameters
    ----------
    config : int8 array, shape (c, nc, 18)
        Layout digits.

    Returns
    -------
    Choices

    Notes
    -----
    Two slots belong to one choice when they take their alternatives in the same pattern over all
    configurations; patterns are compared exactly. Linear time; beyond the result some 40 MB are used.
    """
    from kit.features.compiled import number_layouts

    configs, nodes = config.shape[:2]
    known, rows, of_slot, layouts, count = {}, [], np.full((nodes, OPERANDS), -1), [], []
    for start in range(0, nodes, NODES_AT_ONCE):
        block = np.ascontiguousarray(config[:, start:start + NODES_AT_ONCE])
        codes, index = number_layouts(block)
        for slot, (found, pattern) in enumerate(zip(codes, index, strict=True)):
            layouts.append([_digits(code) for code in found])
            count.append(np.bincount(pattern, minlength=len(found)))
            if len(found) > 1:
                key = pattern.tobytes()
                if key not in known:
                    known[key] = len(rows)
                    rows.append(pattern.copy())
                of_slot[start + slot // OPERANDS, slot % OPERANDS] = known[key]
    return Choices(np.array(rows, np.uint16).reshape(len(rows), configs), of_slot, layouts, count)


def _digits(code):
    digits = [(int(code) >> 3 * place & 7) - 1 for place in range(DIGITS)]
    return tuple(d for d in digits if d >= 0)
