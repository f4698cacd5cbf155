"""The named sets of constants of the simulated TPU.

``uncalibrated`` holds what is public about TPU v3 (Jouppi et al., "A domain-specific supercomputer for training
deep neural networks", CACM 63(7), 2020: two cores a chip, 123 Tflop/s in bfloat16 and 900 GB/s a chip) and round
guesses. ``calibrated`` was found by `kit.sample.calibrate` on the labelled files of the real slice, each set
``without <graph>`` on all of them but that graph: so that a ranker judged on a real graph has learnt from a sample
that owes nothing to it. A set holds constants of the model alone, nothing that belongs to one graph.
"""

from dataclasses import dataclass, replace

from evaluation.errors import InputError


@dataclass(frozen=True)
class Constants:
    """Constants of the cost model; rates are drawn per program and per node, not fixed.

    Attributes
    ----------
    slowest_macs, fastest_macs : float
        Multiply-accumulates a second; a program's rate is drawn log-uniform between them.
    node_spread : float
        Standard deviation of the logarithm of a node's rate about its program's.
    indifferent : float
        Share of convolutions and dots whose time does not depend on their layouts.
    single_channel : float
        Weight of the penalty on weight gradients of a single channel, see `kit.sample.cost`: 1 is one lane of 128, 0
        leaves it out.
    unusual : float
        Largest part of its time that a node takes longer where its output is not in the compiler's own layout.
    least_elsewhere, most_elsewhere : float
        Time of everything whose layouts cannot be chosen over the least time of what can; drawn log-uniform.
    transposed : float
        Weight of the copy of a dot's output that is not in the order its consumers want.
    any_order, ascending : float
        Shares of groups of dots whose consumers take any order, and want the one that is not row-major.
    operands : float
        Share of dots that read their operands in the layouts they are given, at the cost of the padding.
    quietest, noisiest : float
        Standard deviation of the logarithm of a runtime between measurements; drawn log-uniform per graph.
    bandwidth : float
        Bytes a second between memory and a core.
    kernel_macs : float
        Multiply-accumulates a second of a tile kernel.
    step : float
        Seconds that an iteration of a kernel's loop takes beside what it moves and computes.
    run : float
        Seconds that a piece of consecutive memory takes beside its bytes.
    kernel_spread : float
        Standard deviation of the logarithm of `bandwidth`, `step` and `run` between kernels.
    """

    slowest_macs: float = 1e12
    fastest_macs: float = 31e12  # 123 Tflop/s a chip, two cores, two operations a multiply-accumulate
    node_spread: float = 1.0
    indifferent: float = 0.3
    single_channel: float = 0.0
    unusual: float = 0.02
    least_elsewhere: float = 0.1
    most_elsewhere: float = 10.0
    transposed: float = 0.2
    any_order: float = 0.1
    ascending: float = 0.05
    operands: float = 0.5
    quietest: float = 1e-5
    noisiest: float = 1e-3
    bandwidth: float = 450e9  # 900 GB/s a chip, two cores
    kernel_macs: float = 31e12
    step: float = 2e-7
    run: float = 1e-8
    kernel_spread: float = 0.2


UNCALIBRATED = Constants()
# Printed by ``python -m kit.sample.calibrate DIR``: by the graph that was left out, "" where none was.
_TILES = {
    "": {"bandwidth": 5.0e11, "kernel_macs": 3.9e13, "step": 1.6e-7, "run": 5.2e-9},
    "tile:xla:copy.24": {"bandwidth": 5.0e11, "kernel_macs": 4.9e13, "step": 1.6e-7, "run": 5.8e-9},
    "tile:xla:fusion.205": {"bandwidth": 5.0e11, "kernel_macs": 5.9e13, "step": 1.6e-7, "run": 5.0e-9},
    "tile:xla:fusion.261": {"bandwidth": 5.2e11, "kernel_macs": 4.4e13, "step": 1.7e-7, "run": 4.1e-9},
    "tile:xla:fusion.209": {"bandwidth": 4.8e11, "kernel_macs": 4.7e13, "step": 1.6e-7, "run": 5.0e-9},
    "tile:xla:fusion.245": {"bandwidth": 5.1e11, "kernel_macs": 5.3e13, "step": 1.6e-7, "run": 6.1e-9},
}
_LAYOUTS = {
    "": {"slowest_macs": 1.1e12, "fastest_macs": 4.9e13, "single_channel": 230.0},
    "layout:xla:default:unet3d": {"slowest_macs": 1.2e13, "fastest_macs": 4.9e13},
    "layout:xla:default:unet_3d.4x4.bf16": {"slowest_macs": 1.1e12, "fastest_macs": 4.5e12, "single_channel": 230.0},
}


def _sets():
    found = {"uncalibrated": UNCALIBRATED, "calibrated": replace(UNCALIBRATED, **_TILES[""], **_LAYOUTS[""])}
    found |= {f"without {name}": replace(UNCALIBRATED, **values, **_LAYOUTS[""])
              for name, values in _TILES.items() if name}
    return found | {f"without {name}": replace(UNCALIBRATED, **_TILES[""], **values)
                    for name, values in _LAYOUTS.items() if name}


SETS = _sets()
CALIBRATED = SETS["calibrated"]


def constants(name):
    """A named set.

    Raises
    ------
    InputError
        Where there is no such set.
    """
    if name not in SETS:
        raise InputError(f"{name!r} is no set of constants; there are: {', '.join(SETS)}")
    return SETS[name]


def without(graph_id):
    """Name of the set that was calibrated without a real graph; ``calibrated`` where none used it.

    Parameters
    ----------
    graph_id : str
        Full ID, ``"layout:xla:default:unet3d"``.
    """
    name = f"without {graph_id}"
    return name if name in SETS else "calibrated"
