"""Kernels of the feature tables, compiled with numba when first used."""

import numba
import numpy as np

CODES = 1 << 18  # six digits of three bits


def number_layouts(config):
    """Number the layouts of every slot in order of first occurrence.

    Parameters
    ----------
    config : int8 array, shape (c, nodes, 18), C-contiguous
        Digits -1..5; each node has three slots of six.

    Returns
    -------
    codes : list of int32 array
        For each slot its distinct layouts, digit d at place p as ``(d + 1) << 3 p``.
    index : uint16 array, shape (slots, c)
        Which of them each configuration takes; six digits have 1,957 valid layouts at most.
    """
    configs, nodes = config.shape[:2]
    index = np.empty((nodes * 3, configs), np.uint16)
    packed = np.empty((nodes * 3, configs), np.int32)
    _pack(config.reshape(configs, nodes * 3, 6), packed)
    lookup = np.full(CODES, -1, np.int32)
    return [_number(packed[slot], lookup, index[slot]) for slot in range(nodes * 3)], index


@numba.njit(cache=True, nogil=True)
def _pack(config, packed):
    for c in range(config.shape[0]):
        for slot in range(config.shape[1]):
            code = 0
            for place in range(6):
                code |= (np.int32(config[c, slot, place]) + 1) << 3 * place
            packed[slot, c] = code


@numba.njit(cache=True, nogil=True)
def _number(packed, lookup, index):
    """Number one slot's codes; `lookup` is all -1 before and after."""
    found = np.empty(len(packed), np.int32)
    size = 0
    for c in range(len(packed)):
        code = packed[c]
        if lookup[code] < 0:
            lookup[code] = size
            found[size] = code
            size += 1
        index[c] = lookup[code]
    for k in range(size):
        lookup[found[k]] = -1
    return found[:size].copy()
