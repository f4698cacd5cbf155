"""Kernels that pack layout configurations, compiled with numba when first used."""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def code_layouts(pairs, codes, place, node, key, code, sizes, used):
    """Number the layouts that each node takes, in order of first occurrence.

    Parameters
    ----------
    pairs : uint16 array, shape (r, nodes, 9), C-contiguous
        Digits -1..5 as int8, two at a time, the first in the lower byte.
    codes : int32 array, shape (r, nodes)
        Filled in: the number of each configuration's layout among its node's.
    place : int32 array, shape (t,)
        Hash table with open addressing: entries, or -1; t is a power of two.
    node, key, code : arrays, shape (t // 2,)
        Of each entry: its node (int32), its digits plus one, three bits each (uint64), its number (int32).
    sizes : int32 array, shape (nodes,)
        How many layouts of each node have been met.
    used : int
        Entries that are taken.

    Returns
    -------
    rows, used : int
        Rows that were coded, fewer than r where the table is full, and entries taken now.
    """
    rows, nodes = pairs.shape[0], pairs.shape[1]
    mask = np.uint64(len(place) - 1)
    latest = np.zeros(nodes, np.uint64)
    for r in range(rows):
        for n in range(nodes):
            packed = _pack(pairs, r, n)
            if r and packed == latest[n]:
                codes[r, n] = codes[r - 1, n]
                continue
            at = _hash(packed, n) & mask
            while place[at] >= 0 and (key[place[at]] != packed or node[place[at]] != n):
                at = (at + np.uint64(1)) & mask
            if place[at] < 0:
                if used == len(key):
                    return r, used
                place[at], node[used], key[used], code[used] = used, n, packed, sizes[n]
                sizes[n] += 1
                used += 1
            codes[r, n] = code[place[at]]
            latest[n] = packed
    return rows, used


@numba.njit(cache=True, nogil=True)
def fill_table(place, node, key, used):
    """Enter the first `used` entries into an empty table that has room for them."""
    mask = np.uint64(len(place) - 1)
    for entry in range(used):
        at = _hash(key[entry], node[entry]) & mask
        while place[at] >= 0:
            at = (at + np.uint64(1)) & mask
        place[at] = entry


@numba.njit(inline="always")
def _pack(pairs, r, n):
    """Digits plus one, three bits each, the first digit lowest."""
    low = _squeeze(_four(pairs, r, n, 0))
    high = _squeeze(_four(pairs, r, n, 4))
    last = _squeeze(np.uint64(pairs[r, n, 8])) & np.uint64(0x3F)
    return low | high << np.uint64(24) | last << np.uint64(48)


@numba.njit(inline="always")
def _four(pairs, r, n, i):
    """Eight digits as one number, which is one load."""
    return (np.uint64(pairs[r, n, i]) | np.uint64(pairs[r, n, i + 1]) << np.uint64(16)
            | np.uint64(pairs[r, n, i + 2]) << np.uint64(32) | np.uint64(pairs[r, n, i + 3]) << np.uint64(48))


@numba.njit(inline="always")
def _squeeze(digits):
    """Bytes of -1..5 to eight times three bits of 0..6: one is added to each byte without a carry, then gaps close."""
    digits = ((digits & np.uint64(0x7F7F7F7F7F7F7F7F)) + np.uint64(0x0101010101010101)) ^ (
        digits & np.uint64(0x8080808080808080))
    digits = (digits | digits >> np.uint64(5)) & np.uint64(0x003F003F003F003F)
    digits = (digits | digits >> np.uint64(10)) & np.uint64(0x00000FFF00000FFF)
    return (digits | digits >> np.uint64(20)) & np.uint64(0xFFFFFF)


@numba.njit(inline="always")
def _hash(packed, n):
    mixed = (packed + np.uint64(n) * np.uint64(0xD1B54A32D192ED03)) * np.uint64(0x9E3779B97F4A7C15)
    return mixed >> np.uint64(36)
