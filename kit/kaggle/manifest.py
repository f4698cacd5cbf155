"""What a downloaded data set should hold, kept beside it: while it is being made, and once it is complete."""

import json
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from evaluation.collections import COLLECTIONS, SPLITS, find_root, graph_files
from evaluation.errors import InputError
from evaluation.files import atomic
from kit.kaggle.unpack import Member

MANIFEST, WORK = "download.json", ".download"


@dataclass
class State:
    """A download that is under way.

    Attributes
    ----------
    source : str
        Where it comes from.
    size : int
        Bytes of the archive.
    validator : str
        The archive's ETag or date.
    collections : list of str
        What was asked for; all where empty.
    members : list of Member
        What will be unpacked.
    """

    source: str
    size: int
    validator: str
    collections: list = field(default_factory=list)
    members: list = field(default_factory=list)

    def write(self, root):
        """Keep it in the work folder."""
        with atomic(Path(root, WORK, "state.json")) as file:
            json.dump(asdict(self), file)


def read_state(root):
    """The `State` of an unfinished download into `root`, or None where there is none or it cannot be read."""
    try:
        record = json.loads(Path(root, WORK, "state.json").read_text(encoding="utf-8"))
        record["members"] = [Member(**member) for member in record["members"]]
        return State(**record)
    except (OSError, ValueError, TypeError, KeyError):
        return None  # as good as none: everything in it can be found out again


def collection_of_member(name):
    """The collection whose folder a path inside the archive lies in, or None."""
    for collection in COLLECTIONS.values():
        if f"/{collection.folder.as_posix()}/" in f"/{name}":
            return collection.name
    return None


def choose(members, collections):
    """Members of the chosen collections (all where none is chosen) and those of no collection."""
    return [m for m in members
            if not collections or collection_of_member(m.name) in (None, *collections)]


def write_manifest(root, source, files, collections=()):
    """Mark the tree as complete; earlier entries for other files stay, so collections can be added one by one.

    Parameters
    ----------
    root : Path
    source : str
    files : list of (str, int, int)
        Name, bytes and CRC-32 of each file that is in place.
    collections : sequence of str
        The collections that are complete now; all where empty.
    """
    before = read_manifest(root) or {"files": [], "collections": []}
    known = {name: (size, crc) for name, size, crc in (*before["files"], *files)}
    covered = sorted({*before["collections"], *(collections or COLLECTIONS)})
    with atomic(Path(root, MANIFEST)) as file:
        json.dump({"format": 1, "source": source, "completed": datetime.now(UTC).isoformat(timespec="seconds"),
                   "collections": covered, "files": [[name, *known[name]] for name in sorted(known)]},
                  file, indent=0)


def read_manifest(root):
    """The record of a complete download in `root`, or None.

    Raises
    ------
    InputError
        Where the file is there and cannot be read.
    """
    path = Path(root, MANIFEST)
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        record["files"] = [(str(name), int(size), int(crc)) for name, size, crc in record["files"]]
        record["collections"] = list(record["collections"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: cannot be read ({error}); delete it and run the download again, which finds "
                         "what is in place") from None
    return record


def wrong(root, files):
    """Of (name, size, crc), the names that are missing or have another size."""
    def size_of(name):
        try:
            return Path(root, name).stat().st_size
        except OSError:
            return None

    return [name for name, size, _ in files if size_of(name) != size]


@dataclass(frozen=True)
class Completeness:
    """How much of a data set is there.

    Attributes
    ----------
    status : {"complete", "incomplete", "unknown"}
        Unknown where no record of a download is there and the counts differ from the published ones: that may
        be a subset on purpose.
    missing : list of str
        Files that should be there and are not, or have another size; relative to the data set's folder.
    text : str
        For people, of one or more lines.
    """

    status: str
    missing: list
    text: str


def missing(path):
    """What is missing from the data set at `path`.

    Parameters
    ----------
    path : str or Path
        What the user gave as ``--data``.

    Returns
    -------
    Completeness

    Raises
    ------
    InputError
        Where there is neither a data set nor an unfinished download.
    """
    for folder in (Path(path), *list(Path(path).resolve().parents)[:2]):
        if (state := read_state(folder)) is not None:
            return _unfinished(folder, state)
        if (record := read_manifest(folder)) is not None:
            return _finished(folder, record)
    return _counted(find_root(path))


def _unfinished(folder, state):
    names = wrong(folder, [(m.name, m.size, m.crc) for m in state.members])
    kept = sum(f.stat().st_size for f in Path(folder, WORK).glob("*.zip*"))
    return Completeness("incomplete", names, f"an unfinished download: {len(names)} of {len(state.members)} "
                                             f"files are missing, {kept} of {state.size} bytes of the archive are "
                                             f"here; run python -m kit download --data {folder} again to go on")


def _finished(folder, record):
    names = wrong(folder, record["files"])
    what = f"{len(record['files'])} files from {record['source']}"
    if not names:
        return Completeness("complete", [], f"complete: {what}, all there with the right size")
    return Completeness("incomplete", names, f"{len(names)} of {what} are missing or have another size: "
                        f"{', '.join(names[:3])}{' ...' if len(names) > 3 else ''}; run python -m kit download "
                        f"--data {folder} again to fetch just these")


def _counted(root):
    lines = [f"{name} {split}: {found} of {c.published[split]} published files"
             for name, c in COLLECTIONS.items() for split in SPLITS
             if (found := len(graph_files(root, name, split))) != c.published[split]]
    if not lines:
        return Completeness("complete", [], "complete: every split has as many files as were published")
    return Completeness("unknown", [], "no record of a download; fewer or more files than published in\n  "
                        + "\n  ".join(lines))
