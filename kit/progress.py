"""Progress of long work: a tqdm bar where a terminal looks on, a line a minute where none does; amounts of bytes."""

import sys

from tqdm import tqdm


class _Lines:
    """A text stream that turns a bar's carriage returns into whole lines."""

    def __init__(self, stream):
        self.stream = stream

    def write(self, text):
        """Pass on what is printable, one line a refresh."""
        text = text.strip("\r\n ")
        if text:
            self.stream.write(text + "\n")

    def flush(self):
        """Flush the stream behind."""
        self.stream.flush()


def progress(iterable=None, *, total=None, desc=None, unit="it", **options):
    """A tqdm bar on standard error, or one line a minute where that is no terminal.

    Parameters
    ----------
    iterable : iterable, optional
        What to loop over; without it call ``update`` on what is returned.
    total : int, optional
        Number of steps.
    desc, unit : str
        Label and unit of the bar.
    **options
        Passed to `tqdm.tqdm`.

    Returns
    -------
    tqdm.tqdm
    """
    if sys.stderr.isatty():
        return tqdm(iterable, total=total, desc=desc, unit=unit, leave=False, **options)
    return tqdm(iterable, total=total, desc=desc, unit=unit, leave=False, ascii=True, ncols=80,
                mininterval=60, maxinterval=60, delay=60, file=_Lines(sys.stderr), **options)


def human(count):
    """Bytes for people: ``"7.1 GB"``, in powers of ten as disks are sold."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:  # else three digits would be 1e+03
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} TB"
