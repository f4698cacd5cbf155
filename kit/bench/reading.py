"""Reading the largest layout file of the data set: a 100,040 x 364 x 18 float32 member, 2.6 GB inflated."""

import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np

from kit import npz

SHAPE = (100_040, 364, 18)
REPEATS = 5

_INFLATE = """
import sys, time, zipfile
start = time.perf_counter()
with zipfile.ZipFile(sys.argv[1]) as archive, archive.open("node_config_feat.npy") as file:
    while file.read(1 << 18):
        pass
print(time.perf_counter() - start)
"""
_READ = """
import sys, time, zipfile
from kit import narrow, npz
from kit.probe import peak
def fail(*problem):
    raise ValueError(problem)
start = time.perf_counter()
with zipfile.ZipFile(sys.argv[1]) as archive:
    npz.read_layout_digits(archive, 364, 18, fail)
print(time.perf_counter() - start, peak())
"""
_LOAD = """
import sys, time
import numpy as np
from kit.probe import peak
start = time.perf_counter()
with np.load(sys.argv[1]) as archive:
    archive["node_config_feat"]
print(time.perf_counter() - start, peak())
"""


def write_member(path, shape=SHAPE, seed=0):
    """Write a file with one streamed member of layouts, each node drawing among a few, as real files do."""
    rng = np.random.default_rng(seed)
    choices = np.full((16, 18), -1, np.float32)
    for choice in choices[1:]:
        for slot in (0, 6, 12):
            choice[slot:slot + 4] = rng.permutation(4)
    rows = 2_000
    pieces = (choices[np.minimum(rng.geometric(0.4, (min(rows, shape[0] - i), shape[1])) - 1, 15)]
              for i in range(0, shape[0], rows))
    npz.write(path, {"node_config_feat": (shape, np.float32, pieces)})


def _child(script, path):
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.split()]


def _features(kind):
    """Seconds to turn a graph of that size into a table; in memory, after imports and compilation."""
    from kit.bench.growth import layout_graph
    from kit.features import layout

    layout.table(layout_graph(100, 3 * SHAPE[1], SHAPE[1]), kind)
    graph = layout_graph(SHAPE[0], 3 * SHAPE[1], SHAPE[1])
    start = time.perf_counter()
    layout.table(graph, kind)
    return time.perf_counter() - start


def rows():
    """Time and peak memory of the reader against inflating and discarding the same blocks, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.npz"
        write_member(path)
        with zipfile.ZipFile(path) as archive:
            info = archive.infolist()[0]
        _child(_READ, path)  # compiles the kernel once, as a first use of the kit does
        pairs = [(_child(_INFLATE, path)[0], *_child(_READ, path), *_child(_LOAD, path)) for _ in range(REPEATS)]
    inflate, read, memory, load, loaded = (statistics.median(column) for column in zip(*pairs, strict=True))
    ratio = statistics.median(r / i for i, r, *_ in pairs)
    size = f"{info.file_size / 1e9:.2f} GB from {info.compress_size / 1e6:.0f} MB"
    yield "inflating and discarding 100,040 x 364 x 18 float32", f"{inflate:.2f} s", size
    yield "reading it as checked int8", f"{read:.2f} s", f"{ratio:.2f} times inflating (median of {REPEATS} pairs)"
    yield "peak memory of reading it", f"{memory / 1e9:.2f} GB", "the process's largest resident set"
    yield "numpy.load of it, as float32", f"{load:.2f} s", f"peak memory {loaded / 1e9:.2f} GB"
    for kind in ("physical", "wide"):
        yield (f"features ({kind}) of {SHAPE[0]:,} configurations of {SHAPE[1]} nodes", f"{_features(kind):.1f} s",
               "once, simulated graph in memory")
