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
        Weight of the penalty on weight gradients of a single channel, see `kit.sample.cost`; 0 leaves it out.
    unusual : float
        Largest part of its time that a node takes longer where its output is not in the compiler's own layout.
    least_elsewhere, most_elsewhere : float
        Time of everything whose layouts cannot be chosen over the least time of what can; drawn log-uniform.
    transposed : float
        Weight of the copy of a dot's output that is not row-major.
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
    unusual: float = 0.1
    least_elsewhere: float = 0.1
    most_elsewhere: float = 10.0
    transposed: float = 1.0
    operands: float = 0.3
    quietest: float = 1e-5
    noisiest: float = 1e-3
    bandwidth: float = 450e9  # 900 GB/s a chip, two cores
    kernel_macs: float = 31e12
    step: float = 2e-7
    run: float = 1e-8
    kernel_spread: float = 0.2


UNCALIBRATED = Constants()
CALIBRATED = replace(UNCALIBRATED, single_channel=1.0, bandwidth=365e9, kernel_macs=15e12)

SETS = {"uncalibrated": UNCALIBRATED, "calibrated": CALIBRATED}


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
