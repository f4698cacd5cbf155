"""What a node computes and how its tensors lie in memory, from nothing but an npz file's arrays."""

from itertools import combinations
from math import isqrt, prod

import numpy as np

CONVOLUTION, DOT, RESHAPE = 26, 34, 75  # opcode ids
LANES, SUBLANES = 128, 8  # a TPU register holds 8 x 128 values of 32 bits (Jouppi et al., CACM 63(7), 2020)
DIMENSIONS = slice(21, 27)  # columns of node_feat from here on
PRED, BYTE_TYPES, HALF_TYPES = 3, (4, 8), (5, 9, 12, 15)
WINDOW, WINDOW_PRODUCT, BASE_DILATION_PRODUCT = slice(37, 43), 44, 84
INPUT_BATCH, INPUT_FEATURE, KERNEL_INPUT, KERNEL_OUTPUT, KERNEL_SPATIAL = 93, 94, 99, 100, slice(101, 105)
OUTPUT_BATCH, OUTPUT_FEATURE, FEATURE_GROUPS, BATCH_GROUPS = 105, 106, 107, 108


def dimensions(node_feat):
    """Sizes of each node's output.

    Parameters
    ----------
    node_feat : float32 array, shape (n, 140)

    Returns
    -------
    list of tuple of int
        One a node, empty for scalars and tuples; sizes of 0 at the end are padding of the file.
    """
    sizes = node_feat[:, DIMENSIONS].astype(np.int64)
    ranks = np.where(sizes > 0, np.arange(1, 7), 0).max(axis=1)
    return [tuple(row[:rank].tolist()) for row, rank in zip(sizes, ranks, strict=True)]


def element_bytes(node_feat):
    """Bytes an element of each node's output: float64 array, shape (n,); 4 where the type says nothing."""
    size = np.full(len(node_feat), 4.0)
    size[node_feat[:, HALF_TYPES].any(axis=1)] = 2
    size[node_feat[:, (PRED, *BYTE_TYPES)].any(axis=1)] = 1
    return size


def minor_to_major(digits, rank):
    """Complete a configuration's layout digits to an order of all axes.

    Parameters
    ----------
    digits : sequence of int
        Axes, most minor first; -1 (and axes that the tensor does not have) are passed over.
    rank : int
        Number of axes.

    Returns
    -------
    list of int
        The axes not named follow in row-major order, the last one most minor.
    """
    named = [d for d in digits if 0 <= d < rank]
    return named + [axis for axis in reversed(range(rank)) if axis not in named]


