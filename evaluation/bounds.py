"""The organiser's file of what is known about pairs of instance and k: ``bounds.json``.

``{"partition:<instance>:<k>": {"lower": RECORD, "best": RECORD}}`` with
``RECORD = {"value" (s), "method", "solver", "version", "seconds"}``; that of "best" has "stages" too, joined by ``;``.
"""

import gzip
import json
from pathlib import Path

import numpy as np

from evaluation.errors import InputError
from evaluation.partition import bottleneck, certified_ratio, check_stages

FILE = "bounds.json"
FIELDS = ("value", "method", "solver", "version", "seconds")


def pair_id(instance_name, k):
    """``partition:<instance>:<k>``."""
    return f"partition:{instance_name}:{k}"


def parse_pair(id):
    """Name of the instance and k of an ID, already matched by the track's pattern."""
    _, name, k = id.split(":")
    return name, int(k)


def read_json(path):
    """A JSON file, plain or gzipped; `InputError` where it cannot be read."""
    path = Path(path)
    try:
        data = path.read_bytes()
        return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)
    except (OSError, EOFError, ValueError) as error:
        raise InputError(f"{path}: not readable as JSON ({error}); make the file again") from error


def read_bounds(folder):
    """Records of every pair in a folder's ``bounds.json`` (or ``bounds.json.gz``); empty where there is none.

    Returns
    -------
    dict of str to dict

    Raises
    ------
    InputError
        Where a record lacks a field or its value is no time.
    """
    for path in (Path(folder) / FILE, Path(folder) / f"{FILE}.gz"):
        if path.is_file():
            bounds = read_json(path)
            for id, pair in bounds.items():
                for kind, record in pair.items():
                    _check_record(path, id, kind, record)
            return bounds
    return {}


def _check_record(path, id, kind, record):
    missing = [field for field in (*FIELDS, *(["stages"] if kind == "best" else [])) if field not in record]
    if missing or not isinstance(record["value"], int | float) or not 0 <= record["value"] < np.inf:
        what = f"{missing[0]} is missing" if missing else f"its value is {record['value']!r}"
        raise InputError(f"{path}: {kind} of {id}: {what}; the organiser's file must be put right")


def parse_stages(text):
    """Stages joined by ``;`` to an int64 array."""
    return np.array(text.split(";"), np.int64)


def verify_pair(instance, k, pair):
    """Whether what is on record holds: the best partition is feasible and takes what is said, no bound exceeds it.

    Returns
    -------
    (float, float)
        Bottleneck of the best partition as computed here, and the certified ratio.

    Raises
    ------
    InputError
    """
    stages = check_stages(instance, parse_stages(pair["best"]["stages"]), k)
    value = bottleneck(instance, stages)
    if abs(value - pair["best"]["value"]) > 1e-9 * value:
        raise InputError(f"{pair_id(instance.name, k)}: the partition on record takes {value} s, not "
                         f"{pair['best']['value']} s; {FILE} must be put right")
    return value, certified_ratio(pair["lower"]["value"], value)
