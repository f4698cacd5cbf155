"""Random draws that are the same to the last bit on every machine and with every NumPy.

Only uniform doubles of a seeded PCG64 are drawn and only additions, multiplications and comparisons are done
with them: the streams of NumPy's other distributions may change between versions, and exp and log differ in
their last bits between processors. Where one is needed the result is rounded to six digits.
"""

import hashlib

import numpy as np


class Draws:
    """A stream of draws named by what it is for.

    Parameters
    ----------
    *names : str or int
        Seed and purpose; the same names give the same stream.
    """

    def __init__(self, *names):
        digest = hashlib.sha256("\0".join(map(str, names)).encode()).digest()
        self._uniform = np.random.Generator(np.random.PCG64(int.from_bytes(digest[:16], "big"))).random

    def uniform(self, shape=None):
        """Doubles in [0, 1)."""
        return self._uniform(shape)

    def below(self, limit, shape=None):
        """Whole numbers in [0, limit), int64; `limit` may be an array that broadcasts to `shape`."""
        return np.floor(self._uniform(shape) * limit).astype(np.int64)

    def order(self, size):
        """A random order of ``range(size)``."""
        return np.argsort(self._uniform(size), kind="stable")

    def normal(self, shape=()):
        """Standard normal values as the sum of twelve uniforms (Irwin and Hall), which needs no logarithm."""
        total = np.zeros(shape)
        for _ in range(12):
            total += self._uniform(shape)
        return total - 6.0

    def between(self, low, high):
        """One value, log-uniform in [low, high], rounded to six digits."""
        return six_digits(low * (high / low) ** float(self._uniform()))

    def around(self, median, spread, shape=()):
        """Log-normal values with standard deviation `spread` of the logarithm, rounded to six digits."""
        return six_digits(median * np.exp(spread * self.normal(shape)))


def six_digits(values):
    """Round to six significant digits, so that last bits of exp and log cannot decide a rank.

    Parameters
    ----------
    values : float or float64 array

    Returns
    -------
    float or float64 array
        As given.
    """
    if np.ndim(values) == 0:
        return float(f"{float(values):.6g}")
    return np.array([float(f"{value:.6g}") for value in np.ravel(values)]).reshape(np.shape(values))
