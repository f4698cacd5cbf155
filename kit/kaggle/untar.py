"""The authors' tar files: checked before anything is written, each npz verified by the CRCs that it carries."""

import os
import tarfile
import zipfile
import zlib
from pathlib import Path

from evaluation.collections import COLLECTIONS, SPLITS
from evaluation.errors import InputError
from kit.kaggle.fetch import probe
from kit.kaggle.manifest import write_manifest
from kit.kaggle.unpack import PIECE, place, safe_name
from kit.progress import human, progress

AUTHORS = "https://download.tensorflow.org/data/tpu_graphs/v0"  # README of google-research-datasets/tpu_graphs


def tar_names(collections):
    """Names of the authors' tar files for collections (all where none is given): one a split."""
    chosen = [c for c in COLLECTIONS.values() if not collections or c.name in collections]
    return [f"npz_{c.name.replace(':', '_')}_{split}.tar" for c in chosen for split in SPLITS]


def _refuse(archive, name, problem):
    raise InputError(f"{archive}: member {name!r} {problem}. The authors' archives hold no such member: this one "
                     "was tampered with, so none of it was unpacked. Delete it and fetch it again.")


def tar_members(archive):
    """The files of a tar archive, all checked.

    Raises
    ------
    InputError
        Where it is no complete tar file or a member is absolute, leads outside, or is neither file nor folder.
    """
    found = []
    try:
        with tarfile.open(archive) as tar:
            for info in tar:
                if problem := safe_name(info.name):
                    _refuse(archive, info.name, problem)
                if not (info.isreg() or info.isdir()):
                    _refuse(archive, info.name, "is a link or a special file")
                found += [info] if info.isreg() else []
    except (tarfile.TarError, EOFError, zlib.error) as error:
        raise InputError(f"{archive}: is no complete tar file ({error}); fetch it again") from None
    if not found:
        raise InputError(f"{archive}: holds no files; fetch it again")
    return found


def untar(archive, folder, report):
    """Unpack a tar file of npz files into `folder`, skipping those in place.

    A tar file has no checksums of its own, so every npz is read through once and its own CRCs are compared
    before it gets its final name.

    Parameters
    ----------
    archive, folder : Path
    report : callable
        Gets the number of bytes of each piece.

    Returns
    -------
    list of (str, int, int)
        Name, bytes and CRC-32 of each file that is in place.

    Raises
    ------
    InputError
        Naming the first member that is refused or damaged.
    """
    infos = tar_members(archive)
    with tarfile.open(archive) as tar:
        return [_extract(tar, info, Path(folder, info.name), report, archive) for info in infos]


def _extract(tar, info, path, report, archive):
    crc = 0

    def pieces():
        nonlocal crc
        with tar.extractfile(info) as file:
            while piece := file.read(PIECE):
                crc = zlib.crc32(piece, crc)
                yield piece

    if path.exists() and path.stat().st_size == info.size:
        for piece in pieces():
            report(len(piece))
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tar.extractfile(info) as file:
            _check_npz(file, info.name, archive)
        place(pieces(), path, report)
    return info.name, info.size, crc


def _check_npz(file, name, archive):
    """Compare the CRC of every array in an npz file with its bytes, in pieces."""
    if not name.endswith(".npz"):
        return
    try:
        with zipfile.ZipFile(file) as npz:
            bad = npz.testzip()
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError):
        bad = "the whole file"
    if bad:
        raise InputError(f"{archive}: member {name!r} is damaged ({bad}: wrong CRC); nothing of it was put in "
                         "place. Delete the archive and fetch it again.")


def from_tars(job, origin):
    """Bring the files of the authors' tar archives to ``job.root``; fetched archives go once they are unpacked.

    Parameters
    ----------
    job : Job
    origin : str
        A tar file, a folder with tar files or the URL of one.

    Returns
    -------
    Path
        ``job.root``.
    """
    files = []
    for archive, fetched in _tars(job, origin):
        need = sum(info.size for info in tar_members(archive))
        job.refuse_unless_free(need, f"{archive.name}: {human(need)} of files")
        with progress(total=need, desc=f"unpack {archive.name}", unit="B", unit_scale=True) as bar:
            files += untar(archive, job.root, bar.update)
        if fetched:
            archive.unlink()
    write_manifest(job.root, f"tar:{origin}", files, job.collections)
    job.tidy()
    job.say(f"{job.root}: complete, {len(files)} files verified")
    return job.root


def _tars(job, origin):
    """(path, whether it was fetched for this) of each tar file that is wanted."""
    names = tar_names(job.collections)
    if origin.startswith(("http://", "https://")):
        yield from ((_fetched(job, f"{origin.rstrip('/')}/{name}"), True) for name in names)
    elif Path(origin).is_file():
        yield Path(origin), False
    else:
        lacking = [name for name in names if not Path(origin, name).is_file()]
        if lacking:
            raise InputError(f"{origin}: holds no {', '.join(lacking[:3])}{' ...' if len(lacking) > 3 else ''}; "
                             "give the folder or the URL with the authors' tar files, or choose with --collection")
        yield from ((Path(origin, name), False) for name in names)


def _fetched(job, url):
    archive = job.work / url.rsplit("/", 1)[1]
    if archive.exists():
        return archive
    source = job.source(lambda: probe(url, job.timeout), f"fetching {url}")
    remote = source.remote
    version = zlib.crc32(f"{remote.size} {remote.validator}".encode())  # another version gets another partial file
    partial = archive.with_name(f"{archive.name}.{version:08x}.partial")
    if not (remote.validator and remote.ranges):
        partial.unlink(missing_ok=True)
    here = partial.stat().st_size if partial.exists() else 0
    job.refuse_unless_free(remote.size - here, f"{archive.name}: {human(remote.size)}")
    job.fetch(source, partial)
    os.replace(partial, archive)
    return archive
