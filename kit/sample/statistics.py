"""What a data set looks like, in few numbers: for comparing the sample with real files."""

import numpy as np

from kit.graphs import Graphs, TileGraph, distinct_configs
from kit.hlo.schema import OPCODES

GAP = 1e-3  # part of the runtime that separates two clusters
WIDE_SPAN = 20  # largest over smallest from which a number is drawn on a logarithmic axis
NUMBERS = ("nodes", "edges_per_node", "configurable", "duplicates", "clusters", "spread", "noise")
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
        As `describe` gives them, with ``id`` and ``opcodes`` (`opcode_mix`).
    """
    return [{"id": graph.id, "opcodes": opcode_mix(graph), **describe(graph)}
            for split in splits for graph in Graphs(data, collection, split)]


def compare(rows, real_rows, names=NUMBERS):
    """A figure: one panel a number, the sample as a histogram, every real graph as a line.

    Parameters
    ----------
    rows, real_rows : list of dict
        From `collect`; numbers that a graph lacks are passed over, panels of numbers that all lack are left out.
        `real_rows` may be empty.
    names : sequence of str

    Returns
    -------
    matplotlib.figure.Figure
        Axes are logarithmic where the values span more than a factor of 20.
    """
    from matplotlib.figure import Figure

    names = [name for name in names if any(name in row for row in rows)]
    figure = Figure(figsize=(2.6 * len(names), 2.6), layout="constrained")
    for axes, name in zip(np.atleast_1d(figure.subplots(1, len(names))), names, strict=True):
        ours, real = ([row[name] for row in part if name in row] for part in (rows, real_rows))
        axes.hist(ours, bins=_bins(axes, [*ours, *real]), color="0.7", label="sample (simulated)")
        for i, value in enumerate(real):
            axes.axvline(value, color="C3", lw=1, label=None if i else "real")
        axes.set_title(name.replace("_", " "))
    figure.axes[0].set_ylabel("graphs")
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, fontsize="small")
    return figure


def _bins(axes, values):
    """Edges of 15 bins over all values; equal on the logarithmic axis that a wide span gets."""
    low, high = min(values), max(values)
    if low > 0 and high > WIDE_SPAN * low:
        axes.set_xscale("log")
        return np.geomspace(low, high, 16)
    return np.linspace(low, high, 16) if high > low else 1


def compare_opcodes(rows, real_rows):
    """A figure: mean share of every group of opcodes, the sample's beside the real files'.

    Parameters
    ----------
    rows, real_rows : list of dict
        From `collect`; `real_rows` may be empty.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 2.8), layout="constrained")
    axes, groups = figure.subplots(), np.arange(len(_GROUPS) + 1)
    for offset, part, color, label in ((-0.2, rows, "0.7", "sample (simulated)"), (0.2, real_rows, "C3", "real")):
        if part:
            axes.bar(groups + offset, list(mean_mix(part).values()), 0.4, color=color, label=label)
    axes.set_xticks(groups, [*_GROUPS, "other"], rotation=45)
    axes.set_ylabel("share of nodes")
    axes.legend(fontsize="small")
    return figure


def mean_mix(rows):
    """Mean share of every group of opcodes over graphs: dict of str to float."""
    return {group: float(np.mean([row["opcodes"][group] for row in rows])) for group in rows[0]["opcodes"]}
