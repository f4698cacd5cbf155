"""Maintainers: improve what is known about the embedded instances, resumable and in parallel.

``python -m kit.partition.fill --seconds 30 --jobs 2`` runs every pair that is not proved yet and keeps what is better
than on record; it may be stopped and started again at any time. ``--make`` first traces the graphs anew.
"""

import argparse
import sys

import numpy as np

from evaluation.bounds import pair_id
from kit import __version__
from kit.partition import embedded
from kit.partition.jobs import PROVED, Task, solve_all

BOUNDS = embedded.HERE / "bounds.json.gz"


def open_tasks(records, seconds, seed, at_least=PROVED):
    """Tasks for pairs that are neither proved nor already tried this long, the least tried first.

    Parameters
    ----------
    records : dict
        Of ``bounds.json``.
    seconds : float
        Budget of a pair.
    seed : int
    at_least : float
        Leave out pairs whose ratio is at least this.
    """
    tasks = []
    for instance in embedded.load().values():
        for k in instance.k:
            known = records.get(pair_id(instance.name, k))
            if known and (_ratio(known) >= at_least or known["lower"]["seconds"] >= seconds):
                continue
            tried = known["lower"]["seconds"] if known else 0.0
            tasks.append((tried, Task(pair_id(instance.name, k), instance, k,
                                      budget={"seconds": seconds, "seed": seed, **_known(known)})))
    return [task for _, task in sorted(tasks, key=lambda pair: pair[0])]


def _known(record):
    """What a search starts from: the partition and the bound on record."""
    if not record:
        return {}
    return {"start": np.array(record["best"]["stages"].split(";"), np.int64), "low": record["lower"]["value"]}


def merge(records, outcome, budget):
    """Keep the better bound and the better partition of what is on record and an outcome; in place."""
    found = records.setdefault(outcome.file, {})
    base = {"solver": "kit.partition", "version": __version__, "seconds": budget}
    tried = max(budget, found["lower"]["seconds"]) if "lower" in found else budget
    if "lower" not in found or outcome.lower_bound > found["lower"]["value"]:
        found["lower"] = {"value": outcome.lower_bound, "method": _best(outcome, "lower"), **base}
    found["lower"]["seconds"] = tried  # what a later run need not try again
    if "best" not in found or outcome.bottleneck < found["best"]["value"]:
        found["best"] = {"value": outcome.bottleneck, "method": _best(outcome, "upper"), **base,
                         "stages": ";".join(map(str, outcome.stages.tolist()))}


def _best(outcome, side):
    """The method whose value is best on one side."""
    values = {name: told[side] for name, told in outcome.methods.items() if told.get(side) is not None}
    pick = max if side == "lower" else min
    return pick(values, key=values.get) if values else "solve"


def _ratio(record):
    return record["lower"]["value"] / record["best"]["value"] if record["best"]["value"] else 1.0


def main(argv=None):
    """Run the command line; returns an exit status."""
    parser = argparse.ArgumentParser(prog="python -m kit.partition.fill", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, help="at most this many pairs")
    parser.add_argument("--at-least", type=float, default=PROVED, help="leave out pairs whose ratio is at least this")
    parser.add_argument("--make", action="store_true", help="trace and draw the graphs anew; forgets all bounds")
    args = parser.parse_args(argv)
    if args.make:
        print(f"{embedded.make()} graphs written to {embedded.HERE}")
        embedded.load.cache_clear()
        embedded.write_bounds({}, BOUNDS)
    records, count = embedded.bounds(), 0
    tasks = open_tasks(records, args.seconds, args.seed, args.at_least)[:args.limit]

    def keep(outcome):
        nonlocal count
        count += 1
        merge(records, outcome, args.seconds)
        if count % 10 == 0:
            embedded.write_bounds(records, BOUNDS)

    _, interrupted = solve_all(tasks, args.jobs, keep)
    embedded.write_bounds(records, BOUNDS)
    ratios = [_ratio(record) for record in records.values()]
    print(f"{count} of {len(tasks)} pairs solved, {sum(r >= PROVED for r in ratios)} of {len(ratios)} proved")
    return 130 if interrupted else 0


if __name__ == "__main__":
    sys.exit(main())
