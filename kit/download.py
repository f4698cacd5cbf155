"""The real data: from Kaggle, the authors' tar files, an archive or a tree that is there already."""

import os
import zlib
from pathlib import Path

import requests

from evaluation.collections import COLLECTIONS, find_root, home
from evaluation.errors import InputError
from kit.kaggle.client import Kaggle, competition_slug
from kit.kaggle.errors import explain
from kit.kaggle.fetch import Changed, Remote, RemoteFile, probe
from kit.kaggle.job import Job
from kit.kaggle.manifest import State, choose, missing, read_manifest, read_state, write_manifest, wrong
from kit.kaggle.unpack import PIECE, members, unpack
from kit.kaggle.untar import AUTHORS, from_tars
from kit.progress import progress

__all__ = ["download", "missing"]

KAGGLE_INPUT = Path("/kaggle/input")
LONGEST_HEADER = 30 + 2 * 0xFFFF  # bytes: a local header's fixed part, name and extra field


def download(data, *, source="kaggle", origin=None, collections=(), verify=False, **options):
    """Bring the data set, or chosen collections of it, to `data`; goes on where an earlier call stopped.

    Parameters
    ----------
    data : str or Path
        Folder for the data set.
    source : str
        ``"kaggle"``, ``"tar"`` (the authors' files), a zip or tar file, its URL, or a folder with such files or
        an unpacked tree.
    origin : str, optional
        With ``"tar"``: the folder or URL that holds the tar files.
    collections : sequence of str
        Names as in `evaluation.collections.COLLECTIONS`; all where empty.
    verify : bool
        Read every file that is there and fetch the damaged ones anew.
    **options
        ``slug``, ``delete_archive``, ``timeout``, ``retries``, ``say`` as in `kit.kaggle.job.Job`.

    Returns
    -------
    Path
        The folder to pass as ``--data`` from now on.

    Raises
    ------
    InputError
        For every failure of Kaggle, the network, the disk or an archive, with the next step.
    """
    job = Job(Path(data), list(collections), **options)
    job.slug = competition_slug(job.slug)
    for name in job.collections:
        if name not in COLLECTIONS:
            raise InputError(f"--collection {name}: no such collection; there are {', '.join(COLLECTIONS)}")
    try:
        if verify:
            _drop_damaged(job)
        elif source in ("kaggle", "tar") and _complete(job):
            return job.root
        return _by_source(job, source, origin)
    except (OSError, requests.RequestException) as error:
        raise explain(error, slug=job.slug, what="downloading") from None


def _by_source(job, source, origin):
    if source == "kaggle":
        attached = _attached(job)
        return _adopt(job, attached) if attached else _from_kaggle(job)
    if source == "tar":
        return from_tars(job, origin or AUTHORS)
    if source.startswith(("http://", "https://")):
        return _from_url(job, source) if source.endswith(".zip") else from_tars(job, source)
    path = Path(source)
    if not path.exists():
        raise InputError(f"--source {source}: no such file or folder, and neither 'kaggle' nor 'tar'")
    if path.is_dir():
        return _from_folder(job, path)
    return _from_zip(job, path) if path.suffix == ".zip" else from_tars(job, source)


def _complete(job):
    record = read_manifest(job.root)
    covered = record is not None and set(job.collections or COLLECTIONS) <= set(record["collections"])
    if covered and not wrong(job.root, record["files"]):
        job.say(f"{job.root}: complete already ({len(record['files'])} files from {record['source']})")
        return True
    return False


def _drop_damaged(job):
    """Remove files whose bytes differ from the record, so that they are fetched again."""
    record = read_manifest(job.root)
    if record is None:
        raise InputError(f"{job.root}: nothing to verify, no complete download is on record there; run the "
                         "download without --verify")
    total = sum(size for _, size, _ in record["files"])
    with progress(total=total, desc="verify", unit="B", unit_scale=True) as bar:
        for name, size, crc in record["files"]:
            path = job.root / name
            if path.exists() and (path.stat().st_size != size or _crc(path) != crc):
                job.say(f"{path}: damaged, will be fetched again")
                path.unlink()
            bar.update(size)


def _crc(path):
    crc = 0
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            crc = zlib.crc32(piece, crc)
    return crc


def _attached(job):
    """The competition's data as a notebook on Kaggle has them attached, or None."""
    if not os.environ.get("KAGGLE_KERNEL_RUN_TYPE"):
        return None
    places = (KAGGLE_INPUT / job.slug, KAGGLE_INPUT / "competitions" / job.slug)
    return next((place for place in places if place.is_dir()), None)


