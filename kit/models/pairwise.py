"""Pairs of configurations: which of the two is slower, learnt from the differences of their features."""

import numpy as np

PAIRS = 5_000  # a graph
RIVALS = 256  # that each configuration is compared with when a graph is ranked
ROWS_AT_ONCE = 1 << 18


def dataset(learn, seed):
    """Difference rows of pairs within each graph.

    Parameters
    ----------
    learn : sequence of kit.models.tables.Table
    seed : int

    Returns
    -------
    lightgbm.Dataset
        Label 1 where the first of the pair is slower. Every pair stands in both directions, so that the
        classifier has no side to prefer; graphs weigh the same.
    """
    import lightgbm as lgb

    rng = np.random.default_rng(seed)
    pairs = [_pairs(table, rng) for table in learn]
    features = np.concatenate([difference for difference, _ in pairs])
    labels = np.concatenate([slower for _, slower in pairs])
    mean = len(labels) / len(pairs)
    weight = np.concatenate([np.full(len(slower), mean / len(slower)) for _, slower in pairs])
    return lgb.Dataset(features, labels, weight=weight)


def _pairs(table, rng):
    rows = len(table.runtime)
    if rows * (rows - 1) // 2 <= PAIRS:
        first, second = np.triu_indices(rows, 1)
    else:
        first, second = rng.integers(rows, size=(2, PAIRS))
    differ = table.runtime[first] != table.runtime[second]
    first, second = first[differ], second[differ]
    first, second = np.concatenate([first, second]), np.concatenate([second, first])
    return table.features[first] - table.features[second], table.runtime[first] > table.runtime[second]


def scores(booster, table, threads):
    """Share of comparisons in which a configuration is predicted to be the slower one.

    Parameters
    ----------
    booster : lightgbm.Booster
        Trained on `dataset`.
    table : float array, shape (c, d)
    threads : int

    Returns
    -------
    float64 array, shape (c,)
        Lower = faster. Rows with equal features are compared once; of more than `RIVALS` different rows,
        that many, evenly spaced in lexicographic order, are everybody's rivals.
    """
    distinct, inverse = np.unique(np.asarray(table, np.float32), axis=0, return_inverse=True)
    rivals = distinct[np.unique(np.linspace(0, len(distinct) - 1, RIVALS).astype(np.int64))]
    share = np.empty(len(distinct))
    step = max(1, ROWS_AT_ONCE // len(rivals))
    for start in range(0, len(distinct), step):
        block = distinct[start:start + step]
        share[start:start + step] = _slower(booster, block, rivals, threads).mean(axis=1)
    return share[inverse.reshape(-1)]


def _slower(booster, rows, rivals, threads):
    """How likely each row is slower than each rival, symmetric: p(a, b) + p(b, a) = 1; shape (rows, rivals)."""
    difference = (rows[:, None] - rivals[None]).reshape(-1, rows.shape[1])
    shape = len(rows), len(rivals)
    forth = booster.predict(difference, num_threads=threads).reshape(shape)
    back = booster.predict(-difference, num_threads=threads).reshape(shape)
    return (1 + forth - back) / 2
