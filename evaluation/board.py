"""One board: the entries of a track, a data set and a split, ranked on the public half of the graphs."""

from dataclasses import dataclass, field

import numpy as np

from evaluation import landmarks, statistics
from evaluation.columns import Result
from evaluation.halves import divide
from evaluation.tracks import TRACKS

SAME = 1e-9  # scores closer than this are a tie


@dataclass(frozen=True)
class Standing:
    """One entry on a board.

    Attributes
    ----------
    place : int
        Entries with the same score share it.
    name : str
        Folder of the entry.
    card : dict
    values : dict of str to float or None
        By column key, public half.
    low, high : float
        95 % interval of the overall score.
    groups : dict of str to dict
        "score", "low", "high", "graphs" of every group that the entry has rows in.
    ahead : float or None
        Share of the bootstrap rounds in which it beats the next entry; None for the last one.
    like_leader : bool
        True where the difference from the leader's score cannot be told from 0.
    scores : dict of str to float
        Of every graph of the public half.
    private : dict or None
        "score", "place" on the private half, once revealed.
    record : dict
        Its line in the record of results.
    remarks : list of str
    """

    place: int
    name: str
    card: dict
    values: dict
    low: float
    high: float
    groups: dict
    ahead: float | None
    like_leader: bool
    scores: dict
    private: dict | None
    record: dict
    remarks: list


@dataclass(frozen=True)
class Board:
    """Standings and what they stand on.

    Attributes
    ----------
    track, split : str
    dataset : dict
        "name", "simulated", "fingerprint".
    columns : list of evaluation.columns.Column
        Those in which at least one entry has a value.
    standings : list of Standing
        Best first.
    graphs : dict of str to (int, int)
        Group -> graphs in the public and in the private half.
    undivided : list of str
        Groups too small for two halves.
    landmarks : list of evaluation.landmarks.Landmark
    full : bool
        Whether this is the complete measured data set, so that landmarks may be compared with.
    """

    track: str
    split: str
    dataset: dict
    columns: list
    standings: list
    graphs: dict
    undivided: list
    landmarks: list = field(default_factory=list)
    full: bool = False

    @property
    def title(self):
        """What the board is about, and SIMULATED where its runtimes are."""
        simulated = "SIMULATED data: " if self.dataset["simulated"] else ""
        return f"{simulated}{self.dataset['name']}, {self.track} track, split {self.split}"


def rows_of(record):
    """Scored graphs of a record as a list of dicts, less figures that a graph does not have."""
    columns = record["rows"]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _places(scores):
    """Competition ranking of scores in descending order: ties share a place."""
    places = []
    for i, score in enumerate(scores):
        places.append(places[-1] if i and abs(scores[i - 1] - score) < SAME else i + 1)
    return places


class _Scores:
    """Scores of all entries of one board, and what the bootstrap makes of them.

    Parameters
    ----------
    track : evaluation.tracks.Track
    rows : list of dict of str to dict
        For every entry, its scored graphs by ID.
    ids : list of str
        The graphs that count.
    rounds, seed : int
        Of the bootstrap.
    """

    def __init__(self, track, rows, ids, rounds, seed):
        self.groups = {}
        for id in ids:
            self.groups.setdefault(track.group(id), []).append(id)
        matrices = [np.array([[row[id]["score"] for id in part] for row in rows]) for part in self.groups.values()]
        self.means, self.overall = statistics.group_means(matrices, track.average)
        drawn_means, drawn = statistics.resample(matrices, track.average, rounds, seed)
        self.group_ends = statistics.interval(drawn_means.transpose(1, 0, 2))
        self.ends = statistics.interval(drawn)
        self.order = np.argsort(-self.overall, kind="stable")
        varied = [part for part in matrices if part.shape[1] > 1]
        self._drawn = statistics.resample(varied, track.average, rounds, seed)[1] if varied else None

    def ahead(self, a, b):
        """Share of rounds in which entry a beats entry b, ties counting half; None where nothing varies.

        Groups with a single graph are left out of comparisons: they do not vary from round to round, so that
        any difference in them would look certain.
        """
        if self._drawn is None:
            return None
        first, second = self._drawn[:, a], self._drawn[:, b]
        return float(np.mean(first > second) + np.mean(first == second) / 2)

    def alike(self, a, b):
        """Whether the 95 % interval of the difference of two entries holds 0."""
        if self._drawn is None:
            return True
        low, high = statistics.interval(self._drawn[:, a] - self._drawn[:, b])
        return bool(low <= 0 <= high)

    def parts(self, i, there):
        """Score, interval and size of the groups `there`, for entry i."""
        low, high = self.group_ends
        return {name: {"score": float(self.means[g, i]), "low": float(low[g, i]), "high": float(high[g, i]),
                       "graphs": len(part)} for g, (name, part) in enumerate(self.groups.items()) if name in there}


