"""A contest of one's own: what entrants get, and the answers that they do not."""

import json
import os
import shutil
import tempfile
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from evaluation.collections import COLLECTIONS, find_root, graph_files, home
from evaluation.dataset import describe
from evaluation.entries import CARD, CSV
from evaluation.errors import InputError
from evaluation.files import atomic, sha256
from evaluation.truth import ANSWER_COLUMNS, NORMALIZER, RUNTIME, load_truth, read_runtimes

HERE = Path(__file__).parent


def held_back(data):
    """Which split to hold back: `test` where its runtimes are known, else `valid`.

    Returns
    -------
    split : str
    truth : NpzTruth or AnswersTruth

    Raises
    ------
    InputError
        Where neither has runtimes.
    """
    root = find_root(data)
    kept = home(root) / "answers" / "test.parquet"
    if kept.is_file():
        return "test", load_truth(data, "test", kept)
    for split in ("test", "valid"):
        files = [file for name in COLLECTIONS for file in graph_files(root, name, split)]
        if files and all(read_runtimes(file).runtime.all() for file in files):
            return split, load_truth(data, split)
    raise InputError(f"{data}: neither test nor valid has runtimes to hold back; "
                     "take a data set with labels, such as: python -m kit sample --out data/sample")


def withhold(source, target):
    """Copy an npz file with runtimes 0 and normalizers 1, as in Kaggle's test files; other members as they are."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.infolist():
            name = member.filename.removesuffix(".npy")
            with old.open(member) as stream, new.open(member.filename, "w", force_zip64=True) as out:
                if name in (RUNTIME, NORMALIZER):
                    blank = np.lib.format.read_array(stream, allow_pickle=False)
                    np.lib.format.write_array(out, np.full_like(blank, name == NORMALIZER), allow_pickle=False)
                else:
                    shutil.copyfileobj(stream, out, 1 << 20)


def _write_data(root, folder, split):
    """The entrants' npz files: train, valid unless it is held back, and the blanked test files."""
    for name, collection in COLLECTIONS.items():
        for part in ("train", "valid", "test"):
            blank = part == split
            if part == "test" and not blank:
                continue  # withheld already and without answers: nothing to judge
            target = folder / "npz" / collection.folder / ("test" if blank else part)
            for file in graph_files(root, name, part):
                target.mkdir(parents=True, exist_ok=True)
                (withhold if blank else shutil.copyfile)(file, target / file.name)


def _write_answers(path, truth):
    import polars as pl

    parts = []
    for id in truth.ids:
        found = truth.runtimes(id)
        parts.append(pl.DataFrame({"id": [id] * len(found.runtime), "config": np.arange(len(found.runtime)),
                                   "runtime": found.runtime, "normalizer": found.normalizer}))
    pl.concat(parts).select(ANSWER_COLUMNS).write_parquet(path)


def _write_template(folder, truth, dataset):
    """An entry that ranks configurations by index, for entrants to copy."""
    with atomic(folder / CSV) as out:
        out.write("ID,TopConfigs\n")
        for id in truth.ids:
            out.write(f"{id},{';'.join(map(str, range(truth.configs(id))))}\n")
    card = {"entry": "template", "track": "runtime", "dataset": vars(dataset), "split": "test", "model": "by index",
            "parameters": {}, "seed": None, "sha256": sha256(folder / CSV), "versions": {}, "commit": None,
            "train_seconds": None, "predict_seconds": None, "fallbacks": {}, "command": None,
            "created": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    with atomic(folder / CARD) as out:
        json.dump(card, out, indent=1)


def _write_readme(path, template, **words):
    with atomic(path) as out:
        out.write((HERE / "contest_texts" / template).read_text(encoding="utf-8").format(**words))


def new(folder, data):
    """Set up a contest.

    Parameters
    ----------
    folder : str or Path
        Made by this; must not exist, or be empty. ``entrants/`` is to be handed out, ``answers.parquet`` is not,
        ``entries/`` takes what is handed in.
    data : str or Path
        A data set whose test or validation runtimes are known; those are held back.

    Returns
    -------
    split : str
        What was held back: "test" or "valid".
    graphs : int
        How many.

    Raises
    ------
    InputError
        Where the data has nothing to hold back, or the folder is in use.
    """
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: is there already; choose another folder for the contest")
    source, (split, truth) = describe(data), held_back(data)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}."))
    try:
        entrants = temporary / "entrants"
        _write_data(find_root(data), entrants, split)
        dataset = describe(entrants, name=f"{folder.name} contest", simulated=source.simulated)
        _write_template(entrants / "template", truth, dataset)
        _write_answers(temporary / "answers.parquet", truth)
        (temporary / "entries").mkdir()
        kind = "simulated by a cost model" if source.simulated else "measured"
        words = {"name": folder.name, "folder": folder.as_posix(), "graphs": len(truth.ids), "kind": kind,
                 "source": source.name, "held": split}
        _write_readme(entrants / "README.md", "entrants.md", **words)
        _write_readme(temporary / "README.md", "organiser.md", **words)
        temporary.chmod(0o755)
        os.replace(temporary, folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    return split, len(truth.ids)

