"""Training a run: which graphs, seeds and folds each ranker sees, and what is recorded of it."""

import inspect
import json
import platform
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from evaluation import dataset
from evaluation.collections import COLLECTIONS, SPLITS, find_root, graph_files
from evaluation.engine import open_engine
from evaluation.errors import InputError
from evaluation.files import atomic
from kit.graphs import Graphs, distinct_configs
from kit.models import processes
from kit.models import ranker as rankers

SETTINGS_FILE, FITTED_FILE = ".run", "fitted.json"
SETTINGS = ("seed", "minutes", "steps", "folder", "threads")  # what every ranker's fit gets
PACKAGES = ("numpy", "polars", "lightgbm", "torch", "scikit-learn")


def versions():
    """Versions of Python and of the packages that results depend on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue  # a run without torch, say, depends on none
    return found


def commit():
    """The repository's commit, with ``+changes`` where files differ from it; empty outside a checkout."""
    folder = Path(__file__).parent
    try:
        head, changes = (subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True,
                                        check=True, timeout=10).stdout.strip()
                         for arguments in (["rev-parse", "HEAD"], ["status", "--porcelain", "-uno"]))
    except (OSError, subprocess.SubprocessError):
        return ""
    return head + ("+changes" if changes else "")


def now():
    """The present time in UTC, to the second, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def command():
    """How this process was started, for people to repeat it."""
    package = Path(sys.argv[0]).parent.name
    program = f"python -m {package}" if Path(sys.argv[0]).name == "__main__.py" else Path(sys.argv[0]).name
    return " ".join([program, *sys.argv[1:]])


def is_rankable(graph):
    """Whether a graph has labels and at least two distinct configurations: else there is nothing to learn."""
    return graph.config_runtime is not None and len(distinct_configs(graph).first) > 1


def reason_to_skip(model, graphs):
    """Why nothing can be learnt from these graphs, or None; reads no further than the first good one.

    A ranker whose class says ``learns = False`` needs none and is never skipped.
    """
    if not getattr(rankers.resolve(model), "learns", True):
        return None
    if not len(graphs):
        return "no training files"
    labelled = False
    for graph in graphs:
        if is_rankable(graph):
            return None
        labelled |= graph.config_runtime is not None
    return "only copies of one configuration: nothing but noise to rank" if labelled else "no training labels"


def _parts(data, collection, fit, folds, seed):
    """(name, train, valid) for each fold; one where there are none."""
    root, store = find_root(data), Graphs(data, collection, "train").store
    files = {split: graph_files(root, collection, split) for split in SPLITS[:2]}
    pool = files["train"] + (files["valid"] if fit == "train+valid" else [])
    if folds < 2:
        held_out = files["valid"] if fit == "train" else []
        return [("", Graphs.of(pool, collection, store), Graphs.of(held_out, collection, store))]
    if folds > len(pool):
        raise InputError(f"{collection}: {folds} folds of {len(pool)} graphs: use at most --folds {len(pool)}")
    part = np.random.default_rng(seed).permutation(len(pool)) % folds
    return [(f"-fold{k}", *(Graphs.of([f for f, p in zip(pool, part, strict=True) if (p == k) == held], collection,
                                     store) for held in (False, True))) for k in range(folds)]


def _fit_members(model, data, collection, base, *, seeds, folds, fit, **settings):
    """Fit and save one ranker for each seed and fold that is not there yet: their folders' names, and seconds."""
    members, seconds = [], 0.0
    seed = settings.pop("seed")
    for s in range(seed, seed + seeds):
        for suffix, train, valid in _parts(data, collection, fit, folds, s):
            members.append(f"seed{s}{suffix}")
            seconds += _fit_member(model, base / members[-1], train, valid, seed=s, **settings)
    return members, seconds


def _fit_member(model, folder, train, valid, **settings):
    """Fit and save one ranker, unless an earlier attempt at this run has; the seconds it took."""
    done = folder / FITTED_FILE
    if done.exists():
        return json.loads(done.read_text(encoding="utf-8"))["seconds"]
    start = time.perf_counter()
    folder.mkdir(parents=True, exist_ok=True)
    fitted = rankers.resolve(model)()
    fitted.fit(train, valid, folder=folder, **settings)
    seconds = time.perf_counter() - start
    if processes.rank() == 0:
        fitted.save(folder)
        rankers.resolve(model).load(folder)  # what cannot be read again shall be known after one ranker, not after all
        with atomic(done) as out:
            json.dump({"seconds": seconds}, out)
    return seconds


