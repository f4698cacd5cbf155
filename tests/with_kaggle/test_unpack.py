"""Archives: what is refused, that nothing outside is touched, and that contents come out right."""

import io
import os
import shutil
import stat
import struct
import tarfile
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.errors import InputError
from kit.bench import unpacking
from kit.kaggle.unpack import Corrupt, contents, members, place, safe_name, unpack
from kit.kaggle.untar import untar
from tests.with_kaggle.archives import tree_of, zipped

GOOD = "npz_all/npz/tile/xla/train/a.npz"


def with_entry(name, data=b"x" * 100, *, mode=stat.S_IFREG | 0o644, good=True):
    """A zip archive with one member of which something is odd, after a good one."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        if good:
            archive.writestr(GOOD, b"good" * 50)
        info = zipfile.ZipInfo("placeholder")
        info.filename, info.external_attr = name, mode << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        archive.writestr(info, data)
    return bytearray(buffer.getvalue())


def patched(archive, name, field, value):
    """The archive with one field of a member's directory entry overwritten, leaving its packed bytes alone."""
    offset, form = {"crc": (16, "<I"), "packed": (20, "<I"), "size": (24, "<I"), "method": (10, "<H"),
                    "flags": (8, "<H"), "header": (42, "<I")}[field]
    at = archive.rindex(b"PK\x01\x02", 0, archive.rindex(name.encode()))
    struct.pack_into(form, archive, at + offset, value)
    return archive


@pytest.fixture
def target(tmp_path):
    """A folder inside one whose every change is noticed."""
    outer = tmp_path / "outer"
    (outer / "data").mkdir(parents=True)
    (outer / "keep").write_text("as it was", encoding="utf-8")
    yield outer / "data"
    assert sorted(path.name for path in outer.iterdir()) == ["data", "keep"]
    assert (outer / "keep").read_text(encoding="utf-8") == "as it was"
    assert not any(path.is_symlink() for path in outer.rglob("*"))


def unpack_all(archive, target):
    """Unpack every member."""
    file = io.BytesIO(bytes(archive))
    unpack(file, members(file, "a.zip"), target, lambda count: None)


@pytest.mark.parametrize(("name", "problem"), [
    ("../x", "leads out of the folder"), ("npz_all/../../x", "leads out of the folder"), ("..", "leads out"),
    ("/etc/x", "is an absolute path"), ("C:/x", "is an absolute path"), ("c:x", "is an absolute path"),
    ("npz\\..\\x", "is no plain relative path"), ("a//b", "is no plain relative path"),
    ("./x", "is no plain relative path"), ("", "is no plain relative path"),
])
def test_name_that_leads_elsewhere_is_refused_and_nothing_is_unpacked(target, name, problem):
    with pytest.raises(InputError, match=problem) as error:
        unpack_all(with_entry(name), target)
    assert repr(name)[:8] in str(error.value) or name == ""
    assert not any(target.iterdir())


@pytest.mark.parametrize(("mode", "problem"), [
    (stat.S_IFLNK | 0o777, "is a link"), (stat.S_IFIFO | 0o644, "is no ordinary file"),
    (stat.S_IFCHR | 0o644, "is no ordinary file"),
])
def test_link_and_special_file_are_refused(target, mode, problem):
    with pytest.raises(InputError, match=f"'npz_all/evil'.*{problem}"):
        unpack_all(with_entry("npz_all/evil", b"/etc/passwd", mode=mode), target)
    assert not any(target.iterdir())


def test_bomb_that_inflates_beyond_what_it_declares_is_stopped(target):
    archive = patched(with_entry("npz_all/bomb", bytes(50_000_000)), "npz_all/bomb", "size", 1000)
    with pytest.raises(Corrupt, match=r"'npz_all/bomb'.*inflates beyond the 1000 bytes"):
        unpack_all(archive, target)
    assert [path.name for path in target.rglob("*") if path.is_file()] == ["a.npz"]


def test_bomb_that_declares_more_than_deflate_can_hold_is_refused(target):
    archive = patched(with_entry("npz_all/bomb", bytes(1000)), "npz_all/bomb", "size", 1 << 31)
    with pytest.raises(InputError, match=r"'npz_all/bomb'.*more than is possible"):
        unpack_all(archive, target)
    assert not any(target.iterdir())


def test_members_that_share_their_packed_bytes_are_refused(target):
    archive = patched(with_entry("npz_all/again"), "npz_all/again", "header", 10)
    with pytest.raises(InputError, match=r"'npz_all/again'.*overlaps"):
        unpack_all(archive, target)
    assert not any(target.iterdir())


def test_two_members_of_one_name_are_refused(target):
    with pytest.raises(InputError, match="appears twice"):
        unpack_all(with_entry(GOOD.upper()), target)


