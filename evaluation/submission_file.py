"""Parsing a submission CSV: a header, then one row an ID with integers joined by semicolons.

Fast on good files, exact about bad ones, and bounded in memory and time on files that are no submission.
"""

import csv
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from evaluation.errors import InvalidSubmission
from evaluation.problems import HARMLESS, ODD, REFUSED, Problems

MAX_LINE = 16 << 20    # bytes; the longest honest row, 100,040 configurations, takes 0.6 MB
MAX_HEADER = 4096
MAX_LISTED = 1 << 62   # an index too large for int64 is out of range anyway
MAGIC = {b"PK\x03\x04": "a zip file (a PyTorch or NumPy model, or a compressed CSV)", b"\x1f\x8b": "a gzip file",
         b"PAR1": "a Parquet file", b"\x89HDF": "an HDF5 file (a Keras model)", b"\x80": "a pickle",
         b"\x93NUMPY": "a NumPy array", b"\x7fELF": "a program", b"SQLite": "a database", b"%PDF": "a PDF",
         b"tree\n": "a LightGBM model"}
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_FLOAT = re.compile(r"[+-]?(\d+\.\d*|\.\d+|\d+)([eE][+-]?\d+)?", re.ASCII)


@dataclass(frozen=True)
class Row:
    """One row: its line in the file (the header is 1), its ID, its integers (int64, shape (j,))."""

    line: int
    id: str
    values: np.ndarray


@dataclass
class Submission:
    """A parsed file.

    Attributes
    ----------
    path : Path
    track : evaluation.tracks.Track or None
        Told by the header; None where the header fits no track.
    rows : dict of str to Row
        By ID, in the order of the file; of an ID that stands twice, the first row.
    problems : Problems
    """

    path: Path
    track: object = None
    rows: dict = field(default_factory=dict)
    problems: Problems = field(default_factory=Problems)

    def values(self, id):
        """Integers of an ID's row, or None where it has none."""
        row = self.rows.get(id)
        return None if row is None else row.values


def read(path, tracks):
    """Parse a submission file.

    Parameters
    ----------
    path : str or Path
    tracks : iterable of evaluation.tracks.Track
        The header decides which of them the file belongs to.

    Returns
    -------
    Submission
        With every problem that can be told from the file alone. Rows that cannot be read are left out.

    Raises
    ------
    InvalidSubmission
        Where there is no file to read.
    """
    submission = Submission(Path(path))
    if submission.path.is_dir():
        raise InvalidSubmission(f"{path}: is a folder; give the CSV file in it")
    try:
        with open(path, "rb") as file:
            _read_file(file, submission, tracks)
    except OSError as error:
        raise InvalidSubmission(f"{path}: cannot be read ({error.strerror}); give a submission CSV") from error
    return submission


def _read_file(file, submission, tracks):
    if not _looks_like_text(file, submission.problems):
        return
    submission.track = _header(file.readline(MAX_HEADER), submission.problems, tracks)
    if submission.track is None:
        return
    for line, raw in enumerate(iter(lambda: file.readline(MAX_LINE), b""), start=2):
        if len(raw) == MAX_LINE and not raw.endswith(b"\n"):
            _skip_line(file)
            submission.problems.add("line_too_long", f"more than {MAX_LINE:,} bytes without a line end",
                                    "write one row a line", REFUSED, line)
            continue
        _read_row(line, raw, submission)
    if not submission.rows and not submission.problems.refusals():
        submission.problems.add("no_rows", "a header and nothing below it", "write one row for every ID", REFUSED)


def _skip_line(file):
    while (piece := file.readline(MAX_LINE)) and not piece.endswith(b"\n"):
        pass


def _looks_like_text(file, problems):
    start = file.read(1 << 16)
    known = [what for magic, what in MAGIC.items() if start.startswith(magic)]
    fix = "give a CSV that begins with the line ID,TopConfigs or ID,Stages"
    if not start.strip():
        problems.add("empty_file", "the file is empty", fix, REFUSED)
    elif start.startswith((b"\xff\xfe", b"\xfe\xff")):
        problems.add("encoding", "the file is UTF-16", "save it as UTF-8", REFUSED)
    elif known or b"\0" in start:
        problems.add("not_a_csv", f"this is {known[0] if known else 'a binary file'}", fix, REFUSED)
    else:
        file.seek(3 if start.startswith(b"\xef\xbb\xbf") else 0)
        if file.tell():
            problems.add("bom", "the file begins with a byte order mark", "save it as plain UTF-8", HARMLESS, 1)
        return True
    return False


