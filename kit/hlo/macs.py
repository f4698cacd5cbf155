"""Multiply-accumulates of dots and convolutions, which the 140 features do not tell for dots."""

from functools import cache
from math import prod

import numpy as np


@cache
def _taps(input_size, output_size, size, stride, low, window_dilation, base_dilation):
    """How many (output position, window position) pairs fall on an element of the input, along one dimension."""
    place = (np.arange(output_size)[:, None] * max(stride, 1) - low
             + np.arange(size)[None, :] * max(window_dilation, 1))
    inside = (place >= 0) & (place < (input_size - 1) * max(base_dilation, 1) + 1)
    return int((inside & (place % max(base_dilation, 1) == 0)).sum())


def _convolution(node, operands):
    numbers, (image, kernel) = node.convolution_dimension_numbers, (list(s.dimensions) for s in operands[:2])
    output = list(node.shape.dimensions)
    pairs = [_taps(image[i], output[o], w.size, w.stride, w.padding_low, w.window_dilation, w.base_dilation)
             for i, o, w in zip(numbers.input_spatial_dimensions, numbers.output_spatial_dimensions,
                                node.window.dimensions, strict=True)]
    batch = output[numbers.output_batch_dimension] * output[numbers.output_feature_dimension]
    return prod(pairs) * batch * kernel[numbers.kernel_input_feature_dimension]


def macs(node, operands):
    """Multiply-accumulates of one instruction.

    Parameters
    ----------
    node : HloInstructionProto
    operands : list of ShapeProto
        Shapes of its operands.

    Returns
    -------
    int
        0 for anything but a dot or a convolution. Multiplications with padding and with the zeros of a dilated input
        are not counted (as XLA's cost analysis does).
    """
    if node.opcode == b"dot":
        contracted = [operands[0].dimensions[d] for d in node.dot_dimension_numbers.lhs_contracting_dimensions]
        return prod(node.shape.dimensions) * prod(contracted)
    if node.opcode == b"convolution":
        return _convolution(node, operands)
    return 0
