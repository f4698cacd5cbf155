"""Kernels compiled with numba, imported only where large arrays make it worth the start-up."""

import numba
import numpy as np


@numba.njit(cache=True, nogil=True)
def narrow(block, out):
    """Copy layout digits to int8.

    Parameters
    ----------
    block : array of numbers, shape (size,)
    out : int8 array, shape (size,)

    Returns
    -------
    int
        Index of the first value that is no whole number from -1 to 5, or -1.

    Notes
    -----
    The loop has no early exit, which lets the compiler vectorise it; the place is looked for afterwards.
    """
    wrong = 0
    for i in range(block.size):
        digit = np.int8(min(max(block[i], -1), 5))
        out[i] = digit
        wrong += digit != block[i]
    if wrong:
        for i in range(block.size):
            if out[i] != block[i]:
                return i
    return -1
