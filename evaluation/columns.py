"""The columns of a board, one registry entry each.

To add one, add a line to `RUNTIME_COLUMNS` (or to the list of another track): a key, a heading, how to compute
it from a `Result`, which direction is better, and how to print it.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from evaluation.collections import COLLECTIONS

STAGE_COUNTS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)  # numbers of stages that have a column; others count overall
HIGHER, LOWER = "higher", "lower"


@dataclass(frozen=True)
class Result:
    """What a column is computed from: one entry on one board, restricted to the graphs that are shown.

    Attributes
    ----------
    rows : list of dict
        Scored graphs of the public half.
    scores : dict of str to float
        Mean score of each group, and "overall".
    card : dict
    all_configs : int
        Configurations of all graphs that the entry ranked, both halves.
    """

    rows: list
    scores: dict
    card: dict
    all_configs: int


@dataclass(frozen=True)
class Column:
    """One column of a board.

    Attributes
    ----------
    key, heading : str
    compute : callable
        ``(Result) -> float or None``; None shows as a gap.
    better : {"higher", "lower", ""}
    style : {"score", "percent", "seconds", "micro", "ratio"}
        How a value is printed.
    """

    key: str
    heading: str
    compute: object
    better: str
    style: str = "score"


def group_score(name, result):
    """Mean score of a group; None where it is not there or the entry has no row in it."""
    return result.scores.get(name)


def mean_of(field, result, kind=""):
    """Mean of a figure over the graphs that have it and whose ID begins with `kind`, or None."""
    values = [row[field] for row in result.rows if row["id"].startswith(kind) and row.get(field) is not None]
    return float(np.mean(values)) if values else None


def from_card(field, result):
    """A figure that the card states."""
    return result.card[field]


def micro_per_config(result):
    """Microseconds of prediction per configuration."""
    seconds = result.card["predict_seconds"]
    return None if seconds is None or not result.all_configs else 1e6 * seconds / result.all_configs


def _errors(kind, ks):
    return [Column(f"{kind}_top{k}_error", f"{kind} top-{k} error", partial(mean_of, f"top{k}_error", kind=kind),
                   LOWER, "percent") for k in ks]


TIMES = [
    Column("train_seconds", "train s", partial(from_card, "train_seconds"), LOWER, "seconds"),
    Column("predict_seconds", "predict s", partial(from_card, "predict_seconds"), LOWER, "seconds"),
]

RUNTIME_COLUMNS = [
    Column("overall", "score", partial(group_score, "overall"), HIGHER),
    *(Column(name, name, partial(group_score, name), HIGHER) for name in COLLECTIONS),
    *_errors("tile", (1, 5, 10)),
    *_errors("layout", (1, 10, 100)),
    # of layouts only: five listed tiles leave most pairs of a kernel undecided
    Column("ordered_pair_accuracy", "layout ordered pairs",
           partial(mean_of, "ordered_pair_accuracy", kind="layout"), HIGHER),
    *TIMES,
    Column("micro_per_config", "µs per configuration", micro_per_config, LOWER, "micro"),
]

PARTITION_COLUMNS = [
    Column("overall", "certified ratio", partial(group_score, "overall"), HIGHER),
    *(Column(f"k{k}", f"k = {k}", partial(group_score, str(k)), HIGHER) for k in STAGE_COUNTS),
    Column("over_best", "over the best known", partial(mean_of, "over_best"), LOWER, "percent"),
    *TIMES[1:],
]


def show(column, value):
    """A value as text; a gap is a dash."""
    if value is None:
        return "–"
    if column.style == "percent":
        return f"{100 * value:.2f} %"
    return f"{value:.1f}" if column.style in ("seconds", "micro") else f"{value:.4f}"
