"""Maintainers' tool: find the constants of `kit.sample.constants` on labelled real files.

``python -m kit.sample.calibrate DIR`` prints the tables of the named sets as source text. Fitted are, over all labelled
graphs less the one left out, rates of the tile model, the range of the layout model's and one weight; no runtime and
nothing of a single graph is kept.
"""

import sys
from dataclasses import replace

import numpy as np
from scipy.optimize import minimize

from evaluation.collections import find_root
from kit.features import physics
from kit.features.choices import find_choices
from kit.features.kernel import Kernel as FeatureKernel
from kit.features.program import Program
from kit.graphs import Graphs, distinct_configs
from kit.sample.constants import UNCALIBRATED
from kit.sample.kernels import Kernel
from kit.sample.tiles import PARAMETER, REDUCE, TileKernel

TILE, LAYOUTS = "tile:xla", ("layout:xla:default", "layout:xla:random", "layout:nlp:default", "layout:nlp:random")
FEWEST_TILES = 9  # configurations from which a kernel says something
WIDENED = 2.0  # factor by which the range of rates is widened on both sides: two programs are few
FITTED_TILES = ("bandwidth", "kernel_macs", "step", "run")


def tile_kernels(root):
    """Labelled kernels with at least nine configurations, as the cost model takes them.

    Returns
    -------
    dict of str to (kernel, output bounds, kernel bounds, seconds)
    """
    found = {}
    for split in ("train", "valid"):
        for graph in Graphs(root, TILE, split):
            if graph.config_runtime is not None and graph.configs >= FEWEST_TILES:
                found[graph.id] = _as_kernel(graph)
    return found


def _as_kernel(graph):
    features = FeatureKernel(graph)
    operands = [list(p) for p in features.producers]
    product = features.centre
    if product is not None:
        operands[product] = list(physics.convolution_operands(
            graph.node_feat[product], features.sizes, operands[product]))
    kernel = Kernel(graph.node_feat, graph.node_opcode, graph.edge_index, root=_root(graph), product=product,
                    operands=operands, macs=float(features.work.max(initial=0.0)))
    tiles = TileKernel(kernel, graph.id, replace(UNCALIBRATED, kernel_spread=0.0), 0)
    bounds = graph.config_feat.astype(np.int64)
    return (kernel, bounds[:, 8:8 + len(tiles.output_axes)], bounds[:, :len(tiles.kernel_axes)],
            graph.config_runtime * 1e-9)


def _root(graph):
    """A reduction where the kernel is one, else the largest of its outputs."""
    sizes = graph.node_feat[:, 28] * (graph.node_opcode != PARAMETER)
    reduces = [n for n in np.flatnonzero(graph.node_opcode == REDUCE) if graph.node_feat[n, 0]]
    return reduces[-1] if reduces else int(np.argmax(sizes))


def _misfit(values, names, kernels):
    """Mean squared error of log runtimes, kernels weighing the same."""
    constants = replace(UNCALIBRATED, kernel_spread=0.0, **dict(zip(names, np.exp(values), strict=True)))
    errors = []
    for kernel, output, bounds, seconds in kernels:
        modelled = TileKernel(kernel, "", constants, 0).runtime(output, bounds)
        errors.append(np.mean(np.log(modelled / seconds) ** 2))
    return float(np.mean(errors))


def fit_tiles(kernels):
    """Constants of the tile model, to two digits.

    Parameters
    ----------
    kernels : list
        From `tile_kernels`.

    Returns
    -------
    dict of str to float
    """
    start = np.log([getattr(UNCALIBRATED, name) for name in FITTED_TILES])
    best = minimize(_misfit, start, args=(FITTED_TILES, kernels), method="Nelder-Mead",
                    options={"maxiter": 400, "xatol": 1e-3, "fatol": 1e-5}).x
    return {name: float(f"{value:.2g}") for name, value in zip(FITTED_TILES, np.exp(best), strict=True)}


def layout_rates(root):
    """For every labelled layout graph: multiply-accumulates a second, and the weight of the single-channel term.

    Returns
    -------
    dict of str to (float, float or None)
        None where the graph has no such weight gradient.
    """
    found = {}
    for collection in LAYOUTS:
        for split in ("train", "valid"):
            for graph in Graphs(root, collection, split):
                if graph.config_runtime is not None and len(distinct_configs(graph).first) > 1:
                    found[graph.id] = _layout_rate(graph)
    return found


def _layout_rate(graph):
    """Least squares of the runtime on the excess multiply-accumulates of padding and of single channels."""
    program, choices = Program(graph), find_choices(graph.node_config_feat)
    padded = program.summed(choices, 0, program.weighted_padding(0))
    single = physics.LANES * program.paired(choices, program.idle_lanes())
    columns = [np.ones(graph.configs), padded] + [single] * bool(single.any())
    fitted = np.linalg.lstsq(np.column_stack(columns), graph.config_runtime * 1e-9, rcond=None)[0]
    return 1.0 / max(fitted[1], 1e-18), float(fitted[2] / fitted[1]) if len(fitted) > 2 else None


def fit_layouts(rates):
    """Constants of the layout model: the range of rates, widened, and the single-channel weight; to two digits."""
    if not rates:
        return {}
    values = [rate for rate, _ in rates]
    weights = [weight for _, weight in rates if weight is not None]
    found = {"slowest_macs": min(values) / WIDENED, "fastest_macs": max(values) * WIDENED}
    found |= {"single_channel": float(np.median(weights))} if weights else {}
    return {name: float(f"{value:.2g}") for name, value in found.items()}


def tables(root):
    """The two tables of `kit.sample.constants`, by the graph that is left out, "" where none is.

    Parameters
    ----------
    root : Path
        Of a data set with labelled graphs.

    Returns
    -------
    tiles, layouts : dict of str to dict of str to float
    """
    kernels, rates = tile_kernels(root), layout_rates(root)
    return ({left: fit_tiles([v for k, v in kernels.items() if k != left]) for left in ("", *kernels)},
            {left: fit_layouts([v for k, v in rates.items() if k != left]) for left in ("", *rates)})


if __name__ == "__main__":
    for title, table in zip(("_TILES", "_LAYOUTS"), tables(find_root(sys.argv[1])), strict=True):
        print(f"{title} = {{")
        for graph, found in table.items():
            print(f'    "{graph}": {{' + ", ".join(f'"{name}": {value:g}' for name, value in found.items()) + "},")
        print("}")
