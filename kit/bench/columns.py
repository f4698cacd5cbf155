"""Whether a data set is trivial: the best single feature column beside the gbdt, both on valid and test.

``python -m kit.bench.columns --data DIR`` trains the gbdt with its defaults and prints, for every collection, its mean
tau and that of the best column of each feature set, chosen in hindsight for the collection as a whole. Test graphs
count where DIR has their answers, as the embedded sample does.
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from evaluation import dataset
from evaluation.collections import COLLECTIONS
from evaluation.metrics import kendall_tau
from kit.commands import common
from kit.graphs import Graphs
from kit.models.gbdt import FEATURE_SETS
from kit.models.ranker import resolve
from kit.models.tables import feature_module


def judged(data, collection):
    """Labelled graphs of valid and test, the latter's runtimes from ``answers/test.parquet`` where that is there.

    Parameters
    ----------
    data : str or Path
    collection : str

    Returns
    -------
    list of TileGraph or LayoutGraph
    """
    found, file = list(Graphs(data, collection, "valid")), Path(data) / "answers" / "test.parquet"
    answers = pl.read_parquet(file).sort("id", "config") if file.is_file() else None
    for graph in Graphs(data, collection, "test") if answers is not None else ():
        runtime = answers.filter(pl.col("id") == graph.id)["runtime"].to_numpy()
        found.append(replace(graph, config_runtime=runtime))
    return [graph for graph in found if graph.config_runtime is not None]


def learnt(data, collection, graphs, *, seed=0, threads=1):
    """Mean tau of the gbdt with its defaults, trained on a collection, over `graphs`.

    Parameters
    ----------
    data : str or Path
    collection : str
    graphs : list of TileGraph or LayoutGraph
        From `judged`.
    seed, threads : int

    Returns
    -------
    float
    """
    ranker = resolve("gbdt")()
    with tempfile.TemporaryDirectory() as folder:
        ranker.fit(Graphs(data, collection, "train"), Graphs(data, collection, "valid"), seed=seed, minutes=None,
                   steps=None, folder=Path(folder), threads=threads)
    return float(np.mean([kendall_tau(ranker.scores(graph), graph.config_runtime) for graph in graphs]))


def column_taus(graphs, feature_set):
    """Mean tau of every feature column alone, over `graphs`; below 0 where larger means faster.

    Parameters
    ----------
    graphs : list of TileGraph or LayoutGraph
    feature_set : {"physical", "wide"}

    Returns
    -------
    dict of str to float
        0 counts for graphs in which a column is constant.
    """
    taus = {}
    for graph in graphs:
        frame = feature_module(graph).table(graph, feature_set).drop("graph_id", "config")
        for column in frame.columns:
            values = frame[column].to_numpy()
            tau = kendall_tau(values, graph.config_runtime) if np.ptp(values) else 0.0
            taus.setdefault(column, []).append(tau)
    return {column: float(np.mean(found)) for column, found in taus.items()}


def main():
    """Parse the command line and print the table."""
    parser = argparse.ArgumentParser(prog="python -m kit.bench.columns", description=__doc__)
    parser.add_argument("--data", required=True, metavar="DIR")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=common.positive, default=common.cores())
    args = parser.parse_args()
    print(f"{dataset.describe(args.data).label}, seed {args.seed}\n\n| collection | graphs | gbdt | "
          + " | ".join(f"best of {name} | share, %" for name in FEATURE_SETS) + " |\n| --- |" + " --- |" * 6)
    for collection in COLLECTIONS:
        graphs, cells = judged(args.data, collection), []
        if not graphs:
            continue
        tau = learnt(args.data, collection, graphs, seed=args.seed, threads=args.threads)
        for feature_set in FEATURE_SETS:
            column, best = max(column_taus(graphs, feature_set).items(), key=lambda pair: abs(pair[1]))
            cells += [f"{best:.3f} `{column}`", f"{100 * abs(best) / tau:.0f}"]
        print(f"| {collection} | {len(graphs)} | {tau:.3f} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
