"""The README's tables of baselines: ``python -m kit.bench.baselines --data DIR`` trains each over several seeds.

Prints mean and spread over the seeds on the validation split, a row for each combination of model, loss and join that
was asked for, or with ``--per-graph`` a row a graph.
"""

import argparse
import inspect
import platform
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

import numpy as np

from evaluation import dataset, tracks
from evaluation.cli import guarded
from evaluation.collections import COLLECTIONS
from evaluation.scoring import score_submission
from kit.bench import cells
from kit.commands import common
from kit.models import ranker as rankers
from kit.predict import predict
from kit.runs import train

LISTED = ("objective", "join")  # options of which a table may compare several values
SPLITS = ("train", "valid")


def judge(model, data, seed, splits=("valid",), **settings):
    """Train a model with one seed and score splits.

    Parameters
    ----------
    model : str
    data : str or Path
    seed : int
    splits : sequence of str
        With known runtimes.
    **settings
        Passed to `kit.runs.train`.

    Returns
    -------
    dict
        ``seconds`` of training, and for every split ``groups`` and ``rows`` as ``score --json`` prints them; only
        the collections that were trained.
    """
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        start = time.perf_counter()
        record = train(model, data, run, seed=seed, report=lambda line: None, **settings)
        found = {"seconds": time.perf_counter() - start}
        for split in splits:
            predict(run, data, split, Path(folder) / split, report=lambda line: None)
            result = _score(Path(folder) / split / "submission.csv", data, split)
            groups = {name: part for name, part in result["groups"].items() if name in record["collections"]}
            rows = [row for row in result["rows"] if tracks.TRACKS["runtime"].group(row["id"]) in groups]
            found[split] = {"groups": groups, "rows": rows}
        return found


def _score(file, data, split):
    truth = tracks.TRACKS["runtime"].load(data, split, None, tracks.Options())
    return score_submission(tracks.read_submission(file, truth), truth, split)


def figures(result):
    """Tile top-1 error, tile tau and mean layout tau of a scored split (None where there is no truth)."""
    groups = result["groups"]
    layouts = [part["score"] for name, part in groups.items() if name.startswith("layout")]
    tile = groups.get("tile:xla", {})
    return tile.get("top1_error"), tile.get("kendall_tau"), np.mean(layouts) if layouts else None


def variants(models, listed, fixed):
    """(model, options) for every model with every combination of the options that its `fit` takes.

    Parameters
    ----------
    models : list of str
    listed : dict of str to list
        Values to compare.
    fixed : dict
        Options for all that take them.
    """
    for model in models:
        taken = inspect.signature(rankers.resolve(model).fit).parameters
        names = [name for name in listed if name in taken]
        same = {name: value for name, value in fixed.items() if name in taken}
        for values in product(*(listed[name] for name in names)):
            yield model, dict(zip(names, values, strict=True)) | same


def cell(values, scale=1.0, digits=3):
    """Mean and spread of values for a table; None are left out."""
    values = [scale * v for v in values if v is not None]
    if not values:
        return "-"
    spread = f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{spread}"


def shared_arguments(parser):
    """Declare the arguments of every table of trained models."""
    parser.add_argument("--data", required=True, metavar="DIR")
    parser.add_argument("--seeds", type=common.positive, default=3)
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--minutes", type=common.positive_number, help="per collection")
    budget.add_argument("--steps", type=common.positive)
    parser.add_argument("--threads", type=common.positive, default=common.cores(), help="of each cell")
    parser.add_argument("--collection", action="append", choices=list(COLLECTIONS), metavar="C",
                        help="one of the five, repeatable (default: all)")
    cells.arguments(parser)


def shared_settings(args):
    """What `judge` and the like get from these arguments, as plain values."""
    return {"data": args.data, "minutes": args.minutes, "steps": args.steps, "threads": args.threads,
            "collections": args.collection}


def heading(args):
    """A line that says on what, where and how a table was measured."""
    limit = f"{args.minutes:g} minutes a collection" if args.minutes else f"{args.steps} steps" if args.steps else \
        "no time limit"
    seeds = f"seeds 0 to {args.seeds - 1}" if args.seeds > 1 else "seed 0"
    side = f", {args.jobs} side by side" if args.jobs > 1 else ""
    return (f"{dataset.describe(args.data).label}, {platform.machine()}, {common.cores()} cores, {seeds}, {limit}, "
            f"threads: {args.threads}{side}\n")


def main(argv=None):
    """Parse the command line and print the table; returns an exit status."""
    parser = argparse.ArgumentParser(prog="python -m kit.bench.baselines", description=__doc__)
    shared_arguments(parser)
    parser.add_argument("--model", nargs="+", default=["heuristic", "analytic", "gbdt"])
    parser.add_argument("--objective", nargs="+", metavar="O", help="losses to compare")
    parser.add_argument("--join", nargs="+", metavar="J", help="early and late, to compare (gru, sage)")
    parser.add_argument("--no-cost", action="store_true", help="without the estimate of the nodes' costs (gru, sage)")
    parser.add_argument("--per-graph", action="store_true", help="print a row for each graph of train and valid")
    args = parser.parse_args(argv)
    return guarded(_per_graph if args.per_graph else _table, args)


def _measured(args, splits):
    """(model, options, results over the seeds) of every variant, as they finish."""
    listed = {name: getattr(args, name) for name in LISTED if getattr(args, name)}
    rows = list(variants(args.model, listed, {"cost": False} if args.no_cost else {}))
    todo = [{"model": model, "seed": seed, "splits": list(splits), **shared_settings(args), **options}
            for model, options in rows for seed in range(args.seeds)]
    print(heading(args), flush=True)
    results = cells.compute(judge, todo, jobs=args.jobs, keep=args.keep)
    return list(listed), ((model, options, [next(results) for _ in range(args.seeds)]) for model, options in rows)


def _name(model, options):
    return f"{model}, no cost" if options.get("cost") is False else model


def _table(args):
    listed, measured = _measured(args, SPLITS[1:])
    titles = ["model", *("loss" if name == "objective" else name for name in listed), "tile top-1 error, %", "tile tau",
              "mean layout tau", "training, s"]
    print(f"| {' | '.join(titles)} |\n|{' --- |' * len(titles)}", flush=True)
    for model, options, done in measured:
        top, tau, layout = zip(*(figures(result["valid"]) for result in done), strict=True)
        row = [_name(model, options), *(options.get(name, "-") for name in listed), cell(top, 100, 2), cell(tau),
               cell(layout), cell([result["seconds"] for result in done], 1, 1)]
        print(f"| {' | '.join(row)} |", flush=True)


def _per_graph(args):
    scores, names = {}, []
    for model, options, done in _measured(args, SPLITS)[1]:
        names.append(" ".join([_name(model, options), *(str(options[n]) for n in LISTED if n in options)]))
        for split in SPLITS:
            for row in (row for result in done for row in result[split]["rows"]):
                scores.setdefault((split, row["id"]), {}).setdefault(names[-1], []).append(row["kendall_tau"])
    print("| graph | split | " + " | ".join(names) + " |\n| --- | --- |" + " --- |" * len(names))
    for (split, name), found in scores.items():
        print(f"| {name} | {split} | " + " | ".join(cell(found.get(n, [])) for n in names) + " |")


if __name__ == "__main__":
    sys.exit(main())
