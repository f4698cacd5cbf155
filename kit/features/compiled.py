"""Kernels that pack layout configurations, compiled with numba when first used."""

import numba
import numpy as np

DIGITS_OF_NODE = 18


@numba.njit(cache=True, nogil=True)
def code_layouts(block, codes, place, node, key, code, sizes, used):
    """Number the layouts that each node takes, in order of first occurrence.

    Parameters
    ----------
    block : int8 array, shape (r, nodes, 18), C-contiguous
        Digits -1..5.
    codes : int32 array, shape (r, nodes)
        Filled in: the number of each configuration's layout among its node's.
    place : int32 array, shape (t,)
        Hash table with open addressing: entries, or -1; t is a power of two.
    node, key, code : arrays, shape (t // 2,)
        Of each entry: its node (int32), its digits as `pack_key` packs them (uint64), its number (int32).
    sizes : int32 array, shape (nodes,)
        How many layouts of each node have been met.
    used : int
        Entries that are taken.

    Returns
    -------
    rows, used : int
        Rows that were coded, fewer than r where the table is full, and entries taken now.
    """
    rows, nodes = block.shape[0], block.shape[1]
    mask = np.uint64(len(place) - 1)
    latest = np.zeros(nodes, np.uint64)
    for r in range(rows):
        for n in range(nodes):
            packed = _pack(block, r, n)
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
def _pack(block, r, n):
    packed = np.uint64(0)
    for i in range(DIGITS_OF_NODE):
        packed |= np.uint64(block[r, n, i] + 1) << np.uint64(3 * i)
    return packed


@numba.njit(inline="always")
def _hash(packed, n):
    mixed = (packed + np.uint64(n) * np.uint64(0xD1B54A32D192ED03)) * np.uint64(0x9E3779B97F4A7C15)
    return mixed >> np.uint64(36)
