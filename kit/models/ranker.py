"""The plug-in point: what a ranker is, which there are, and how a fitted one is found again."""

import importlib
import json
from pathlib import Path
from typing import Protocol

import numpy as np

from evaluation.errors import InputError
from evaluation.files import atomic

RANKERS = {
    "heuristic": "kit.models.heuristic:Heuristic",
    "analytic": "kit.models.heuristic:Analytic",
    "gbdt": "kit.models.gbdt:Gbdt",
    "gru": "kit.models.gru:Gru",
    "sage": "kit.models.sage:Sage",
}
METHODS = ("fit", "scores", "save", "load")
RUN_FILE = "run.json"


class Ranker(Protocol):
    """Scores the configurations of a graph; a run holds one fitted ranker a collection.

    A class of your own needs these four methods and nothing else; it is named as
    ``--model mypackage.mymodule:MyRanker`` or by a line in `RANKERS`.
    """

    def fit(self, train, valid, *, seed, minutes, steps, folder, threads, **options):
        """Learn from the labelled graphs of one collection.

        Parameters
        ----------
        train, valid : sequence of graphs
            Lazy: each access reads a file. Graphs without runtimes may be among them.
        seed : int
        minutes : float or None
            Wall time allowed; None: as long as it takes.
        steps : int or None
            Boosting rounds or optimiser steps; with the same number and seed, the same ranker results.
        folder : Path
            Exists; for checkpoints and learning curves.
        threads : int
        **options
            The ranker's own; an unknown one is a `TypeError`.
        """

    def scores(self, graph):
        """Score every configuration: float64, shape (c,), lower = faster."""

    def save(self, folder):
        """Write what `load` needs into an existing folder; nothing pickled."""

    @classmethod
    def load(cls, folder):
        """The ranker that was saved there."""


def resolve(model):
    """The class behind a name of the registry or ``package.module:Class``.

    Raises
    ------
    InputError
        Where there is no such name, module or class, or the class lacks a method of `Ranker`. What goes wrong inside
        a module while it is imported is left as it is: its traceback says where.
    """
    spec = RANKERS.get(model, model)
    module, _, name = spec.partition(":")
    if not (module and name):
        raise InputError(f"unknown model {model!r}: use one of {', '.join(RANKERS)}, "
                         "or package.module:Class for a ranker of your own")
    found = getattr(_module(module, model), name, None)
    if found is None:
        raise InputError(f"model {model!r}: module {module} has no class {name}")
    lacking = [method for method in METHODS if not callable(getattr(found, method, None))]
    if lacking:
        raise InputError(f"model {model!r}: has no {', '.join(lacking)}; a ranker is a class with the methods "
                         f"{', '.join(METHODS)} (README, Your own model in three steps)")
    return found


def _module(name, model):
    """Import a ranker's module; told apart: it is not there, or something that it imports is not."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and not f"{name}.".startswith(f"{error.name}."):
            mend = f"module {name} imports it: install it"
        elif name.endswith(".py"):
            mend = f"write the module's name without .py: {model.replace('.py:', ':').replace('/', '.')}"
        else:
            mend = "start from the folder that holds the module, or install it"
        raise InputError(f"model {model!r}: {error}; {mend}") from error


class Mean:
    """Several fitted rankers as one: the mean of their min-max scaled scores."""

    def __init__(self, rankers):
        self.rankers = rankers

    def scores(self, graph):
        """Mean of each ranker's scores, scaled to 0..1 within the graph; one ranker's are left as they are."""
        if len(self.rankers) == 1:
            return self.rankers[0].scores(graph)
        return np.mean([min_max(ranker.scores(graph)) for ranker in self.rankers], axis=0)


def min_max(scores):
    """Scale scores to 0..1; constant ones become 0."""
    scores = np.asarray(scores, np.float64)
    low, high = scores.min(), scores.max()
    return np.zeros_like(scores) if high == low else (scores - low) / (high - low)


def collection_folder(run, collection):
    """Where a run keeps what belongs to one collection."""
    return Path(run) / collection.replace(":", "-")


def read_run(run):
    """The record of a run.

    Returns
    -------
    dict
        ``model``, ``dataset``, ``seed``, ``options``, ``collections`` (name -> ``members``,
        ``train_seconds``, ...) and ``skipped`` (name -> reason).

    Raises
    ------
    InputError
        Where the folder is no finished run.
    """
    file = Path(run) / RUN_FILE
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
        record["model"], record["collections"]
    except FileNotFoundError as error:
        raise InputError(f"{run}: no {RUN_FILE} in it, so it is no finished run; "
                         "train one: python -m kit train --model gbdt --data DIR --run " + str(run)) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{file}: not the record of a run ({error}); train again") from error
    return record


def write_run(run, record):
    """Write the record of a run, last of all its files."""
    with atomic(Path(run) / RUN_FILE) as out:
        json.dump(record, out, indent=1)


def load(run, collection):
    """The fitted ranker of one collection of a run.

    Parameters
    ----------
    run : str or Path
    collection : str

    Returns
    -------
    Mean
        Over the run's seeds and folds.

    Raises
    ------
    InputError
        Where the run has none for this collection.
    """
    record = read_run(run)
    if collection not in record["collections"]:
        raise InputError(f"{run}: nothing fitted for {collection} "
                         f"({record.get('skipped', {}).get(collection, 'it was not asked for')})")
    ranker = resolve(record["model"])
    base = collection_folder(run, collection)
    return Mean([ranker.load(base / member) for member in record["collections"][collection]["members"]])
