"""One download: what was asked for, its patience, its folders, and whether it fits on the disk."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from evaluation.errors import InputError
from kit.kaggle.client import COMPETITION
from kit.kaggle.fetch import Changed, Source, fetch
from kit.kaggle.manifest import WORK, wrong
from kit.progress import human, progress

RESERVE = 64 << 20  # bytes to leave free: file systems slow down or fail before the last byte


@dataclass
class Job:
    """What one download was asked to do.

    Attributes
    ----------
    root : Path
        Folder of the data set.
    collections : list of str
        Chosen ones; all where empty.
    slug : str
        Competition.
    delete_archive : bool
        Whether to give the archive's space back while it is unpacked.
    timeout : float
        Seconds.
    retries : int
        Attempts in a row that bring nothing, after the first.
    say : callable
        Gets sentences for the user.
    """

    root: Path
    collections: list
    slug: str = COMPETITION
    delete_archive: bool = False
    timeout: float = 60.0
    retries: int = 4
    say: Callable = print

    @property
    def work(self):
        """Folder for what is not finished."""
        return self.root / WORK

    def tidy(self):
        """Remove the work folder, or say what is left in it."""
        if not self.work.exists():
            return
        left = sorted(self.work.iterdir())
        for path in left:
            self.say(f"{path}: no longer needed ({human(path.stat().st_size)}); delete it when you like")
        if not left:
            self.work.rmdir()

    def source(self, locate, what):
        """A `Source` with this job's patience."""
        return Source(locate, self.slug, what, self.timeout, self.retries, self.say)

    def fetch(self, source, partial):
        """Fetch all of `source` into `partial`, going on from what is there, with a progress bar."""
        partial.parent.mkdir(parents=True, exist_ok=True)
        here = partial.stat().st_size if partial.exists() else 0
        with progress(total=source.remote.size, initial=here, desc="download", unit="B", unit_scale=True) as bar:
            try:
                fetch(source, partial, bar.update)
            except Changed:
                partial.unlink()
                raise InputError("the file on the server was replaced while it was being fetched; what came is of "
                                 "no use and was removed. Run the same command again to fetch the new "
                                 "one.") from None

    def refuse_unless_free(self, need, text):
        """Say `text` and how much is free; refuse where `need` bytes more do not fit."""
        self.root.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(self.root).free
        self.say(f"{text}; free on the disk of {self.root}: {human(free)}")
        if need + RESERVE > free:
            hint = "" if self.delete_archive else (", or add --delete-archive, which gives the archive's space "
                                                   "back while it is unpacked")
            raise InputError(f"{self.root}: {human(need)} more are needed and {human(free)} are free; nothing was "
                             "fetched. Free some space, choose another disk with --data or fewer collections with "
                             f"--collection{hint}.")

    def lacking(self, state):
        """Members of `state` that are not in place with their size."""
        names = set(wrong(self.root, [(m.name, m.size, m.crc) for m in state.members]))
        return [m for m in state.members if m.name in names]

    def check_space(self, state, archive_here=None):
        """Say what the archive and its files take and refuse what does not fit.

        Parameters
        ----------
        state : State
        archive_here : int, optional
            Bytes of the archive that are on this disk already; without it no archive is kept.
        """
        tree = sum(m.size for m in state.members) or state.size  # no directory: npz files barely shrink in a zip
        more = sum(m.size for m in self.lacking(state)) if state.members else tree
        text = f"files: {human(tree)}, {human(more)} of them to come"
        if archive_here is not None:
            text = f"archive: {human(state.size)}, {human(archive_here)} of it here; {text}"
            if self.delete_archive and state.members:
                more = max(0, _peak(state) - state.size - (tree - more))
            more += state.size - archive_here
        self.refuse_unless_free(more, text)


def _peak(state):
    """The most bytes that archive and tree take together while the archive is cut off from its end."""
    tree, archive, peak = 0, state.size, state.size
    for member in reversed(state.members):
        tree += member.size
        peak = max(peak, archive + tree)
        archive = member.offset
    return peak
