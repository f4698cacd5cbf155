"""Which layouts are offered, which nodes choose together, and the two searches."""

from math import prod

import numpy as np
import pytest

from kit.features.physics import CONVOLUTION, DOT, dimensions
from kit.sample import configurations as layouts
from kit.sample import programs
from kit.sample.constants import UNCALIBRATED
from kit.sample.cost import LayoutCost, noisy
from kit.sample.dots import dot_axes
from kit.sample.draws import Draws

PROGRAM = "unet3d_small.train.b2.f32"


@pytest.fixture(scope="module")
def module():
    return programs.load(PROGRAM).module


@pytest.fixture(scope="module")
def free(module):
    return layouts.choices(module, dimensions(module.node_feat))


def test_every_configurable_node_is_in_one_choice(module, free):
    members = sorted(m for choice in free for m in choice.members)
    assert members == list(range(len(module.node_config_ids)))
    assert all(0 <= c.default < len(c.options) for c in free)


def test_digits_name_axes_that_exist(module, free):
    shapes = dimensions(module.node_feat)
    for choice in free:
        for member in choice.members:
            node = module.node_config_ids[member]
            ranks = [len(shapes[n]) for n in (node, *module.operands[node][:2])]
            for slot, rank in enumerate(ranks):
                digits = choice.options[:, 6 * slot:6 * slot + 6]
                assert digits.max(initial=-1) < rank


def test_a_convolution_lists_its_two_other_axes(module, free):
    """As in the real U-Nets: two digits an operand, the batch and feature axes, most minor first."""
    for choice in free:
        nodes = module.node_config_ids[list(choice.members)]
        if (module.node_opcode[nodes] == CONVOLUTION).all():
            assert (choice.options[:, 0:2] >= 0).all() and (choice.options[:, 2:6] == -1).all()
            f = module.node_feat[nodes[0]].astype(int)
            assert {tuple(sorted(row[:2])) for row in choice.options.tolist()} == {tuple(sorted((f[105], f[106])))}


@pytest.mark.parametrize("out, left, right, contracted, expected", [
    ((512, 256), (512, 128), (128, 256), 128, ((1,), (0,), (), ())),
    ((32, 16, 128, 64), (32, 16, 128, 96), (32, 96, 16, 64), 96, ((3,), (1,), (0, 1), (0, 2))),
    ((1024, 4096), (32, 128, 1024), (32, 128, 4096), 4096, ((0, 1), (0, 1), (), ())),
])
def test_dot_axes_by_hand(out, left, right, contracted, expected):
    assert dot_axes(out, left, right, contracted) == expected


def test_no_dot_has_these_shapes():
    with pytest.raises(ValueError, match="no dot"):
        dot_axes((2, 3), (5, 7), (7, 11), 7)


@pytest.mark.parametrize("left, right, groups", [
    ((8, 128, 768), (1024, 768), [([0, 1], [0]), ([2], [1])]),
    ((1, 96, 96), (96, 96), [([1], [0]), ([2], [1])]),
    ((512, 1664), (6656, 128), [([0, 1], [0, 1])]),
    ((), (1,), []),
])
def test_factor_groups(left, right, groups):
    assert layouts.factor_groups(left, right) == groups


def test_a_reshape_moves_nothing():
    """Reference: the order of elements in memory, by NumPy, is the same before and after."""
    out, source = (4, 6, 5), (24, 5)
    for row in layouts._reshape_options(out, source):
        minor = [[d for d in row[slot * 6:slot * 6 + 6] if d >= 0] for slot in (0, 1)]
        arrays = [np.arange(prod(out)).reshape(s).transpose(m[::-1]).ravel()
                  for s, m in zip((out, source), minor, strict=True)]
        assert np.array_equal(*arrays)


def test_random_search_spreads_and_repeats_the_default(free):
    picks = layouts.spread_search(free, 600, Draws(0, "test"))
    default = np.array([c.default for c in free])
    assert 40 <= (picks == default).all(axis=1).sum() < 60
    for column, choice in enumerate(free):
        shares = np.bincount(picks[40:, column], minlength=len(choice.options)) / 560
        assert np.all(np.abs(shares - 1 / len(choice.options)) < 0.1)


def test_genetic_search_avoids_what_costs_and_repeats_itself(module, free):
    cost = LayoutCost(module, dimensions(module.node_feat), free, UNCALIBRATED, 0)
    draws = Draws(0, "test")
    picks, seconds = layouts.genetic_search(free, 600, draws, lambda p: noisy(cost.runtime(p), 1e-5, draws))
    assert np.allclose(seconds, cost.runtime(picks), rtol=1e-3)
    spread = layouts.spread_search(free, 600, draws)
    assert np.median(seconds) < np.median(cost.runtime(spread))
    assert 0.05 < 1 - len(np.unique(picks, axis=0)) / 600 < 0.7


def test_digit_rows_stream_what_was_picked(free):
    picks = layouts.spread_search(free, 1100, Draws(0, "rows"))
    blocks = list(layouts.digit_rows(free, picks))
    assert [len(b) for b in blocks] == [512, 512, 76]
    digits = np.concatenate(blocks)
    assert np.array_equal(digits[700, free[0].members[0]], free[0].options[picks[700, 0]])


def test_a_plain_product_offers_the_compilers_choice_of_operands():
    module = programs.load("dlrm_small.train.b512.f32").module
    free = layouts.choices(module, dimensions(module.node_feat))
    kinds = {int(module.node_opcode[module.node_config_ids[c.members[0]]]) for c in free}
    assert DOT in kinds
    plain = [c for c in free if (c.options[c.default, 6:] == -1).all() and len(c.options) == 9]
    assert plain  # beside its eight orders, as real files have it
