"""Cells of a long table: several at once, each kept in a file as soon as it is there."""

import json
import sys
from pathlib import Path

import joblib


def arguments(parser):
    """Declare what every table of cells takes."""
    from kit.commands import common

    parser.add_argument("--jobs", type=common.positive, default=1, metavar="N", help="cells side by side")
    parser.add_argument("--keep", metavar="FILE", help="JSON lines: what is found there is not measured again "
                        "(delete it when code or data have changed)")


def compute(function, cells, *, jobs=1, keep=None):
    """Call a function for every cell.

    Parameters
    ----------
    function : callable
        Of a module; takes a cell's items as keywords and gives something that JSON can hold.
    cells : list of dict
        Plain values. Cells that are equal are computed once.
    jobs : int
        Processes at a time, each with threads of its own.
    keep : str or Path, optional
        File of finished cells, which are not computed again; each is added as it finishes.

    Yields
    ------
    result
        Of every cell, in their order, as soon as it and all before it are there.
    """
    known = read_kept(keep)
    names = [json.dumps(cell, sort_keys=True) for cell in cells]
    missing = [name for name in dict.fromkeys(names) if name not in known]
    fresh = joblib.Parallel(n_jobs=min(jobs, max(1, len(missing))), return_as="generator", batch_size=1)(
        joblib.delayed(_one)(function, name, keep) for name in missing)
    for name in names:
        while name not in known:
            key, result = next(fresh)
            known[key] = result
        yield known[name]


def read_kept(keep):
    """The finished cells of a file; a line that was cut off is left out."""
    found = {}
    if keep is None or not Path(keep).exists():
        return found
    for line in Path(keep).read_text(encoding="utf-8").splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        found[json.dumps(record["cell"], sort_keys=True)] = record["result"]
    return found


def _one(function, name, keep):
    """Compute a cell, and keep it from within the process that did, so that no kill can lose it."""
    cell = json.loads(name)
    result = json.loads(json.dumps(function(**cell)))
    if keep is not None:
        with open(keep, "a", encoding="utf-8", newline="\n") as out:
            out.write(json.dumps({"cell": cell, "result": result}) + "\n")
    print(f"done: {name}", file=sys.stderr, flush=True)
    return name, result
