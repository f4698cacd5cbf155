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
    The first loop has no early exit and no branch, which lets the compiler vectorise it; a NaN or a number
    too large for int32 converts to some integer that differs from it. The place is looked for afterwards.
    """
    wrong = np.int32(0)
    for i in range(block.size):
        whole = np.int32(block[i])
        out[i] = np.int8(whole)
        wrong |= np.int32(np.float32(whole) != block[i]) | np.int32(np.uint32(whole + np.int32(1)) > np.uint32(6))
    if wrong:
        for i in range(block.size):
            if out[i] != block[i] or out[i] < -1 or out[i] > 5:
                return i
    return -1
