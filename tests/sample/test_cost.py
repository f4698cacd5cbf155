"""The cost model: its terms on small cases, the tiles, the named sets."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from evaluation.errors import InputError
from kit.features.physics import dimensions
from kit.sample import constants, programs
from kit.sample.configurations import choices
from kit.sample.cost import LayoutCost, nanoseconds, noisy
from kit.sample.cuts import cuts
from kit.sample.draws import Draws
from kit.sample.kernels import kernel
from kit.sample.tiles import TileKernel, memory_axes, pieces

PLAIN = replace(constants.UNCALIBRATED, node_spread=0.0, indifferent=0.0, unusual=0.0, kernel_spread=0.0)


def _dense(rows=2, summed=256, columns=64):
    """One plain dot, (rows, summed) x (summed, columns), as the cost model takes a program."""
    feat = np.zeros((3, 140), np.float32)
    feat[:, 13] = 1
    for node, sizes in enumerate([(rows, summed), (summed, columns), (rows, columns)]):
        feat[node, 21:23] = sizes
    return SimpleNamespace(name="dense", node_feat=feat, node_opcode=np.array([63, 63, 34], np.uint8),
                           operands=[[], [], [0, 1]], node_config_ids=np.array([2]),
                           macs=np.array([0.0, 0.0, rows * summed * columns]))


def test_padding_of_the_output_decides_a_computation():
    program = _dense(rows=1024, columns=64)
    shapes = dimensions(program.node_feat)
    free = choices(program, shapes)
    cost = LayoutCost(program, shapes, free, replace(PLAIN, bandwidth=1e30, transposed=0.0), 0)
    seconds = cost.tables[0]
    columns_minor = (free[0].options[:, :2] == [1, 0]).all(axis=1)  # 64 columns fill 128 lanes half
    assert seconds[columns_minor].max() / seconds[~columns_minor].max() == pytest.approx(2.0)


def test_runtime_is_the_sum_of_what_was_picked():
    program = _dense()
    shapes = dimensions(program.node_feat)
    cost = LayoutCost(program, shapes, choices(program, shapes), PLAIN, 0)
    picks = np.arange(len(cost.tables[0]), dtype=np.uint8)[:, None]
    assert np.array_equal(cost.runtime(picks), cost.fixed + cost.tables[0])


def test_single_channel_gradients_cost_only_where_asked():
    module = programs.load("unet3d_small.train.b2.f32").module
    shapes = dimensions(module.node_feat)
    free = choices(module, shapes)
    without, with_it = (LayoutCost(module, shapes, free, replace(PLAIN, single_channel=w), 0) for w in (0.0, 1.0))
    more = [b - a for a, b in zip(without.tables, with_it.tables, strict=True)]
    assert sum((m > 0).any() for m in more) >= 1 and all((m >= 0).all() for m in more)


def test_noise_has_the_spread_asked_for():
    seconds = noisy(np.ones(20_000), 1e-3, Draws(0, "noise"))
    assert np.std(np.log(seconds)) == pytest.approx(1e-3, rel=0.05)
    assert nanoseconds(np.array([1e-12, 1.0])).tolist() == [2, 10**9]


def test_every_left_out_graph_has_a_set_that_owes_nothing_to_it():
    left = "layout:xla:default:unet3d"
    assert constants.without(left) == f"without {left}"
    assert constants.constants(constants.without(left)).single_channel == 0.0  # seen on that graph alone
    assert constants.without("layout:xla:default:unknown") == "calibrated"
    with pytest.raises(InputError, match="no set of constants"):
        constants.constants("none")


def test_pieces_are_the_distinct_ceilings():
    assert pieces(12) == [12, 6, 4, 3, 2, 1]
    assert pieces(32) == [32, 16, 11, 8, 7, 6, 5, 4, 3, 2, 1]  # seen in real kernels


def test_memory_axes_run_from_major_to_minor():
    axes = memory_axes((2, 300, 300, 64), (2, 3, 1, 0, 0, 0))  # a real kernel: largest bounds 2, 300, 8, 3
    assert [a.extent for a in axes] == [2, 300, 8, 3]
    assert [a.extent for a in memory_axes((4096,), (0,) * 6)] == [4]
    assert memory_axes((), (0,) * 6) == []


@pytest.fixture(scope="module")
def tiles():
    module = programs.load("alexnet_base.infer.b32.f32").module
    found = [TileKernel(kernel(module, cut), f"k{i}", PLAIN, 0) for i, cut in enumerate(cuts(module, smallest=1 << 15))]
    return max(found, key=lambda t: t.kernel is not None and t.program.macs)


def test_bounds_stay_within_the_tensors_and_the_memory(tiles):
    output, bounds = tiles.bounds()
    assert (output >= 1).all() and (output <= [a.extent for a in tiles.output_axes]).all()
    assert (bounds >= 1).all() and (bounds <= [a.extent for a in tiles.kernel_axes]).all()
    assert tiles.tile_bytes(output, bounds).max() <= 8 << 20
    assert len(np.unique(tiles.columns(output, bounds), axis=0)) == len(output)


def test_columns_end_in_sum_and_product(tiles):
    output, bounds = tiles.bounds()
    columns = tiles.columns(output, bounds)
    for start in (0, 8):
        sizes = columns[:, start:start + 6]
        assert np.array_equal(columns[:, start + 6], sizes.sum(axis=1))
        assert np.array_equal(columns[:, start + 7], np.where(sizes > 0, sizes, 1).prod(axis=1))
    assert not columns[:, 16:].any()


def test_smaller_tiles_take_longer_in_the_main(tiles):
    output, bounds = tiles.bounds()
    seconds = tiles.runtime(output, bounds)
    small = output.prod(axis=1) <= np.quantile(output.prod(axis=1), 0.1)
    assert np.median(seconds[small]) > 2 * seconds.min()
    assert (seconds > 0).all()
