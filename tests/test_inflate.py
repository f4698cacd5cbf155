"""Members read in small pieces: the bytes that zipfile gives, and each damage refused."""

import zipfile
import zlib

import numpy as np
import pytest

from kit.inflate import AHEAD, PIECE, Inflater

CONTENT = np.random.default_rng(0).integers(0, 200, 5 * PIECE + 7, dtype=np.uint8).tobytes()


@pytest.fixture
def file(tmp_path):
    """An archive of a member that compresses to many times `AHEAD`, between two others."""
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (("before", b"x" * 99), ("it", CONTENT), ("after", b"y")):
            archive.writestr(name, content)
        assert archive.getinfo("it").compress_size > 5 * AHEAD
    return tmp_path / "a.zip"


def read_all(file, most, **options):
    """All pieces, read with another member's pieces in between."""
    found = []
    with zipfile.ZipFile(file) as archive, archive.open("before") as other:
        inflater = Inflater(archive, "it", **options)
        while piece := inflater.read(most):
            assert len(piece) <= min(most, PIECE)
            found.append(piece)
            other.read(1)
    return b"".join(found)


@pytest.mark.parametrize("most", [1000, PIECE, 10 * PIECE])
def test_the_bytes_are_those_that_were_written(file, most):
    assert read_all(file, most) == CONTENT


def changed(file, place, size):
    """Some bytes of the file turned over, the place counted from the start of the member's bytes."""
    with zipfile.ZipFile(file) as archive:
        start = archive.getinfo("it").header_offset + 30 + len("it")
    data = bytearray(file.read_bytes())
    for at in range(start + place, start + place + size):
        data[at] ^= 0xFF
    file.write_bytes(data)


def test_a_damaged_stream_is_refused(file):
    changed(file, 40_000, 3)
    with pytest.raises((zlib.error, zipfile.BadZipFile)):
        read_all(file, PIECE)


def test_a_wrong_checksum_is_refused_unless_it_is_not_looked_at(file):
    data = file.read_bytes()
    file.write_bytes(data.replace(zlib.crc32(CONTENT).to_bytes(4, "little"), bytes(4)))
    with pytest.raises(zipfile.BadZipFile, match="CRC"):
        read_all(file, PIECE)
    assert read_all(file, PIECE, summed=False) == CONTENT


def test_a_member_that_ends_early_is_refused(file):
    with zipfile.ZipFile(file) as archive:
        inflater = Inflater(archive, "it")
        inflater.compressed //= 2
        with pytest.raises(EOFError):
            while inflater.read(PIECE):
                pass
