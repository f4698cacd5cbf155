"""The store: packing against inflating, what it takes, how its cost grows, and how soon training starts from it.

Measured on the data set that ``KIT_BENCH_DATA`` names, by default on the small sample, written for the occasion.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from evaluation.collections import COLLECTIONS, SPLITS, find_root, graph_files
from kit import npz
from kit.bench.growth import exponent
from kit.bench.reading import write_member

VARIABLE = "KIT_BENCH_DATA"
REPEATS, WORKERS, BLOCK = 3, 2, 1 << 18
CONFIGS, NODES = (4_000, 16_000, 64_000), (32, 128, 512)
_FIRST_STEP = """
import sys, time
import lightgbm, numba, polars, torch
import torch._dynamo  # torch.optim imports it, for seconds, when the first optimiser is made
from kit import runs
from kit.models import gbdt, training
model, data, folder, collection = sys.argv[1:]
class Reached(Exception):
    pass
def reached(*_):
    raise Reached
training._Training.advance = reached
gbdt._deadline = lambda minutes: reached
start = time.perf_counter()
try:
    runs.train(model, data, folder, collections=[collection], minutes=1, memory=8_000_000_000, threads=2,
               report=lambda line: None)
except Reached:
    pass
print(time.perf_counter() - start)
"""


def inflate(file):
    """Seconds to inflate all members of an npz file and drop them."""
    start = time.perf_counter()
    with zipfile.ZipFile(file) as archive:
        for name in archive.namelist():
            with archive.open(name) as member:
                while member.read(BLOCK):
                    pass
    return time.perf_counter() - start


def pack(file, collection, target):
    """Seconds to pack a file into a store."""
    from kit.features.store.graph import store_graph

    start = time.perf_counter()
    store_graph(file, collection, target)
    return time.perf_counter() - start


def pair(file, collection, target):
    """(seconds to inflate, seconds to pack) a file, one right after the other; nothing is left behind."""
    found = inflate(file), pack(file, collection, target)
    target.unlink()
    return found


def ratio(files, workers, folder):
    """Speed of packing over that of inflating, all files together, and both in seconds of one process."""
    from joblib import Parallel, delayed

    tasks = [(file, name, Path(folder) / f"{number}.npz") for number, (file, name) in enumerate(files)]
    found = np.array(Parallel(n_jobs=workers)(delayed(pair)(*task) for task in tasks))
    inflated, packed = found.sum(axis=0)
    return inflated / packed, inflated, packed


def growth(folder):
    """How packing time grows with configurations and with configurable nodes: two exponents."""
    from kit.features.packed import Packer

    def seconds(configs, nodes):
        path, packer = Path(folder) / "member.npz", Packer()
        write_member(path, (configs, nodes, 18))
        start = time.perf_counter()
        with zipfile.ZipFile(path) as archive:
            npz.stream_layout_digits(archive, nodes, 18, npz.damaged, packer.start, packer.take, packer.checksum)
        packer.packed()
        return time.perf_counter() - start

    seconds(CONFIGS[0], NODES[0])  # loads the kernels
    return (exponent(CONFIGS, [seconds(c, NODES[1]) for c in CONFIGS]),
            exponent(NODES, [seconds(CONFIGS[0], n) for n in NODES]))


def first_step(model, data, collection):
    """Seconds from the call of `kit.runs.train` to the first step or boosting round, packages imported before."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([sys.executable, "-c", _FIRST_STEP, model, str(data), f"{folder}/run", collection],
                              check=True, capture_output=True, text=True)
    return float(done.stdout)


@contextmanager
def data_set(folder):
    """The data set to measure on, its stores below `folder`."""
    from kit import sample

    before = os.environ.get("KIT_STORE")
    os.environ["KIT_STORE"] = f"{folder}/stores"
    try:
        if os.environ.get(VARIABLE):
            yield Path(os.environ[VARIABLE])
        else:
            sample.write(Path(folder) / "sample", workers=WORKERS)
            yield Path(folder) / "sample"
    finally:
        os.environ.pop("KIT_STORE")
        if before is not None:
            os.environ["KIT_STORE"] = before


def rows():
    """Rows of the bench table."""
    from kit.features.store.build import build

    with tempfile.TemporaryDirectory() as folder, data_set(folder) as data:
        root = find_root(data)
        files = [(f, name) for name in COLLECTIONS for split in SPLITS for f in graph_files(root, name, split)]
        layouts = [f for f in files if f[1].startswith("layout")]
        ratio(layouts[:4], WORKERS, folder)  # loads the kernels
        found = [ratio(layouts, WORKERS, folder) for _ in range(REPEATS)]
        speed, inflated, packed = (statistics.median(column) for column in zip(*found, strict=True))
        store = build(data, workers=WORKERS, report=lambda line: None)
        entries = [store.entry(file) for file, _ in layouts]
        sites = sum(e["configs"] * e["configurable"] for e in entries)
        yield (f"packing {len(layouts)} layout files of {72e-6 * sites / len(layouts):.0f} MB, {WORKERS} processes",
               f"{100 * speed:.0f} % of inflating's speed",
               f"{packed:.1f} s against {inflated:.1f} s of one process, median of {REPEATS} runs of pairs")
        yield ("a store's layout configurations", f"{sum(e['codes'] for e in entries) / sites:.3f} bytes a node",
               f"{sum(e['configs'] for e in entries):,} configurations, {sites:,} of configurable nodes")
        by_configs, by_nodes = growth(folder)
        yield ("growth of packing time", f"configurations^{by_configs:.2f}, configurable nodes^{by_nodes:.2f}",
               "slopes of logarithms, three sizes each")
        for model in ("gbdt", "gru", "sage"):
            first_step(model, data, "layout:xla:random")  # makes what is kept
            seconds = statistics.median(first_step(model, data, "layout:xla:random") for _ in range(REPEATS))
            yield f"first step of {model} from a store", f"{seconds:.2f} s", f"second run, median of {REPEATS}"
