"""What is learnt on the simulated sample, measured on real graphs."""

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from evaluation.collections import COLLECTIONS
from evaluation.errors import InputError
from evaluation.metrics import kendall_tau, listed_ranks, top_k_error
from evaluation.report import number, percent, table
from kit.distinct import distinct_configs, runtimes
from kit.graphs import Graphs, TileGraph
from kit.models.heuristic import Heuristic
from kit.models.ranker import resolve
from kit.models.tables import feature_module
from kit.progress import progress
from kit.sample import constants as named

STEPS = 150  # boosting rounds; the sample's few validation graphs would end them at random
MODELS = {  # what is trained: a ranker of the registry and its options
    "analytic": ("analytic", {}),
    "gbdt": ("gbdt", {"steps": STEPS}),
    "gbdt-pairwise": ("gbdt", {"steps": STEPS, "objective": "pairwise"}),
    "gbdt-wide": ("gbdt", {"steps": STEPS, "features": "wide"}),
}
TOP = {"tile": (1, 5, 10), "layout": (1, 10, 100)}
FEW_TILES = 9  # kernels with fewer configurations say little and are left out of the means
FEW_COPIES = 10  # duplicated configurations from which a ceiling is stated


@dataclass(frozen=True)
class Judged:
    """How one ranker did on one graph.

    Attributes
    ----------
    id, model : str
    constants : str
        The set of the cost model that the ranker's training data was made with.
    configs, distinct : int
    kendall_tau : float
        Of the submitted ranking, ties by index.
    errors : dict of int to float
        Top-K error of each K.
    heuristic, best_column : float
        Tau of the heuristic's ranking and of the best single column's, chosen in hindsight.
    column : str
        Name of that column, with its direction.
    ceiling : float or None
        Tau between two measurements of the same configurations; None where fewer than ten were repeated.
    """

    id: str
    model: str
    constants: str
    configs: int
    distinct: int
    kendall_tau: float
    errors: dict
    heuristic: float
    best_column: float
    column: str
    ceiling: float | None

    def as_json(self):
        """The contract's keys: errors as ``top1_error`` and so on."""
        plain = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "errors"}
        return plain | {f"top{k}_error": error for k, error in self.errors.items()}


def transfer(data, *, models=None, constants=None, seed=0, threads=1):
    """Train on the sample alone and rank every labelled graph of a data set.

    Parameters
    ----------
    data : str or Path
        With labelled graphs; its train and valid splits are ranked, none is learnt from.
    models : list of str, optional
        Keys of `MODELS`, or ``package.module:Class`` for a ranker of your own; by default all of `MODELS`.
    constants : str, optional
        A named set of the cost model; by default, for every graph, the one calibrated without it.
    seed : int
        Of the sample, of training and of the order in which a kernel's configurations are looked at.
    threads : int

    Returns
    -------
    list of Judged

    Raises
    ------
    InputError
        Where there is no labelled graph, or no such model.

    Notes
    -----
    Kernels are ranked in a shuffled order: the published files often list the fastest configuration first.
    A ranker learns from all programs of the sample's collections of the graph's kind and search, train and valid
    together where the number of steps is fixed: few programs decide by chance what is learnt.
    """
    rankers = {model: (resolve(MODELS.get(model, (model, {}))[0]), MODELS.get(model, (model, {}))[1])
               for model in models or MODELS}
    found = []
    with TemporaryDirectory() as folder:
        samples = _Samples(Path(folder), rankers, seed, threads)
        for graph in progress(labelled(data, seed), desc="graphs"):
            chosen = constants or named.without(graph.id)
            found += judge(graph, chosen, samples.fitted(graph.collection, chosen))
    return found


def labelled(data, seed=0):
    """Yield the graphs of train and valid that have something to rank, in canonical order; kernels shuffled.

    Raises
    ------
    InputError
        Where there is none.
    """
    found = 0
    for graph in (g for c in COLLECTIONS for split in ("train", "valid") for g in Graphs(data, c, split)):
        if graph.config_runtime is not None and len(distinct_configs(graph).first) > 1:
            found += 1
            yield shuffled(graph, seed) if isinstance(graph, TileGraph) else graph
    if not found:
        raise InputError(f"{data}: no labelled graph with two different configurations in train or valid")


def shuffled(graph, seed):
    """A kernel with its configurations in another order."""
    order = np.random.default_rng(seed).permutation(graph.configs)
    members = ("config_feat", "config_runtime", "config_runtime_normalizers")
    return replace(graph, stored=None, **{name: getattr(graph, name)[order] for name in members})


