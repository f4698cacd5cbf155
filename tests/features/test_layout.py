"""Layout tables: small programs computed by hand, and that the look-ups equal a slow sum over configurations."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau

from kit.features import layout, physics
from kit.features.program import Program
from kit.graphs import LayoutGraph, read_graph
from tests.features.test_physics import convolution, program

RESHAPE = physics.RESHAPE


def layout_graph(nodes, edges, ids, configs):
    """A graph whose configurations are lists, one a node, of up to three lists of digits."""
    base = program(nodes, edges)
    digits = np.full((len(configs), len(ids), 18), -1, np.int8)
    for c, config in enumerate(configs):
        for node, operands in enumerate(config):
            for operand, axes in enumerate(operands):
                digits[c, node, 6 * operand:6 * operand + len(axes)] = axes
    return LayoutGraph(**vars(base), node_config_ids=np.array(ids, np.int64), node_config_feat=digits,
                       node_splits=np.array([len(nodes)]))


@pytest.fixture
def network():
    """Input -> convolution -> relu -> convolution, both configurable: outputs (8, 4, 4, 64) and (8, 4, 4, 32)."""
    nodes = [(63, (8, 4, 4, 16), {}), (63, (1, 1, 16, 64), {}), convolution((8, 4, 4, 64), (1, 1)),
             (57, (8, 4, 4, 64), {}), (63, (1, 1, 64, 32), {}), convolution((8, 4, 4, 32), (1, 1))]
    edges = [[2, 0], [2, 1], [3, 2], [5, 3], [5, 4]]
    a, b = [3, 0], [0, 3]  # features most minor, batch most minor
    return layout_graph(nodes, edges, [2, 5], [[[a, a], [a, a]], [[a, a], [a, a]], [[b, a], [a, b]], [[b, a], [b, b]]])


def test_padded_bytes_by_hand(network):
    first, second = {"a": 4 * 4 * 8 * 128, "b": 4 * 4 * 64 * 128}, {"a": 4 * 4 * 8 * 128, "b": 4 * 4 * 32 * 128}
    expected = [first["a"] + second["a"]] * 2 + [first["b"] + second["a"], first["b"] + second["b"]]
    np.testing.assert_array_equal(layout.padded_output_bytes(network), 4 * np.array(expected))


def test_sixteen_bit_outputs_take_two_bytes(network):
    network.node_feat[[2, 5], 15] = 1
    assert layout.padded_output_bytes(network)[0] == 2 * 2 * 4 * 4 * 8 * 128


def test_arithmetic_weighs_the_padding(network):
    work = 8 * 16 * 64 * 16, 8 * 16 * 32 * 64  # multiply-accumulates
    padding = {"a": (128 / 64, 128 / 32), "b": (128 / 8, 128 / 8)}
    best = work[0] * padding["a"][0] + work[1] * padding["a"][1]
    expected = [best, best, work[0] * padding["b"][0] + work[1] * padding["a"][1],
                work[0] * padding["b"][0] + work[1] * padding["b"][1]]
    np.testing.assert_array_equal(layout.padded_arithmetic(network), expected)
    table = layout.table(network)
    np.testing.assert_allclose(table["arithmetic_padding"], np.log(np.array(expected) / best), rtol=1e-6)
    np.testing.assert_allclose(table["arithmetic_padding_rank"], [0, 0, 0.5, 1])


def test_unusual_and_rare_layouts_weigh_by_arithmetic(network):
    work = np.array([8 * 16 * 64 * 16, 8 * 16 * 32 * 64])
    share = work / work.sum()
    table = layout.table(network)
    np.testing.assert_allclose(table["unusual_arithmetic"], [0, 0, share[0], 1], rtol=1e-6)  # a tie: the first
    np.testing.assert_allclose(table["rare_arithmetic"], [0, 0, 0, share[1] * np.log(3)], rtol=1e-6)


def test_rare_choices_count_once_however_many_nodes_they_bind(network):
    np.testing.assert_allclose(layout.table(network)["rare_choices"], [0, 0, 0, np.log(3)], rtol=1e-6)
    network.node_config_feat[:, 1, :6] = network.node_config_feat[:, 0, :6]  # now both nodes choose together
    network.node_config_feat[2, :, :6] = network.node_config_feat[0, :, :6]
    np.testing.assert_allclose(layout.table(network)["rare_choices"], [0, 0, 0, np.log(3)], rtol=1e-6)


def test_transposed_outputs_of_dots():
    nodes = [(63, (4, 6), {}), (63, (6, 5), {}), (physics.DOT, (4, 5), {}), (physics.DOT, (4, 20), {})]
    graph = layout_graph(nodes, [[2, 0], [2, 1], [3, 0], [3, 1]], [2, 3], [
        [[[1, 0]], [[1, 0]]], [[[0, 1]], [[1, 0]]], [[[0, 1]], [[0, 1]]], [[[]], [[0, 1]]]])
    np.testing.assert_allclose(layout.table(graph)["transposed"], [0, 0.2, 1, 0.8], rtol=1e-6)


def test_copies_with_and_without_the_chain(network):
    table = layout.table(network, "wide")
    np.testing.assert_array_equal(table["copies"], [0, 0, 0, 0])  # the two are connected through the relu
    np.testing.assert_array_equal(table["chained_copies"], [0, 0, 0, 0])
    network.node_config_feat[3, 1, 6:8] = [3, 0]  # the second now wants features most minor
    table = layout.table(network, "wide")
    np.testing.assert_array_equal(table["chained_copies"], [0, 0, 0, 1])
    np.testing.assert_allclose(table["chained_copied_bytes"], [0, 0, 0, np.log1p(4 * 8 * 16 * 64)], rtol=1e-6)
    network.edge_index[3] = [5, 2]  # and is fed directly
    np.testing.assert_array_equal(layout.table(network, "wide")["copies"], [0, 0, 0, 1])


def test_a_layout_left_to_the_compiler_needs_no_copy(network):
    network.node_config_feat[3, 1, 6:12] = -1
    np.testing.assert_array_equal(layout.table(network, "wide")["chained_copies"], [0, 0, 0, 0])


def test_idle_lanes_of_a_single_channel():
    nodes = [(63, (2, 8, 8, 1), {}), (63, (3, 3, 1, 32), {}), convolution((2, 8, 8, 32), (3, 3)),
             convolution((3, 3, 1, 32), (8, 8))]
    nodes[3][2].update({93: 3, 94: 0, 99: 0, 100: 3, 101: 1, 102: 2, 105: 2, 106: 3})  # a weight gradient
    graph = layout_graph(nodes, [[2, 0], [2, 1], [3, 0], [3, 2]], [3], [
        [[[2, 3], [3, 0]]], [[[2, 3], [0, 3]]], [[[3, 2], [3, 0]]], [[[3, 2], [0, 3]]]])
    idle = layout.table(graph)["idle_lanes"].to_numpy()
    assert idle[1] > 0
    np.testing.assert_array_equal(idle[[0, 2, 3]], 0)


def test_default_shares_and_occurrences():
    outputs = [[], [0, 1], [], [1, 0]]
    graph = layout_graph([(63, (6,), {}), (RESHAPE, (2, 3), {})], [[1, 0]], [1], [[[digits]] for digits in outputs])
    table = layout.table(graph, "wide")
    np.testing.assert_array_equal(table["reshape_default"], [1, 0, 1, 0])
    np.testing.assert_allclose(table["occurrences"], np.log([2, 1, 2, 1]), rtol=1e-6)
    np.testing.assert_array_equal(table["convolution_output_padding"], 0)


@pytest.mark.parametrize("feature_set", ["physical", "wide"])
def test_tables_have_their_columns_and_finite_values(network, feature_set):
    table = layout.table(network, feature_set)
    assert table.columns == ["graph_id", "config", *layout.columns(feature_set)]
    assert set(table.dtypes[2:]) == {pl.Float32}
    assert np.isfinite(table.drop("graph_id", "config").to_numpy()).all()
    assert set(layout.MONOTONE[feature_set]) <= set(layout.columns(feature_set))
    np.testing.assert_array_equal(table["config"], np.arange(network.configs))


def test_look_ups_equal_a_sum_over_nodes(network):
    slow = []
    owner = Program(network)
    for config in network.node_config_feat:
        slow.append(sum(owner.padded(1)(node, tuple(d for d in config[node, 6:12] if d >= 0)) for node in range(2)))
    np.testing.assert_allclose(layout.table(network, "wide")["convolution_input_padding"],
                               np.log(np.array(slow) / min(slow)), rtol=1e-6)


def test_cycles_of_elementwise_nodes_end():
    nodes = [(2, (4, 4), {}), (2, (4, 4), {}), (RESHAPE, (16,), {})]
    graph = layout_graph(nodes, [[0, 1], [1, 0], [2, 0]], [2], [[[[0], [0, 1]]], [[[0], [1, 0]]]])
    np.testing.assert_array_equal(layout.table(graph, "wide")["chained_copies"], 0)


@pytest.mark.real
@pytest.mark.parametrize(("place", "analytic"), [("valid/unet_3d.4x4.bf16", 0.3095), ("train/unet3d", 0.3887)])
def test_arithmetic_of_real_programs_ranks_as_published(real_data, place, analytic):
    graph = read_graph(real_data / f"npz/layout/xla/default/{place}.npz")
    assert kendalltau(layout.padded_arithmetic(graph), graph.config_runtime)[0] == pytest.approx(analytic, abs=5e-4)


@pytest.mark.real
def test_tables_of_every_real_file_are_finite(real_data):
    for path in sorted((real_data / "npz/layout").rglob("*.npz")):
        table = layout.table(read_graph(path), "wide").drop("graph_id", "config").to_numpy()
        assert np.isfinite(table).all(), path
