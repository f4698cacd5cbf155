"""From a parsed submission and the truth to scores, intervals and warnings."""

import numpy as np

from evaluation import statistics
from evaluation.problems import HARMLESS


def score_rows(submission, truth):
    """Judge every graph of the truth, in its order.

    Returns
    -------
    list of dict
        "id" and what the track's `score_row` gives. What it warns of is noted as a problem of the submission.
    """
    rows = []
    for id in truth.ids:
        row = submission.track.score_row(id, submission.values(id), truth)
        why = row.pop("warning", None)
        if why:
            line = submission.rows[id].line if id in submission.rows else None
            submission.problems.add("degenerate", why, "nothing to mend", HARMLESS, line, id)
        rows.append({"id": id, **row})
    return rows


def by_group(track, rows):
    """Rows of each group, in the order in which groups appear."""
    groups = {}
    for row in rows:
        groups.setdefault(track.group(row["id"]), []).append(row)
    return groups


def _mean(values):
    there = [value for value in values if value is not None]
    return float(np.mean(there)) if there else None


def summarise(track, rows, rounds=statistics.ROUNDS, seed=statistics.SEED):
    """Scores of all groups and overall, with their bootstrap intervals.

    Parameters
    ----------
    track : evaluation.tracks.Track
    rows : list of dict
        From `score_rows`; not empty.
    rounds, seed : int
        Of the bootstrap.

    Returns
    -------
    dict
        "score", "score_present", "low", "high" and "groups", as `score --json` prints them. Secondary figures
        of a group are means over the graphs that have a row ("ranked" of "graphs").
    """
    groups = by_group(track, rows)
    scores = [np.array([[row["score"] for row in part]]) for part in groups.values()]
    means, overall = statistics.group_means(scores, track.average)
    drawn, drawn_overall = statistics.resample(scores, track.average, rounds, seed)
    low, high = statistics.interval(drawn[:, :, 0].T)
    bottom, top = statistics.interval(drawn_overall[:, 0])
    share = (track.average.groups or len(groups)) / len(groups)
    parts = {name: {"score": float(means[i, 0]), "graphs": len(part), "low": float(low[i]), "high": float(high[i]),
                    **_secondary(track, part)} for i, (name, part) in enumerate(groups.items())}
    return {"score": float(overall[0]), "score_present": float(overall[0]) * share, "low": float(bottom),
            "high": float(top), "groups": parts}


def _secondary(track, rows):
    """Means of the other figures over the graphs that have them, and how many graphs have a row."""
    there = [name for name in track.metrics if name in rows[0]]
    return {**{name: _mean([row[name] for row in rows]) for name in there},
            "missing": sum(row.get("configs") == 0 for row in rows)}


def score_submission(submission, truth, split):
    """Judge a submission that may be scored.

    Parameters
    ----------
    submission : evaluation.submission_file.Submission
        Whose problems have been looked at.
    truth : optional
        From the track's `load`.
    split : str

    Returns
    -------
    dict
        What `score --json` prints.
    """
    rows = score_rows(submission, truth)
    summary = summarise(submission.track, rows)
    groups = summary.pop("groups")
    return {"track": submission.track.name, **summary, "split": split, "groups": groups, "rows": rows,
            "warnings": submission.problems.warnings() + _thin(groups)}


def _thin(groups):
    """A warning where an interval says less than it seems to."""
    single = [name for name, part in groups.items() if part["graphs"] == 1]
    return [f"thin_group: {', '.join(single)}: one graph, so no interval; low and high equal the score"] \
        if single else []