def _fields(raw, problems, line):
    """Fields of a line, with what is harmless (CRLF, quotes) taken off and told once."""
    text = raw.decode("utf-8", errors="replace")
    if "\ufffd" in text:
        problems.add("encoding", "bytes that are not UTF-8", "save the file as UTF-8", REFUSED, line)
    if text.endswith("\r\n") and not problems.counts["crlf", HARMLESS]:
        problems.add("crlf", "lines end in CR LF", "write lines that end in LF", HARMLESS, line)
    text = text.rstrip("\r\n")
    if '"' not in text:
        return text.split(",")
    if not problems.counts["quotes", HARMLESS]:
        problems.add("quotes", "fields are quoted", "write them without quotes", HARMLESS, line)
    try:
        return next(csv.reader([text], strict=True))
    except csv.Error:  # an unfinished quote, or a field longer than csv takes
        return text.replace('"', "").split(",")


def _stripped(fields, problems, line):
    bare = [name.strip() for name in fields]
    if bare != fields and not problems.counts["spaces", HARMLESS]:
        problems.add("spaces", "spaces around fields", "write them without spaces", HARMLESS, line)
    return bare


def _header(raw, problems, tracks):
    fields = _stripped(_fields(raw, problems, 1), problems, 1)
    for track in tracks:
        if tuple(fields) == track.header:
            return track
    choices = " or ".join(f"{','.join(track.header)} ({track.name} track)" for track in tracks)
    if any(tuple(fields[0].split(";")) == track.header for track in tracks):
        choices += ", with a comma after the ID in every row and semicolons only between the numbers"
    problems.add("wrong_header", f"the first line reads {','.join(fields)[:80]!r}", f"make it {choices}", REFUSED, 1)
    return None


def _read_row(line, raw, submission):
    problems, track = submission.problems, submission.track
    fields = _stripped(_fields(raw, problems, line), problems, line)
    if fields == [""]:
        problems.add("blank_line", "a line without a row", "remove it", HARMLESS, line)
        return
    id = fields[0]
    if len(fields) != 2:
        problems.add("wrong_fields", f"{len(fields)} fields where 2 are expected",
                     "write ID, one comma, and the numbers joined with ';'", REFUSED, line, id)
        return
    if not track.id_pattern.fullmatch(id):
        problems.add(*track.wrong_id(id), REFUSED, line, id)
        return
    values = integers(fields[1], problems, line, id)
    if id in submission.rows:
        problems.add("duplicate_id", f"the ID stands in row {submission.rows[id].line} already; that row counts",
                     "write one row for every ID", ODD, line, id)
    elif values is not None:
        submission.rows[id] = Row(line, id, values)


def integers(text, problems, line, id):
    """Integers joined by semicolons.

    Parameters
    ----------
    text : str
    problems : Problems
        Takes what is wrong with them.
    line : int
    id : str
        Where they stand.

    Returns
    -------
    ndarray of int64, shape (j,), or None
        None where one of them is no integer.
    """
    if text and not text.strip("0123456789;") and ";;" not in text and text[0] != ";" and text[-1] != ";":
        values = np.fromstring(text, dtype=np.int64, sep=";")
        if values.max() < MAX_LISTED:
            return values
    return _careful_integers(text, problems, line, id)


def _careful_integers(text, problems, line, id):
    if not text:
        problems.add("empty_list", "nothing is listed", "list whole numbers from 0, joined with ';'", REFUSED, line, id)
        return None
    tokens = [token.strip() for token in text.split(";")]
    wrong = [(place, token) for place, token in enumerate(tokens, start=1) if not _INTEGER.fullmatch(token)]
    if wrong:
        place, token = wrong[0]
        code = "float_index" if _FLOAT.fullmatch(token) else "not_an_index"
        more = f" ({len(wrong)} such entries)" if len(wrong) > 1 else ""
        problems.add(code, f"entry {place} is {token[:40]!r}{more}", "write whole numbers from 0, joined with ';'",
                     REFUSED, line, id)
        return None
    if " " in text and not problems.counts["spaces", HARMLESS]:
        problems.add("spaces", "spaces between the numbers", "write them without spaces", HARMLESS, line, id)
    return np.array([_clipped(token) for token in tokens], dtype=np.int64)


def _clipped(token):
    if len(token) > 20:  # too long for int64, and int() of a million digits would take minutes
        return -1 if token.startswith("-") else MAX_LISTED
    return max(-MAX_LISTED, min(MAX_LISTED, int(token)))
