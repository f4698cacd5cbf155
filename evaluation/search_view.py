"""What a ranking is for: how near the best configuration one comes by compiling and running only its first K."""

import numpy as np

from evaluation.metrics import listed_ranks

POINTS = 40     # of a curve, spread evenly over the logarithm of K
GRAPHS = 2      # of each collection whose ranks are kept
SAMPLE = 120    # configurations of such a graph


def grid(largest):
    """Numbers K from 1 to `largest`, about evenly spread over log K."""
    return np.unique(np.geomspace(1, largest, POINTS).round().astype(np.int64))


def complete(listed, configs):
    """A list followed by the configurations it leaves out, by index; impossible and repeated entries are dropped.

    Returns
    -------
    ndarray of int64, shape (configs,)
    """
    listed = np.asarray([] if listed is None else listed, dtype=np.int64)
    listed = listed[(listed >= 0) & (listed < configs)]
    order = np.concatenate([listed, np.arange(configs)])
    return order[np.sort(np.unique(order, return_index=True)[1])]


def excess(listed, target, ks):
    """How much slower than the fastest the best of the first K is, for each K.

    Parameters
    ----------
    listed : ndarray of int64, or None
    target : ndarray, shape (c,)
        What configurations are compared by.
    ks : ndarray of int64, shape (p,)
        A K above c counts as c.

    Returns
    -------
    ndarray of float64, shape (p,)
    """
    best = np.minimum.accumulate(target[complete(listed, len(target))])
    return best[np.minimum(ks, len(target)) - 1] / target.min() - 1.0


def rank_pairs(listed, target):
    """True and submitted ranks, from 1, of a sample of the listed configurations, evenly spread over the true ranks.

    Returns
    -------
    list of [int, int]
    """
    listed = [] if listed is None else listed
    fastest_first = np.argsort(target, kind="stable")
    ranks = listed_ranks(listed, len(target))[fastest_first]
    there = np.flatnonzero(ranks < len(listed))
    if not len(there):
        return []
    chosen = there[np.unique(np.linspace(0, len(there) - 1, SAMPLE).round().astype(np.int64))]
    return [[int(place) + 1, int(ranks[place]) + 1] for place in chosen]


def details(submission, truth, ids, group):
    """What an entry's panel shows of the public half.

    Parameters
    ----------
    submission : evaluation.submission_file.Submission
    truth : evaluation.runtime_track.Truth
    ids : list of str
        Graphs of the public half, in order.
    group : callable
        ``(id) -> str``.

    Returns
    -------
    dict
        "search": collection -> "k", "excess" (mean over graphs), "tried" (configurations in all graphs that
        trying K of each means); "ranks": ID -> pairs of ranks, for the largest graphs of each collection.
    """
    groups = {}
    for id in ids:
        groups.setdefault(group(id), []).append(id)
    search, ranks = {}, {}
    for name, part in groups.items():
        sizes = np.array([truth.configs(id) for id in part])
        ks = grid(int(sizes.max()))
        mean = np.mean([excess(submission.values(id), truth.target(id), ks) for id in part], axis=0)
        search[name] = {"k": ks.tolist(), "excess": [float(f"{value:.4g}") for value in mean],
                        "tried": [int(np.minimum(sizes, k).sum()) for k in ks]}
        for id in (part[place] for place in np.argsort(-sizes, kind="stable")[:GRAPHS]):
            if pairs := rank_pairs(submission.values(id), truth.target(id)):
                ranks[id] = pairs
    return {"search": search, "ranks": ranks}
