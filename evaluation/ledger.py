"""The append-only record of results: one JSON object a line, each carrying the hash of the line before.

A line also carries its number and its own hash, so that what happened to a damaged record can be named.
"""

import hashlib
import json
import os
import re
from pathlib import Path

from evaluation.errors import InputError

START = "0" * 64  # what the first line carries in place of a hash


_HASH = re.compile(rb',"hash":"([0-9a-f]{64})"}$')  # how every line ends; the hash is that of the bytes before it


def read(path):
    """Records of an intact file.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    list of dict
        Empty where there is no file.

    Raises
    ------
    InputError
        Where the chain is broken: nothing may be added to such a file.
    """
    records, problems = inspect(path)
    if problems:
        raise InputError(f"{path}: the record of results is damaged ({problems[0]}); put back a good copy, or move it "
                         "away to score everything anew; leaderboard --verify names all damage")
    return records


def inspect(path):
    """Records of a file and what is wrong with their chain.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    records : list of dict
        What could be read, in the order of the file.
    problems : list of str
        Each names a line that was edited, moved, cut out or put in twice.
    """
    try:
        raw = Path(path).read_bytes()
    except FileNotFoundError:
        return [], []
    records, problems = [], []
    for place, line in enumerate(raw.splitlines(), start=1):
        record = _parse(line)
        if record is None:
            problems.append(f"line {place} was edited: it is no record any more")
            continue
        if record["hash"] != hashlib.sha256(_HASH.sub(b"", line)).hexdigest():
            problems.append(f"line {record['line']} was edited: its contents do not fit its hash")
        records.append(record)
    if raw and not raw.endswith(b"\n"):
        problems.append(f"line {len(raw.splitlines())} is torn: it does not end in a line end")
    return records, problems + _order(records, len(problems))


def _parse(line):
    try:
        record = json.loads(line)
    except ValueError:
        return None
    fit = isinstance(record, dict) and isinstance(record.get("line"), int) and {"hash", "previous"} <= set(record)
    return record if fit else None


def _order(records, lost):
    """Lines that are out of order, missing or repeated, and links that do not fit."""
    numbers = [record["line"] for record in records]
    problems = [f"line {number} was moved: it stands in the place of line {expected}"
                for number, expected in zip(numbers, sorted(numbers), strict=True) if number != expected]
    problems += [f"line {number} stands {numbers.count(number)} times"
                 for number in sorted(set(numbers)) if numbers.count(number) > 1]
    gone = sorted(set(range(1, max(numbers, default=0) + 1)) - set(numbers))
    if not lost:  # a line that cannot be read has been named already
        problems += [f"line {number} was cut out" for number in gone]
    by_number = {record["line"]: record for record in records}
    for number, record in sorted(by_number.items()):
        before = by_number.get(number - 1)
        expected = START if number == 1 else before and before["hash"]
        if expected and record["previous"] != expected:
            problems.append(f"line {number - 1} was replaced: line {number} carries another hash of it")
    return problems


def append(path, records, contents):
    """Add one line.

    Parameters
    ----------
    path : str or Path
    records : list of dict
        What the file holds, from `read`; the new record is added to it.
    contents : dict
        What to record. Must be JSON, without NaN.

    Returns
    -------
    dict
        The record, with "line", "previous" and "hash".
    """
    record = {"line": len(records) + 1, "previous": last_hash(records), **contents}
    body = json.dumps(record, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()[:-1]
    line = body + f',"hash":"{hashlib.sha256(body).hexdigest()}"}}'.encode()
    record = json.loads(line)
    with open(path, "ab") as file:
        file.write(line + b"\n")
        file.flush()
        os.fsync(file.fileno())
    records.append(record)
    return record


def last_hash(records):
    """Hash of the last line, or zeros where there is none."""
    return records[-1]["hash"] if records else START
