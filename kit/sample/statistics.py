"""What a data set looks like, in few numbers: for comparing the sample with real files."""

import numpy as np

from kit.graphs import Graphs, TileGraph, distinct_configs
from kit.hlo.schema import OPCODES

GAP = 1e-3  # part of the runtime that separates two clusters
FEW_COPIES = 2  # measurements of a configuration from which its noise is stated
_GROUPS = {  # opcodes that make up most programs
    "arithmetic": ("add", "subtract", "multiply", "divide", "maximum", "minimum", "negate"),
    "broadcast": ("broadcast",),
    "parameter": ("parameter",), "constant": ("constant",), "reshape": ("reshape", "bitcast"),
    "convolution": ("convolution",), "dot": ("dot",), "reduce": ("reduce", "reduce-window"), "convert": ("convert",),
    "tuple": ("tuple", "get-tuple-element"), "transpose": ("transpose", "copy"),
    "select": ("select", "compare", "and", "or"),
}


def clusters(runtime, gap=GAP):
    """Number of runs of runtimes with no gap above `gap` (a part of the runtime) between neighbours.

    Parameters
    ----------
    runtime : int64 array, shape (c,)
    gap : float

    Returns
    -------
    int
    """
    ordered = np.sort(runtime.astype(np.float64))
    return 1 + int((np.diff(ordered) > gap * ordered[:-1]).sum())


def replicate_noise(graph):
    """Standard deviation of the logarithm between measurements of one configuration; None without repeats.

    Parameters
    ----------
    graph : TileGraph or LayoutGraph
        With runtimes.

    Returns
    -------
    float or None
        Pooled over all configurations that were measured more than once.
    """
    distinct = distinct_configs(graph)
    repeated = distinct.count >= FEW_COPIES
    if not repeated.any():
        return None
    logarithm = np.log(graph.config_runtime.astype(np.float64))
    mean = np.bincount(distinct.inverse, logarithm) / distinct.count
    squares = np.bincount(distinct.inverse, (logarithm - mean[distinct.inverse]) ** 2)
    return float(np.sqrt(squares[repeated].sum() / (distinct.count[repeated] - 1).sum()))


def opcode_mix(graph):
    """Share of nodes by group of opcodes: dict of str to float; what is in no group is ``other``."""
    names = np.array([OPCODES[o] or "" for o in graph.node_opcode])
    shares = {group: float(np.isin(names, members).mean()) for group, members in _GROUPS.items()}
    return shares | {"other": 1.0 - sum(shares.values())}


def describe(graph):
    """The numbers of one graph.

    Parameters
    ----------
    graph : TileGraph or LayoutGraph

    Returns
    -------
    dict of str to float
        ``nodes``, ``edges_per_node``, ``configurations``, ``duplicates`` (share of configurations that repeat another);
        for layouts ``configurable`` (share of nodes); where runtimes are stated ``spread`` (largest over smallest),
        ``clusters`` and, with repeats, ``noise``.
    """
    found = {"nodes": graph.nodes, "edges_per_node": len(graph.edge_index) / graph.nodes,
             "configurations": graph.configs,
             "duplicates": 1.0 - len(distinct_configs(graph).first) / graph.configs}
    if not isinstance(graph, TileGraph):
        found["configurable"] = len(graph.node_config_ids) / graph.nodes
    if graph.config_runtime is not None:
        runtime = graph.config_runtime
        noise = replicate_noise(graph)
        found |= {"spread": float(runtime.max() / runtime.min()), "clusters": clusters(runtime)}
        found |= {} if noise is None else {"noise": noise}
    return found


def collect(data, collection, splits=("train", "valid", "test")):
    """The numbers of every graph of a collection.

    Parameters
    ----------
    data : str or Path
    collection : str
    splits : tuple of str

    Returns
    -------
    list of dict
        As `describe` gives them, with ``id``.
    """
    return [{"id": graph.id, **describe(graph)} for split in splits for graph in Graphs(data, collection, split)]


def compare(rows, real_rows, names=("nodes", "edges_per_node", "configurable", "duplicates", "clusters", "spread")):
    """A figure: one panel a number, the sample as a histogram, every real graph as a line.

    Parameters
    ----------
    rows, real_rows : list of dict
        From `collect`; numbers that a graph lacks are passed over. `real_rows` may be empty.
    names : sequence of str

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.2 * len(names), 2.6), layout="constrained")
    for axes, name in zip(np.atleast_1d(figure.subplots(1, len(names))), names, strict=True):
        ours = [row[name] for row in rows if name in row]
        axes.hist(ours, bins=12, color="0.7", label="sample (simulated)")
        for i, value in enumerate(row[name] for row in real_rows if name in row):
            axes.axvline(value, color="C3", label=None if i else "real")
        axes.set_title(name.replace("_", " "))
    figure.axes[0].set_ylabel("graphs")
    figure.axes[0].legend(fontsize="small")
    return figure
