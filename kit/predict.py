"""Ranking a split with a run, blending entries: scores in, entries out."""

import time
from pathlib import Path

import numpy as np
import polars as pl

from evaluation import dataset
from evaluation.collections import COLLECTIONS
from evaluation.errors import InputError
from kit import submission
from kit.graphs import Graphs
from kit.models import ranker as rankers
from kit.progress import progress


def stand_in(collection, trained):
    """Which of the trained collections ranks `collection`: itself, same kind and source, same kind, or None.

    Parameters
    ----------
    collection : str
    trained : iterable of str

    Returns
    -------
    str or None
        None: the heuristic has to do.
    """
    wanted = COLLECTIONS[collection]
    nearness = [(name == collection, COLLECTIONS[name].source == wanted.source, name) for name in sorted(trained)
                if COLLECTIONS[name].kind == wanted.kind]
    return max(nearness, key=lambda n: n[:2])[2] if nearness else None


def _choose(run, collections, report):
    """A ranker for each collection, and a record of those that stand in for another."""
    trained, chosen, fallbacks = rankers.read_run(run)["collections"], {}, {}
    for name in collections:
        source = stand_in(name, trained)
        if source is None:
            chosen[name] = rankers.resolve("heuristic")()
            fallbacks[name] = "heuristic"
        else:
            chosen[name] = rankers.load(run, source)
            if source != name:
                fallbacks[name] = source
        report(f"{name}: ranked by {_explain(fallbacks.get(name))}")
    return chosen, fallbacks


def _explain(fallback):
    if fallback is None:
        return "its own ranker"
    return "the heuristic: nothing of its kind was trained" if fallback == "heuristic" else f"the ranker of {fallback}"


def _score_split(chosen, splits):
    """Scores of every configuration of every graph, as one frame sorted by id and config."""
    frames = []
    bar = progress(total=sum(map(len, splits.values())), desc="ranking", unit="graph")
    for name, graphs in splits.items():
        for graph in graphs:
            scores = submission.checked(chosen[name].scores(graph), graph)
            frames.append(pl.DataFrame({"id": pl.repeat(graph.id, graph.configs, eager=True),
                                        "config": np.arange(graph.configs, dtype=np.int32), "score": scores}))
            bar.update()
    bar.close()
    return pl.concat(frames).sort("id", "config")


def rows_of(scores):
    """(ID, ranking) of every graph of a frame of scores that is sorted by id and config."""
    for (name,), part in scores.group_by("id", maintain_order=True):
        yield name, submission.rank(part["score"].to_numpy(), name)


def predict(run, data, split, out, *, force=False, report=print):
    """Rank a split with a run and write the entry.

    Parameters
    ----------
    run, data, out : str or Path
        A finished run, the data set, the entry's folder.
    split : {"train", "valid", "test"}
    force : bool
        Overwrite an entry that the kit did not make.
    report : callable
        Gets a line of text for each collection.

    Returns
    -------
    dict
        The entry's card.

    Raises
    ------
    InputError
        Where the data set has no such split, or the run or the entry's folder cannot be used.
    """
    submission.check_free(out, force)
    record, identity = rankers.read_run(run), dataset.describe(data)
    splits = {name: graphs for name in COLLECTIONS if len(graphs := Graphs(data, name, split))}
    if not splits:
        raise InputError(f"{data}: no files in the split {split!r}")
    start = time.perf_counter()
    chosen, fallbacks = _choose(run, splits, report)
    scores = _score_split(chosen, splits)
    seconds = time.perf_counter() - start
    settings = {key: record.get(key) for key in ("seeds", "folds", "fit", "minutes", "steps", "threads", "options")}
    trained_on = record.get("dataset", {})
    if trained_on.get("fingerprint") != identity.fingerprint:
        settings["trained_on"] = trained_on
    train_seconds = sum(c.get("train_seconds", 0) for c in record["collections"].values())
    card = submission.card(Path(out).name, "runtime", identity, split, record["model"], parameters=settings,
                           seed=record.get("seed"), train_seconds=round(train_seconds, 3),
                           predict_seconds=round(seconds, 3), fallbacks=fallbacks)
    return submission.write_entry(out, rows_of(scores), card, scores, force)


def blend(entries, out, *, force=False):
    """Average the min-max scaled scores of several entries of one data set and split.

    Parameters
    ----------
    entries : list of str or Path
        Two or more folders with ``scores.parquet``.
    out : str or Path
    force : bool

    Returns
    -------
    dict
        The entry's card.

    Raises
    ------
    InputError
        Where the entries do not rank the same configurations.
    """
    submission.check_free(out, force)
    cards = [submission.read_card(entry) for entry in entries]
    same = {(c.get("track"), c.get("dataset", {}).get("fingerprint"), c.get("split")) for c in cards}
    if len(same) > 1:
        raise InputError(f"{', '.join(map(str, entries))}: not of one data set and split; blend entries that rank the "
                         "same graphs")
    start, parts = time.perf_counter(), [submission.read_scores(entry) for entry in entries]
    keys = parts[0].select("id", "config")
    for entry, part in zip(entries, parts, strict=True):
        if not part.select("id", "config").equals(keys):
            raise InputError(f"{entry}: ranks other configurations than {entries[0]}; write both again")
    scores = keys.with_columns(pl.Series("score", np.mean([_scaled(part) for part in parts], axis=0)))
    seconds = [c.get("train_seconds") for c in cards]
    first = cards[0]
    card = submission.card(Path(out).name, first["track"], dataset.Dataset(**first["dataset"]), first["split"], "blend",
                           parameters={"entries": [c.get("entry") for c in cards]}, seed=first.get("seed"),
                           train_seconds=None if None in seconds else round(sum(seconds), 3),
                           predict_seconds=round(time.perf_counter() - start + sum(
                               c.get("predict_seconds") or 0 for c in cards), 3))
    return submission.write_entry(out, rows_of(scores), card, scores, force)


def _scaled(scores):
    """Scores of a sorted frame, scaled to 0..1 within each graph; float64, one a row."""
    return np.concatenate([rankers.min_max(part["score"]) for _, part in scores.group_by("id", maintain_order=True)])
