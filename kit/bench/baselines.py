"""The README's table of baselines: ``python -m kit.bench.baselines --data DIR`` trains each over several seeds.

Prints mean and spread over the seeds on the validation split, or with ``--per-graph`` a row a graph.
"""

import argparse
import platform
import tempfile
import time
from pathlib import Path

import numpy as np

from evaluation import dataset, tracks
from evaluation.scoring import score_submission
from kit.commands import common
from kit.predict import predict
from kit.runs import train


def judge(model, data, seed, *, split="valid", **settings):
    """Train a model with one seed and score a split.

    Parameters
    ----------
    model : str
    data : str or Path
    seed : int
    split : {"train", "valid"}
    **settings
        Passed to `kit.runs.train`.

    Returns
    -------
    result : dict
        What ``score --json`` prints.
    seconds : float
        Of training.
    """
    with tempfile.TemporaryDirectory() as folder:
        run, entry = Path(folder) / "run", Path(folder) / "entry"
        start = time.perf_counter()
        train(model, data, run, seed=seed, report=lambda line: None, **settings)
        seconds = time.perf_counter() - start
        predict(run, data, split, entry, report=lambda line: None)
        truth = tracks.TRACKS["runtime"].load(data, split, None, tracks.Options())
        return score_submission(tracks.read_submission(entry / "submission.csv", truth), truth, split), seconds


def figures(result):
    """Tile top-1 error, tile tau and mean layout tau of a scored submission (None where there is no truth)."""
    groups = result["groups"]
    layouts = [part["score"] for name, part in groups.items() if name.startswith("layout")]
    tile = groups.get("tile:xla", {})
    return tile.get("top1_error"), tile.get("kendall_tau"), np.mean(layouts) if layouts else None


def _cell(values, scale=1.0, digits=3):
    values = [scale * v for v in values if v is not None]
    if not values:
        return "-"
    spread = f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{spread}"


def main():
    """Parse the command line and print the table."""
    parser = argparse.ArgumentParser(prog="python -m kit.bench.baselines", description=__doc__)
    parser.add_argument("--data", required=True, metavar="DIR")
    parser.add_argument("--model", nargs="+", default=["heuristic", "analytic", "gbdt"])
    parser.add_argument("--seeds", type=common.positive, default=3)
    parser.add_argument("--minutes", type=common.positive_number, help="per collection")
    parser.add_argument("--threads", type=common.positive, default=common.cores())
    parser.add_argument("--per-graph", action="store_true", help="print a row for each graph of train and valid")
    args = parser.parse_args()
    settings = {"minutes": args.minutes, "threads": args.threads}
    limit = f"{args.minutes:g} minutes a collection" if args.minutes else "no time limit"
    print(f"{dataset.describe(args.data).label}, {platform.machine()}, {common.cores()} cores, "
          f"seeds 0 to {args.seeds - 1}, {limit}\n")
    (_per_graph if args.per_graph else _table)(args, settings)


def _table(args, settings):
    print("| model | tile top-1 error, % | tile tau | mean layout tau | training, s |\n| --- | --- | --- | --- | --- |")
    for model in args.model:
        done = [judge(model, args.data, seed, **settings) for seed in range(args.seeds)]
        top, tau, layout = zip(*(figures(result) for result, _ in done), strict=True)
        print(f"| {model} | {_cell(top, 100, 2)} | {_cell(tau)} | {_cell(layout)} | "
              f"{_cell([s for _, s in done], 1, 1)} |", flush=True)


def _per_graph(args, settings):
    print("| graph | split | " + " | ".join(args.model) + " |\n| --- | --- |" + " --- |" * len(args.model))
    for split in ("train", "valid"):
        scores = {}
        for model in args.model:
            for seed in range(args.seeds):
                for row in judge(model, args.data, seed, split=split, **settings)[0]["rows"]:
                    scores.setdefault(row["id"], {}).setdefault(model, []).append(row["kendall_tau"])
        for name, by_model in scores.items():
            print(f"| {name} | {split} | " + " | ".join(_cell(by_model[m]) for m in args.model) + " |", flush=True)


if __name__ == "__main__":
    main()
