"""Everything once, on the embedded sample or on a data set of your own: baselines, submissions, scores."""

from pathlib import Path

from evaluation import dataset, tracks
from evaluation.collections import COLLECTIONS, find_root, graph_files, home
from evaluation.leaderboard import contest, update
from evaluation.markdown import for_terminal
from evaluation.scoring import score_submission
from kit.predict import predict
from kit.runs import train

MODELS = {"heuristic": None, "analytic": None, "gbdt": None, "gru": 20}  # steps; None: as many as help
SAMPLE = Path("data/sample")
SEED = 0


def demo(data=None, *, runs="runs", submissions="submissions", threads=1, say=print):
    """Train the baselines, rank the splits, check and score what was written.

    Parameters
    ----------
    data : str or Path, optional
        By default the embedded sample, made first in ``data/sample`` if need be.
    runs, submissions : str or Path
        Folders to write to.
    threads : int
    say : callable
        Gets each line of text.

    Returns
    -------
    list of dict
        A row for each baseline and scored split: ``entry``, ``split``, ``score``, ``groups``.
    """
    data = Path(data) if data else _sample(say)
    identity = dataset.describe(data)
    splits = [s for s in ("valid", "test") if any(graph_files(find_root(data), c, s) for c in COLLECTIONS)]
    say(f"data set: {identity.label} in {data}")
    table, written = [], []
    for model, steps in MODELS.items():
        name = f"{identity.name}-{model}"
        say(f"\n{model}")
        train(model, data, Path(runs) / name, seed=SEED, steps=steps, threads=threads,
              report=lambda line: say(f"  {line}"))
        for split in splits:
            out = Path(submissions) / f"{name}-{split}"
            say(f"  ranking {split}")
            predict(Path(runs) / name, data, split, out, report=lambda line: say(f"    {line}"))
            written.append(out)
            table += _judge(out, data, split, say)
    board = _board(data, splits, submissions)
    say(f"\n{for_terminal(board)}")
    for line in format_table(table, identity):
        say(line)
    _say_files(say, data, runs, submissions, identity, written)
    return table


def _sample(say):
    """The embedded sample, made once."""
    from kit import sample

    if not (SAMPLE / dataset.FILE).exists():
        say(f"making the embedded sample in {SAMPLE} (simulated data)")
        sample.write(SAMPLE)
    return SAMPLE


def _answers(data, split):
    """The file with a test split's runtimes, where the data set has one."""
    file = home(find_root(data)) / "answers" / f"{split}.parquet"
    return file if split == "test" and file.is_file() else None


def _board(data, splits, submissions):
    """Put the entries on the boards of their splits; the boards as Markdown."""
    text = ""
    for split in sorted(splits):
        if split != "test" or _answers(data, split):
            text = update(submissions, contest(data, split, _answers(data, split)), html=True)
    return text


def _judge(entry, data, split, say):
    """Check an entry strictly; score it where the split's runtimes are known."""
    track = tracks.TRACKS["runtime"]
    truth = track.load(data, split, None, tracks.Options())
    submission = tracks.read_submission(entry / "submission.csv", truth, split)
    submission.problems.refuse(entry / "submission.csv", strict=True)
    say(f"    {entry / 'submission.csv'}: valid, {len(submission.rows)} rows")
    if split == "test":
        if not _answers(data, split):
            return []
        truth = track.load(data, split, _answers(data, split), tracks.Options())
    return [{"entry": entry.name, **score_submission(submission, truth, split)}]


def format_table(rows, identity):
    """The scores of `demo` as a table for a terminal: one line an entry."""
    names = list(COLLECTIONS)
    short = [name.replace("layout:", "").replace("tile:", "tile ") for name in names]
    width = max([len(row["entry"]) for row in rows] + [5])
    yield f"scores on {identity.label}: tile score and Kendall's tau; - where there is no truth"
    yield f"{'entry':<{width}}  {'score':>7}" + "".join(f"{s:>13}" for s in short) + f"{'tile top-1':>13}"
    for row in sorted(rows, key=lambda r: (r["split"], -r["score"], r["entry"])):
        groups = row["groups"]
        cells = [f"{groups[n]['score']:>13.4f}" if n in groups else f"{'-':>13}" for n in names]
        top = groups.get("tile:xla", {}).get("top1_error")
        cells.append(f"{'-':>13}" if top is None else f"{100 * top:>11.1f} %")
        yield f"{row['entry']:<{width}}  {row['score']:>7.4f}" + "".join(cells)


def _say_files(say, data, runs, submissions, identity, written):
    say(f"\nwritten: {', '.join(str(Path(runs) / f'{identity.name}-{m}') for m in MODELS)}")
    for out in written:
        say(f"  {out}/: submission.csv, card.json, scores.parquet")
    say(f"  {submissions}/leaderboard.md and leaderboard.html: the boards")
    say("\ntry next:")
    say(f"  python -m kit inspect {data}")
    say(f"  python -m kit train --model gbdt --features wide --data {data} --run runs/wide")
    say(f"  python -m evaluation score {written[0]}/submission.csv --data {data} --split valid")
