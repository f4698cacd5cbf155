"""How cost grows: time and memory at several sizes, and the exponents of the power laws through them."""

import statistics
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np
from joblib.externals.loky import ProcessPoolExecutor

from evaluation import statistics as intervals
from evaluation.metrics import kendall_tau
from kit import npz, probe
from kit.bench.reading import write_member

REPEATS = 3
SLOTS = 18
TINY = 16  # part of the smallest size that a process does before its memory is looked at
SEEN = 4e6  # bytes: a process's memory is no finer than that
CONFIGS, NODES = (1_000, 4_000, 16_000), (500, 2_000, 8_000)
ORDER_NODES, STAGES = (1_000, 4_000, 16_000), (4, 16, 64)
BOUND_NODES, BOUND_STAGES = (100, 400, 1_600), (2, 4, 8)
GRAPHS = (100, 400, 1_600)


def exponent(sizes, seconds):
    """Fit ``seconds = c * sizes ** b`` by least squares of the logarithms.

    Parameters
    ----------
    sizes, seconds : sequence of float
        Positive; at least two different sizes.

    Returns
    -------
    float
        b: 1 is linear growth, 2 quadratic.
    """
    return float(np.polyfit(np.log(np.asarray(sizes, float)), np.log(np.asarray(seconds, float)), 1)[0])


def measure(work, *arguments):
    """Median seconds of ``work(*arguments)``, the first call left out: it compiles and warms caches."""
    seconds = []
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        work(*arguments)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])


def memory(sizes, make, work):
    """Bytes that ``work(make(size))`` adds to a process, at each size; sizes increase."""
    with ProcessPoolExecutor(max_workers=1) as pool:  # fresh, and it takes functions of any kind
        return pool.submit(_added, sizes, make, work).result()


def _added(sizes, make, work):
    work(make(max(1, sizes[0] // TINY)))
    before, found = probe.peak(), []
    for size in sizes:
        work(make(size))
        found.append(probe.peak() - before)
    return found


def growth(what, unit, sizes, make, work):
    """One row of the bench table: ``work(make(size))`` at each size; the time of `make` is not counted, its memory is.

    Memory has an exponent where the largest size takes four times what can be seen.
    """
    seconds, added = [measure(work, make(size)) for size in sizes], memory(sizes, make, work)
    times, space = (", ".join(f"{value:.3g}" for value in values)
                    for values in (1e3 * np.array(seconds), np.array(added) / 1e6))
    seen = [max(size, SEEN) for size in added]
    grows = f"{exponent(sizes[-2:], seen[-2:]):.2f}" if added[-1] > 4 * SEEN else "not seen"
    return (f"{what}, growth with {unit}", f"time {exponent(sizes, seconds):.2f}, memory {grows}",
            f"exponents; {times} ms (medians of {REPEATS}) and {space} MB at "
            f"{', '.join(f'{size:,}' for size in sizes)}")


def layout_graph(configs, nodes, configurable=64, seed=0):
    """A layout graph in memory: a chain of dots and additions, layouts drawn among a few for each node."""
    from kit.graphs import LayoutGraph

    rng, configurable = np.random.default_rng(seed), min(configurable, nodes)
    feat = np.zeros((nodes, 140), np.float32)
    feat[:, 21:24], feat[:, 28] = (32, 256, 128), 32 * 256 * 128
    opcode = np.where(np.arange(nodes) % 4 == 0, 26, 63).astype(np.uint8)
    digits = np.full((8, SLOTS), -1, np.int8)
    for choice in digits[1:]:
        for slot in (0, 6, 12):
            choice[slot:slot + 3] = rng.permutation(3)
    edges = np.stack([np.arange(1, nodes), np.arange(nodes - 1)], axis=1).astype(np.int64)
    return LayoutGraph(id=f"layout:xla:random:chain{nodes}", collection="layout:xla:random", node_feat=feat,
                       node_opcode=opcode, edge_index=edges, config_runtime=None,
                       node_config_ids=np.arange(0, nodes, nodes // configurable, dtype=np.int64)[:configurable],
                       node_config_feat=digits[np.minimum(rng.geometric(0.4, (configs, configurable)) - 1, 7)],
                       node_splits=np.array([nodes], np.int64))


def _read(path):
    import kit.narrow  # noqa: F401  (small files do without, and its memory is not the reader's)

    with zipfile.ZipFile(path) as archive:
        return npz.read_layout_digits(archive, 64, SLOTS, _fail)


def _fail(*problem):
    raise ValueError(problem)


def _reading(folder):
    def make(configs):
        path = Path(folder) / f"{configs}.npz"
        write_member(path, (configs, 64, SLOTS))
        return path

    return growth("reading a layout file of 64 configurable nodes", "configurations", CONFIGS, make, _read)


def _ranking(graphs):
    rng = np.random.default_rng(0)
    return [(rng.permutation(500), rng.random(500)) for _ in range(graphs)]


def _slicing(nodes, k):
    """A problem of many nodes and a topological order of it."""
    from kit.partition.orders import standard_orders
    from kit.partition.problem import from_instance
    from kit.partition.random_graphs import generate

    problem, _ = from_instance(generate("ws", nodes, 0.5, 0))
    return problem, standard_orders(problem)[0], k


def _bounding(nodes, k):
    """A problem and the value of a good partition, below which bounds are searched."""
    from kit.partition.slicegraph import slice_order

    problem, order, k = _slicing(nodes, k)
    return problem, k, slice_order(problem, order, k)[0]


def _anchors(problem, k, value):
    from kit.partition.bounds import anchor_bound

    anchor_bound(problem, k, limit=value)


def _solving(instance, k):
    from kit.partition.solve import solve

    solve(instance, k, evaluations=100)


def rows():
    """Rows of the bench table."""
    from kit.features import layout
    from kit.partition.random_graphs import generate
    from kit.partition.slicegraph import slice_order

    with tempfile.TemporaryDirectory() as folder:
        yield _reading(folder)
    yield growth("features (wide) of a graph of 1,000 nodes", "configurations", CONFIGS,
                 lambda configs: layout_graph(configs, 1_000), lambda graph: layout.table(graph, "wide"))
    yield growth("features (wide) of 2,000 configurations", "nodes", NODES,
                 lambda nodes: layout_graph(2_000, nodes), lambda graph: layout.table(graph, "wide"))
    yield growth("Kendall's tau of 500 configurations", "graphs", GRAPHS, _ranking,
                 lambda pairs: [kendall_tau(ranking, runtime) for ranking, runtime in pairs])
    yield growth("bootstrap of a board", "graphs", GRAPHS,
                 lambda graphs: [np.random.default_rng(0).random((10, graphs))],
                 lambda scores: intervals.resample(scores, _average()))
    yield growth("slicing one order into 8 stages", "nodes", ORDER_NODES, lambda nodes: _slicing(nodes, 8),
                 lambda made: slice_order(*made))
    yield growth("slicing one order of 4,000 nodes", "k", STAGES, lambda k: _slicing(4_000, k),
                 lambda made: slice_order(*made))
    yield growth("the bound by anchors", "nodes", BOUND_NODES, lambda nodes: _bounding(nodes, 4),
                 lambda made: _anchors(*made))
    yield growth("partition and bounds of 100 nodes by 100 evaluations", "k", BOUND_STAGES,
                 lambda k: (generate("ws", 100, 0.5, 0), k), lambda made: _solving(*made))


def _average():
    return intervals.Average(groups=1)
