"""The learning curve of a training: one JSON line an evaluation, and a picture."""

import json
from pathlib import Path

from evaluation.files import atomic

CURVE_FILE, PICTURE_FILE = "curve.jsonl", "curve.png"


def read_curve(folder):
    """The evaluations so far: a list of dict; a line that was cut off in the middle is left out."""
    file = Path(folder) / CURVE_FILE
    found = []
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            break
    return found


def restart(folder, step):
    """Drop the evaluations after a step: what a continued training will write again."""
    kept = [row for row in read_curve(folder) if row["step"] <= step]
    with atomic(Path(folder) / CURVE_FILE) as out:
        out.writelines(json.dumps(row) + "\n" for row in kept)


def append(folder, row):
    """Add an evaluation."""
    with open(Path(folder) / CURVE_FILE, "a", encoding="utf-8", newline="\n") as out:
        out.write(json.dumps(row) + "\n")


def figure(rows, title=""):
    """Losses on the left, the metrics on the validation graphs on the right: a matplotlib figure."""
    from matplotlib.figure import Figure

    fig = Figure(figsize=(9, 3), layout="constrained")
    left, right = fig.subplots(1, 2)
    step = [row["step"] for row in rows]
    for axes, names in ((left, ("loss", "valid_loss")), (right, ("tau", "tile_score", "top1_error"))):
        for name in names:
            if any(row.get(name) is not None for row in rows):
                axes.plot(step, [row.get(name) for row in rows], label=name.replace("_", " "))
        axes.set_xlabel("step")
        if axes.lines:
            axes.legend()
    fig.suptitle(title)
    return fig


def draw(folder, title=""):
    """Write the picture."""
    with atomic(Path(folder) / PICTURE_FILE, "wb") as out:
        figure(read_curve(folder), title).savefig(out, format="png", dpi=100)
