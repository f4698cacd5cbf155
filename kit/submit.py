"""An entry to Kaggle: checked here first, uploaded, scored there, and the scores kept in its card."""

import json
import re
import time
from datetime import UTC, datetime
from pathlib import Path

import requests

from evaluation import tracks
from evaluation.collections import find_root
from evaluation.errors import InputError, InvalidSubmission
from evaluation.files import atomic, sha256
from kit.kaggle.client import COMPETITION, Kaggle
from kit.kaggle.errors import Truncated, Unanswered, explain, pause_before
from kit.progress import progress
from kit.submission import CARD, CSV, read_card

DATA = Path("data/kaggle")
TEST_ID = re.compile(r"(tile:xla|layout:(xla|nlp):(default|random)):[0-9a-f]{32}", re.ASCII)
FIRST_PAUSE, GROWTH, LONGEST_PAUSE = 1.0, 1.6, 30.0  # seconds between looks at a submission that is being scored
NOT_CREATED = "No submission was made and none of the day's allowance used."
USUAL_REASONS = """Usual ones: a row of a test graph is missing, a layout row lists fewer configurations than the
graph has, or the IDs are of another data set. Check against the test files:
python -m evaluation check FILE --data data/kaggle --split test --strict"""


def submit(entry, *, message=None, data=None, slug=COMPETITION, tolerant=False, again=False, wait=900.0, timeout=60.0,
           retries=4, say=print):
    """Check an entry, upload it, wait for its scores and keep them in its card.

    A submission that was made and not scored yet is only asked for again, so an interrupted call can be repeated.

    Parameters
    ----------
    entry : str or Path
        ``submissions/NAME``, or a CSV file.
    message : str, optional
        Description on Kaggle; the entry's name by default.
    data : str or Path, optional
        The competition's data, to check against their test split; ``data/kaggle`` where that is there.
    slug : str
        The competition.
    tolerant : bool
        Accept what Kaggle accepts, incomplete lists included.
    again : bool
        Submit a file that was scored already once more.
    wait : float
        Seconds to wait for the score.
    timeout, retries
        As in `kit.kaggle.client.Kaggle`.
    say : callable
        Gets sentences for the user.

    Returns
    -------
    dict
        ``competition``, ``ref``, ``message``, ``sha256``, ``submitted`` (UTC), ``status``, ``public_score``,
        ``private_score``: the card's entry ``kaggle``.

    Raises
    ------
    InputError
        Where the file would fail, Kaggle refuses it, or scoring it ended in an error.
    """
    csv, folder = _files(entry)
    card = read_card(folder) if folder else {}
    check(csv, card, data, tolerant, say)
    kaggle = Kaggle(slug, timeout=timeout, retries=retries, warn=say)
    record = _earlier(card, csv, kaggle.slug, again)
    if record is None:
        record = _create(kaggle, csv, message or (folder or csv).name, say)
        _keep(folder, record)
    _wait(kaggle, record, folder, wait, say)
    return record


def _files(entry):
    """The CSV of an entry and the folder that holds its card (None where there is none)."""
    path = Path(entry)
    folder = path if path.is_dir() else path.parent
    csv = path / CSV if path.is_dir() else path
    if not csv.is_file():
        raise InputError(f"{csv}: no such file; give an entry's folder, submissions/NAME, or a submission CSV")
    return csv, folder if (folder / CARD).is_file() and csv.name == CSV else None


