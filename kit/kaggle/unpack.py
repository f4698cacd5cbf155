"""Zip archives: checked before anything is written, verified and unpacked member by member, resumable."""

import os
import re
import stat
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

from evaluation.errors import InputError

LOCAL = struct.Struct("<4s22xHH")  # signature, then the lengths of name and extra field (APPNOTE.TXT 4.3.7)
STORED, DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
LARGEST_RATIO = 1032  # deflate cannot do better: 258 bytes from two bits (zlib's technical notes)
PIECE = 1 << 20


class Corrupt(InputError):
    """A member does not hold what the archive's directory says."""

    def __init__(self, member, problem):
        super().__init__(f"archive member {member.name!r}: {problem}. The archive is damaged or was tampered "
                         "with; nothing of this member was put in place. Delete the archive and fetch it again.")
        self.member = member


@dataclass(frozen=True)
class Member:
    """A file in a zip archive, as its directory describes it.

    Attributes
    ----------
    name : str
        Relative path with forward slashes, checked to stay inside.
    offset : int
        Where its local header begins, in bytes.
    packed, size : int
        Bytes in the archive and unpacked.
    crc : int
        CRC-32 of the unpacked bytes.
    method : int
        0 stored, 8 deflated.
    """

    name: str
    offset: int
    packed: int
    size: int
    crc: int
    method: int


def safe_name(name):
    """Why `name` may not be unpacked, or None where it stays inside the target folder on every system."""
    parts = name.rstrip("/").split("/")
    if name.startswith("/") or re.match(r"[A-Za-z]:", name):
        return "is an absolute path"
    if ".." in parts:
        return "leads out of the folder with '..'"
    if "\\" in name or "\0" in name or any(part in ("", ".") for part in parts):
        return "is no plain relative path"
    return None


def _refuse(name, problem):
    raise InputError(f"archive member {name!r}: {problem}. No archive of the competition holds such a member: "
                     "this one was tampered with, so none of it was unpacked. Delete it and fetch it again from "
                     "Kaggle.")


def _check_entry(info):
    name = info.orig_filename
    if problem := safe_name(name):
        _refuse(name, problem)
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        _refuse(name, "is a link" if kind == stat.S_IFLNK else "is no ordinary file")
    if info.flag_bits & 0x1 or info.compress_type not in (STORED, DEFLATED):
        _refuse(name, "is encrypted or packed by a method that is not in use here")
    if info.file_size > LARGEST_RATIO * info.compress_size + 64:
        _refuse(name, f"declares {info.file_size} bytes from {info.compress_size}, more than is possible")


def _directory(file, source):
    """Entries of the archive's directory.

    An npz file is a zip archive too: in an archive that was cut short, the directory of the last npz file in it
    may be found near the end. It describes a zip archive that does not begin where the file begins.
    """
    problem = "it begins with something else"
    try:
        with zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
        if infos and min(info.header_offset for info in infos) == 0:
            return infos
    except (zipfile.BadZipFile, struct.error, ValueError, NotImplementedError) as error:
        problem = str(error)
    raise InputError(f"{source}: is no complete zip archive ({problem}); a download that was cut short lacks its end, "
                     "where the directory is. Fetch it again.")


def members(file, source):
    """The files of a zip archive, all checked, in the order in which they lie.

    Parameters
    ----------
    file : binary file
        Seekable.
    source : str
        For messages.

    Returns
    -------
    list of Member

    Raises
    ------
    InputError
        Where it is no complete zip archive, or any member is absolute, leads outside, is a link, appears twice,
        overlaps another or declares an impossible size.
    """
    infos = sorted(_directory(file, source), key=lambda one: one.header_offset)
    found, seen = [], set()
    for info in infos:
        _check_entry(info)
        if info.is_dir():
            continue
        if info.filename.casefold() in seen:
            _refuse(info.filename, "appears twice")
        seen.add(info.filename.casefold())
        if found and info.header_offset < found[-1].offset + found[-1].packed + 30:
            _refuse(info.filename, f"overlaps {found[-1].name!r}")
        found.append(Member(info.filename, info.header_offset, info.compress_size, info.file_size, info.CRC,
                            info.compress_type))
    return found


