"""Means over groups of graphs, and what a bootstrap says about them."""

from dataclasses import dataclass

import numpy as np

ROUNDS = 2000
LEVEL = 0.95
SEED = 0


@dataclass(frozen=True)
class Average:
    """How a track averages: rows within a group, then the groups.

    Attributes
    ----------
    geometric : bool
        Geometric means instead of arithmetic ones. Scores must then not be negative.
    groups : int or None
        Divide the sum over groups by this number (five collections: a group that is not there counts 0);
        None: every row has the same weight, whatever its group.
    """

    geometric: bool = False
    groups: int | None = None

    def forward(self, scores):
        """Scores on the scale on which they are averaged."""
        with np.errstate(divide="ignore"):  # the logarithm of a score of 0 is -inf, and its mean 0 again
            return np.log(scores) if self.geometric else np.asarray(scores, dtype=np.float64)

    def inverse(self, means):
        """Back to the scale of scores."""
        return np.exp(means) if self.geometric else means

    def overall(self, means, sizes):
        """One figure from the groups' means.

        Parameters
        ----------
        means : ndarray, shape (g, ...)
            On the averaging scale.
        sizes : sequence of int, length g

        Returns
        -------
        ndarray, shape (...)
        """
        weights = np.full(len(sizes), 1 / self.groups) if self.groups else np.asarray(sizes) / max(1, sum(sizes))
        return np.tensordot(weights, means, axes=1)


def group_means(groups, average):
    """Mean of every group and overall, for any number of entries at once.

    Parameters
    ----------
    groups : list of array_like, each of shape (entries, rows of the group)
    average : Average

    Returns
    -------
    means : ndarray, shape (g, entries)
    overall : ndarray, shape (entries,)
    """
    means = np.stack([average.forward(rows).mean(axis=1) for rows in groups])
    overall = average.overall(means, [np.shape(rows)[1] for rows in groups])
    return average.inverse(means), average.inverse(overall)


def resample(groups, average, rounds=ROUNDS, seed=SEED):
    """Bootstrap over rows, stratified by group, the same rows drawn for every entry.

    Parameters
    ----------
    groups : list of array_like, each of shape (entries, rows of the group)
    average : Average
    rounds, seed : int

    Returns
    -------
    means : ndarray, shape (g, rounds, entries)
    overall : ndarray, shape (rounds, entries)
        Both on the scale of scores. Comparing two entries round by round is a paired comparison.

    Notes
    -----
    How often each row was drawn is its weight, so that all rounds of all entries are one matrix product a group.
    """
    rng = np.random.default_rng(seed)
    means = []
    for rows in groups:
        values = average.forward(rows)
        weights = _weights(rng, rounds, values.shape[1])
        with np.errstate(invalid="ignore"):  # 0 x -inf, where a score of 0 was not drawn
            mean = weights @ values.T
        means.append(_lost(values, weights, mean))
    means = np.stack(means)
    overall = average.overall(means, [np.shape(rows)[1] for rows in groups])
    return average.inverse(means), average.inverse(overall)


def _weights(rng, rounds, size):
    """Share of each of `size` rows in a draw of `size` with replacement, shape (rounds, size)."""
    drawn = rng.integers(0, size, (rounds, size)) + size * np.arange(rounds)[:, None]
    return np.bincount(drawn.ravel(), minlength=rounds * size).reshape(rounds, size) / size


def _lost(values, weights, mean):
    """Rounds whose mean met a score of 0 on the logarithmic scale, put right: -inf where drawn, else finite."""
    if np.isfinite(values).all():
        return mean
    zero = ~np.isfinite(values)
    finite = weights @ np.where(zero, 0.0, values).T
    return np.where(weights @ zero.T > 0, -np.inf, finite)


def interval(samples, level=LEVEL):
    """Percentile interval over the first axis.

    Parameters
    ----------
    samples : ndarray, shape (rounds, ...)
    level : float
        Share of the rounds inside.

    Returns
    -------
    low, high : ndarray, shape (...)
    """
    # "lower"/"higher" neither interpolate (undefined next to -inf) nor make the interval narrower
    low = np.quantile(samples, (1 - level) / 2, axis=0, method="lower")
    high = np.quantile(samples, (1 + level) / 2, axis=0, method="higher")
    return low, high
