"""Rankings to an entry: ``submission.csv``, ``card.json`` and ``scores.parquet`` in one folder."""

import json
import os
import shutil
import tempfile
from pathlib import Path

import numpy as np

from evaluation import tracks
from evaluation.errors import InputError
from evaluation.files import atomic, sha256
from kit.runs import command, commit, now, versions

CSV, CARD, SCORES = "submission.csv", "card.json", "scores.parquet"


def checked(scores, graph):
    """What a ranker gave for a graph: float64, shape (c,).

    Raises
    ------
    InputError
        Where it is not a finite number for each configuration.
    """
    try:
        found = np.asarray(scores, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{graph.id}: the ranker's scores are not numbers ({error})") from error
    if found.shape != (graph.configs,):
        raise InputError(f"{graph.id}: scores of shape {found.shape} for {graph.configs} configurations; "
                         "a ranker gives one for each")
    _refuse_infinite(found, graph.id)
    return found


def _refuse_infinite(scores, graph_id):
    if not np.isfinite(scores).all():
        raise InputError(f"{graph_id}: the ranker gave {(~np.isfinite(scores)).sum()} scores that are not finite; "
                         "a ranking needs a number for each configuration")


def rank(scores, graph_id):
    """Configurations from fastest to slowest: a stable argsort, ties by index.

    Parameters
    ----------
    scores : array, shape (c,)
        Lower = faster.
    graph_id : str
        For the error.

    Returns
    -------
    int64 array, shape (c,)

    Raises
    ------
    InputError
        Where a score is not finite.
    """
    scores = np.asarray(scores, np.float64)
    _refuse_infinite(scores, graph_id)
    return np.argsort(scores, kind="stable")


def card(entry, track, dataset, split, model, *, parameters=None, seed=None, train_seconds=None,
         predict_seconds=None, fallbacks=None):
    """The card of an entry, less the checksum of its CSV, which `write_entry` adds.

    Parameters
    ----------
    entry, track, split, model : str
    dataset : evaluation.dataset.Dataset
    parameters : dict, optional
        What the model was trained with.
    seed : int, optional
    train_seconds, predict_seconds : float, optional
    fallbacks : dict, optional
        Collection -> which ranker stood in where none was trained for it.

    Returns
    -------
    dict
    """
    return {"entry": entry, "track": track, "dataset": vars(dataset), "split": split, "model": model,
            "parameters": parameters or {}, "seed": seed, "sha256": "", "versions": versions(), "commit": commit(),
            "train_seconds": train_seconds, "predict_seconds": predict_seconds, "fallbacks": fallbacks or {},
            "command": command(), "created": now()}


def write_entry(folder, rows, card, scores=None, force=False):
    """Write an entry: everything to a temporary folder, checked there, then moved into place.

    Parameters
    ----------
    folder : str or Path
        ``submissions/NAME``.
    rows : iterable of (str, iterable of int)
        ID and its list; sorted by ID before writing.
    card : dict
        From `card`; its ``track`` names the columns, its ``sha256`` is filled in.
    scores : polars.DataFrame, optional
        Columns ``id``, ``config``, ``score``.
    force : bool
        Replace a folder even where this kit did not write it, or somebody edited it since.

    Returns
    -------
    dict
        The card as written.

    Raises
    ------
    InputError
        Where the folder holds something that must not be overwritten, or the file does not pass the
        validation that it would meet when it is scored.
    """
    folder = Path(folder)
    check_free(folder, force)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        track = tracks.TRACKS[card["track"]]
        write_csv(temporary / CSV, track.header, rows)
        tracks.read_submission(temporary / CSV).problems.refuse(folder / CSV)
        card = {**card, "sha256": sha256(temporary / CSV)}
        if scores is not None:
            scores.sort("id", "config").write_parquet(temporary / SCORES)
        with atomic(temporary / CARD) as out:
            json.dump(card, out, indent=1)
        os.chmod(temporary, 0o755)
        _swap(temporary, folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return card


def write_csv(path, columns, rows):
    """Write a submission CSV: two columns, LF, no quotes, rows sorted by ID, lists joined by ``;``."""
    with atomic(path) as out:
        out.write(",".join(columns) + "\n")
        for name, values in sorted(rows, key=lambda row: row[0]):
            out.write(f"{name},{';'.join(map(str, values))}\n")


def check_free(folder, force=False):
    """Raise `InputError` where an entry may not be written: no entry of ours, or edited since it was made."""
    folder = Path(folder)
    if force or not folder.exists():
        return
    if not folder.is_dir():
        raise InputError(f"{folder}: a file stands where the entry's folder should; choose another --out")
    if not any(folder.iterdir()):
        return
    try:
        known = read_card(folder)["sha256"] == sha256(folder / CSV)
    except (InputError, OSError, KeyError):
        known = False
    if not known:
        raise InputError(f"{folder}: holds an entry that this kit did not make, or that was edited since; "
                         "choose another --out, or replace it with --force")


def _swap(temporary, folder):
    """Put a finished folder in place of an older one."""
    old = None
    if folder.exists():
        old = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}.old."))
        os.replace(folder, old / "entry")
    os.replace(temporary, folder)
    if old:
        shutil.rmtree(old)


def read_card(folder):
    """The card of an entry, as a dict; `InputError` where it is missing or no JSON object."""
    file = Path(folder) / CARD
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: no readable card ({error}); write the entry again with the kit") from error
    if not isinstance(found, dict):
        raise InputError(f"{file}: not a JSON object; write the entry again with the kit")
    return found


def read_scores(folder):
    """The scores of an entry as a polars frame: ``id``, ``config``, ``score``, sorted."""
    import polars as pl

    file = Path(folder) / SCORES
    try:
        frame = pl.read_parquet(file)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{file}: no readable scores ({error}); write the entry again with the kit") from error
    missing = {"id", "config", "score"} - set(frame.columns)
    if missing:
        raise InputError(f"{file}: lacks the columns {', '.join(sorted(missing))}; write the entry again with the kit")
    return frame.sort("id", "config")
