"""Scoring what is new, recording it, and deriving the boards from the record."""

import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from evaluation import board, ledger
from evaluation.collections import SPLITS
from evaluation.dataset import describe
from evaluation.engine import Here, in_order
from evaluation.entries import CSV, find
from evaluation.errors import InputError
from evaluation.files import atomic
from evaluation.halves import divide
from evaluation.lock import locked
from evaluation.markdown import render
from evaluation.scoring import score_rows
from evaluation.tracks import TRACKS, Options, read_submission

SCORER = 1  # raise it when the same file would get other figures than before: everything is then scored anew
RESULTS, MARKDOWN, PAGE, LOCK = "results.jsonl", "leaderboard.md", "leaderboard.html", ".leaderboard.lock"


@dataclass(frozen=True)
class Contest:
    """What is being judged: the data set, its split, and where the truth comes from.

    Attributes
    ----------
    data, answers : str or None
    split : str or None
        None: each track's own.
    dataset : evaluation.dataset.Dataset
    """

    data: str
    split: str | None
    answers: str | None
    dataset: object

    def split_of(self, track):
        """The split that is judged in a track."""
        return self.split or TRACKS[track].default_split

    def concerns(self, entry):
        """Why an entry is not judged here, or None."""
        told = entry.card["dataset"]
        if told["fingerprint"] != self.dataset.fingerprint:
            return (f"belongs to another data set, {told['name']} ({told['fingerprint'][:12]}); "
                    "give that one with --data")
        told, split = entry.card["split"], self.split_of(entry.card["track"])
        known = (*SPLITS, TRACKS[entry.card["track"]].default_split)
        if told not in known:
            return f"its card names the split {told[:40]!r}; there are {', '.join(dict.fromkeys(known))}"
        return None if told == split else f"is of the split {told}; --split chooses it"

    def truths(self):
        """A function from a track's name to its truth, loaded once."""
        loaded = {}

        def truth(track):
            if track not in loaded:
                loaded[track] = TRACKS[track].load(self.data, self.split_of(track), self.answers, Options())
            return loaded[track]

        return truth


def contest(data, split=None, answers=None):
    """A `Contest` on a data set; raises `InputError` where there is none."""
    return Contest(data, split, answers, describe(data))


def rounded(value):
    """Nine significant digits: enough to tell anything apart that matters, half the size of the record."""
    return float(f"{value:.9g}") if isinstance(value, float) else value