class _Samples:
    """Rankers fitted to samples, once for a collection and a set of constants."""

    def __init__(self, folder, rankers, seed, threads):
        self.folder, self.rankers, self.seed, self.threads = folder, rankers, seed, threads
        self._rankers = lru_cache(maxsize=None)(self._fit)

    def fitted(self, collection, constants):
        """{model: ranker} for a collection and a named set; sets of equal constants share theirs."""
        return self._rankers(collection, named.constants(constants))

    def _fit(self, collection, constants):
        from kit import sample

        folder, pool = self.folder / str(len(list(self.folder.iterdir()))), alike(collection)
        sample.write(folder, "small", self.seed, constants=constants, collections=pool, workers=self.threads)
        train, valid = ([file for c in pool for file in Graphs(folder, c, split).files] for split in ("train", "valid"))
        return {model: self._trained(ranker(), train, valid, options)
                for model, (ranker, options) in self.rankers.items()}

    def _trained(self, ranker, train, valid, options):
        if options.get("steps"):
            train, valid = train + valid, []
        with TemporaryDirectory() as folder:
            ranker.fit(Graphs.of(train, None), Graphs.of(valid, None), seed=self.seed, minutes=None,
                       folder=Path(folder), threads=self.threads, **{"steps": None, **options})
        return ranker


def alike(collection):
    """Names of the collections of the same kind and search, whatever the programs' source."""
    wanted = COLLECTIONS[collection]
    return [c.name for c in COLLECTIONS.values() if (c.kind, c.search) == (wanted.kind, wanted.search)]


def judge(graph, constants, rankers):
    """One `Judged` for every ranker of {model: ranker}."""
    runtime = runtimes(graph)
    column, best = best_column(graph, runtime)
    common = {"id": graph.id, "constants": constants, "configs": graph.configs,
              "distinct": len(distinct_configs(graph).first), "best_column": best, "column": column,
              "heuristic": ranked_tau(Heuristic().scores(graph), runtime), "ceiling": ceiling(graph)}
    kind = COLLECTIONS[graph.collection].kind
    found = []
    for model, ranker in rankers.items():
        scores = ranker.scores(graph)
        listed = np.argsort(scores, kind="stable")
        errors = {k: float(top_k_error(listed, runtime, k)) for k in TOP[kind]}
        found.append(Judged(model=model, kendall_tau=ranked_tau(scores, runtime), errors=errors, **common))
    return found


def ranked_tau(scores, runtime):
    """Kendall's tau of the ranking that would be submitted: ties by index."""
    listed = np.argsort(scores, kind="stable")
    return float(kendall_tau(listed_ranks(listed, len(runtime)), runtime))


def best_column(graph, runtime):
    """Name and tau of the feature column that ranks a graph best, up or down, chosen in hindsight."""
    frame = feature_module(graph).table(graph, "wide").drop("graph_id", "config")
    found = [("constant", 0.0)]
    for name in frame.columns:
        values = frame[name].to_numpy()
        if values.min() < values.max():
            found += [(name, ranked_tau(values, runtime)), (f"-{name}", ranked_tau(-values, runtime))]
    return max(found, key=lambda pair: pair[1])


def ceiling(graph):
    """Tau between the first and the second measurement of every repeated configuration, or None."""
    distinct = distinct_configs(graph)
    order = np.argsort(distinct.inverse, kind="stable")
    first = np.cumsum(distinct.count) - distinct.count
    repeated = first[distinct.count > 1]
    if len(repeated) < FEW_COPIES:
        return None
    runtime = runtimes(graph)[order]
    return float(kendall_tau(runtime[repeated], runtime[repeated + 1]))


def means(judged):
    """Mean figures of every model, tiles (of at least nine configurations) and layouts apart.

    Returns
    -------
    list of dict
        ``kind``, ``model``, ``graphs``, ``kendall_tau``, ``top1_error``, ``heuristic``, ``best_column``.
    """
    found = []
    for kind in TOP:
        mine = [j for j in judged if j.id.startswith(kind) and (kind == "layout" or j.configs >= FEW_TILES)]
        for model in dict.fromkeys(j.model for j in mine):
            rows = [j for j in mine if j.model == model]
            found.append({"kind": kind, "model": model, "graphs": len(rows),
                          "kendall_tau": float(np.mean([j.kendall_tau for j in rows])),
                          "top1_error": float(np.mean([j.errors[1] for j in rows])),
                          "heuristic": float(np.mean([j.heuristic for j in rows])),
                          "best_column": float(np.mean([j.best_column for j in rows]))})
    return found


def report(judged):
    """The outcome as text: a line a graph and model, then the means."""
    parts = []
    for kind, top in TOP.items():
        rows = [[j.id, str(j.distinct), j.model, number(j.kendall_tau, 3), *(percent(j.errors[k], 1) for k in top),
                 number(j.heuristic, 3), number(j.best_column, 3), number(j.ceiling, 3), j.column]
                for j in judged if j.id.startswith(kind)]
        if rows:
            parts.append(table(["graph", "distinct", "model", "tau", *(f"top-{k}" for k in top), "heuristic",
                                "best column", "ceiling", "(which)"], rows))
    rows = [[f"{m['kind']}, {m['graphs']} graphs", m["model"], number(m["kendall_tau"], 3), percent(m["top1_error"], 1),
             number(m["heuristic"], 3), number(m["best_column"], 3)] for m in means(judged)]
    parts.append(table(["mean over", "model", "tau", "top-1", "heuristic", "best column"], rows))
    return "\n\n".join([*parts, f"Trained on simulated data alone. Means of tiles are over kernels with at least "
                        f"{FEW_TILES} configurations. The best column is chosen in hindsight, graph by graph."])
