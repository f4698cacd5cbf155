"""Free choices: against a slow reading of every configuration."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.features.choices import find_choices
from kit.features.packed import NODES_AT_ONCE

LAYOUTS = [[-1] * 6, [0, 1, -1, -1, -1, -1], [1, 0, -1, -1, -1, -1], [2, 1, 0, -1, -1, -1], [5, 4, 3, 2, 1, 0]]


def configurations(picks):
    """Digits, shape (c, nodes, 18), of layout numbers, shape (c, nodes, 3)."""
    return np.array(LAYOUTS, np.int8)[np.asarray(picks)].reshape(len(picks), -1, 18)


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 9), st.integers(1, 4), st.integers(0, 1000))
def test_layouts_and_counts_as_a_slow_reading_finds_them(configs, nodes, seed):
    picks = np.random.default_rng(seed).integers(len(LAYOUTS), size=(configs, nodes, 3))
    choices = find_choices(configurations(picks))
    for slot, column in enumerate(picks.reshape(configs, -1).T):
        wanted = [tuple(d for d in LAYOUTS[pick] if d >= 0) for pick in column]
        choice = choices.of_slot.flat[slot]
        index = choices.index[choice] if choice >= 0 else np.zeros(configs, int)
        assert [choices.layouts[slot][i] for i in index] == wanted
        np.testing.assert_array_equal(choices.count[slot], np.bincount(index))


def test_slots_that_move_together_are_one_choice():
    first = np.array([0, 1, 1, 2])
    picks = np.stack([first, first + 1, [3, 3, 3, 3]], axis=1)[:, None]  # other layouts, the same pattern
    choices = find_choices(configurations(picks))
    np.testing.assert_array_equal(choices.of_slot, [[0, 0, -1]])
    assert len(choices.index) == 1


def test_columns_sum_what_choices_and_constants_give():
    picks = [[[0, 1, 3]], [[1, 1, 3]], [[0, 2, 3]]]
    choices = find_choices(configurations(picks))
    column = choices.column({0: np.array([10.0, 20.0]), 1: np.array([1.0, 2.0]), -1: np.array([0.5])})
    np.testing.assert_array_equal(column, [11.5, 21.5, 12.5])


def test_blocks_of_nodes_are_joined():
    rng = np.random.default_rng(0)
    pattern = rng.integers(2, size=(30, 1, 1))
    picks = np.repeat(np.repeat(pattern, 2 * NODES_AT_ONCE + 1, axis=1), 3, axis=2)
    choices = find_choices(configurations(picks))
    assert len(choices.index) == 1
    assert (choices.of_slot == 0).all()