def padded_elements(sizes, digits=(), skip_ones=False):
    """Elements that a tensor takes once its two most minor axes fill whole tiles of 8 x 128.

    Parameters
    ----------
    sizes : sequence of int
        One a axis.
    digits : sequence of int
        Layout, minor to major, see `minor_to_major`.
    skip_ones : bool
        Look for the two most minor axes among those longer than 1: an axis of size 1 moves nothing in memory.

    Returns
    -------
    int
        1 for scalars. A single axis is padded to a multiple of 128.
    """
    order = [sizes[axis] for axis in minor_to_major(digits, len(sizes))]
    if skip_ones:
        order = [size for size in order if size != 1]
    tiles = (LANES, SUBLANES)
    return prod(-(-size // tile) * tile for size, tile in zip(order, tiles, strict=False)) * prod(order[2:])


def producers(graph):
    """Nodes whose outputs each node consumes: a list of int lists (sorted, distinct, as the files hold them)."""
    found = [[] for _ in graph.node_opcode]
    for consumer, producer in graph.edge_index.tolist():
        found[consumer].append(producer)
    return found


def convolution_operands(features, sizes, operands):
    """Tell a convolution's input from its kernel, whose order the files do not keep.

    Parameters
    ----------
    features : float32 array, shape (140,)
        The convolution's row of node_feat.
    sizes : list of tuple of int
        From `dimensions`.
    operands : list of int
        The convolution's producers.

    Returns
    -------
    input, kernel : int or None
        None where no operand fits: the operand whose axes agree best with the window, the batch and the
        features of the output is taken, the pair as a whole.
    """
    pairs = [(a, b) for a in operands for b in operands if a != b or len(operands) == 1]
    fits = [_convolution_fit(features, sizes[a], sizes[b]) for a, b in pairs]
    if not fits or max(fits) < 0:
        return None, None
    return pairs[int(np.argmax(fits))]


def _convolution_fit(features, input_sizes, kernel_sizes):
    """How many of the shape equations of a convolution hold; -1 where an axis is missing."""
    axes = features.astype(np.int64)
    out = axes[DIMENSIONS]
    spatial = np.flatnonzero(axes[WINDOW])[:4]
    needed = [axes[KERNEL_INPUT], axes[KERNEL_OUTPUT], *axes[KERNEL_SPATIAL][spatial]]
    if max(needed) >= len(kernel_sizes) or max(axes[INPUT_BATCH], axes[INPUT_FEATURE]) >= len(input_sizes):
        return -1
    fit = sum(kernel_sizes[axes[KERNEL_SPATIAL][s]] == axes[WINDOW][s] for s in spatial)
    fit += kernel_sizes[axes[KERNEL_OUTPUT]] == out[axes[OUTPUT_FEATURE]]
    fit += kernel_sizes[axes[KERNEL_INPUT]] * max(1, axes[FEATURE_GROUPS]) == input_sizes[axes[INPUT_FEATURE]]
    return int(fit + (input_sizes[axes[INPUT_BATCH]] == out[axes[OUTPUT_BATCH]] * max(1, axes[BATCH_GROUPS])))


def contracted_size(out, left, right):
    """Size of the axes that a dot product sums over, from the three shapes.

    Parameters
    ----------
    out, left, right : sequence of int

    Returns
    -------
    int
        With b leading batch axes, left x right elements = out x batch x contracted^2. The smallest b is taken
        for which the root is whole and a product of axes of both operands; without one, the root at b = 0.
    """
    squared = prod(left) * prod(right) // max(1, prod(out))
    for b in range(min(len(out), len(left), len(right)) + 1):
        if not tuple(out[:b]) == tuple(left[:b]) == tuple(right[:b]):
            break
        batch = prod(out[:b])
        root = isqrt(squared // batch)
        if root * root * batch == squared and all(_is_product(root, s[b:]) for s in (left, right)):
            return root
    return max(1, isqrt(squared))


def _is_product(value, sizes):
    return any(prod(chosen) == value for r in range(len(sizes) + 1) for chosen in combinations(sizes, r))


def arithmetic(graph):
    """Multiply-accumulates of every convolution and dot: float64 array, shape (n,), 0 for other nodes.

    Parameters
    ----------
    graph : TileGraph or LayoutGraph

    Notes
    -----
    Convolution: output elements x window elements x input features a group, less the zeros that base
    dilation puts between input elements. Dot: output elements x contracted elements.
    """
    sizes, operands = dimensions(graph.node_feat), producers(graph)
    work = np.zeros(len(graph.node_opcode))
    for node in np.flatnonzero(np.isin(graph.node_opcode, (CONVOLUTION, DOT))):
        shapes = [sizes[p] for p in operands[node]]
        if graph.node_opcode[node] == CONVOLUTION:
            depth = _convolution_depth(graph.node_feat[node], sizes, operands[node])
        else:
            depth = contracted_size(sizes[node], shapes[0], shapes[-1]) if shapes else 1
        work[node] = prod(map(float, sizes[node])) * depth
    return work


def _convolution_depth(features, sizes, operands):
    """Multiply-accumulates that one output element of a convolution takes."""
    _, kernel = convolution_operands(features, sizes, operands)
    inputs = 1 if kernel is None else sizes[kernel][int(features[KERNEL_INPUT])]
    return float(features[WINDOW_PRODUCT]) * inputs / max(1.0, float(features[BASE_DILATION_PRODUCT]))
