"""Checksums of parts put together, against zlib's of the whole."""

import zlib

import numpy as np
import pytest

from kit import checksum


def sums(rows):
    """The checksum of each row."""
    return np.array([zlib.crc32(row) for row in rows], np.uint32)


@pytest.mark.parametrize(("first", "second"), [(b"abc", b"defg"), (b"", b"a"), (b"a", b""), (bytes(999), b"\xff" * 77)])
def test_two_stretches(first, second):
    found = checksum.joined(zlib.crc32(first), zlib.crc32(second), len(second))
    assert found == zlib.crc32(first + second)


@pytest.mark.parametrize("shape", [(1, 5), (2, 3), (7, 72), (8, 1), (100, 26), (3, 0)])
def test_many_stretches(shape):
    rows = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    assert checksum.folded(sums(rows), shape[1]) == zlib.crc32(rows.tobytes())


def test_no_stretch():
    assert checksum.folded(np.zeros(0, np.uint32), 8) == zlib.crc32(b"")


def test_powers_are_products_of_the_first():
    base = checksum.power(72)
    found = checksum.powers(base, 11)
    assert found.tolist() == [checksum.power(72 * i) for i in range(11)]
    assert checksum.times(found[3], found[5]) == found[8]
