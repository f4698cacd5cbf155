"""Duplicate configurations of a graph, and their runtimes."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Distinct:
    """The distinct configurations of a graph; d of them, in the order of their first rows.

    Attributes
    ----------
    first : int64 array, shape (d,)
        Row where each occurs first.
    inverse : int64 array, shape (c,)
        Which distinct configuration each row is.
    count : int64 array, shape (d,)
        How often each occurs.
    """

    first: np.ndarray
    inverse: np.ndarray
    count: np.ndarray


def distinct_configs(graph):
    """Find duplicate configurations, by hashing rows and confirming equality.

    Parameters
    ----------
    graph : TileGraph or LayoutGraph
        What it already knows (``distinct``, from a store) is given back.

    Returns
    -------
    Distinct

    Notes
    -----
    Time and memory are linear in the number of digits (the hashes, eight bytes a row, are sorted).
    Rows whose hashes agree and whose values do not are told apart by an exact comparison.
    """
    known = getattr(graph, "distinct", None)
    return distinct_rows(graph.config_rows) if known is None else known


def runtimes(graph):
    """Runtimes to rank by, float64, shape (c,): nanoseconds, for tiles as a multiple of the normalizer."""
    runtime = graph.config_runtime.astype(np.float64)
    normalizers = getattr(graph, "config_runtime_normalizers", None)
    return runtime if normalizers is None else runtime / normalizers


def merged_runtimes(graph):
    """Runtimes of the distinct configurations, of the copies of each together.

    Parameters
    ----------
    graph : TileGraph or LayoutGraph
        With runtimes; what a store knows is given back.

    Returns
    -------
    median, spread : float64 arrays, shape (d,)
        In the units of `runtimes`; the spread is the largest less the smallest.
    """
    known = getattr(graph, "stored", None)
    if known is not None:
        return known.median, known.spread
    distinct, runtime = distinct_configs(graph), runtimes(graph)
    runtime = runtime[np.lexsort((runtime, distinct.inverse))]
    start = np.cumsum(distinct.count) - distinct.count
    low, high = start + (distinct.count - 1) // 2, start + distinct.count // 2
    return (runtime[low] + runtime[high]) / 2, runtime[start + distinct.count - 1] - runtime[start]


def distinct_from(inverse):
    """`Distinct` from its ``inverse`` alone, whose numbers count in order of first occurrence."""
    inverse = inverse.astype(np.int64)
    first = np.flatnonzero(np.diff(np.maximum.accumulate(inverse), prepend=-1) > 0)
    return Distinct(first, inverse, np.bincount(inverse, minlength=len(first)))


def distinct_rows(rows):
    """`distinct_configs` of a matrix with a row for each configuration."""
    rows = np.ascontiguousarray(rows)
    keys = _row_hashes(rows)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    if not _confirmed(rows, first[inverse]):
        exact = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).reshape(-1)
        _, first, inverse = np.unique(exact, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    inverse = np.argsort(order, kind="stable")[inverse]
    return Distinct(first[order], inverse, np.bincount(inverse, minlength=len(order)))


def _blocks(rows):
    """Slices of some 16 MB of rows each."""
    step = max(1, (1 << 24) // max(1, rows.dtype.itemsize * rows.shape[1]))
    return (slice(start, start + step) for start in range(0, len(rows), step))


def _row_hashes(rows):
    """A 64-bit hash of each row: its words times odd multipliers, summed modulo 2**64."""
    width = rows.dtype.itemsize * rows.shape[1]
    words = -(-width // 8)
    multipliers = np.random.default_rng(0).integers(0, 2**63, words, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    keys = np.empty(len(rows), np.uint64)
    for block in _blocks(rows):
        part = rows[block]
        padded = np.zeros((len(part), words * 8), np.uint8)
        padded[:, :width] = part.view(np.uint8).reshape(len(part), width)
        mixed = padded.view(np.uint64)
        mixed ^= mixed >> np.uint64(29)
        keys[block] = (mixed * multipliers).sum(axis=1, dtype=np.uint64)
    return keys


def _confirmed(rows, representative):
    """Whether every row equals the first row with its hash."""
    return all((rows[block] == rows[representative[block]]).all() for block in _blocks(rows))