def columnar(rows):
    """A list of rows as one list a field, None where a row lacks it."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [rounded(row.get(name)) for row in rows] for name in names}


def judge(entry, truth, split):
    """Score an entry.

    Returns
    -------
    rows : dict of str to list
        From `columnar`, both halves.
    details : dict
        For the entry's panel, public half only.
    warnings : list of str

    Raises
    ------
    InputError
        Where its CSV cannot be scored.
    """
    submission = read_submission(entry.folder / CSV, truth, split)
    if submission.track is not None and submission.track.name != entry.card["track"]:
        raise InputError(f"{CSV} is of the {submission.track.name} track, its card of the {entry.card['track']} track")
    submission.problems.refuse(f"{entry.name}/{CSV}")
    track = submission.track
    rows = score_rows(submission, truth)
    public, _ = divide(truth.ids, track.group)
    ids = [id for id in truth.ids if id in public]
    details = track.details(submission, truth, ids, track.group) if track.details else {}
    return columnar(rows), details, submission.problems.warnings()


def key_of(record):
    """As `Entry.key`, of a record."""
    return (record["entry"], record["track"], record["dataset"]["fingerprint"], record["split"])


def is_current(record, entry, truth):
    """Whether a record still says what scoring the entry would say."""
    return record is not None and record["files"] == entry.files and record["scorer"] == SCORER \
        and record["truth"] == truth.fingerprint


def contents(entry, known, judged):
    """What is recorded of an entry; raises `InputError` where it cannot be scored."""
    rows, details, warnings = judge(entry, known, entry.card["split"])
    return {"entry": entry.name, "track": entry.card["track"], "dataset": vars(judged.dataset),
            "split": entry.card["split"], "files": entry.files, "truth": known.fingerprint, "scorer": SCORER,
            "scored": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), "card": entry.card, "rows": rows,
            "details": details, "warnings": warnings}


_TRUTHS = {}  # by fingerprint; in a worker process, what it has loaded


def _scored(task):
    """What is recorded of an entry, and why nothing is: one of both is None."""
    entry, judged, fingerprint = task
    if fingerprint not in _TRUTHS:
        _TRUTHS[fingerprint] = judged.truths()(entry.card["track"])
    try:
        return contents(entry, _TRUTHS[fingerprint], judged), None
    except InputError as error:
        return None, str(error)


def _to_score(judged, records, entries, unscored):
    """Tasks for `_scored`: the entries that are new or changed."""
    latest, truth, tasks = {key_of(record): record for record in records}, judged.truths(), []
    for entry in entries:
        if judged.concerns(entry):
            continue
        try:
            known = truth(entry.card["track"])
        except InputError as error:
            unscored[entry.name] = str(error)
            continue
        known.ready()  # whoever makes the board has to mend this, not the entrant
        if not is_current(latest.get(entry.key), entry, known):
            _TRUTHS[known.fingerprint] = known
            tasks.append((entry, judged, known.fingerprint))
    return tasks


def score_new(submissions, judged, records, entries, unscored, engine):
    """Score the entries that are new or changed and record them in their order; reasons go into `unscored`."""
    try:
        tasks = _to_score(judged, records, entries, unscored)
        for number, (record, reason) in enumerate(in_order(engine.map(_scored, tasks)), start=1):
            name = tasks[number - 1][0].name
            if reason is not None:
                unscored[name] = reason
                continue
            ledger.append(Path(submissions) / RESULTS, records, record)
            print(f"scored {name} ({number} of {len(tasks)})", file=sys.stderr)
    finally:
        _TRUTHS.clear()


def boards_of(records, entries, unscored, judged, reveal):
    """Boards of all entries whose record fits what is on disk; other entries get their reason into `unscored`.

    Returns
    -------
    list of Board
        The judged data set first, then by title.
    """
    latest, groups, remarks = {key_of(record): record for record in records}, {}, {}
    for entry in entries:
        record = latest.get(entry.key)
        if record is None or record["files"] != entry.files:
            why = judged.concerns(entry) or "could not be scored"
            unscored.setdefault(entry.name, why)
        elif entry.name not in unscored:
            groups.setdefault((*entry.key[1:], record["truth"]), []).append(record)
            remarks[entry.name] = [*entry.remarks, *record["warnings"]]
    made = [board.make(part, remarks, reveal) for part in groups.values()]
    return sorted(made, key=lambda b: (b.dataset["fingerprint"] != judged.dataset.fingerprint, b.title))


def standing_boards(submissions, judged, reveal=False):
    """The boards as the record has them, without scoring or writing anything.

    Parameters
    ----------
    submissions : str or Path
    judged : Contest
    reveal : bool

    Returns
    -------
    list of evaluation.board.Board
        The judged data set first.
    """
    entries, unscored = find(submissions)
    return boards_of(ledger.read(Path(submissions) / RESULTS), entries, unscored, judged, reveal)


def update(submissions, judged, html=False, reveal=False, engine=None):
    """Score what is new, record it, write the boards; safe when several processes do it at once.

    Parameters
    ----------
    submissions : str or Path
        Folder of entries.
    judged : Contest
    html : bool
        Also write the page.
    reveal : bool
        Show the private half too.
    engine : optional
        From `evaluation.engine.open_engine`; by default entries are scored in this process.

    Returns
    -------
    str
        The boards as Markdown.
    """
    folder = Path(submissions)
    if not folder.is_dir():
        find(folder)  # says what to do
    with locked(folder / LOCK):
        records = ledger.read(folder / RESULTS)
        entries, unscored = find(folder)
        score_new(folder, judged, records, entries, unscored, engine or Here())
        boards = boards_of(records, entries, unscored, judged, reveal)
        text = render(boards, unscored, ledger.last_hash(records))
        with atomic(folder / MARKDOWN) as out:
            out.write(text)
        if html:
            from evaluation.page import page

            with atomic(folder / PAGE) as out:
                out.write(page(boards, unscored, ledger.last_hash(records)))
    return text