def check(csv, card, data, tolerant, say):
    """Refuse whatever would fail on Kaggle.

    Parameters
    ----------
    csv : Path
    card : dict
        The entry's card; empty where it has none.
    data : str, Path or None
        As in `submit`.
    tolerant : bool
    say : callable

    Raises
    ------
    InputError
        Naming every reason.
    """
    _check_card(csv, card)
    data = data or (DATA if DATA.is_dir() else None)
    strict = data is not None and not tolerant
    if data is not None:
        find_root(data)

    def truth(track):
        return track.load(data, "test", None, tracks.Options()) if track.name == "runtime" else None

    submission = tracks.read_submission(csv, truth if data else None, "the test split")
    if submission.track and submission.track.name != "runtime":
        raise InvalidSubmission(f"{csv}: is of the {submission.track.name} track; the competition on Kaggle takes "
                                "rankings of configurations")
    _check_ids(submission)
    submission.problems.refuse(csv, strict)
    for line in submission.problems.warnings(strict):
        say(f"warning: {line}")
    say(f"{csv}: accepted, {len(submission.rows)} rows, {'strict' if strict else 'tolerant'} check"
        + ("" if data else "; without the competition's data nobody can tell here whether it is complete (--data DIR)"))


def _check_card(csv, card):
    if card.get("dataset", {}).get("simulated"):
        raise InvalidSubmission(f"{csv}: was made from the simulated data set {card['dataset'].get('name')!r}, whose "
                                "graphs Kaggle does not know; predict the test split of the competition's data")
    if card.get("split", "test") != "test":
        raise InvalidSubmission(f"{csv}: ranks the split {card['split']!r}; Kaggle scores the test split: "
                                "python -m kit predict --run ... --split test")
    if card.get("sha256") and card["sha256"] != sha256(csv):
        raise InvalidSubmission(f"{csv}: was changed after its card was written; write the entry again, or submit "
                                "a copy of the CSV by itself")


def _check_ids(submission):
    for id, row in submission.rows.items():
        if not TEST_ID.fullmatch(id):
            submission.problems.add("not_a_test_id", "no ID of the competition's test files",
                                    "predict the test split of the competition's data", "refused", row.line, id)


def _earlier(card, csv, slug, again):
    """The record of an earlier submission of this very file that only has to be asked for again."""
    record = card.get("kaggle") or {}
    if again or record.get("status") == "ERROR" or (record.get("competition"), record.get("sha256")) != (
            slug, sha256(csv)):
        return None
    if record["status"] == "COMPLETE":
        raise InputError(f"{csv}: was submitted already (number {record['ref']}): public {record['public_score']}, "
                         f"private {record['private_score']}. To spend another submission on it, add --again")
    return record


def _create(kaggle, csv, message, say):
    """Upload and submit; the record without scores."""
    limits = kaggle.limits()
    if limits.num_allowed_now <= 0 and (limits.num_today or limits.num_total):  # all zero: not on a team yet
        when = "for good" if limits.limited_by_total else "today; the count starts anew at 00:00 UTC"
        raise InputError(f"no submission to {kaggle.slug!r} is left {when} ({limits.num_today} made today, "
                         f"{limits.num_total} in total). {NOT_CREATED}")
    token = _upload(kaggle, csv, say)
    try:
        answer = kaggle.create_submission(token, message)
    except Unanswered as error:
        raise InputError(f"{error}\nWhether the submission was made is not known: look with python -m kit submit "
                         "--list before you submit again.") from None
    except InputError as error:
        raise InputError(f"{error}\n{NOT_CREATED}") from None
    if not answer.ref:
        raise InputError(f"Kaggle did not accept the submission; it says: {answer.message.strip()!r}. {NOT_CREATED}")
    say(f"submitted as number {answer.ref}; waiting for the score")
    return {"competition": kaggle.slug, "ref": answer.ref, "message": message, "sha256": sha256(csv),
            "submitted": datetime.now(UTC).isoformat(timespec="seconds"), "status": "PENDING", "public_score": None,
            "private_score": None}


class _Counted:
    """A file that is read in pieces for an upload and tells a bar how much is gone."""

    def __init__(self, file, size, bar):
        self.file, self.size, self.bar = file, size, bar

    def __len__(self):
        return self.size

    def read(self, count=-1):
        """The next bytes."""
        data = self.file.read(count)
        self.bar.update(len(data))
        return data


