"""The members of npz files: guarded reading, streaming of layout digits, reproducible writing."""

import tokenize
import zipfile
import zlib
from itertools import pairwise

import numpy as np
from numpy.lib import format as npy

from evaluation.files import atomic
from kit.inflate import PIECE, Inflater, data_start

BLOCK = 1 << 18  # bytes inflated at a time: small enough for the processor's cache, large enough for zlib
COMPILED_FROM = 1 << 24  # bytes from which importing numba pays for itself
LEVEL = 3  # of deflate: four times as fast as the usual 6 on layouts, at not quite twice the size
EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time a zip file can state: the same arrays, the same bytes


def _header(file, member, fail):
    """Shape, Fortran order and type of an open npy member, its size checked against what it declares."""
    try:
        version = npy.read_magic(file)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[version]
        shape, fortran, dtype = read(file)
    except (ValueError, KeyError, tokenize.TokenError) as error:
        fail(member, f"not a NumPy array ({error})")
    if dtype.hasobject:
        fail(member, "an array of Python objects, which would have to be unpickled", "store plain numbers")
    return shape, fortran, dtype


def _checked_header(archive, member, file, fail):
    shape, fortran, dtype = _header(file, member, fail)
    size = int(np.prod([int(s) for s in shape], dtype=object)) * dtype.itemsize
    if archive.getinfo(f"{member}.npy").file_size != file.tell() + size:
        fail(member, f"shape {shape} of {dtype} needs {size} bytes, the file holds another number of them")
    return shape, fortran, dtype


def read_member(archive, member, fail):
    """Read one array without ever unpickling.

    Parameters
    ----------
    archive : zipfile.ZipFile
    member : str
        Name without ``.npy``.
    fail : callable (member, found, fix)
        Raises the error that names the file.

    Returns
    -------
    ndarray
    """
    with archive.open(f"{member}.npy") as file:
        shape, fortran, dtype = _checked_header(archive, member, file, fail)
        flat = np.frombuffer(file.read(), dtype=dtype)
    return flat.reshape(shape, order="F" if fortran else "C")


def is_fortran(archive, member, fail):
    """Whether a member's numbers lie in Fortran order."""
    if f"{member}.npy" not in archive.namelist():
        return False
    with archive.open(f"{member}.npy") as file:
        return _header(file, member, fail)[1]


def read_layout_digits(archive, nodes, slots, fail):
    """Stream ``node_config_feat`` to int8, checking that every value is a whole number from -1 to 5.

    Parameters
    ----------
    archive : zipfile.ZipFile
    nodes, slots : int
        What the second and third dimension must be.
    fail : callable (member, found, fix)

    Returns
    -------
    int8 array, shape (c, nodes, slots)
        C-contiguous, c at least 1.
    """
    digits, filled = None, 0

    def start(shape):
        nonlocal digits
        digits = np.empty(int(np.prod(shape)), np.int8)

    def take(block):
        nonlocal filled
        digits[filled:filled + block.size] = block
        filled += block.size

    shape, fortran = stream_layout_digits(archive, nodes, slots, fail, start, take)
    return np.ascontiguousarray(digits.reshape(shape, order="F" if fortran else "C"))


def stream_layout_digits(archive, nodes, slots, fail, start, take, summed=None):
    """Stream ``node_config_feat`` as int8, some hundred kilobytes at a time, checked as in `read_layout_digits`.

    Parameters
    ----------
    archive : zipfile.ZipFile
    nodes, slots : int
    fail : callable (member, found, fix)
    start : callable (shape)
        Called once, before the first block.
    take : callable (block)
        Gets an int8 array of one dimension for each block, of whole configurations where they lie one after the
        other; it is overwritten afterwards.
    summed : callable (dtype), optional
        Called at the end: the CRC-32 of all numbers that were taken, as bytes of the file's type and in its order;
        spares computing it from the bytes.

    Returns
    -------
    shape : tuple of int
    fortran : bool
        Whether the numbers come in Fortran order.
    """
    member = "node_config_feat"
    with archive.open(f"{member}.npy") as file:
        shape, fortran, dtype = _checked_header(archive, member, file, fail)
        if len(shape) != 3 or shape[1:] != (nodes, slots):
            fail(member, f"shape {shape}, not (any, {nodes}, {slots})")
        if shape[0] == 0:
            fail(member, "zero configurations", "at least one is needed")
        if dtype.kind not in "fiu":
            fail(member, f"type {dtype}, not a number")
        start(shape)
        rest, header = _after(file, archive, member, summed is None)
        _stream(rest, dtype, int(np.prod(shape)), nodes * slots, take, lambda at, value: fail(
            member, f"{value} at element {at}, where a layout digit is a whole number from -1 to 5"))
    if isinstance(rest, Inflater) and summed is not None:
        _compare(archive, member, header, summed(dtype))
    return shape, fortran


