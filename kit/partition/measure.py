"""``python -m kit.partition.measure``: certified ratios on random graphs, by topology and ratio, as a table.

Beside what `solve` certifies stand the simple bound and the bounds of the paper alone (bottleneck and guess, by HiGHS),
all over the same best partitions. 27 graphs: three topologies, three ratios of transfer to work, three seeds.
"""

import argparse
import sys

import numpy as np

from evaluation.engine import in_order, open_engine
from kit.partition.jobs import Task, solve_all
from kit.partition.random_graphs import RATIOS, generate

TOPOLOGIES, SEEDS = ("er", "ba", "ws"), (1, 2, 3)


def _paper(limited):
    """The simple bound and the best of the paper's, in seconds; at module level, so that it can be sent to a worker."""
    from kit.partition.bounds import paper_bounds

    task, seconds = limited
    found = paper_bounds(task.instance, task.k, seconds)
    return found["simple"], max(found.values())


def measure(k, seconds, jobs, nodes=100, seeds=SEEDS, paper_seconds=None):
    """Ratios of all graphs.

    Parameters
    ----------
    k : int
    seconds : float
        For each graph.
    jobs : int
        Processes.
    nodes : int
    seeds : sequence of int
    paper_seconds : float, optional
        For each of the paper's two bounds; as much as `seconds` if not given.

    Returns
    -------
    dict of (str, float) to float64 array (graphs, 3)
        (topology, ratio) -> simple, paper's and certified ratio of each of its graphs.
    """
    kinds = [(topology, ratio) for topology in TOPOLOGIES for ratio in RATIOS for _ in seeds]
    graphs = [generate(topology, nodes, ratio, seed) for topology in TOPOLOGIES for ratio in RATIOS for seed in seeds]
    tasks = [Task(graph.name, graph, k, None, {"seconds": seconds, "seed": 0}) for graph in graphs]
    outcomes, interrupted = solve_all(tasks, jobs)
    if interrupted:
        raise KeyboardInterrupt
    with open_engine(jobs=jobs) as engine:
        bounds = list(in_order(engine.map(_paper, [(task, paper_seconds or seconds) for task in tasks])))
    found = {}
    for kind, outcome, (simple, paper) in zip(kinds, outcomes, bounds, strict=True):
        row = (simple / outcome.bottleneck, paper / outcome.bottleneck, outcome.certified_ratio)
        found.setdefault(kind, []).append(row)
    return {kind: np.array(rows) for kind, rows in found.items()}


def format_table(found, k, seconds, paper_seconds=None):
    """Geometric means by topology and ratio and over all graphs, as Markdown."""
    def line(name, rows):
        means = np.exp(np.log(rows).mean(axis=0))
        figures = [*means, rows[:, 2].min()]
        return f"| {name} | {len(rows)} | " + " | ".join(f"{figure:.4f}" for figure in figures) + " |"

    lines = [f"k = {k}, {seconds:g} s a graph and {paper_seconds or seconds:g} s for each of the paper's bounds; "
             "lower bound / best partition, geometric means", "",
             "| topology, transfer/work | graphs | simple bound | paper's bounds | certified | lowest |",
             "| --- | --- | --- | --- | --- | --- |"]
    lines += [line(f"{topology}, {ratio:g}", rows) for (topology, ratio), rows in found.items()]
    return "\n".join([*lines, line("all", np.concatenate(list(found.values())))])


def main(argv=None):
    """Run the command line; returns an exit status."""
    parser = argparse.ArgumentParser(prog="python -m kit.partition.measure", description=__doc__)
    parser.add_argument("-k", type=int, nargs="+", default=[16])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--paper-seconds", type=float, help="for each of the paper's bounds (default: as much)")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--nodes", type=int, default=100)
    args = parser.parse_args(argv)
    for k in args.k:
        found = measure(k, args.seconds, args.jobs, args.nodes, paper_seconds=args.paper_seconds)
        print(format_table(found, k, args.seconds, args.paper_seconds), end="\n\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