def _upload(kaggle, csv, say):
    """Upload the file, each attempt to an address of its own; the token that stands for it."""
    status = csv.stat()
    attempt = 0
    while True:
        attempt += 1
        target = kaggle.start_upload(CSV, status.st_size, status.st_mtime)
        try:
            _put(target.create_url, csv, status.st_size, kaggle.timeout)
            return target.token
        except requests.RequestException as error:
            pause = pause_before(error, attempt)
            if pause is None or attempt > kaggle.retries:
                problem = explain(error, slug=kaggle.slug, what="uploading the submission", storage=True)
                raise InputError(f"{problem}\n{NOT_CREATED}") from None
            say(f"the upload did not succeed; next attempt in {pause:.1f} s")
            time.sleep(pause)


def _put(url, csv, size, timeout):
    with open(csv, "rb") as file, progress(total=size, desc="upload", unit="B", unit_scale=True) as bar:
        response = requests.put(url, data=_Counted(file, size, bar), timeout=timeout, allow_redirects=False)
    response.raise_for_status()
    if response.status_code not in (200, 201):
        raise Truncated(f"storage answers {response.status_code} and waits for more")


def _wait(kaggle, record, folder, wait, say):
    """Ask for the submission with growing pauses until it is scored, failed, or `wait` seconds are over."""
    end, pause = time.monotonic() + wait, FIRST_PAUSE
    while True:
        found = kaggle.submission(record["ref"])
        if found is not None and found.status.name != "PENDING":
            break
        if time.monotonic() + pause > end:
            say(f"number {record['ref']} is not scored yet. Run the same command again: it asks for the score without "
                "submitting again")
            return
        time.sleep(pause)
        pause = min(LONGEST_PAUSE, pause * GROWTH)
    record.update(status=found.status.name, public_score=_number(found.public_score),
                  private_score=_number(found.private_score))
    _keep(folder, record)
    if record["status"] == "ERROR":
        reason = (found.error_description or "").strip()
        reason = f"It says: {reason!r}" if reason else f"It gives no reason. {USUAL_REASONS}"
        raise InputError(f"Kaggle accepted number {record['ref']} and could not score it (status ERROR). {reason}")
    say(f"number {record['ref']}: public score {_shown(record['public_score'])}, "
        f"private score {_shown(record['private_score'])}")
    _say_place(kaggle, record, say)


def _say_place(kaggle, record, say):
    """Where the score would stand on the competition's board; of no consequence where that cannot be read."""
    try:
        scores = kaggle.leaderboard_scores()
    except InputError:
        return
    score = record["public_score"] if record["private_score"] is None else record["private_score"]
    if scores and score is not None:
        place = 1 + sum(other > score for other in scores)
        say(f"with that it would stand at place {place} of {len(scores)} on the competition's leaderboard")


def _number(text):
    return float(text) if text else None


def _shown(score):
    return "not shown" if score is None else f"{score:g}"


def _keep(folder, record):
    """Put the record into the entry's card, leaving the rest of it as it is."""
    if folder is None:
        return
    card = {**read_card(folder), "kaggle": record}
    with atomic(folder / CARD) as out:
        json.dump(card, out, indent=1)


def list_submissions(slug=COMPETITION, *, timeout=60.0, retries=4, say=print):
    """Say the past submissions, newest first, and what is left of the day's allowance; see `submit`."""
    kaggle = Kaggle(slug, timeout=timeout, retries=retries, warn=say)
    rows = kaggle.submissions()
    for row in rows:
        date = row.date.isoformat(sep=" ", timespec="minutes") if row.date else "?"
        say(f"{row.ref}  {date}  {row.status.name:<8}  public {_shown(_number(row.public_score))}  "
            f"private {_shown(_number(row.private_score))}  {row.description or ''}")
    if not rows:
        say(f"no submissions to {kaggle.slug!r} yet")
    limits = kaggle.limits()
    say(f"{limits.num_today} made today, {limits.num_total} in total; {limits.num_allowed_now} more are allowed now")