def _after(file, archive, member, summed):
    """What is left of an open member, to be read as fast as can be, and what was read of it if that is known."""
    if archive.getinfo(f"{member}.npy").compress_type != zipfile.ZIP_DEFLATED:
        return file, b""
    faster, header = Inflater(archive, f"{member}.npy", summed), b""
    while len(header) < file.tell():
        header += faster.read(file.tell() - len(header))
    return faster, header


def _compare(archive, member, header, found):
    """Raise `zipfile.BadZipFile` where a member has another checksum than its header and its numbers give."""
    from kit import checksum

    info = archive.getinfo(f"{member}.npy")
    if checksum.joined(zlib.crc32(header), found, info.file_size - len(header)) != info.CRC:
        with archive.open(info) as file:  # -0.0 is kept as 0: the bytes themselves tell
            while file.read(BLOCK):
                pass


def _stream(file, dtype, size, row, take, wrong):
    """Inflate blocks of whole rows and pass them on as int8; `wrong(position, value)` raises at the first bad value."""
    narrow = _compiled_narrow() if size * dtype.itemsize >= COMPILED_FROM else _narrow
    step = row * max(1, BLOCK // (row * dtype.itemsize)) if row else 1
    values, buffer = np.empty(step, dtype), np.empty(step, np.int8)
    for start in range(0, size, step):
        block, out = values[:size - start], buffer[:size - start]
        _fill(memoryview(block.view(np.uint8)), file)
        bad = narrow(block if dtype.isnative else block.astype(dtype.newbyteorder("=")), out)
        if bad >= 0:
            wrong(start + bad, block[bad])
        take(out)
    file.read(1)  # the end of the member, where its checksum is compared


def _fill(buffer, file):
    """Read until a buffer is full."""
    filled = 0
    while filled < len(buffer):
        piece = file.read(min(PIECE, len(buffer) - filled))
        if not piece:
            raise EOFError("the member ends early")
        buffer[filled:filled + len(piece)] = piece
        filled += len(piece)


def _narrow(block, out):
    """Copy layout digits to int8; index of the first value that is none, or -1."""
    with np.errstate(invalid="ignore"):
        out[:] = block
    bad = (out != block) | (out < -1) | (out > 5)
    return int(np.argmax(bad)) if bad.any() else -1


def _compiled_narrow():
    from kit.narrow import narrow

    return narrow


def write(path, arrays, plain=(), comment="", level=LEVEL):
    """Write an npz file whose bytes depend on the arrays alone (no times, members in the given order).

    Parameters
    ----------
    path : str or Path
    arrays : dict of str to ndarray or (shape, dtype, iterable of ndarray)
        The second form is written as it is iterated, so that no large array need stand in memory; its
        pieces are rows in C order.
    plain : collection of str
        Members that are not deflated, so that `mapped` can map them.
    comment : str
        Kept with the archive.
    level : int
        Of deflating, 1 (fast) to 9 (small).
    """
    with atomic(path, "wb") as out, zipfile.ZipFile(
            out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.comment = comment.encode()
        for name, value in arrays.items():
            shape, dtype, pieces = value if isinstance(value, tuple) else (value.shape, value.dtype, [value])
            info = zipfile.ZipInfo(f"{name}.npy", EPOCH)
            info.compress_type = zipfile.ZIP_STORED if name in plain else zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            info._compresslevel = level  # the only way beside a stream; Python 3.13 keeps the name for its new one
            with archive.open(info, "w", force_zip64=True) as member:
                npy.write_array_header_1_0(member, {"shape": tuple(shape), "fortran_order": False,
                                                    "descr": npy.dtype_to_descr(np.dtype(dtype))})
                for piece in pieces:
                    _write_piece(member, np.ascontiguousarray(piece, dtype=dtype))


def mapped(archive, member):
    """Map a member that was written plain: nothing is read before it is looked at.

    Parameters
    ----------
    archive : zipfile.ZipFile
        Of a file that `write` made.
    member : str

    Returns
    -------
    ndarray
        Read-only; it may lie at any address, so look only at bytes or copy what you take.
    """
    info = archive.getinfo(f"{member}.npy")
    with archive.open(info) as file:
        shape, _, dtype = _header(file, member, damaged)
        header = file.tell()
    if not np.prod(shape):
        return np.zeros(shape, dtype)
    return np.memmap(archive.filename, dtype, "r", data_start(archive, info) + header, tuple(shape))


def damaged(member, found, fix="make the file again"):
    """The `fail` of files that the kit itself made: raise a `ValueError`."""
    raise ValueError(f"{member}: {found}; {fix}")


def _write_piece(member, piece):
    data = piece.reshape(-1).view(np.uint8)
    for start, end in pairwise([*range(0, data.size, BLOCK), data.size]):
        member.write(memoryview(data[start:end]))