def _adopt(job, folder):
    """A tree that is unpacked already is used where it lies; nothing is copied."""
    tree = home(find_root(folder))
    job.say(f"{tree}: an unpacked data set; nothing to fetch, pass it as --data {tree}")
    job.say(missing(tree).text)
    return tree


def _from_folder(job, folder):
    archive = folder / f"{job.slug}.zip"
    if archive.is_file():
        return _from_zip(job, archive)
    if any(folder.glob("*.tar")):
        return from_tars(job, str(folder))
    return _adopt(job, folder)


def _from_kaggle(job):
    label, archive = f"kaggle:{job.slug}", job.work / f"{job.slug}.zip"
    state = read_state(job.root)
    if state and archive.exists() and (state.source, state.collections) == (label, job.collections):
        return _unpack_local(job, archive, state, None)  # fetched already: no network is needed
    kaggle = Kaggle(job.slug, timeout=job.timeout, retries=job.retries, warn=job.say)
    source = job.source(lambda: Remote.of(kaggle.archive()), "fetching the archive")
    return _from_remote(job, source, label, archive)


def _from_url(job, url):
    source = job.source(lambda: probe(url, job.timeout), f"fetching {url}")
    return _from_remote(job, source, url, job.work / url.rsplit("/", 1)[1])


def _from_zip(job, path):
    """An archive that the user fetched: unpacked from where it is, and kept unless its deletion was asked for."""
    with open(path, "rb") as file:
        wanted = choose(members(file, path), job.collections)
    state = State(str(path), path.stat().st_size, "", job.collections, wanted)
    job.check_space(state, archive_here=state.size)
    return _unpack_local(job, path, state, None)


def _from_remote(job, source, label, archive):
    """From a server: chosen or few files straight out of its archive, otherwise the archive and then its files."""
    partial = archive.with_name(archive.name + ".partial")
    try:
        state = _state(job, source, label, partial)
        here = partial.stat().st_size if partial.exists() else 0
        few = sum(m.packed for m in job.lacking(state)) * 2 < source.remote.size
        if state.members and not here and (job.collections or few):
            job.check_space(state)
            _unpack(job, RemoteFile(source), state.members)
            return _finish(job, state)
    except Changed:
        raise InputError("the archive on the server was replaced while it was being read. Run the same command "
                         "again: files that are the same in the new one are kept.") from None
    job.check_space(state, archive_here=here)
    job.fetch(source, partial)
    os.replace(partial, archive)
    return _unpack_local(job, archive, state, source)


def _state(job, source, label, partial):
    """The state of this download; a partial archive that may be of another one is removed."""
    remote, before = source.remote, read_state(job.root)
    same = before and (before.source, before.size, before.validator) == (label, remote.size, remote.validator)
    if partial.exists() and not (same and remote.validator and remote.ranges):
        job.say(f"{partial}: is of an older archive, or cannot be told apart from one; starting anew")
        partial.unlink()
    found = members(RemoteFile(source), "the archive on the server") if remote.ranges else []
    state = State(label, remote.size, remote.validator, job.collections, choose(found, job.collections))
    state.write(job.root)
    return state


def _unpack_local(job, archive, state, source):
    """Unpack an archive on disk; with ``delete_archive`` from its end, cutting off what is in place."""
    if not state.members:
        with open(archive, "rb") as file:
            state.members = choose(members(file, archive), job.collections)
    state.write(job.root)
    wanted = state.members[::-1] if job.delete_archive else state.members
    with open(archive, "r+b" if job.delete_archive or source else "rb", buffering=0) as file:
        def repair(member):
            job.say(f"{member.name}: damaged on its way, fetching its part of the archive again")
            _refetch(source, file, member)

        def cut(member):
            file.truncate(member.offset)

        _unpack(job, file, wanted, **({"repair": repair} if source else {}),
                **({"done": cut} if job.delete_archive else {}))
    if job.delete_archive:
        archive.unlink()
    return _finish(job, state)


def _unpack(job, file, wanted, **hooks):
    with progress(total=sum(m.size for m in wanted), desc="unpack", unit="B", unit_scale=True) as bar:
        unpack(file, wanted, job.root, bar.update, **hooks)


def _refetch(source, file, member):
    file.seek(member.offset)
    end = member.offset + LONGEST_HEADER + member.packed
    for piece in source.stream(member.offset, min(source.remote.size, end)):
        file.write(piece)


def _finish(job, state):
    files = [(m.name, m.size, m.crc) for m in state.members]
    write_manifest(job.root, state.source, files, job.collections)
    (job.work / "state.json").unlink(missing_ok=True)
    job.tidy()
    job.say(f"{job.root}: complete, {len(files)} files verified")
    return job.root
