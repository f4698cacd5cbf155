"""Pictures of a partition: bars of the stages, the graph coloured by stage, the gap closing over time."""

import numpy as np

from evaluation.partition import stage_costs

PARTS = (("work", "work", "#4c72b0"), ("io_in", "in", "#55a868"), ("io_out", "out", "#c9a227"),
         ("overflow", "overflow", "#c44e52"))
MOST_EDGES = 5000  # more are a blot


def draw_stages(axes, instance, stages, k, lower_bound=None):
    """Stacked bars of what every stage spends, the bottleneck in bold, the lower bound as a line.

    Parameters
    ----------
    axes : matplotlib.axes.Axes
    instance : Instance
    stages : int64 array (n,)
    k : int
    lower_bound : float, optional
        Seconds.
    """
    costs = stage_costs(instance, stages, k)
    bottom, total = np.zeros(k), costs.total
    for field, label, colour in PARTS:
        height = 1e3 * getattr(costs, field)
        axes.bar(range(k), height, bottom=bottom, label=label, color=colour)
        bottom += height
    slowest = int(total.argmax())
    axes.bar(slowest, 1e3 * total[slowest], fill=False, edgecolor="black", linewidth=2, label="bottleneck")
    if lower_bound is not None:
        axes.axhline(1e3 * lower_bound, color="black", linestyle="--", label="lower bound")
    axes.set(xlabel="stage", ylabel="ms", title=f"{instance.name}, k = {k}: {1e3 * total.max():.4g} ms"
             + (" (simulated)" if instance.simulated else ""))
    axes.locator_params(axis="x", integer=True)
    axes.legend(fontsize="small")


def positions(instance):
    """A place for every node, float64 (n, 2): its depth across, nodes of the same depth beneath each other."""
    depth = np.zeros(len(instance), np.int64)
    consumers = [[] for _ in range(len(instance))]
    for producer, consumer in instance.edges.tolist():
        consumers[producer].append(consumer)
    for node in instance.topological_order.tolist():
        for consumer in consumers[node]:
            depth[consumer] = max(depth[consumer], depth[node] + 1)
    height = np.zeros(len(instance))
    for level in np.unique(depth):
        members = np.flatnonzero(depth == level)
        height[members] = np.arange(len(members)) - (len(members) - 1) / 2
    return np.stack([depth, height], axis=1).astype(np.float64)


def draw_graph(axes, instance, stages):
    """The graph from left to right, coloured by stage; a node's area grows with its work."""
    from matplotlib.collections import LineCollection

    place = positions(instance)
    edges = instance.edges[:MOST_EDGES]
    crossing = stages[edges[:, 0]] != stages[edges[:, 1]]
    for mask, colour, width in ((~crossing, "#bbbbbb", 0.5), (crossing, "#c44e52", 1.0)):
        axes.add_collection(LineCollection(place[edges[mask]], colors=colour, linewidths=width, zorder=1))
    share = instance.work / max(instance.work.max(), 1e-300)
    axes.scatter(*place.T, c=stages, cmap="turbo", s=6 + 60 * share, zorder=2)
    axes.set(xlabel="depth", yticks=[], title=f"{int(crossing.sum())} edges cross from stage to stage (red)")


def draw_gap(axes, history):
    """Best partition and best bound over time; `history` has rows (seconds, bottleneck, lower bound)."""
    seconds, upper, lower = (np.array(column, np.float64) for column in zip(*history, strict=True))
    axes.step(seconds, 1e3 * upper, where="post", marker=".", label="best partition")
    axes.step(seconds, 1e3 * lower, where="post", marker=".", label="lower bound")
    axes.fill_between(seconds, 1e3 * lower, 1e3 * upper, step="post", alpha=0.2)
    axes.set(xlabel="s", ylabel="ms", title="gap over time")
    axes.legend(fontsize="small")


def draw(path, instance, stages, k, lower_bound=None, history=None):
    """Write a picture of a partition: stages, graph and, where a history is given, the gap over time.

    Parameters
    ----------
    path : str or Path
        PNG, SVG or PDF by its suffix.
    instance, stages, k, lower_bound, history
        As above.
    """
    from matplotlib.figure import Figure  # no pyplot: no display and no global state

    from evaluation.files import atomic

    panels = 3 if history else 2
    figure = Figure(figsize=(6 * panels, 4), layout="constrained")
    axes = figure.subplots(1, panels)
    draw_stages(axes[0], instance, stages, k, lower_bound)
    draw_graph(axes[1], instance, stages)
    if history:
        draw_gap(axes[2], history)
    suffix = str(path).rpartition(".")[2]
    with atomic(path, "wb") as file:
        figure.savefig(file, format=suffix, dpi=120)
