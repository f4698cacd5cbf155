"""Tile tables: kernels that can be computed by hand."""

import numpy as np
import pytest
from scipy.stats import kendalltau

from kit.features import tile
from kit.features.kernel import Kernel, Tiling
from kit.graphs import Graphs, TileGraph
from tests.features.test_physics import convolution, program


def tile_graph(nodes, edges, outputs, kernels=None, layouts=None):
    """A kernel; bounds as lists, layouts as {node: minor to major}."""
    base = program(nodes, edges)
    for node, layout in (layouts or {}).items():
        base.node_feat[node, 134:134 + len(layout)] = layout
    config = np.zeros((len(outputs), 24), np.float32)
    for start, bounds in ((0, kernels), (8, outputs)):
        for row, values in zip(config, bounds or [], strict=False):
            row[start:start + len(values)] = values
            row[start + 6:start + 8] = sum(values), np.prod(values) if values else 0
    return TileGraph(**vars(base), config_feat=config, config_runtime_normalizers=None)


def copy(sizes, layout, outputs):
    return tile_graph([(63, sizes, {}), (27, sizes, {})], [[1, 0]], outputs, layouts={0: layout, 1: layout})


def dense(outputs, kernels):
    """(32, 4096) times (4096, 1000) as a convolution without a window: output (32, 1000)."""
    return tile_graph([(63, (32, 4096), {}), (63, (4096, 1000), {}), convolution((32, 1000), ())],
                      [[2, 0], [2, 1]], outputs, kernels, {0: [1, 0], 1: [0, 1], 2: [1, 0]})


def test_extents_count_memory_tiles_from_major_to_minor():
    kernel = Kernel(copy((32, 12, 10, 256), [3, 0, 2, 1], [[6, 5, 2, 1], [12, 10, 4, 2]]))
    np.testing.assert_array_equal(kernel.output.extents, [12, 10, 4, 2])
    np.testing.assert_array_equal(kernel.output.tiles, [2 * 2 * 2 * 2, 1])
    np.testing.assert_array_equal(kernel.steps, kernel.output.tiles)


def test_bounds_that_no_tensor_explains_are_measured_against_their_largest():
    kernel = Kernel(copy((8, 128), [1, 0], [[3, 7], [3, 2]]))
    np.testing.assert_array_equal(kernel.output.extents, [3, 7])


def test_a_tile_covers_more_than_its_tensor():
    tiling = Tiling(np.array([[2, 4], [5, 4], [3, 3]]), np.array([5, 4]))
    np.testing.assert_array_equal(tiling.tiles, [3, 1, 4])
    np.testing.assert_allclose(tiling.waste, [24 / 20, 1, 36 / 20])
    np.testing.assert_array_equal(tiling.run, [8, 20, 3])
    np.testing.assert_allclose(tiling.ratio(1), [1, 1, 0.75])
    np.testing.assert_array_equal(tiling.ratio(2), 1)


def test_a_dense_layer_reads_its_weights_for_every_batch_tile():
    kernel = Kernel(dense([[4, 8], [2, 8], [4, 1]], [[125, 32], [125, 32], [16, 8]]))
    weights, batch, out = 4.0 * 4096 * 1000, 4.0 * 32 * 4096, 4.0 * 32 * 1000
    np.testing.assert_array_equal(kernel.contraction_steps, [1, 1, 4])
    np.testing.assert_array_equal(kernel.steps, [1, 2, 8 * 4])
    np.testing.assert_allclose(kernel.traffic, [
        weights + batch + out, 2 * weights + batch + out, weights + 8 * batch + out])


def test_one_tile_has_the_fewest_steps_and_the_largest_size():
    table = tile.table(copy((64, 512), [1, 0], [[8, 4], [4, 4], [1, 1]]))
    np.testing.assert_allclose(table["steps"], np.log([1, 2, 32]), rtol=1e-6)
    np.testing.assert_allclose(table["steps_rank"], [0, 0.5, 1])
    np.testing.assert_allclose(table["output_volume_rank"], [1, 0.5, 0])
    assert (np.diff(table["tile_bytes"]) < 0).all()


def test_kernels_without_bounds_have_equal_rows():
    table = tile.table(tile_graph([(63, (4, 6), {}), (75, (24,), {})], [[1, 0]], [[], [], []]), "wide")
    assert np.isfinite(table.drop("graph_id", "config").to_numpy()).all()
    assert table.drop("config").is_duplicated().all()


@pytest.mark.parametrize("feature_set", ["physical", "wide"])
def test_tables_have_their_columns(feature_set):
    table = tile.table(dense([[4, 8]], [[125, 32]]), feature_set)
    assert table.columns == ["graph_id", "config", *tile.columns(feature_set)]
    assert set(tile.MONOTONE[feature_set]) <= set(tile.columns(feature_set))


@pytest.mark.real
@pytest.mark.parametrize("split", ["train", "valid", "test"])
def test_real_kernels(real_data, split):
    for graph in Graphs(real_data, "tile:xla", split):
        assert np.isfinite(tile.table(graph, "wide").drop("graph_id", "config").to_numpy()).all()
        if graph.config_runtime is not None and graph.configs >= 9:
            runtime = graph.config_runtime / graph.config_runtime_normalizers
            assert kendalltau(tile.modelled_time(graph), runtime)[0] > 0.7
