"""Packed configurations: nothing is lost, and little is kept."""

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.distinct import distinct_rows
from kit.features import packed as packing
from kit.features.packed import Packer, pack


def digits_of(picks, seed=0):
    """Layouts with the given numbers, (c, nc) to (c, nc, 18): any digits, different numbers different."""
    rng = np.random.default_rng(seed)
    table = rng.integers(-1, 6, (int(np.max(picks)) + 1, 18)).astype(np.int8)
    table[:, :3] = np.stack([np.arange(len(table)) // 7**i % 7 - 1 for i in range(3)], axis=1)
    return table[np.asarray(picks)]


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 40), st.integers(0, 5), st.integers(1, 6), st.integers(0, 1000))
def test_every_digit_can_be_had_back(configs, nodes, layouts, seed):
    rng = np.random.default_rng(seed)
    digits = digits_of(rng.integers(layouts, size=(configs, max(1, nodes))), seed)[:, :nodes]
    packed = pack(digits)
    np.testing.assert_array_equal(packed.digits(packed.inverse), digits)
    rows = rng.permutation(len(packed.codes))[:3]
    np.testing.assert_array_equal(packed.digits(rows), digits[packed.distinct.first[rows]])


def test_more_than_a_byte_of_layouts():
    """300 layouts take two bytes, 70,000 take four."""
    picks = np.stack([np.arange(70_000) % 300, np.arange(70_000)], axis=1)
    digits = np.full((70_000, 2, 18), -1, np.int8)
    digits[..., :7] = picks[..., None] // 6 ** np.arange(7) % 6
    packed = pack(digits)
    np.testing.assert_array_equal(packed.width, [2, 4])
    np.testing.assert_array_equal(packed.digits(packed.inverse), digits)


def test_copies_are_kept_once_and_counted():
    packed = pack(digits_of([[0, 1], [2, 1], [0, 1], [0, 1]]))
    assert len(packed.codes) == 2
    np.testing.assert_array_equal(packed.inverse, [0, 1, 0, 0])
    np.testing.assert_array_equal(packed.distinct.count, [3, 1])
    np.testing.assert_array_equal(packed.distinct.first, [0, 1])


def test_nodes_that_move_together_share_a_byte_and_constant_ones_take_none():
    packed = pack(digits_of([[0, 3, 5], [1, 4, 5], [1, 4, 5], [2, 0, 5]]))
    assert packed.codes.shape == (3, 1)
    np.testing.assert_array_equal(packed.pattern, [0, 0, -1])
    np.testing.assert_array_equal(packed.codes[:, 0], [0, 1, 2])
    np.testing.assert_array_equal(packed.sizes, [3, 3, 1])


def test_the_distinct_ones_are_those_that_a_look_at_all_digits_finds():
    digits = digits_of(np.random.default_rng(0).integers(2, size=(50, 3)))
    wanted, found = distinct_rows(digits.reshape(50, -1)), pack(digits).distinct
    for name in ("first", "inverse", "count"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))


def test_blocks_and_a_table_that_has_to_grow_change_nothing(monkeypatch):
    monkeypatch.setattr(packing, "FIRST_TABLE", 4)
    digits = digits_of(np.random.default_rng(1).integers(60, size=(200, 4)))
    packer = Packer()
    packer.start(digits.shape)
    for block in np.split(digits, [1, 50, 51, 170]):
        packer.take(block.reshape(-1))
    found = packer.packed()
    monkeypatch.undo()
    for name, value in pack(digits).arrays().items():
        np.testing.assert_array_equal(getattr(found, name), value)


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "f8", "i1", ">i8"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 2), (50, 5), (4, 0)])
def test_the_checksum_is_that_of_all_digits(shape, dtype):
    """Nodes that move alone, together with another, and never; copies of rows."""
    picks = np.random.default_rng(3).integers(3, size=shape)
    picks[:, 3:] = picks[:, :1]
    picks[:, 4:] = 2
    digits = digits_of(picks) if picks.size else np.empty((*shape, 18), np.int8)
    assert pack(digits).checksum(np.dtype(dtype)) == zlib.crc32(digits.astype(dtype).tobytes())


def test_the_checksum_of_two_byte_numbers():
    digits = np.full((700, 1, 18), -1, np.int8)
    digits[:, 0, :4] = np.arange(700)[:, None] // 6 ** np.arange(4) % 6
    assert pack(digits).checksum(np.dtype("f4")) == zlib.crc32(digits.astype("f4").tobytes())


@pytest.mark.parametrize("rows", [slice(0), [0, 2], slice(None)])
def test_choices_of_some_rows_count_all(rows):
    packed = pack(digits_of([[0, 1], [1, 1], [2, 0], [0, 1]]))
    some, everything = packed.choices(rows), packed.choices()
    np.testing.assert_array_equal(some.index, everything.index[:, rows])
    assert some.layouts == everything.layouts
    assert [c.tolist() for c in some.count] == [c.tolist() for c in everything.count]
    assert sum(everything.count[0]) == 4