def test_wrong_crc_names_the_member_and_leaves_nothing_of_it(target):
    with pytest.raises(Corrupt, match=r"'npz_all/b\.npz': wrong CRC"):
        unpack_all(patched(with_entry("npz_all/b.npz"), "npz_all/b.npz", "crc", 1), target)
    assert [path.name for path in target.rglob("*") if path.is_file()] == ["a.npz"]


@pytest.mark.parametrize(("field", "value", "problem"), [
    ("flags", 1, "is encrypted"), ("method", 12, "packed by a method"),
])
def test_member_that_cannot_be_read_is_refused(target, field, value, problem):
    with pytest.raises(InputError, match=problem):
        unpack_all(patched(with_entry("npz_all/b.npz"), "npz_all/b.npz", field, value), target)


def test_flipped_bit_in_the_packed_bytes_is_found(target):
    data = os.urandom(10_000)
    archive = with_entry("npz_all/b.npz", data)
    archive[archive.index(b"npz_all/b.npz") + 5000] ^= 1
    with pytest.raises(Corrupt, match="npz_all/b.npz"):
        unpack_all(archive, target)


def test_leftover_of_a_failed_member_is_replaced(target):
    path = target / GOOD
    path.parent.mkdir(parents=True)
    path.with_name(".a.npz.part").write_bytes(b"half")
    unpack_all(with_entry("npz_all/b"), target)
    assert path.read_bytes() == b"good" * 50
    assert not list(target.rglob("*.part"))


def test_place_leaves_the_old_file_when_the_pieces_fail(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def pieces():
        yield b"new"
        raise InputError("broken")

    with pytest.raises(InputError):
        place(pieces(), path)
    assert path.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["a"]


def test_archive_through_the_command_names_the_member(kit, tmp_path):
    evil = tmp_path / "evil.zip"
    evil.write_bytes(with_entry("../x"))
    done = kit("download", "--data", tmp_path / "d" / "e", "--source", evil, check=1)
    assert "archive member '../x': leads out of the folder" in done.stderr
    assert not (tmp_path / "d" / "x").exists()


@given(st.lists(st.binary(max_size=300).map(lambda part: part * 11), max_size=8), st.sampled_from([0, 8]))
@settings(max_examples=60, deadline=None)
def test_contents_agree_with_zipfile(parts, method):
    archive = zipped({f"f{i}": data for i, data in enumerate(parts)}, method)
    if not parts:
        return
    file = io.BytesIO(archive)
    assert [b"".join(contents(file, member)) for member in members(file, "a.zip")] == parts


def test_output_larger_than_a_piece_comes_whole():
    data = bytes(3_000_000) + os.urandom(1000)
    file = io.BytesIO(zipped({"a": data}))
    (member,) = members(file, "a.zip")
    assert b"".join(contents(file, member)) == data


@given(st.text(st.sampled_from("ab/.\\:C\0"), max_size=9))
@settings(max_examples=300, deadline=None)
def test_safe_names_stay_inside(name):
    if safe_name(name) is None:
        inside = os.path.normpath(os.path.join("/target", name))
        assert inside.startswith("/target/")
        assert "\\" not in name and "\0" not in name


def tar_with(tmp_path, name="npz/tile/xla/train/a.npz", kind=tarfile.REGTYPE, target=""):
    """A tar archive with one member of which something is odd."""
    path = tmp_path / "evil.tar"
    with tarfile.open(path, "w") as tar:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, target
        tar.addfile(info)
    return path


@pytest.mark.parametrize(("name", "kind", "problem"), [
    ("../x", tarfile.REGTYPE, "leads out of the folder"), ("/etc/x", tarfile.REGTYPE, "is an absolute path"),
    ("npz/x", tarfile.SYMTYPE, "is a link"), ("npz/x", tarfile.LNKTYPE, "is a link"),
    ("npz/x", tarfile.FIFOTYPE, "special file"),
])
def test_tar_member_that_leads_elsewhere_is_refused(target, tmp_path, name, kind, problem):
    with pytest.raises(InputError, match=f"'{name}'.*{problem}"):
        untar(tar_with(tmp_path, name, kind, "/etc/passwd"), target, lambda count: None)
    assert not any(target.iterdir())


@pytest.mark.skipif(not shutil.which("unzip"), reason="unzip is not installed")
def test_benchmark_compares_the_same_files(monkeypatch, tmp_path):
    monkeypatch.setattr(unpacking, "SMALL", (3, 1000))
    monkeypatch.setattr(unpacking, "LARGE", (1, 2_000_000))
    unpacking.make_archive(tmp_path / "a.zip")
    for method in (unpacking.with_kit, unpacking.with_unzip):
        assert method(tmp_path / "a.zip", tmp_path / method.__name__) > 0
    kit, unzip = (tree_of(tmp_path / name) for name in ("with_kit", "with_unzip"))
    assert kit == unzip and len(kit) == 4
