"""The partition track: split a graph into k pipeline stages so that the slowest is as fast as possible."""

import hashlib
import re
from pathlib import Path

import numpy as np

from evaluation.bounds import FILE, pair_id, parse_pair, read_bounds, read_json
from evaluation.errors import InputError
from evaluation.files import sha256
from evaluation.instance import NAME, Instance
from evaluation.partition import bottleneck, certified_ratio, find_problem, simple_bound
from evaluation.problems import REFUSED
from evaluation.statistics import Average

SPLIT = "all"


class Truth:
    """Instances of a folder and the organiser's bounds.

    Parameters
    ----------
    folder : Path
        Holds ``instances/*.json`` (or ``.json.gz``) and, unless only the simple bound is known, ``bounds.json``.

    Attributes
    ----------
    ids : list of str
        Every pair of instance and k that an instance asks for, by k, then by name.
    fingerprint : str
        Of instances and bounds.
    """

    def __init__(self, folder):
        files = sorted((folder / "instances").glob("*.json*"))
        if not files:
            raise InputError(f"{folder}: no partition instances; there must be files instances/*.json, which "
                             "python -m kit partition instances writes")
        self._instances = {}
        for file in files:
            instance = Instance.from_json(read_json(file))
            if instance.name in self._instances:
                raise InputError(f"{file}: a second instance is called {instance.name}; names must be unique")
            self._instances[instance.name] = instance
        self._bounds = read_bounds(folder)
        pairs = sorted((k, name) for name, instance in self._instances.items() for k in instance.k)
        self.ids = [pair_id(name, k) for k, name in pairs]
        marks = [sha256(file) for file in (*files, *sorted(folder.glob(f"{FILE}*")))]
        self.fingerprint = hashlib.sha256("".join(marks).encode()).hexdigest()

    def ready(self):
        """Nothing is ever withheld in this track."""

    def instance(self, id):
        """The instance of a pair and its k."""
        name, k = parse_pair(id)
        return self._instances[name], k

    def lower_bound(self, id):
        """Seconds that no partition can undercut: the organiser's bound, or the simple one where it is larger."""
        known = self._bounds.get(id, {}).get("lower", {}).get("value", 0.0)
        return max(known, simple_bound(*self.instance(id)))

    def best_known(self, id):
        """Seconds of the best partition on record, or None."""
        return self._bounds.get(id, {}).get("best", {}).get("value")


def load(data, split, answers, options):
    """The track's truth: see `evaluation.tracks.Track`."""
    if answers:
        raise InputError("the partition track has no answers apart: leave --answers out, give --data DIR")
    if split != SPLIT:
        raise InputError(f"the partition track has one split, {SPLIT}; {split!r} is none of it")
    return Truth(Path(data))


def wrong_id(id):
    """Code, found and fix of an ID that names no pair."""
    return ("wrong_id", f"{id[:60]!r} is no pair of an instance and a number of stages",
            "write partition:<instance>:<k>, for example partition:resnet50:8")


def check_row(row, truth, problems):
    """Refuse what is no partition: a node without a stage, too many stages, stages in a circle."""
    if truth is not None:
        problem = find_problem(truth.instance(row.id)[0], row.values, truth.instance(row.id)[1])
        if problem:
            problems.add(*problem, REFUSED, row.line, row.id)


def score_row(id, stages, truth):
    """Judge one partition.

    Parameters
    ----------
    id : str
    stages : ndarray of int64, shape (n,), or None
        None where the submission lacks the pair.
    truth : Truth

    Returns
    -------
    dict
        score = certified_ratio = lower bound / bottleneck (0 to 1, 1 = proved optimal), bottleneck and lower_bound
        in seconds, over_best = bottleneck / best known - 1 (None where nothing is on record), configs = 1. A missing
        pair has score 0.
    """
    lower = truth.lower_bound(id)
    if stages is None:
        return {"score": 0.0, "certified_ratio": 0.0, "bottleneck": None, "lower_bound": lower, "over_best": None,
                "configs": 0}
    seconds, best = bottleneck(truth.instance(id)[0], stages), truth.best_known(id)
    ratio = certified_ratio(lower, seconds)
    return {"score": ratio, "certified_ratio": ratio, "bottleneck": seconds, "lower_bound": lower,
            "over_best": _over(seconds, best), "configs": 1}


def _over(seconds, best):
    if best is None:
        return None
    return float(seconds / best - 1) if best else float(np.sign(seconds))


def group(id):
    """The number of stages, as text."""
    return str(parse_pair(id)[1])


def columns():
    """Columns of a board of this track."""
    from evaluation.columns import PARTITION_COLUMNS

    return PARTITION_COLUMNS


PARTS = {
    "header": ("ID", "Stages"), "id_pattern": re.compile(f"partition:{NAME.pattern}:[1-9][0-9]{{0,4}}"),
    "wrong_id": wrong_id, "default_split": SPLIT, "check_split": SPLIT, "load": load, "check_row": check_row,
    "score_row": score_row, "group": group, "average": Average(geometric=True), "metrics": ("over_best",),
    "columns": columns,
}
