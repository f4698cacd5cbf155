"""What the parts of the GRU are worth: ``python -m kit.bench.ablations --data DIR --minutes M``.

Prints the validation score of each collection (tile score, mean tau of layouts) and the tile tau for the GRU as it is,
without the estimate of the nodes' costs, with its nodes read in a random order at prediction, for the gbdt, and for the
mean of both models' scores, each scaled to 0..1 within its graph. Over several seeds, mean and spread.
"""

import argparse
import sys
import tempfile

import numpy as np

from evaluation import metrics
from evaluation.cli import guarded
from evaluation.collections import COLLECTIONS
from kit import submission
from kit.bench import baselines, cells
from kit.distinct import runtimes
from kit.graphs import Graphs, TileGraph
from kit.models import ranker as rankers
from kit.runs import train

ROWS = ("gru", "gru, no cost", "gru, nodes shuffled", "gbdt", "gru + gbdt")
SHUFFLES = 3  # random orders whose scores are averaged


def scores_of(model, data, seed, shuffles=0, **settings):
    """Train a model and score the validation split.

    Parameters
    ----------
    model, data, seed
        As in `kit.bench.baselines.judge`.
    shuffles : int
        How many random orders of the nodes to score with besides.
    **settings
        Passed to `kit.runs.train`.

    Returns
    -------
    dict
        Collection to graph to a list of scores: those of the model, then those of each random order.
    """
    with tempfile.TemporaryDirectory() as run:
        record = train(model, data, run, seed=seed, report=lambda line: None, **settings)
        return {name: _scored(rankers.load(run, name).rankers[0], Graphs(data, name, "valid"), shuffles)
                for name in record["collections"]}


def _scored(ranker, graphs, shuffles):
    found = {graph.id: [ranker.scores(graph).tolist()] for graph in graphs}
    for shuffle in range(shuffles):
        ranker.network.body.shuffle = shuffle
        for graph in graphs:
            found[graph.id].append(ranker.scores(graph).tolist())
    return found


def merit(graph, scores):
    """What the contest gives for scores, and their tau: tile score or tau of the ranking that they make."""
    listed, target = submission.rank(scores, graph.id), runtimes(graph)
    tau = metrics.kendall_tau(metrics.listed_ranks(listed, graph.configs), target)
    return (metrics.tile_score(listed, target) if isinstance(graph, TileGraph) else tau), tau


def rows_of(graph, gru, no_cost, gbdt):
    """Score and tau of a graph for each row of the table, from what `scores_of` gives: shape (5, 2)."""
    blend = (rankers.min_max(gru[0]) + rankers.min_max(gbdt[0])) / 2
    shuffled = np.mean([merit(graph, scores) for scores in gru[1:]], axis=0)
    return np.array([merit(graph, gru[0]), merit(graph, no_cost[0]), shuffled, merit(graph, gbdt[0]),
                     merit(graph, blend)])


def means(data, found):
    """Means over the graphs of each collection.

    Parameters
    ----------
    data : str or Path
    found : list of dict
        Of `scores_of` for the gru, the gru without costs and the gbdt.

    Returns
    -------
    dict
        Collection to an array of shape (5, 2): for each row of the table its score and its tau.
    """
    return {name: np.mean([rows_of(graph, *(scores[name][graph.id] for scores in found))
                           for graph in Graphs(data, name, "valid")], axis=0) for name in found[0]}


def _print(args):
    models = [{"model": "gru", "shuffles": SHUFFLES}, {"model": "gru", "cost": False}, {"model": "gbdt"}]
    todo = [model | {"seed": seed, **baselines.shared_settings(args)} for seed in range(args.seeds) for model in models]
    print(baselines.heading(args), flush=True)
    results = cells.compute(scores_of, todo, jobs=args.jobs, keep=args.keep)
    seeds = []
    for seed in range(args.seeds):
        seeds.append(means(args.data, [next(results) for _ in models]))
        if args.seeds > 1:
            print(f"seed {seed}\n\n{table(seeds[-1:])}\n", flush=True)
    print(table(seeds))


def table(seeds):
    """Mean and spread over seeds of what `means` gives, as Markdown."""
    names = [name for name in COLLECTIONS if name in seeds[0]]
    layouts = [name for name in names if name.startswith("layout")]
    columns = {name: [found[name][:, 0] for found in seeds] for name in names}
    if "tile:xla" in names:
        columns["tile tau"] = [found["tile:xla"][:, 1] for found in seeds]
    if layouts:
        columns["layouts"] = [np.mean([found[name][:, 0] for name in layouts], axis=0) for found in seeds]
    lines = [f"| {' | '.join(['', *columns])} |", "|" + " --- |" * (1 + len(columns))]
    lines += [f"| {row} | " + " | ".join(baselines.cell([v[i] for v in values]) for values in columns.values()) + " |"
              for i, row in enumerate(ROWS)]
    return "\n".join(lines)


def main(argv=None):
    """Parse the command line and print the table; returns an exit status."""
    parser = argparse.ArgumentParser(prog="python -m kit.bench.ablations", description=__doc__)
    baselines.shared_arguments(parser)
    return guarded(_print, parser.parse_args(argv))


if __name__ == "__main__":
    sys.exit(main())
