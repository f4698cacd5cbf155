"""The partitions on record as an entry, beside an entry of what people use today."""

from pathlib import Path

from evaluation import dataset
from kit.partition import embedded


def write_stored(out, data):
    """Write the best known partitions of the embedded instances as an entry of the board.

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
    from kit import submission

    rows = [(id, pair["best"]["stages"].split(";")) for id, pair in embedded.bounds().items()]
    card = submission.card(Path(out).name, "partition", dataset.describe(data), "all", "best known partitions")
    return submission.write_entry(out, rows, card)
