"""What the networks are given: kept nodes, their order, and configurations that can be had back from the look-ups."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.graphs import LayoutGraph, read_graph
from kit.models.encoding import encode, neighbourhood, topological_position
from tests.builders import layout_arrays, save, tile_arrays


@pytest.fixture
def layout(tmp_path):
    return read_graph(save(tmp_path / "a.npz", layout_arrays(configs=40, nodes=8, configurable=3)))


def decoded(encoded):
    """The digits of every configuration, (c, k, 18), from the encoding's look-ups."""
    configs = encoded.configs
    digits = configs.digits[configs.combination[configs.lookup()]] - 1  # (k, c, 3, 6)
    return digits.permute(1, 0, 2, 3).reshape(len(configs), len(configs.place), 18).numpy()


def test_the_look_ups_hold_every_digit(layout):
    np.testing.assert_array_equal(decoded(encode(layout)), layout.node_config_feat)


@settings(deadline=None, max_examples=25)
@given(st.integers(1, 30), st.integers(1, 4), st.integers(0, 99))
def test_any_configurations_can_be_had_back(tmp_path_factory, configs, nodes, seed):
    arrays = layout_arrays(configs=configs, nodes=nodes + 1, configurable=nodes, seed=seed)
    if nodes > 2:  # two nodes that move together share a pattern
        arrays["node_config_feat"][:, 1] = arrays["node_config_feat"][:, 0]
    graph = read_graph(save(tmp_path_factory.mktemp("g") / "a.npz", arrays))
    np.testing.assert_array_equal(decoded(encode(graph)), graph.node_config_feat)


def test_nodes_that_move_together_share_a_pattern(tmp_path):
    arrays = layout_arrays(configs=20, configurable=3)
    arrays["node_config_feat"][:, 2] = arrays["node_config_feat"][:, 0]
    configs = encode(read_graph(save(tmp_path / "a.npz", arrays))).configs
    assert len(configs.index) == 2
    assert configs.pattern[0] == configs.pattern[2] != configs.pattern[1]


def test_some_rows(layout):
    rows = torch.tensor([7, 3])
    np.testing.assert_array_equal(decoded(encode(layout).rows(rows)), layout.node_config_feat[[7, 3]])


def test_configurable_nodes_and_their_neighbours_are_kept(tmp_path):
    arrays = layout_arrays(nodes=8, configurable=2)
    arrays["node_config_ids"] = np.array([5, 2])
    encoded = encode(graph := read_graph(save(tmp_path / "a.npz", arrays)))
    np.testing.assert_array_equal(neighbourhood(graph), [1, 2, 3, 4, 5, 6])
    np.testing.assert_array_equal(encoded.configs.place, [1, 4])
    np.testing.assert_array_equal(encoded.edges, [[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])
    np.testing.assert_array_equal(decoded(encoded), graph.node_config_feat[:, [1, 0]])


def test_operands_come_first(tmp_path):
    arrays = tile_arrays(nodes=5)
    arrays["edge_index"] = np.array([[0, 4], [1, 0], [2, 1], [3, 2]])  # 4 feeds 0 feeds 1 feeds 2 feeds 3
    graph = read_graph(save(tmp_path / "a.npz", arrays))
    np.testing.assert_array_equal(topological_position(graph), [1, 2, 3, 4, 0])
    operand, consumer = encode(graph).edges
    assert (operand < consumer).all()


def test_a_file_in_order_stays_as_it_is(layout):
    np.testing.assert_array_equal(topological_position(layout), np.arange(8))


def test_a_cycle_ends(tmp_path):
    arrays = tile_arrays(nodes=3)
    arrays["edge_index"] = np.array([[0, 1], [1, 0], [2, 1]])
    graph = read_graph(save(tmp_path / "a.npz", arrays))
    assert sorted(topological_position(graph)) == [0, 1, 2]


def test_amounts_by_opcode(tmp_path):
    arrays = tile_arrays(nodes=3)  # a chain of vectors of 8 numbers of 4 bytes
    encoded = encode(read_graph(save(tmp_path / "a.npz", arrays)))
    np.testing.assert_array_equal(encoded.amounts, [[32, 0], [64, 0], [64, 0]])
    assert encoded.totals[63].tolist() == [160, 0]
    assert encoded.totals.sum() == 160


def test_unusual_layouts_are_marked(tmp_path):
    arrays = layout_arrays(configs=4, configurable=1)
    arrays["node_config_feat"][:, 0, :6] = [[3, 2, 1, 0, -1, -1]] * 3 + [[0, 1, 2, 3, -1, -1]]
    configs = encode(graph := read_graph(save(tmp_path / "a.npz", arrays))).configs
    assert isinstance(graph, LayoutGraph)
    usual, unusual = configs.operands[configs.combination[configs.lookup()[0, [0, 3]], 0]]
    # 16 x 32 x 64 x 128: no padding with 128 most minor; 16 most minor fills an eighth of its lanes
    np.testing.assert_allclose(usual, [0, 0, 1], atol=1e-6)
    np.testing.assert_allclose(unusual, [np.log(8), np.log(3), 0], atol=1e-6)
