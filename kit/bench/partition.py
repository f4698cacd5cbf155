"""Slicing of orders at the paper's budgets and on large graphs, and the bound of a profile of medium size.

Real graphs are read where KIT_REAL_DATA points; without it the largest embedded one and random layers of the same size
take their place.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from evaluation.instance import Instance
from kit.partition import embedded, instances
from kit.partition.orders import standard_orders
from kit.partition.problem import from_instance
from kit.partition.slicegraph import slice_order, slicegraph
from kit.partition.solve import solve

K, GIB = 16, 1024**3
PROFILES = "partition/pipedream"
LARGE = "npz/layout/nlp/default/test/3a0c5517a87df8d82fd637b83298a3ba.npz"
NODES = {"large": 21_918, "huge": 40_000}

_ONE_ORDER = """
import sys
from kit.bench.partition import NODES, graph, one_order
from kit.probe import peak
one_order(graph(sys.argv[1]))
print(peak())
"""


def layers(n, seed=0):
    """A random graph (simulated) whose nodes take the outputs of one or two of the dozen nodes before them."""
    random = np.random.default_rng(seed)
    node = np.arange(1, n)
    edges = np.concatenate([np.stack([np.maximum(0, node - random.integers(1, 13, n - 1)), node], 1) for _ in range(2)])
    return Instance(f"layers-{n}", "random layers", True, GIB, None, 0, [K], [f"n{v}" for v in range(n)],
                    random.uniform(1e-6, 2e-6, n), np.zeros(n), np.round(random.uniform(100, 500, n)),
                    np.unique(edges, axis=0))


def _real(path):
    root = os.environ.get("KIT_REAL_DATA")
    file = Path(root or ".") / path
    return instances.read(file, bandwidth=16 * GIB)[0] if root and file.is_file() else None


def graph(name):
    """The instance of a row: ``paper``, ``medium``, ``large`` or ``huge``."""
    if name == "paper":
        return _real(f"{PROFILES}/nasnetalarge.graph.txt") or embedded.load()["clip"]
    if name == "medium":
        return _real(f"{PROFILES}/densenet121.graph.txt") or embedded.load()["densenet121"]
    return (_real(LARGE) if name == "large" else None) or layers(NODES[name])


def one_order(instance):
    """Seconds to slice the first of the usual orders into 16 stages, after compilation."""
    small, _ = from_instance(layers(50))
    slice_order(small, standard_orders(small)[0], K)
    problem, _ = from_instance(instance)
    order = standard_orders(problem)[0]
    start = time.perf_counter()
    slice_order(problem, order, K)
    return time.perf_counter() - start


def _peak(name):
    """Largest resident set, in MB, of a process that slices one order of the graph."""
    done = subprocess.run([sys.executable, "-c", _ONE_ORDER, name], check=True, capture_output=True, text=True)
    return int(done.stdout) / 1e6


def solved(instance, k):
    """What `kit.partition.solve.solve` finds within a minute, and its seconds; a first call compiles what it needs."""
    solve(instance, k, seconds=60)
    start = time.perf_counter()
    return solve(instance, k, seconds=60), time.perf_counter() - start


def rows():
    """Rows of the bench table."""
    instance = graph("paper")
    problem, _ = from_instance(instance)
    slicegraph(problem, K, population=4, generations=2, threads=2)  # compiles
    for budget in (10, 100):
        start = time.perf_counter()
        slicegraph(problem, K, population=budget, generations=budget, threads=2)
        yield (f"SliceGraph {budget} x {budget}, k = {K}, two threads", f"{time.perf_counter() - start:.2f} s",
               f"{instance.name}, {len(instance):,} nodes")
    for name in NODES:
        instance = graph(name)
        yield (f"one order into {K} stages", f"{one_order(instance):.2f} s",
               f"{instance.name}, {len(instance):,} nodes")
        yield ("peak memory of it", f"{_peak(name):.0f} MB", "the process's largest resident set")
    instance = graph("medium")
    found, seconds = solved(instance, K)
    yield (f"partition and bound, k = {K}", f"{seconds:.2f} s",
           f"{instance.name}, {len(instance):,} nodes, certified ratio {found.lower_bound / found.bottleneck:.4f}")
