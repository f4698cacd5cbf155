"""The public and the private half of a split, as on Kaggle."""

import hashlib


def _place(id):
    return hashlib.sha256(f"half of {id}".encode()).hexdigest()


def divide(ids, group):
    """Divide the graphs of a split once and for all, by a hash of their IDs, group by group.

    Parameters
    ----------
    ids : iterable of str
    group : callable
        ``(id) -> str``; each group is divided by itself.

    Returns
    -------
    public : set of str
        Half of every group, the larger one where the number is odd.
    undivided : list of str
        Groups of a single graph, which is public: they have no private half.
    """
    groups = {}
    for id in sorted(ids, key=_place):
        groups.setdefault(group(id), []).append(id)
    public = {id for part in groups.values() for id in part[:(len(part) + 1) // 2]}
    return public, sorted(name for name, part in groups.items() if len(part) == 1)
