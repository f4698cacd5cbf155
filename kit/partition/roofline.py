"""Times of operations by the roofline model, for graphs that come without measured times.

After Williams, Waterman and Patterson, "Roofline: an insightful visual performance model", CACM 2009: an operation
takes the longer of its arithmetic at peak rate and its memory traffic at full bandwidth. Such costs are simulated.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Roofline:
    """An accelerator in two numbers.

    Attributes
    ----------
    flops : float
        Floating-point operations a second.
    memory : float
        Bytes a second to and from its own memory.
    """

    flops: float = 61.5e12
    memory: float = 450e9

    def seconds(self, operations, traffic):
        """Time of an operation.

        Parameters
        ----------
        operations, traffic : float or array
            Floating-point operations and bytes read and written.
        """
        arithmetic, transfer = operations / self.flops, traffic / self.memory
        return (arithmetic + transfer + abs(arithmetic - transfer)) / 2  # the larger of the two, arrays too


# One core of TPU v3: half of the 123 TFLOP/s and 900 GB/s of a chip (Norrie et al., "The Design Process for Google's
# Training Chips: TPUv2 and TPUv3", IEEE Micro 2021).
TPU_V3_CORE = Roofline()
