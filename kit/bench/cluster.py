"""Dask workers on this machine: how much faster two of one thread each are than one."""

import statistics
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

from evaluation.engine import in_order, open_engine

SOLVES, EVALUATIONS, STAGES = 40, 100, 3
NODES = 23  # about a fifth of a second each, most of it for the bound
COPIES = 6  # of the sample's layout graphs, so that the work is longer than the last task
ROUNDS = 3


def solves(engine):
    """Solve some random graphs by a fixed number of evaluations."""
    from kit.partition.jobs import Task, solve_task
    from kit.partition.random_graphs import generate

    tasks = [Task(str(seed), generate("er", NODES, 0.5, seed), STAGES, None,
                  {"evaluations": EVALUATIONS, "seed": seed}) for seed in range(SOLVES)]
    return [outcome.stages.tolist() for outcome in in_order(engine.map(solve_task, tasks))]


def features(engine, graphs):
    """Compute the feature tables of graphs."""
    from kit.models.tables import tables

    return [table.features.tobytes() for table in tables(graphs, "wide", 10_000, 0, engine)]


def _graphs(folder):
    from kit import sample
    from kit.graphs import Graphs

    name = "layout:xla:random"
    sample.write(folder, collections=[name], workers=1)
    return Graphs.of(Graphs(folder, name, "train").files * COPIES, name)


def _pairs(work, engines):
    """Seconds with one worker and with two, in turns; `RuntimeError` where the results differ."""
    results = [work(engine) for engine in engines]  # imports, compiled kernels
    if results[0] != results[1]:
        raise RuntimeError("results depend on the number of workers")
    pairs = []
    for _ in range(ROUNDS):
        seconds = []
        for engine in engines:
            start = time.perf_counter()
            work(engine)
            seconds.append(time.perf_counter() - start)
        pairs.append(seconds)
    return pairs


def rows():
    """Rows of the bench table."""
    if not find_spec("distributed"):
        yield "two Dask workers beside one", "not measured", "the extra `cluster` is not installed"
        return
    with tempfile.TemporaryDirectory() as folder, open_engine("1") as one, open_engine("2") as two:
        graphs = _graphs(Path(folder) / "sample")
        for what, work in ((f"{SOLVES} partition solves of {EVALUATIONS} evaluations", solves),
                           (f"features of {len(graphs)} layout graphs (sample, simulated)",
                            lambda engine: features(engine, graphs))):
            pairs = _pairs(work, (one, two))
            ratio = statistics.median(first / second for first, second in pairs)
            seconds = [statistics.median(column) for column in zip(*pairs, strict=True)]
            yield (f"{what}: two local Dask workers beside one", f"{ratio:.2f} times as fast",
                   f"{seconds[1]:.1f} s against {seconds[0]:.1f} s, median of {ROUNDS} pairs, results equal")


if __name__ == "__main__":
    for row in rows():
        print(": ".join(row[:2]), f"({row[2]})")
