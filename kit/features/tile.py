"""Feature tables of tile kernels: one row a configuration."""

import numpy as np
import polars as pl
from scipy.stats import rankdata

from kit.distinct import distinct_configs
from kit.features.kernel import OPCODE_GROUPS, Kernel

# +1: larger means slower, -1: larger means faster, 0: it depends.
PHYSICAL = {
    "steps": 1, "traffic": 1, "runs": 1, "steps_rank": 1, "traffic_rank": 1, "runs_rank": 1,
    "traffic_and_ends": 1, "contraction_steps": 1, "output_volume_rank": -1, "tile_bytes": 0, "traffic_of_a_step": 0,
    "runs_of_a_step": 0, "output_run": 0, "kernel_run": 0, "output_tile_share": 0, "kernel_tile_share": 0,
    "parameter_bytes": 0, "output_bytes": 0, "arithmetic": 0, "intensity": 0,
}
BOUNDS = ("kernel", "output", "input")
CONFIG = tuple(f"{part}_bound_{name}" for part in BOUNDS for name in (*map(str, range(6)), "sum", "product"))
RATIOS = tuple(f"{part}_ratio_{axis}" for part in BOUNDS[:2] for axis in range(6))
WIDE = (
    *PHYSICAL, *CONFIG, *RATIOS, "output_tiles", "output_waste", "kernel_waste", "nodes",
    *(f"opcodes_{group}" for group in OPCODE_GROUPS),
)
MONOTONE = {"physical": {k: v for k, v in PHYSICAL.items() if v}, "wide": {"steps": 1, "traffic": 1}}
_COLUMNS = {"physical": tuple(PHYSICAL), "wide": WIDE}

# For `modelled_time`, which is a ranker and no feature: what is learnt must not contain a model of time. In seconds:
# a TPU v3 core reads 450 GB/s (Jouppi et al., CACM 63(7), 2020: 900 GB/s for two cores); a step costs about half a
# microsecond of issue and synchronisation, a run of memory about a hundredth: orders of magnitude.
BANDWIDTH, STEP, RUN = 450e9, 5e-7, 1e-8


def columns(feature_set="physical"):
    """Names of the feature columns, in order; `KeyError` for an unknown set."""
    return list(_COLUMNS[feature_set])


def table(graph, feature_set="physical"):
    """Features of every configuration of a kernel.

    Parameters
    ----------
    graph : TileGraph
    feature_set : {"physical", "wide"}

    Returns
    -------
    polars.DataFrame
        ``graph_id``, ``config`` (the index), then the float32 columns of `columns`; of a kernel whose
        tensors do not explain the bounds, those are measured against the largest bound of every axis.
    """
    kernel = Kernel(graph)
    found = _physical(kernel)
    if feature_set == "wide":
        found |= _wide(kernel)
    return pl.DataFrame({"graph_id": np.full(graph.configs, graph.id), "config": np.arange(graph.configs),
                         **{name: found[name].astype(np.float32) for name in columns(feature_set)}})


def distinct_table(graph, feature_set="physical"):
    """The rows of `table` for the distinct configurations; ``config`` is where each occurs first."""
    return table(graph, feature_set)[distinct_configs(graph).first]


def modelled_time(graph):
    """Seconds that memory traffic, steps, runs and the ends of the pipeline take: float64, shape (c,)."""
    return _time(Kernel(graph))


def _time(kernel):
    fill = 2 * kernel.tile_bytes / BANDWIDTH  # the first tile's way in and the last one's out overlap with nothing
    return kernel.traffic / BANDWIDTH + kernel.steps * STEP + kernel.runs * RUN + fill


def _scaled_rank(amount):
    ranks = rankdata(amount, method="dense") - 1
    return ranks / max(1, ranks.max())


def _excess(amount):
    return np.log(amount / amount.min())


def _physical(kernel):
    return {
        "steps": _excess(kernel.steps), "traffic": _excess(kernel.traffic), "runs": _excess(kernel.runs),
        "steps_rank": _scaled_rank(kernel.steps), "traffic_rank": _scaled_rank(kernel.traffic),
        "runs_rank": _scaled_rank(kernel.runs),
        "output_volume_rank": _scaled_rank(kernel.output.bounds.prod(axis=1)),
        "tile_bytes": np.log2(1 + kernel.tile_bytes),
        "traffic_of_a_step": np.log2(kernel.traffic / kernel.steps),
        "runs_of_a_step": np.log2(kernel.runs / kernel.steps),
        "traffic_and_ends": _excess(kernel.traffic + 2 * kernel.tile_bytes),
        "contraction_steps": np.log(kernel.contraction_steps),
        "output_run": np.log2(kernel.output.run), "kernel_run": np.log2(kernel.kernel.run),
        "output_tile_share": np.log(kernel.output.share), "kernel_tile_share": np.log(kernel.kernel.share),
    } | {name: np.full(kernel.graph.configs, value) for name, value in kernel.amounts().items()}


def _wide(kernel):
    graph, output, weights = kernel.graph, kernel.output, kernel.kernel
    found = {name: graph.config_feat[:, i] for i, name in enumerate(CONFIG)}
    for part, tiling in (("kernel", weights), ("output", output)):
        found |= {f"{part}_ratio_{axis}": tiling.ratio(axis) for axis in range(6)}
    found |= {"output_tiles": np.log(output.tiles), "output_waste": output.waste, "kernel_waste": weights.waste}
    return found | {name: np.full(graph.configs, value) for name, value in kernel.opcodes().items()}
