"""What else one could use, beside the kit, in one run: SciPy's tau, HiGHS alone, GraphSAGE of PyTorch Geometric.

``unzip`` and ``numpy.load`` stand with what they are compared with, in `kit.bench.unpacking` and `kit.bench.reading`.
"""

import statistics
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np

GRAPHS, CONFIGS, DISTINCT = 300, 1_000, 800  # graphs to score, and runtimes, some of them equal
REPEATS = 5
CHUNK, CHUNKS, WIDTH = 8, 4, 64  # configurations that the peer of the graph network reads at once


def _seconds(work):
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def tau():
    """Kendall's tau of as many rankings as a split has, by the scorer and by SciPy; they have to agree."""
    from scipy.stats import kendalltau

    from evaluation.metrics import kendall_tau

    random = np.random.default_rng(0)
    pairs = [(random.permutation(CONFIGS), random.integers(0, DISTINCT, CONFIGS)) for _ in range(GRAPHS)]
    found = []
    for _ in range(REPEATS):
        ours, own = _seconds(lambda: [kendall_tau(*pair) for pair in pairs])
        theirs, other = _seconds(lambda: [kendalltau(*pair).statistic for pair in pairs])
        found.append((own, other))
    if not np.allclose(ours, theirs, rtol=0, atol=1e-12):
        raise RuntimeError("SciPy's tau is another one")
    own, other = np.median(found, axis=0)
    ratio = statistics.median(other / own for own, other in found)
    return (f"tau of {GRAPHS} graphs of {CONFIGS:,} configurations, beside SciPy's kendalltau",
            f"{ratio:.1f} times as fast", f"{own:.2f} s against {other:.2f} s, median of {REPEATS} pairs, values equal")


def partition(k=16, share=5, least=20.0):
    """Partition and bound of a profile, beside the paper's exact integer program in HiGHS with more time."""
    from kit.bench.partition import graph, solved
    from kit.partition.mip import exact_model, minimise
    from kit.partition.problem import from_instance

    instance = graph("medium")
    ours, seconds = solved(instance, k)
    problem, unit = from_instance(instance)
    allowed = max(least, share * seconds)
    (bound, columns), taken = _seconds(lambda: minimise(exact_model(problem, k)[0], allowed))
    best = unit / ours.bottleneck
    found = "no partition" if columns is None else f"bottleneck {columns[0] * best:.3f} times the kit's"
    return (f"partition and bound of {instance.name}, {len(instance):,} nodes, k = {k}",
            f"{seconds:.2f} s, certified ratio {ours.lower_bound / ours.bottleneck:.4f}",
            f"HiGHS alone on the exact program, {taken:.0f} s: {found}, bound {bound * best:.3f} of the kit's")


def _network(features):
    """GraphSAGE over a whole graph, the configuration among the features of its nodes, as the kit's has it."""
    import torch
    from torch import nn
    from torch_geometric.nn import SAGEConv, global_mean_pool

    class Network(nn.Module):
        def __init__(self):
            super().__init__()
            self.enter, self.leave = nn.Linear(features, WIDTH), nn.Linear(WIDTH, 1)
            self.layers = nn.ModuleList(SAGEConv(WIDTH, WIDTH) for _ in range(2))

        def forward(self, values, edges, batch):
            values = torch.relu(self.enter(values))
            for layer in self.layers:
                values = values + torch.relu(layer(values, edges))
            return self.leave(global_mean_pool(values, batch))

    return Network().eval()


def _peer_scores(graph, network):
    """Seconds to rank some configurations of a layout graph, each as a graph of its own."""
    import torch
    from torch_geometric.data import Batch, Data

    edges = torch.as_tensor(np.ascontiguousarray(graph.edge_index.T))
    edges = torch.cat([edges, edges.flip(0)], 1)
    start = time.perf_counter()
    with torch.no_grad():
        for first in range(0, CHUNK * CHUNKS, CHUNK):
            graphs = []
            for row in range(first, first + CHUNK):
                layout = np.full((graph.nodes, 18), -1, np.float32)
                layout[graph.node_config_ids] = graph.node_config_feat[row]
                graphs.append(Data(x=torch.as_tensor(np.hstack([graph.node_feat, layout])), edge_index=edges))
            batch = Batch.from_data_list(graphs)
            network(batch.x, batch.edge_index, batch.batch)
    return (time.perf_counter() - start) / (CHUNK * CHUNKS)


def graph_network():
    """Ranking with sage beside a GraphSAGE of the same width and depth over the whole graph, as starters have it."""
    what = "ranking with sage, beside PyTorch Geometric's SAGEConv on whole graphs"
    if not find_spec("torch_geometric"):
        return what, "not measured", "torch_geometric is not installed"
    import torch

    from kit.bench.prediction import MIDDLE, fit, measure, ranked
    from kit.graphs import read_graph

    with tempfile.TemporaryDirectory() as work:
        data, file, _ = ranked(work)
        fit("sage", data, Path(work) / "sage")
        graph = read_graph(file, MIDDLE[0])
        seconds = measure("sage", Path(work) / "sage", file, MIDDLE[0], 1, REPEATS)["seconds"]
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        network = _network(graph.node_feat.shape[1] + 18)
        _peer_scores(graph, network)
        peer = statistics.median(_peer_scores(graph, network) for _ in range(REPEATS))
    finally:
        torch.set_num_threads(before)
    own = statistics.median(seconds[1:]) / graph.configs
    return (what, f"{peer / own:.0f} times as fast",
            f"{1e3 * own:.2f} ms against {1e3 * peer:.1f} ms a configuration, {graph.id} ({graph.nodes:,} nodes), "
            "one thread")


def rows():
    """Rows of the bench table."""
    yield tau()
    yield partition()
    yield graph_network()
