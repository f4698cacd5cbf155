"""Boards as Markdown."""

import re

from evaluation import landmarks
from evaluation.collections import COLLECTIONS
from evaluation.columns import show

HASH = re.compile(r"last line of results\.jsonl: `([0-9a-f]{64})`")
_SPECIAL = re.compile(r"[\\`*\[\]<>|!&]|:(?=//)|(?<=www)\.")  # also what would become a link by itself


def plain(text, longest=80):
    """Foreign text made harmless in a Markdown table: one line, nothing special, not too long."""
    text = " ".join(str(text).split())
    text = text if len(text) <= longest else text[:longest - 1] + "…"
    return _SPECIAL.sub(lambda match: f"&#{ord(match[0])};", text)


def table(heading, rows):
    """A Markdown table; cells are text."""
    lines = [heading, ["---"] * len(heading), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def entry_name(standing):
    """Name in the card, with the folder where it is another."""
    told = plain(standing.card["entry"], 60)
    return told if told == plain(standing.name, 60) else f"{told} (folder {plain(standing.name, 60)})"


def _standing_row(board, standing, reveal):
    mark = "" if standing.place == 1 else " ≈" if standing.like_leader else ""
    ahead = "" if standing.ahead is None else f"{100 * standing.ahead:.0f} %"
    cells = [f"{standing.place}{mark}", entry_name(standing), f"{standing.low:.4f} to {standing.high:.4f}", ahead]
    if reveal:
        private = standing.private
        cells.append("–" if private is None else f"{private['score']:.4f} (place {private['place']})")
    cells += [show(column, standing.values[column.key]) for column in board.columns]
    if board.full:
        cells.append(plain(landmarks.neighbours(standing.values["overall"], board.landmarks), 200))
    return cells


def _board(board):
    reveal = any(standing.private for standing in board.standings)
    heading = ["place", "entry", "95 % interval", "ahead of next", *(["private half"] if reveal else []),
               *(column.heading for column in board.columns), *(["among landmarks"] if board.full else [])]
    rows = [_standing_row(board, standing, reveal) for standing in board.standings]
    public, private = (sum(pair[half] for pair in board.graphs.values()) for half in (0, 1))
    lines = [f"## {plain(board.title, 200)}", "",
             f"Public half: {public} of {public + private} graphs. "
             + ("Both halves are shown." if reveal else "The private half stays hidden until `--reveal`.")]
    if board.undivided:
        lines.append(f"Too few graphs for two halves, all public: {', '.join(map(plain, board.undivided))}.")
    lines += ["", table(heading, rows), ""]
    lines += [f"- {entry_name(standing)}: {plain(remark, 300)}"
              for standing in board.standings for remark in standing.remarks]
    return "\n".join(lines).rstrip()


def landmark_cell(figures):
    """All figures of one landmark on one collection."""
    parts = []
    for metric, value in figures.items():
        error = metric.removesuffix("_error").replace("top", "top-") + " "
        name = {"score": "", "kendall_tau": "tau "}.get(metric, error)
        parts.append(f"{name}{100 * value:.1f} %" if metric.endswith("_error") else f"{name}{value:.3f}")
    return ", ".join(parts)


def landmark_rows_plain(marks):
    """Heading and rows of the table of landmarks, as unescaped text."""
    given = {name for mark in marks for name in mark.values}
    names = ["overall", *COLLECTIONS] if given & {"overall", *COLLECTIONS} else sorted(given)
    rows = [[mark.entry, mark.where, *(landmark_cell(mark.values.get(name, {})) for name in names), mark.source]
            for mark in marks]
    return ["landmark", "split", *(name or "figure" for name in names), "source"], rows


def landmarks_by_track(boards):
    """Landmarks of every track that has a board: a dict of track to (landmarks, remark, notes)."""
    return {board.track: (board.landmarks, *landmarks.TEXTS[board.track]) for board in boards if board.landmarks}


def _landmarks(boards):
    lines = []
    for track, (marks, remark, notes) in landmarks_by_track(boards).items():
        heading, rows = landmark_rows_plain(marks)
        rows = [[plain(cell, 200) for cell in row] for row in rows]
        lines += [f"## Landmarks of the {track} track: published results, measured data", "", remark, "",
                  table(heading, rows), "", "### Notes", "", *(f"- {note}" for note in notes), ""]
    return lines


def for_terminal(text):
    """The boards and what was not scored; how to read them and what others published is left to the file.

    Parameters
    ----------
    text : str
        From `render`.

    Returns
    -------
    str
    """
    return text.split(f"\n{READING_HEAD}\n")[0].rstrip() + "\n"


READING_HEAD = "## How to read it"
READING = """\
The score of an entry is that of the public half of the graphs. The interval holds 95 % of 2,000 bootstrap rounds over \
graphs, drawn within each collection; it says how the score would vary with other graphs of the same kind. "Ahead of \
next" is the share of rounds in which an entry beats the one below it, both judged on the same drawn graphs; near 50 % \
the order of the two is chance. ≈ marks entries that cannot be told from the leader. \
Collections with a single graph are left out of both comparisons, and with fewer than about five graphs in each \
collection intervals are too narrow. Entries with the same score share a place. A gap (–) is a collection without any \
row, which counts 0 in the score."""


def render(boards, unscored, last_hash):
    """All boards, what could not be scored and why, landmarks and notes.

    Parameters
    ----------
    boards : list of evaluation.board.Board
    unscored : dict of str to str
        Entry -> reason.
    last_hash : str
        Of the record of results.

    Returns
    -------
    str
    """
    lines = ["# Leaderboard", ""]
    for board in boards:
        lines += [_board(board), ""]
    if not boards:
        lines += ["No entry has been scored yet.", ""]
    if unscored:
        reasons = [f"- {plain(name)}: {plain(why, 600)}" for name, why in sorted(unscored.items())]
        lines += ["## Not scored", "", *reasons, ""]
    if boards:
        lines += [READING_HEAD, "", READING, ""]
    lines += _landmarks(boards)
    return "\n".join(lines).rstrip() + f"\n\nlast line of results.jsonl: `{last_hash}`\n"
