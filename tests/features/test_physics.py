"""Shapes, padding and arithmetic, on cases that can be computed by hand."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.features import physics
from kit.graphs import Graph


def program(nodes, edges):
    """A graph of (opcode, sizes, {column: value}) and [consumer, producer] pairs."""
    feat = np.zeros((len(nodes), 140), np.float32)
    for row, (_, sizes, more) in zip(feat, nodes, strict=True):
        row[21:21 + len(sizes)] = sizes
        for column, value in more.items():
            row[column] = value
    return Graph(id="hand", collection=None, node_feat=feat, config_runtime=None,
                 node_opcode=np.array([opcode for opcode, _, _ in nodes], np.uint8),
                 edge_index=np.array(edges, np.int64).reshape(-1, 2))


def convolution(sizes, window, **more):
    """A convolution with batch 0, spatial axes, features last, in all three operands (kernel: in, out last)."""
    spatial = len(window)
    last = spatial + 1
    columns = {37 + i: w for i, w in enumerate(window)} | {44: prod(window), 84: 1, 93: 0, 94: last, 99: spatial,
                                                           100: last, 105: 0, 106: last, 107: 1, 108: 1}
    columns |= {101 + i: i for i in range(spatial)} | {95 + i: i + 1 for i in range(spatial)}
    return physics.CONVOLUTION, sizes, columns | more


@pytest.mark.parametrize(("sizes", "digits", "expected"), [
    ((), (), 1),  # a scalar
    ((5,), (0,), 128),
    ((129,), (), 256),
    ((3, 5), (), 8 * 128),  # row-major: the last axis is most minor
    ((3, 200), (0, 1), 200 * 128),  # the first axis most minor: 3 becomes 128, 200 is whole in 8s
    ((4, 9, 130), (), 4 * 16 * 256),
    ((4, 9, 130), (0, 2), 9 * 128 * 136),  # the unnamed axis is the most major
])
def test_padding_by_hand(sizes, digits, expected):
    assert physics.padded_elements(sizes, digits) == expected


def test_axes_of_size_one_move_nothing():
    assert physics.padded_elements((3, 1, 32), (1, 2, 0), skip_ones=True) == 8 * 128
    assert physics.padded_elements((3, 1, 32), (2, 1, 0), skip_ones=True) == 8 * 128
    assert physics.padded_elements((3, 1, 32), (1, 2, 0)) == 3 * 32 * 128
    assert physics.padded_elements((1, 1), skip_ones=True) == 1


@given(st.lists(st.integers(1, 300), max_size=6), st.lists(st.integers(-1, 5), max_size=6, unique=True))
def test_padding_never_shrinks_a_tensor_and_keeps_its_major_axes(sizes, digits):
    padded = physics.padded_elements(sizes, digits)
    assert padded >= prod(sizes)
    assert sorted(physics.minor_to_major(digits, len(sizes))) == list(range(len(sizes)))
    order = [sizes[axis] for axis in physics.minor_to_major(digits, len(sizes))]
    assert padded % max(1, prod(order[2:])) == 0


@pytest.mark.parametrize(("out", "left", "right", "expected"), [
    ((128, 512), (128, 768), (768, 512), 768),
    ((64, 64), (64, 64), (64, 64), 64),
    ((8, 12, 128, 64), (8, 12, 128, 32), (8, 12, 32, 64), 32),  # two batch axes
    ((16, 16, 16), (16, 16, 16), (16, 16, 16), 16),
    ((5, 7), (5, 2, 3), (2, 3, 7), 6),  # two contracted axes
    ((4,), (4, 9), (9,), 9),
    ((), (9,), (9,), 9),
])
def test_contracted_size_from_shapes(out, left, right, expected):
    assert physics.contracted_size(out, left, right) == expected


def test_arithmetic_of_a_convolution_and_a_dot():
    graph = program([(63, (2, 10, 10, 16), {}), (63, (3, 3, 16, 32), {}), convolution((2, 10, 10, 32), (3, 3)),
                     (63, (4, 6), {}), (63, (6, 5), {}), (physics.DOT, (4, 5), {}), (2, (4, 5), {})],
                    [[2, 0], [2, 1], [5, 3], [5, 4], [6, 5]])
    np.testing.assert_array_equal(physics.arithmetic(graph),
                                  [0, 0, 2 * 10 * 10 * 32 * 9 * 16, 0, 0, 4 * 5 * 6, 0])


def test_zeros_of_base_dilation_cost_nothing():
    graph = program([(63, (2, 5, 5, 16), {}), (63, (2, 2, 16, 32), {}),
                     convolution((2, 10, 10, 32), (2, 2))], [[2, 0], [2, 1]])
    dense = physics.arithmetic(graph)[2]
    graph.node_feat[2, 84] = 4
    assert physics.arithmetic(graph)[2] == dense / 4


@pytest.mark.parametrize("swapped", [False, True])
def test_input_and_kernel_are_told_apart_in_any_order(swapped):
    graph = program([(63, (2, 9, 9, 16), {}), (63, (3, 3, 16, 32), {}), convolution((2, 9, 9, 32), (3, 3))],
                    [[2, 0], [2, 1]])
    sizes, operands = physics.dimensions(graph.node_feat), [1, 0] if swapped else [0, 1]
    assert physics.convolution_operands(graph.node_feat[2], sizes, operands) == (0, 1)


def test_a_convolution_without_operands_has_none():
    graph = program([convolution((2, 9, 9, 32), (3, 3))], [])
    sizes = physics.dimensions(graph.node_feat)
    assert physics.convolution_operands(graph.node_feat[0], sizes, []) == (None, None)
    assert physics.arithmetic(graph)[0] == 2 * 9 * 9 * 32 * 9


def test_widths_of_types():
    feat = np.zeros((4, 140), np.float32)
    feat[0, 3] = feat[1, 15] = feat[2, 13] = 1  # pred, bf16, f32, none
    np.testing.assert_array_equal(physics.element_bytes(feat), [1, 2, 4, 4])