def train(model, data, run, *, collections=None, seed=0, seeds=1, folds=1, fit="train", minutes=None, steps=None,
          threads=1, memory=None, cluster=None, report=print, **options):
    """Fit a ranker for every collection that has something to learn from.

    Parameters
    ----------
    model : str
        Name in the registry, or ``package.module:Class``.
    data, run : str or Path
        Data set, and the folder to write; a finished run there is replaced once the new one begins, an
        unfinished one is continued where model, data set and settings are the same.
    collections : list of str, optional
        All five by default.
    seed, seeds, folds : int
        First seed, number of seeds, folds by graph; rankers of all seeds and folds are averaged.
    fit : {"train", "train+valid"}
    minutes, steps : optional
        Per collection: wall time, or boosting rounds or optimiser steps of each ranker.
    threads : int
    memory : int, optional
        Bytes that training may take: a store is made where there is none, and read from. Passed to rankers whose
        ``fit`` takes ``memory``.
    cluster : str, optional
        Dask workers for rankers that use an ``engine``, see `evaluation.engine.open_engine`.
    report : callable
        Gets a line of text for each collection.
    **options
        Passed to the ranker's ``fit``.

    Returns
    -------
    dict
        The run's record, as `kit.models.ranker.read_run` gives it back.
    """
    _check_options(model, options, cluster)
    if memory:
        options |= _within(memory, model, data, threads, cluster, report)
    report = report if processes.rank() == 0 else (lambda line: None)
    identity = dataset.describe(data)
    record = {"model": model, "dataset": vars(identity), "seed": seed, "seeds": seeds, "folds": folds, "fit": fit,
              "minutes": minutes, "steps": steps, "threads": threads, "cluster": cluster, "options": options}
    if processes.rank() == 0 and _begin(Path(run), record):
        report(f"{run}: continuing an unfinished run with the same settings")
    processes.wait()
    record |= {"collections": {}, "skipped": {}, "versions": versions(), "commit": commit(), "command": command(),
               "created": now()}
    with open_engine(cluster) as engine:
        used = {"engine": engine} if cluster else {}
        _fit_collections(record, data, run, collections or COLLECTIONS, report, **options, **used)
    if processes.rank() == 0:
        rankers.write_run(run, record)
    return record


def _within(memory, model, data, threads, cluster, report):
    """Make sure that there is a store; the options of a ranker that keeps within so many bytes."""
    from kit.features import store
    from kit.features.store.build import build

    if processes.rank() == 0 and store.find(data) is None:
        build(data, workers=threads, memory=memory, cluster=cluster, report=report)
    processes.wait()
    return {"memory": memory} if "memory" in inspect.signature(rankers.resolve(model).fit).parameters else {}


def _fit_collections(record, data, run, collections, report, **options):
    """Fit what can be fitted, and note in the record what was and why the rest was not."""
    model, members = record["model"], record["seeds"] * record["folds"]
    settings = {name: record[name] for name in ("seed", "seeds", "folds", "fit", "steps", "threads")}
    for collection in collections:
        reason = reason_to_skip(model, Graphs(data, collection, "train"))
        if reason:
            record["skipped"][collection] = reason
            report(f"{collection}: skipped: {reason}")
            continue
        fitted, seconds = _fit_members(model, data, collection, rankers.collection_folder(run, collection), **settings,
                                       minutes=record["minutes"] and record["minutes"] / members, **options)
        record["collections"][collection] = {"members": fitted, "train_seconds": round(seconds, 3)}
        report(f"{collection}: {model} fitted in {seconds:.1f} s")


def _check_options(model, options, cluster):
    """Refuse a `fit` that does not take what every ranker's gets, and options that it does not take."""
    parameters = inspect.signature(rankers.resolve(model).fit).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    if cluster and "engine" not in parameters:
        raise InputError(f"{model} does not train on Dask workers; leave --cluster out (networks train on several "
                         "machines under torchrun: see the README, More than one machine)")
    missing = [] if takes_any else [name for name in SETTINGS if name not in parameters]
    if missing:
        raise InputError(f"{model}: its fit does not take {', '.join(missing)}; begin it with "
                         f"def fit(self, train, valid, *, {', '.join(SETTINGS)})")
    unknown = [] if takes_any else sorted(set(options) - set(parameters))
    if unknown:
        known = sorted(set(parameters) - {"self", "train", "valid", *SETTINGS, "memory", "engine"})
        raise InputError(f"{model} takes no {', '.join(unknown)}; its options: {', '.join(known) or 'none'}")


def _begin(run, settings):
    """Make or empty a run's folder; whether an unfinished run with these settings is there to continue."""
    text = json.dumps(settings, sort_keys=True)
    mark = run / SETTINGS_FILE
    finished = (run / rankers.RUN_FILE).exists()
    if not finished and mark.exists() and mark.read_text(encoding="utf-8") == text:
        return True
    if run.exists() and any(run.iterdir()) and not finished and not mark.exists():
        raise InputError(f"{run}: holds something that is no run; choose another --run")
    if run.exists():
        shutil.rmtree(run)
    with atomic(mark) as out:
        out.write(text)
    return False