def _result(track, rows, ids, scores, i, card):
    """What the columns of entry i are computed from; groups without any row are left out, as a gap."""
    shown = [rows[id] for id in ids]
    ranked = {track.group(row["id"]) for row in shown if row.get("configs") != 0}
    means = {name: float(scores.means[g, i]) for g, name in enumerate(scores.groups) if name in ranked}
    return Result(shown, {"overall": float(scores.overall[i]), **means}, card,
                  sum(row.get("configs") or 0 for row in rows.values()))


def _private(track, rows, ids):
    """Score and place of every entry on the private half, or None where there is none."""
    if not ids:
        return [None] * len(rows)
    scores = _Scores(track, rows, ids, rounds=2, seed=0)
    places = dict(zip(scores.order.tolist(), _places(scores.overall[scores.order].tolist()), strict=True))
    return [{"score": float(scores.overall[i]), "place": places[i]} for i in range(len(rows))]


def make(records, remarks, reveal=False, rounds=statistics.ROUNDS, seed=statistics.SEED):
    """Rank the entries of one board.

    Parameters
    ----------
    records : list of dict
        The latest record of each entry, all of one track, data set, split and set of graphs.
    remarks : dict of str to list of str
        By entry.
    reveal : bool
        Whether to show scores of the private half too.
    rounds, seed : int
        Of the bootstrap.

    Returns
    -------
    Board
    """
    records = sorted(records, key=lambda record: record["entry"])
    track = TRACKS[records[0]["track"]]
    rows = [{row["id"]: row for row in rows_of(record)} for record in records]
    public, undivided = divide(rows[0], track.group)
    ids, rest = [id for id in rows[0] if id in public], [id for id in rows[0] if id not in public]
    scores = _Scores(track, rows, ids, rounds, seed)
    private = _private(track, rows, rest) if reveal else [None] * len(records)
    standings = [_standing(place, i, after, records[i], rows[i], ids, scores, private[i], remarks)
                 for place, i, after in zip(_places(scores.overall[scores.order].tolist()), scores.order,
                                            [*scores.order[1:], None], strict=True)]
    return _board(records[0], track, standings, _sizes(track, ids, rest), undivided)


def _standing(place, i, after, record, rows, ids, scores, private, remarks):
    track = TRACKS[record["track"]]
    result = _result(track, rows, ids, scores, i, record["card"])
    return Standing(
        place, record["entry"], record["card"], {column.key: column.compute(result) for column in track.columns()},
        float(scores.ends[0][i]), float(scores.ends[1][i]), scores.parts(i, result.scores),
        None if after is None else scores.ahead(i, after), scores.alike(scores.order[0], i),
        {id: rows[id]["score"] for id in ids}, private, record, remarks.get(record["entry"], []))


def _board(first, track, standings, sizes, undivided):
    columns = [c for c in track.columns() if any(s.values[c.key] is not None for s in standings)]
    return Board(track.name, first["split"], first["dataset"], columns, standings, sizes, undivided,
                 landmarks.load(track.name), landmarks.is_full(first["dataset"], first["split"], sizes))


def _sizes(track, public, private):
    """Graphs of each group in the two halves."""
    sizes = {track.group(id): [0, 0] for id in [*public, *private]}
    for half, ids in enumerate((public, private)):
        for id in ids:
            sizes[track.group(id)][half] += 1
    return {name: tuple(pair) for name, pair in sizes.items()}
