"""Inflating a member of a zip file in small pieces, with or without its checksum.

`zipfile` hands out what a caller asks for, 256 KiB say, and copies on the way: blocks of growing size are joined,
what was read too early is kept, results are appended. Small pieces stay in the processor's nearest cache and come out
of zlib in one block. The checksum takes about as long as inflating what is as regular as layouts.
"""

import zipfile
import zlib

PIECE = 1 << 15  # bytes handed out at most: the size of the first block that CPython makes for zlib's output
AHEAD = 1 << 13  # compressed bytes read at once: what zlib does not need yet is copied at every piece


class Inflater:
    """Reads a deflated member in order, as `zipfile.ZipExtFile` does.

    Parameters
    ----------
    archive : zipfile.ZipFile
    name : str
        A member that ``archive.open`` has opened before, which looks at its header.
    summed : bool
        Whether to compare checksums at the end.
    """

    def __init__(self, archive, name, summed=True):
        info = archive.getinfo(name)
        self.name, self.checksum, self.summed = name, info.CRC, summed
        self.archive, self.at, self.compressed = archive.fp, data_start(archive, info), info.compress_size
        self.zlib, self.sum, self.left = zlib.decompressobj(-zlib.MAX_WBITS), 0, info.file_size

    def read(self, most):
        """The next bytes, at least one and at most `most` or `PIECE`; none after the last.

        Raises
        ------
        zipfile.BadZipFile
            At the end, where the bytes do not have the checksum that the archive states.
        EOFError, zlib.error
            Where the member ends early or is damaged.
        """
        if not self.left:
            if self.summed and self.sum != self.checksum:
                raise zipfile.BadZipFile(f"Bad CRC-32 for file {self.name!r}")
            return b""
        piece = self._inflated(min(most, self.left, PIECE))
        if self.summed:
            self.sum = zlib.crc32(piece, self.sum)
        self.left -= len(piece)
        return piece

    def _inflated(self, most):
        while not self.zlib.eof:
            ahead = self.zlib.unconsumed_tail or self._ahead()
            piece = self.zlib.decompress(ahead, most)
            if piece:
                return piece
            if not ahead:
                break
        raise EOFError("the member ends early")

    def _ahead(self):
        self.archive.seek(self.at)  # others read from the same file
        found = self.archive.read(min(AHEAD, self.compressed))
        self.at += len(found)
        self.compressed -= len(found)
        return found


def data_start(archive, info):
    """Where the bytes of a member begin in an archive's file, after its own header."""
    archive.fp.seek(info.header_offset + _NAME_LENGTH)
    lengths = archive.fp.read(4)
    return info.header_offset + _LOCAL_HEADER + sum(int.from_bytes(lengths[i:i + 2], "little") for i in (0, 2))


_LOCAL_HEADER, _NAME_LENGTH = 30, 26  # bytes of a zip file's header before a member, and where its lengths stand