def is_there(member, folder):
    """Whether a file with the member's length and CRC is in place; its bytes are read, so it can be believed."""
    path = Path(folder, member.name)
    try:
        if path.stat().st_size != member.size:
            return False
        crc = 0
        with open(path, "rb") as file:
            while piece := file.read(PIECE):
                crc = zlib.crc32(piece, crc)
    except OSError:
        return False
    return crc == member.crc


def _packed_pieces(file, member):
    """The member's packed bytes, from behind its local header."""
    file.seek(member.offset)
    header = file.read(LOCAL.size)
    if len(header) < LOCAL.size or header[:4] != b"PK\x03\x04":
        raise Corrupt(member, "there is no header where it should begin")
    _, name, extra = LOCAL.unpack(header)
    file.read(name + extra)
    left = member.packed
    while left:
        piece = file.read(min(PIECE, left))
        if not piece:
            raise Corrupt(member, "the archive ends in the middle of it")
        left -= len(piece)
        yield piece


def _inflated(file, member):
    """The member's bytes in pieces of at most a megabyte, unchecked."""
    if member.method == STORED:
        yield from _packed_pieces(file, member)
        return
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    for packed in _packed_pieces(file, member):
        while packed:
            yield inflate.decompress(packed, PIECE)
            packed = inflate.unconsumed_tail
    yield inflate.flush()  # what the length limit held back: no input is left, so a few hundred bytes at most
    if not inflate.eof:
        raise Corrupt(member, "its packed bytes end early")


def contents(file, member):
    """Yield the member's unpacked bytes in pieces, never more than it declares.

    Raises
    ------
    Corrupt
        Where it inflates beyond its declared size, ends early, or has another CRC. The last piece has then been
        yielded already: keep nothing until the iterator has ended.
    """
    size, crc = 0, 0
    try:
        for piece in _inflated(file, member):
            size += len(piece)
            if size > member.size:
                raise Corrupt(member, f"inflates beyond the {member.size} bytes it declares")
            crc = zlib.crc32(piece, crc)
            yield piece
    except zlib.error:
        raise Corrupt(member, "its packed bytes cannot be read") from None
    if size != member.size:
        raise Corrupt(member, f"has {size} bytes instead of {member.size}")
    if crc != member.crc:
        raise Corrupt(member, f"wrong CRC {crc:08x} instead of {member.crc:08x}")


def place(pieces, path, report=lambda count: None):
    """Write `pieces` under a temporary name beside `path` and move it there once they have all come."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        with open(temporary, "wb", buffering=0) as out:
            for piece in pieces:
                view = memoryview(piece)
                while view:
                    view = view[out.write(view):]
                report(len(piece))
        os.replace(temporary, path)
    except Exception:
        temporary.unlink(missing_ok=True)
        raise


def unpack(file, wanted, folder, report, *, repair=None, done=lambda member: None):
    """Verify and unpack members into `folder`, skipping those that are in place already.

    A member is complete under its final name or not there at all, so an interrupted call is simply repeated.

    Parameters
    ----------
    file : binary file
        The archive, seekable; a remote one is read in order.
    wanted : list of Member
        From `members`; unpacked in the order given.
    folder : Path
    report : callable
        Gets the number of unpacked bytes of each piece.
    repair : callable, optional
        Called with a damaged member once, to fetch its bytes anew.
    done : callable, optional
        Called with each member that is in place.

    Raises
    ------
    Corrupt
        Naming the first member that is damaged, after `repair`.
    """
    folders = set()
    for member in wanted:
        path = Path(folder, member.name)
        if path.parent not in folders:
            path.parent.mkdir(parents=True, exist_ok=True)
            folders.add(path.parent)
        if path.exists() and is_there(member, folder):
            report(member.size)
        else:
            _place_member(file, member, path, report, repair)
        done(member)


def _place_member(file, member, path, report, repair):
    try:
        place(contents(file, member), path, report)
    except Corrupt:
        if repair is None:
            raise
        repair(member)
        place(contents(file, member), path)
