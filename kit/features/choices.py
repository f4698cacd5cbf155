"""The free choices of a layout graph: slots whose layouts move together are looked at once.

A file with 100,040 configurations of 364 nodes has some twenty choices that vary independently and a
handful of layouts in each. Everything a feature needs is computed for those few layouts and looked up.
"""

from dataclasses import dataclass

import numpy as np

OPERANDS, DIGITS = 3, 6  # output, input, kernel; digits of a layout
FEW = 128  # values up to which a dictionary is faster than sorting


@dataclass(frozen=True, eq=False)
class Choices:
    """What varies in a graph's configurations; f choices, r configurations, nc configurable nodes.

    Attributes
    ----------
    index : uint16 array, shape (f, r)
        Which of its alternatives each choice takes; numbered in order of first occurrence.
    of_slot : int64 array, shape (nc, 3)
        The choice that decides the layout of a node's output, input or kernel; -1 where it never changes.
    layouts : list of list of tuple of int
        For slot ``3 * node + operand`` the digits (-1 left out) of each alternative.
    count : list of int64 array
        For every slot, how many of the graph's configurations take each alternative.
    """

    index: np.ndarray
    of_slot: np.ndarray
    layouts: list
    count: list

    def column(self, tables):
        """Sum table look-ups: {choice: value of each alternative} to float64, shape (r,)."""
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
        Of all configurations.

    Notes
    -----
    Two slots belong to one choice when they take their alternatives in the same pattern over all
    configurations; patterns are compared exactly. Linear time.
    """
    from kit.features.packed import pack

    packed = pack(config)
    return packed.choices(packed.inverse)


def first_met(values):
    """Number values in order of first occurrence.

    Returns
    -------
    found : array, shape (u,)
        The different values in that order.
    numbers : int64 array, shape (len(values),)
    """
    if len(values) <= FEW:
        known = {}
        numbers = [known.setdefault(value, len(known)) for value in values.tolist()]
        return np.array(list(known), values.dtype), np.array(numbers, np.int64)
    found, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    return found[order], np.argsort(order, kind="stable")[inverse]


def layout_of(code):
    """Digits of a packed layout, -1 left out: digit d at place p as ``(d + 1) << 3 p``."""
    digits = [(int(code) >> 3 * place & 7) - 1 for place in range(DIGITS)]
    return tuple(d for d in digits if d >= 0)
