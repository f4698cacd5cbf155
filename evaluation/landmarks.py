"""What others published, as landmarks beside a board, and what judging a configuration costs."""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from evaluation.collections import COLLECTIONS

HERE = Path(__file__).parent
REMARK = ("Landmarks are figures others reported. Their protocols differ: other splits, other graphs, a choice among "
          "models made on the board, and 1,000 drawn configurations a graph in the paper's tables. "
          "They say where the field stands, not how an entry here would have placed.")
NOTES = (
    "The paper's best baselines (TpuGraphs, arXiv 2308.13490v1, table 2) have top-1 errors of 24.3 % "
    "(layout:xla:random), 1.7 % (layout:xla:default), 23.7 % (layout:nlp:random), 2.3 % (layout:nlp:default) and "
    "10.5 % (tile:xla). Other figures are often quoted for them; these are the ones in the paper.",
    "Predicting a configuration's rank is 12 to 3,200 times cheaper than compiling and running it (table 9 of the same "
    "paper, from a BERT model with a costly partition to a 3-D U-Net); a single factor for all programs is misleading.",
    "Kaggle's boards held about 4 public graphs in each xla collection and 8 in each nlp one, so places moved a lot "
    "between them; reruns of one model differ by up to 0.1. An interval shows this, a place does not.",
    "A tile model alone reaches about 0.2: tile is one of five collections although it is 844 of the 894 rows.",
)
PARTITION_REMARK = ("Landmarks are figures others reported, on 369 production graphs that are not public. "
                    "They say where the field stands, not how an entry here would have placed.")
PARTITION_NOTES = ("The ratio is a lower bound over the best partition found, k = 16, geometric mean; its bounds needed "
                   "a commercial MIP solver (Archer et al., ICML 2024, arXiv 2311.03703).",)
TEXTS = {"runtime": (REMARK, NOTES), "partition": (PARTITION_REMARK, PARTITION_NOTES)}  # by track


@dataclass(frozen=True)
class Landmark:
    """All figures that one source gives of one model on one split.

    Attributes
    ----------
    entry, split : str
    values : dict of str to dict of str to float
        Collection or "overall" -> metric -> value.
    source : str
    """

    entry: str
    split: str
    values: dict
    source: str

    @property
    def where(self):
        """What the figures were taken on, in words."""
        return f"Kaggle's {self.split} board" if self.split in ("public", "private") else self.split


def _read(name):
    with open(HERE / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@cache
def load(track):
    """The landmarks of a track, in the order of ``published.csv``.

    Returns
    -------
    list of Landmark
    """
    found = {}
    for row in _read("published.csv"):
        if row["track"] == track:
            key = (row["entry"], row["split"], row["source"])
            found.setdefault(key, {}).setdefault(row["collection"], {})[row["metric"]] = float(row["value"])
    return [Landmark(entry, split, values, source) for (entry, split, source), values in found.items()]


@cache
def evaluation_times():
    """Seconds to judge one configuration of seven programs, by compiling and running it, and by predicting.

    Returns
    -------
    list of dict
        "program", "evaluate" (compile + execute on a TPU), "predict" (features + partition + inference on a
        CPU), "source".
    """
    return [{"program": row["program"], "evaluate": float(row["compile_s"]) + float(row["execute_s"]),
             "predict": sum(float(row[name]) for name in ("feature_extraction_s", "partition_s", "inference_s")),
             "source": row["source"]} for row in _read("evaluation_time.csv")]


def is_full(dataset, split, sizes):
    """Whether a board stands on every graph of the published, measured data set.

    Parameters
    ----------
    dataset : dict
        With "simulated".
    split : str
    sizes : dict of str to (int, int)
        Graphs of each group in the two halves.
    """
    published = {name: collection.published.get(split) for name, collection in COLLECTIONS.items()}
    return not dataset["simulated"] and {name: sum(pair) for name, pair in sizes.items()} == published


def neighbours(score, landmarks):
    """Where an overall score would stand among the private scores of the landmarks, in words."""
    known = sorted(((mark.values["overall"]["score"], mark.entry) for mark in landmarks
                    if mark.split == "private" and "overall" in mark.values), reverse=True)
    above = [name for value, name in known if value > score]
    below = [name for value, name in known if value <= score]
    parts = [f"below {above[-1]}"] if above else []
    parts += [f"above {below[0]}"] if below else []
    return ", ".join(parts)
