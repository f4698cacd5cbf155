"""The figures a ranking of configurations is judged by.

Everywhere, smaller runtimes are better and lists are best first, indices from 0. Nothing here imports SciPy's
statistics (1.5 s to load): Kendall's tau is computed from the same pair counts and the same formula, and the
tests hold it to SciPy's value.
"""

import math
from typing import NamedTuple

import numpy as np

TILE_LISTED = 5  # entries of a tile row that count, as on Kaggle


def listed_ranks(listed, configs):
    """Invert a submitted list: the rank of every configuration.

    The list says which configuration stands at each place; a metric needs the place of each configuration.
    Using the list itself as scores is the classical mistake and gives a tau near 0.

    Parameters
    ----------
    listed : ndarray of int64, shape (j,)
        Configurations, best first. Indices outside ``0 .. configs - 1`` are ignored; of an index listed more
        than once the first place counts.
    configs : int
        Number of configurations of the graph.

    Returns
    -------
    ndarray of int64, shape (configs,)
        ``rank[listed[j]] = j``; configurations that are not listed tie for last with rank ``len(listed)``.
    """
    listed = np.asarray(listed, dtype=np.int64)
    ranks = np.full(configs, len(listed), dtype=np.int64)
    places = np.flatnonzero((listed >= 0) & (listed < configs))[::-1]  # backwards: the first place is written last
    ranks[listed[places]] = places
    return ranks


def _dense(values):
    """Values replaced by their rank among the distinct ones, which keeps order and ties."""
    return np.unique(np.asarray(values), return_inverse=True)[1].reshape(-1)


def _tied_pairs(counts):
    return int(np.sum(counts * (counts - 1) // 2))


def _inversions(values):
    """Number of pairs i < j with values[i] > values[j], for ranks below 2^30, O(c (log c)^2).

    Halves of ever larger blocks are merged by sorting. Where a value of the second half stands in the merged block
    says how many of the first half are before it (equal ones are: they come first); the others are larger.
    """
    size, half, found = 1 << (len(values) - 1).bit_length(), 1, 0
    padded = np.full(size, values.max(), np.int32)  # the largest, at the end, is in no inversion
    padded[:len(values)] = values
    while half < size:
        places = np.arange(2 * half)
        blocks = np.sort(padded.reshape(-1, 2 * half) << 1 | (places >= half), axis=1)
        before = int(((blocks & 1) @ places).sum()) - len(blocks) * (half * (half - 1) // 2)  # not those of its half
        found += len(blocks) * half * half - before
        padded, half = blocks >> 1, 2 * half
    return found


class PairCounts(NamedTuple):
    """Numbers of pairs of configurations, from which both pairwise figures follow."""

    total: int
    tied_predicted: int
    tied_runtime: int
    tied_both: int
    discordant: int

    @property
    def kendall_tau(self):
        """See the function of this name."""
        if self.total in (self.tied_predicted, self.tied_runtime):
            return 0.0
        difference = self._concordant - self.discordant
        tau = difference / math.sqrt(self.total - self.tied_predicted) / math.sqrt(self.total - self.tied_runtime)
        return min(1.0, max(-1.0, tau))

    @property
    def ordered_pair_accuracy(self):
        """See the function of this name."""
        ordered = self.total - self.tied_runtime
        return self._concordant / ordered if ordered else 0.5

    @property
    def _concordant(self):
        return self.total - self.tied_predicted - self.tied_runtime + self.tied_both - self.discordant


def pair_counts(predicted, runtime):
    """Count the pairs that are tied or discordant, in O(c (log c)^2) time and O(c) memory (after Knight 1966).

    Parameters
    ----------
    predicted, runtime : array_like, shape (c,)

    Returns
    -------
    PairCounts

    Raises
    ------
    ValueError
        Where the lengths differ.
    """
    if len(predicted) != len(runtime):
        raise ValueError(f"{len(predicted)} predictions for {len(runtime)} runtimes")
    if len(predicted) < 2:
        return PairCounts(0, 0, 0, 0, 0)
    x, y = _dense(predicted), _dense(runtime)
    distinct = int(y.max()) + 1
    both = np.sort(x * distinct + y)  # in order of x, ties in order of y: what is left in disorder is discordant
    changes = np.flatnonzero(both[1:] != both[:-1])
    runs = np.diff(changes, prepend=-1, append=len(both) - 1)
    return PairCounts(len(x) * (len(x) - 1) // 2, _tied_pairs(np.bincount(x)), _tied_pairs(np.bincount(y)),
                      _tied_pairs(runs), _inversions(both % distinct))


def kendall_tau(predicted, runtime):
    """Kendall's tau-b between predictions and runtimes, as `scipy.stats.kendalltau` computes it.

    Parameters
    ----------
    predicted : array_like, shape (c,)
        Ranks from `listed_ranks` or scores, lower = faster. Integers are compared exactly.
    runtime : array_like, shape (c,)
        Runtimes, or runtimes / normalizers. Never cast to float32, which makes false ties.

    Returns
    -------
    float
        In [-1, 1]. Where tau-b is not defined (fewer than two configurations, constant predictions or
        constant runtimes) 0.0, since such a ranking carries no information; SciPy gives NaN.

    Notes
    -----
    With P all pairs, tau-b = (concordant - discordant) / sqrt((P - tied in x)(P - tied in y)).
    """
    return pair_counts(predicted, runtime).kendall_tau


def ordered_pair_accuracy(predicted, runtime):
    """Share of the pairs with different runtimes that the prediction puts in the right order.

    Parameters
    ----------
    predicted, runtime : array_like, shape (c,)
        As for `kendall_tau`.

    Returns
    -------
    float
        In [0, 1]. A pair that is tied in the prediction is not in the right order. Without ties it equals
        (tau + 1) / 2. Where no two runtimes differ 0.5, the value of a ranking without information.

    Notes
    -----
    Defined in Phothilimthana et al. (arXiv 2308.13490).
    """
    return pair_counts(predicted, runtime).ordered_pair_accuracy


def _best_listed(listed, runtime, k):
    """Smallest runtime among the first `k` entries of a list, or None where none of them exists."""
    first = np.asarray(listed, dtype=np.int64)[:k]
    first = first[(first >= 0) & (first < len(runtime))]
    return runtime[first].min() if len(first) else None


def tile_score(listed, runtime):
    """Kaggle's score of a tile row: 2 - (best of the first five listed) / (best of all).

    Parameters
    ----------
    listed : ndarray of int64, shape (j,)
        Configurations, best first. The first five entries count, duplicates and impossible ones included;
        impossible ones are ignored.
    runtime : ndarray, shape (c,)
        Positive runtimes, or runtimes / normalizers.

    Returns
    -------
    float
        1.0 when a fastest configuration is among the five (so for a graph of one configuration), negative
        when the best of the five takes more than twice as long; 0.0 when none of the five exists.
    """
    best = _best_listed(listed, runtime, TILE_LISTED)
    return 0.0 if best is None else float(2.0 - best / runtime.min())


def top_k_error(listed, runtime, k):
    """How much slower the best of the first `k` listed is than the fastest: min(top k) / min(all) - 1.

    Parameters
    ----------
    listed : ndarray of int64, shape (j,)
        Configurations, best first; impossible indices among the first `k` are ignored.
    runtime : ndarray, shape (c,)
        Positive runtimes, or runtimes / normalizers.
    k : int

    Returns
    -------
    float or None
        0.0 is perfect. None where none of the first `k` entries exists.
    """
    best = _best_listed(listed, runtime, k)
    return None if best is None else float(best / runtime.min() - 1.0)
