"""What ranking a graph costs with each model: milliseconds a configuration and memory, features and reading included.

On the real graphs in the folder ``KIT_REAL_DATA`` where that is set, else on those of the embedded sample that are
nearest in size. The models are fitted for a few steps only: what they cost does not depend on how well they rank.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from evaluation.collections import find_root, graph_files
from kit.graphs import read_graph

MODELS = ("gbdt", "gru", "sage")
THREADS = (1, 2)
REPEATS = 5
MIDDLE, LARGE = ("layout:xla:default", "valid", 3_163), ("layout:nlp:default", "test", 21_918)  # and number of nodes

_PREDICT = """
import json, sys, time
from kit.graphs import read_graph
from kit.models import ranker as rankers
from kit.probe import peak
model, folder, graph, collection, threads, repeats = sys.argv[1:]
ranker = rankers.resolve(model).load(folder)
ranker.threads = int(threads)
seconds, cpu = [], []
for _ in range(int(repeats)):
    start, used = time.perf_counter(), time.process_time()
    ranker.scores(read_graph(graph, collection))
    seconds.append(time.perf_counter() - start)
    cpu.append(time.process_time() - used)
print(json.dumps({"seconds": seconds, "cpu": cpu, "memory": peak()}))
"""


def fit(model, data, folder, graphs=4, steps=2):
    """Fit a model for a few steps on the first graphs of a collection and save it."""
    from kit.graphs import Graphs
    from kit.models import ranker as rankers

    ranker = rankers.resolve(model)()
    ranker.fit(Graphs(data, MIDDLE[0], "train")[:graphs], (), seed=0, minutes=None, steps=steps, folder=None, threads=1)
    folder.mkdir()
    ranker.save(folder)


def nearest(data, collection, split, nodes):
    """The file of a collection's split whose number of nodes is nearest."""
    files = graph_files(find_root(data), collection, split)
    return min(files, key=lambda file: (abs(read_graph(file, collection).nodes - nodes), file.name))


def measure(model, folder, file, collection, threads, repeats):
    """Seconds and CPU seconds of each repetition, and the peak memory of a process that does nothing else."""
    done = subprocess.run([sys.executable, "-c", _PREDICT, model, str(folder), str(file), collection, str(threads),
                           str(repeats)], check=True, capture_output=True, text=True, encoding="utf-8")
    return json.loads(done.stdout.splitlines()[-1])


def row(model, folder, file, collection, threads, repeats):
    """A row of the bench table."""
    found = measure(model, folder, file, collection, threads, repeats)
    graph = read_graph(file, collection)
    each = 1e3 / graph.configs
    used = statistics.median(found["cpu"][1:] or found["cpu"])
    taken = statistics.median(found["seconds"][1:] or found["seconds"])
    note = f"{used * each:.3f} ms of CPU, {found['memory'] / 1e9:.2f} GB of memory at most"
    return (f"{model}, {threads} thread{'s'[:threads > 1]}: {graph.id} ({graph.nodes:,} nodes, "
            f"{graph.configs:,} configurations)", f"{taken * each:.3f} ms a configuration", note)


def ranked(work):
    """A data set to learn from, written into a folder, and the files to rank: of middle size and large."""
    from kit import sample

    data = Path(work) / "sample"
    sample.write(data, collections=(MIDDLE[0], LARGE[0]), workers=1)
    real = os.environ.get("KIT_REAL_DATA")
    return data, *(nearest(real or data, *where) for where in (MIDDLE, LARGE))


def rows():
    """Every model with one and two threads on the graph of middle size, with one on the large one."""
    with tempfile.TemporaryDirectory() as work:
        data, middle, large = ranked(work)
        for model in MODELS:
            fit(model, data, Path(work) / model)
            for threads in THREADS:
                yield row(model, Path(work) / model, middle, MIDDLE[0], threads, REPEATS)
            yield row(model, Path(work) / model, large, LARGE[0], 1, 1)
