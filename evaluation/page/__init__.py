"""The boards as one self-contained HTML file: no request leaves it, and nothing of an entry is markup."""

import base64
import hashlib
import json
from html import escape
from pathlib import Path

from evaluation import landmarks
from evaluation.columns import show
from evaluation.markdown import READING, landmark_rows_plain, landmarks_by_track

HERE = Path(__file__).parent
SCRIPTS = ("draw.js", "table.js", "panel.js")


def _asset(name):
    return (HERE / name).read_text(encoding="utf-8")


def _source(text):
    """The CSP source expression that allows exactly this inline script or style."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def page(boards, unscored, last_hash):
    """The whole page.

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
        HTML. Only the public half of the graphs is in it, unless the boards were made with `reveal`.
    """
    style, script = _asset("page.css"), "\n".join(_asset(name) for name in SCRIPTS)
    body = [*(_section(number, board) for number, board in enumerate(boards)), _unscored(unscored), _landmarks(boards)]
    policy = (f"default-src 'none'; img-src data:; style-src {_source(style)}; script-src {_source(script)}; "
              "base-uri 'none'; form-action 'none'")
    data = {"boards": [_payload(board) for board in boards], "times": landmarks.evaluation_times()}
    return _asset("page.html").format(
        policy=escape(policy), style=style, script=script, body="\n".join(body), reading=escape(READING),
        hash=escape(last_hash), data=json.dumps(data, allow_nan=False).replace("<", "\\u003c"))


def _payload(board):
    """What the scripts draw from."""
    ids = sorted(board.standings[0].scores)
    return {
        "title": board.title, "simulated": board.dataset["simulated"], "ids": ids,
        "landmarks": [{"entry": mark.entry, "score": mark.values["overall"]["score"]} for mark in board.landmarks
                      if board.full and mark.split == "private" and "overall" in mark.values],
        "standings": [{
            "entry": s.card["entry"], "folder": s.name, "place": s.place, "score": s.values["overall"],
            "low": s.low, "high": s.high, "groups": s.groups, "scores": [s.scores[id] for id in ids],
            "details": s.record["details"], "card": s.card, "remarks": s.remarks,
            "scored": s.record["scored"], "line": s.record["line"]} for s in board.standings]}


def _section(number, board):
    public, private = (sum(pair[half] for pair in board.graphs.values()) for half in (0, 1))
    revealed = any(s.private for s in board.standings)
    halves = "Both halves are shown." if revealed else "The private half stays hidden until it is revealed."
    banner = '<p class="simulated">Simulated: these runtimes come from a cost model, not from a TPU.</p>' \
        if board.dataset["simulated"] else ""
    alone = f" Too few graphs for two halves, all public: {escape(', '.join(board.undivided))}." \
        if board.undivided else ""
    return f"""<section class="board" data-board="{number}">
<h2>{escape(board.title)}</h2>{banner}
<p>Public half: {public} of {public + private} graphs. {halves}{alone}</p>
<figure class="intervals"></figure>
<div class="scroll" tabindex="0" role="region" aria-label="Standings, {escape(board.title)}">
{_table(board, revealed)}</div>
<div class="panel" aria-live="polite"></div>
</section>"""


def _table(board, revealed):
    lead = [("place", "lower"), ("entry", ""), ("95 % interval", "higher"), ("ahead of next", "higher")]
    lead += [("private half", "higher")] if revealed else []
    heads = lead + [(column.heading, column.better) for column in board.columns]
    heads += [("among landmarks", "")] if board.full else []
    cells = "".join(f'<th scope="col" aria-sort="none"><button type="button" data-better="{better}">{escape(name)}'
                    "</button></th>" for name, better in heads)
    rows = "\n".join(_row(board, s, i, revealed) for i, s in enumerate(board.standings))
    return f"<table><thead><tr>{cells}</tr></thead><tbody>\n{rows}\n</tbody></table>"


def _cell(value, text, kind="td"):
    value = "" if value is None else escape(str(value))
    return f'<{kind} data-value="{value}">{text}</{kind}>'


def _row(board, standing, number, revealed):
    alike = standing.like_leader and standing.place > 1
    mark = ' <abbr title="cannot be told from the leader">≈</abbr>' if alike else ""
    name = escape(standing.card["entry"]) or "(no name)"
    folder = "" if standing.name == standing.card["entry"] else f' <small>{escape(standing.name)}</small>'
    ahead = "" if standing.ahead is None else f"{100 * standing.ahead:.0f} %"
    cells = [_cell(standing.place, f"{standing.place}{mark}"),
             f'<th scope="row" data-value="{name}"><button type="button" class="open" data-entry="{number}">{name}'
             f"</button>{folder}</th>",
             _cell(standing.low, f"{standing.low:.4f} to {standing.high:.4f}"), _cell(standing.ahead, ahead)]
    if revealed:
        half = standing.private
        cells.append(_cell(half and half["score"], f"{half['score']:.4f} (place {half['place']})" if half else "–"))
    cells += [_cell(standing.values[c.key], escape(show(c, standing.values[c.key]))) for c in board.columns]
    if board.full:
        cells.append(_cell(None, escape(landmarks.neighbours(standing.values["overall"], board.landmarks))))
    return f"<tr>{''.join(cells)}</tr>"


def _unscored(unscored):
    if not unscored:
        return ""
    items = "".join(f"<li><b>{escape(name)}</b>: {escape(why)}</li>" for name, why in sorted(unscored.items()))
    return f"<section><h2>Not scored</h2><ul>{items}</ul></section>"


def _landmarks(boards):
    return "\n".join(_landmark_section(track, *texts) for track, texts in landmarks_by_track(boards).items())


def _landmark_section(track, marks, remark, notes):
    heading, rows = landmark_rows_plain(marks)
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heading)
    lines = "\n".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    notes = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f"""<section class="landmarks">
<h2>Landmarks of the {escape(track)} track: published results, measured data</h2>
<p>{escape(remark)}</p>
<div class="scroll" tabindex="0" role="region" aria-label="Landmarks"><table><thead><tr>{head}</tr></thead>
<tbody>{lines}</tbody></table></div>
<h3>Notes</h3><ul>{notes}</ul></section>"""
