"""Does the board stand on what it says? The record's chain, the entries' files, and every score once more."""

from pathlib import Path

from evaluation import ledger
from evaluation.entries import CSV, find
from evaluation.errors import InputError
from evaluation.leaderboard import MARKDOWN, RESULTS, SCORER, judge, key_of
from evaluation.lock import locked
from evaluation.markdown import HASH

TOLERANCE = 1e-6  # between the digits of two machines


def verify(submissions, judged):
    """Everything that is not as the record says.

    Parameters
    ----------
    submissions : str or Path
    judged : evaluation.leaderboard.Contest
        Entries of this data set and split are scored again; of others only the files are compared.

    Returns
    -------
    problems : list of str
        Empty for a clean board.
    notes : list of str
        What could not be looked at.
    """
    folder = Path(submissions)
    with locked(folder / ".leaderboard.lock"):
        records, problems = ledger.inspect(folder / RESULTS)
        problems += _end(folder, records)
        entries, unscored = find(folder)
        by_key = {entry.key: entry for entry in entries}
        truth, notes = judged.truths(), []
        for record in {key_of(record): record for record in records}.values():
            problems += _entry(record, by_key.get(key_of(record)), folder, unscored, judged, truth, notes)
    return problems, notes


def _end(folder, records):
    """Lines cut off at the end show in the hash that the board holds."""
    if not records:
        return [f"{RESULTS} is missing, though {MARKDOWN} tells of it"] if (folder / MARKDOWN).is_file() \
            and ledger.START not in (folder / MARKDOWN).read_text(encoding="utf-8") else []
    if not (folder / MARKDOWN).is_file():
        return [f"{MARKDOWN} is missing: whether the last lines were cut off cannot be told"]
    told = HASH.search((folder / MARKDOWN).read_text(encoding="utf-8"))
    if not told:
        return [f"{MARKDOWN} was edited: it does not hold the hash of the last line"]
    if told[1] == records[-1]["hash"]:
        return []
    if told[1] in {record["hash"] for record in records}:
        return [f"{MARKDOWN} is older than line {records[-1]['line']}: make the board again"]
    return [f"the last line was cut off or replaced: after line {records[-1]['line']} a line is missing "
            f"that {MARKDOWN} tells of"]


def _entry(record, entry, folder, unscored, judged, truth, notes):
    where = f"line {record['line']}, entry {record['entry']}"
    if not (folder / record["entry"] / CSV).is_file():
        return [f"{where}: its {CSV} is gone"]
    if entry is None:
        return [f"{where}: changed since: {unscored.get(record['entry'], 'its card names another board')}"]
    changed = sorted(name for name in {*record["files"], *entry.files}
                     if record["files"].get(name) != entry.files.get(name))
    if changed:
        return [f"{where}: {', '.join(changed)} changed since it was scored"]
    if judged.concerns(entry):
        notes.append(f"{where}: not scored again: it {judged.concerns(entry)}")
        return []
    return _rescore(record, entry, truth(record["track"]), where, notes)


def _rescore(record, entry, truth, where, notes):
    if record["truth"] != truth.fingerprint:
        return [f"{where}: the runtimes it is judged by changed since it was scored"]
    if record["scorer"] != SCORER:
        notes.append(f"{where}: scored by version {record['scorer']} of the scorer, this is {SCORER}; run it again")
        return []
    try:
        rows, _, _ = judge(entry, truth, record["split"])
    except InputError as error:
        return [f"{where}: cannot be scored any more: {error}"]
    return [f"{where}: {name} of {rows['id'][i]} is recorded as {old}, scored again it is {new}"
            for name, new_values in rows.items()
            for i, (old, new) in enumerate(zip(record["rows"].get(name, []), new_values, strict=False))
            if _differs(old, new)] or ([] if set(rows) == set(record["rows"]) else [f"{where}: figures are missing"])


def _differs(old, new):
    if isinstance(old, float) and isinstance(new, float):
        return abs(old - new) > TOLERANCE * max(1.0, abs(new))
    return old != new
