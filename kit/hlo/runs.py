"""The runs of a TpuGraphs tuning file: configurations and measured nanoseconds as arrays of the npz files."""

from dataclasses import dataclass

import numpy as np

from evaluation.errors import InputError
from kit.hlo.features import wrapped

TENSORS, DIGITS = 3, 6  # output, input, kernel; minor to major
_BOUNDS = ("kernel_bounds", "output_bounds", "input_bounds")


@dataclass(frozen=True, eq=False)
class TileRuns:
    """Measured tile sizes.

    Attributes
    ----------
    config_feat : float32 array, shape (c, 24)
    config_runtime, config_runtime_normalizers : int64 array, shape (c,)
        Nanoseconds; the normalizer is the runtime of the default run, of the first valid run where there is no
        default.
    """

    config_feat: np.ndarray
    config_runtime: np.ndarray
    config_runtime_normalizers: np.ndarray


@dataclass(frozen=True, eq=False)
class LayoutRuns:
    """Measured layouts.

    Attributes
    ----------
    node_config_ids : int64 array, shape (nc,)
    node_config_feat : float32 array, shape (c, nc, 18)
    config_runtime : int64 array, shape (c,)
        Nanoseconds.
    """

    node_config_ids: np.ndarray
    node_config_feat: np.ndarray
    config_runtime: np.ndarray


def _is_valid(run):
    """Failed runs and runs of 0 or 1 ns are dropped, as in the published files."""
    return not run.error and run.profile.compute_time_ns > 1


def _bounds(sizes):
    """Six sizes, their sum, their product (of none: 0, unlike in node features)."""
    product = 1 if sizes else 0
    for size in sizes:
        product *= size
    return [*sizes[:DIGITS], *[0] * (DIGITS - len(sizes)), wrapped(sum(sizes)), wrapped(product)]


def _tile(runs, times):
    rows = [[value for name in _BOUNDS for value in _bounds(list(getattr(r.op_config.tile_size_config, name)))]
            for r in runs]
    default = next((t for r, t in zip(runs, times, strict=True) if r.is_default), times[0])
    return TileRuns(np.array(rows, dtype=np.float32), times, np.full(len(times), default, dtype=np.int64))


def _digits(node):
    """One node's 18 digits, -1 where there is none."""
    digits = np.full((TENSORS, DIGITS), -1, dtype=np.float32)
    for row, tensor in zip(digits, node.tensors, strict=False):
        kept = tensor.dims[:DIGITS]
        row[:len(kept)] = kept
    return digits.reshape(-1)


def _layout(runs, times, nodes, where):
    rows = [r.module_config.layout_config.nodes for r in runs]
    if any(len(row) != len(nodes) for row in rows):
        raise InputError(f"{where}: a run configures another number of nodes than the {len(nodes)} listed; "
                         "fetch the file again")
    digits = np.array([[_digits(node) for node in row] for row in rows], dtype=np.float32)
    return LayoutRuns(np.array(nodes, dtype=np.int64), digits, times)


def runs(tuned, where):
    """The valid runs of one module.

    Parameters
    ----------
    tuned : ModuleTuningData
    where : str
        File and module, for messages.

    Returns
    -------
    TileRuns or LayoutRuns or None
        None where no run is valid.
    """
    valid = [r for r in tuned.runs if _is_valid(r)]
    if not valid:
        return None
    times = np.array([r.profile.compute_time_ns for r in valid], dtype=np.int64)
    if tuned.config_index_to_node:
        return _layout(valid, times, list(tuned.config_index_to_node), where)
    return _tile(valid, times)
