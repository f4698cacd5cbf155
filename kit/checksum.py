"""CRC-32 of bytes that stand nowhere: from the checksums of their parts.

A checksum is a polynomial over two elements modulo one of degree 32; n more bytes multiply it by x^(8 n), and what
they are themselves is added. So the checksum of a gigabyte of layouts follows from those of the few layouts that
occur, and from which of them stands where. Polynomials are numbers as zip files have them: the highest bit is x^0.
Importing this imports numba.
"""

import numba
import numpy as np

ONE, REDUCTION = np.uint32(1 << 31), np.uint32(0xEDB88320)  # x^0, and x^32 in terms of lower powers


@numba.vectorize(["uint32(uint32, uint32)"], cache=True)
def times(a, b):
    """Products of polynomials: uint32, one number or as many as the other."""
    total = np.uint32(0)
    for place in range(31, -1, -1):
        total ^= b * (a >> np.uint32(place) & np.uint32(1))
        b = b >> np.uint32(1) ^ REDUCTION * (b & np.uint32(1))
    return total


def power(count):
    """x^(8 count): what `count` more bytes multiply a checksum by."""
    found, square = ONE, np.uint32(1 << 23)  # x^0 and x^8
    while count:
        if count & 1:
            found = times(found, square)
        square, count = times(square, square), count >> 1
    return found


def powers(base, count):
    """The powers 0 .. count - 1 of a polynomial: uint32, shape (count,)."""
    found = np.array([ONE])
    while len(found) < count:
        found = np.concatenate([found, times(found, base)])
        base = times(base, base)
    return found[:count]


def joined(first, second, size):
    """The checksum of two stretches of bytes, the second of `size`, from those of each."""
    return times(np.uint32(first), power(size)) ^ np.uint32(second)


def folded(parts, size):
    """The checksum of stretches of equally many bytes, one after the other.

    Parameters
    ----------
    parts : uint32 array, shape (c,)
        The checksum of each.
    size : int
        Bytes of each.

    Returns
    -------
    uint32
        0 where there are none.
    """
    step = power(size)
    while len(parts) > 1:
        if len(parts) % 2:
            parts = np.concatenate([np.zeros(1, np.uint32), parts])  # nothing before the first changes nothing
        parts, step = times(parts[::2], step) ^ parts[1::2], times(step, step)
    return parts[0] if len(parts) else np.uint32(0)
