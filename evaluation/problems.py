"""Problems of a submission: each with a code, a place, what was found and how to mend it."""

from collections import Counter
from dataclasses import dataclass

from evaluation.errors import InvalidSubmission

REFUSED, ODD, HARMLESS = "refused", "odd", "harmless"
SHOWN = 10  # of one kind; more are summarised in one line


@dataclass(frozen=True)
class Problem:
    """One thing that is not as it should be.

    Attributes
    ----------
    code : str
        Stable name of the kind: ``"duplicate_index"``.
    found, fix : str
        What stands there, and what to do about it.
    level : {"refused", "odd", "harmless"}
        Refused always; refused by the strict check and a warning in the tolerant one; a warning in both.
    row : int or None
        Line of the file, the header being 1; None for the file as a whole.
    id : str or None
    """

    code: str
    found: str
    fix: str
    level: str = ODD
    row: int | None = None
    id: str | None = None

    @property
    def place(self):
        """``"row 12 (tile:xla:...): "``, or as much of it as there is."""
        row = f"row {self.row} " if self.row is not None else ""
        name = f"({self.id[:100]})" if self.id is not None else ""
        return f"{(row + name).strip()}: " if row or name else ""

    def __str__(self):
        return f"{self.code}: {self.place}{self.found}; {self.fix}"


class Problems:
    """All problems of one file; of each kind the first few are kept whole and the others counted."""

    def __init__(self):
        self.kept, self.counts = [], Counter()

    def add(self, code, found, fix, level=ODD, row=None, id=None):
        """Take note of a problem; see `Problem` for the fields."""
        self.counts[code, level] += 1
        if self.counts[code, level] <= SHOWN:
            self.kept.append(Problem(code, found, fix, level, row, id))

    def lines(self, *levels):
        """Problems of these levels (all by default) as text, one line each, many of one kind as one line."""
        told, lines = set(), []
        for problem in self.kept:
            kind = (problem.code, problem.level)
            if kind in told or (levels and problem.level not in levels):
                continue
            if self.counts[kind] <= SHOWN:
                lines.append(str(problem))
                continue
            told.add(kind)
            lines.append(f"{problem.code}: {self.counts[kind]:,} times, first {problem.place}{problem.found}; "
                         f"{problem.fix}")
        return lines

    def refusals(self, strict=False):
        """Lines of what forbids scoring."""
        return self.lines(REFUSED, ODD) if strict else self.lines(REFUSED)

    def warnings(self, strict=False):
        """Lines of what is tolerated."""
        return self.lines(HARMLESS) if strict else self.lines(ODD, HARMLESS)

    def refuse(self, path, strict=False):
        """Raise `InvalidSubmission` with every reason, if there is one."""
        reasons = self.refusals(strict)
        if reasons:
            raise InvalidSubmission("\n  ".join([f"{path} cannot be accepted:", *reasons]))
