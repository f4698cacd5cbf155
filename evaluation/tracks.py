"""The tracks: how to parse an ID, load the truth, score a row, aggregate, and which columns a board has.

Commands look a track up here and never ask which one it is.
"""

import re
from dataclasses import dataclass

from evaluation import partition_track, runtime_track
from evaluation.submission_file import read


@dataclass(frozen=True)
class Options:
    """Choices of scoring; a track takes note of those that concern it."""

    tile_target: str = "normalized"
    eval_indices: str | None = None


@dataclass(frozen=True)
class Track:
    """One kind of contest.

    Attributes
    ----------
    name : str
        As in cards and on boards.
    header : tuple of str
        Columns of a submission CSV; tells the track of a file.
    id_pattern : re.Pattern
        What an ID must look like, whatever the data.
    wrong_id : callable
        ``(id) -> (code, found, fix)`` for an ID that does not.
    default_split : str
    check_split : str
        Split that `check` compares with by default.
    load : callable
        ``(data, split, answers, options) -> truth``; a truth has ``ids`` (list of str in order),
        ``fingerprint``, ``ready()`` (raises `InputError` where it cannot be scored with), and whatever `check_row` and
        `score_row` need.
    check_row : callable
        ``(row, truth or None, problems)``: what is wrong with a row beyond its syntax.
    score_row : callable
        ``(id, values or None, truth) -> dict`` with "score"; values are None where the row is missing.
    group : callable
        ``(id) -> str``: the collection, or the number of stages.
    average : evaluation.statistics.Average
    metrics : tuple of str
        Keys of a scored row that are averaged beside the score.
    columns : callable
        ``() -> list of evaluation.columns.Column``: the columns of a board.
    details : callable or None
        ``(submission, truth, ids, group) -> dict``: what an entry's panel shows beside its scores.
    """

    name: str
    header: tuple
    id_pattern: re.Pattern
    wrong_id: object
    default_split: str
    check_split: str
    load: object
    check_row: object
    score_row: object
    group: object
    average: object
    metrics: tuple
    columns: object
    details: object = None


TRACKS = {"runtime": Track("runtime", **runtime_track.PARTS),
          "partition": Track("partition", **partition_track.PARTS)}


def read_submission(path, truth=None, split="this split"):
    """Parse a submission and look at it row by row.

    Parameters
    ----------
    path : str or Path
    truth : optional
        From the track's `load`, to compare the rows with; without it only what the file itself tells is
        checked. A callable gets the track and returns the truth.
    split : str
        For messages.

    Returns
    -------
    Submission
        Its problems are noted, not raised: call ``submission.problems.refuse(path, strict)``.
    """
    submission = read(path, TRACKS.values())
    if submission.track is None:
        return submission
    truth = truth(submission.track) if callable(truth) else truth
    known = set(truth.ids) if truth is not None else None
    unknown = []
    for id, row in submission.rows.items():
        if known is not None and id not in known:
            unknown.append(row)
            continue
        submission.track.check_row(row, truth, submission.problems)
    if known is not None:
        _coverage(submission, unknown, [id for id in truth.ids if id not in submission.rows], split)
    return submission


def _coverage(submission, unknown, missing, split):
    """One line for all IDs without a truth, one for all that have no row."""
    if unknown:
        one = len(unknown) == 1
        submission.problems.add(
            "unknown_id", f"{len(unknown):,} {'ID has' if one else 'IDs have'} no file in {split}"
            + ("" if one else f", the first in row {unknown[0].line} ({unknown[0].id})"),
            "leave them out, or give the --data and --split they belong to; they do not count",
            row=unknown[0].line if one else None, id=unknown[0].id if one else None)
    if missing:
        one = len(missing) == 1
        unread = " that can be read" if submission.problems.refusals() else ""
        submission.problems.add(
            "missing_id", f"{len(missing):,} of the graphs of {split} {'has' if one else 'have'} no row{unread}"
            + ("" if one else f", the first {missing[0]}"), "write one row for each; a graph without a row scores 0",
            id=missing[0] if one else None)
