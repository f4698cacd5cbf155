"""Entries for the embedded set that need no solving: the partitions on record, and simple rules."""

from pathlib import Path

from evaluation import dataset
from evaluation.bounds import pair_id
from kit import submission
from kit.partition import embedded


def write_stored(out, data):
    """Write the best known partitions of the embedded instances as an entry.

    Parameters
    ----------
    out : str or Path
        ``submissions/NAME``.
    data : str or Path
        The embedded set as `kit.partition.embedded.write` wrote it.

    Returns
    -------
    dict
        The card.
    """
    rows = [(id, pair["best"]["stages"].split(";")) for id, pair in embedded.bounds().items()]
    return _write(out, data, "best known partitions", rows)


def write_baseline(out, data, name, rule):
    """Write an entry made by a rule ``(instance, k) -> stages``, such as those of `kit.partition.baselines`.

    Parameters
    ----------
    out, data : str or Path
        As above.
    name : str
        Of the rule, for the card.
    rule : callable

    Returns
    -------
    dict
        The card.
    """
    rows = [(pair_id(instance.name, k), rule(instance, k).tolist()) for instance in embedded.load().values()
            for k in instance.k]
    return _write(out, data, name, rows)


def _write(out, data, model, rows):
    card = submission.card(Path(out).name, "partition", dataset.describe(data), "all", model)
    return submission.write_entry(out, rows, card)
