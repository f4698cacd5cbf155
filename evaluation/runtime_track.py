"""The runtime track: rank the compiler configurations of a graph from fastest to slowest."""

import json
import re
from pathlib import Path

import numpy as np

from evaluation import metrics
from evaluation.collections import COLLECTIONS, parse_id
from evaluation.errors import InputError
from evaluation.problems import ODD
from evaluation.statistics import Average
from evaluation.truth import load_truth

TOP_K = {"tile": (1, 5, 10), "layout": (1, 10, 100)}


class Truth:
    """Runtimes of a split with the choices of how to judge them.

    Parameters
    ----------
    runtimes : NpzTruth or AnswersTruth
    options : evaluation.tracks.Options
        ``tile_target`` says whether tiles are judged by "normalized" or by "raw" runtimes; ``eval_indices``
        is a folder of files such as ``xla_default.json``, each a mapping from a graph's name to the indices
        of the configurations that count, drawn with replacement (the dataset authors' protocol).

    Attributes
    ----------
    ids, fingerprint
        Of the runtimes.
    """

    def __init__(self, runtimes, options):
        self._runtimes, self._options = runtimes, options
        self.ids = runtimes.ids
        self.configs = runtimes.configs  # (id) -> number of configurations
        self._indices = _eval_indices(options.eval_indices) if options.eval_indices else {}

    @property
    def fingerprint(self):
        """Fingerprint of the runtimes, and of the choices where they are not the usual ones."""
        marks = [self._options.tile_target] if self._options.tile_target != "normalized" else []
        return "+".join([self._runtimes.fingerprint, *marks])

    def ready(self):
        """Raise `InputError` where the runtimes are withheld, so that nothing can be scored."""
        self._runtimes.runtimes(self.ids[0])

    def target(self, id):
        """What configurations are compared by: shape (c,), runtimes or, for tiles, runtime / normalizer."""
        found = self._runtimes.runtimes(id)
        tile = parse_id(id)[0].kind == "tile"
        return found.normalized if tile and self._options.tile_target == "normalized" else found.runtime

    def indices(self, id, configs):
        """Indices of the configurations that count, shape (i,), or None for all."""
        chosen = self._indices.get(id)
        if chosen is not None and (chosen.min() < 0 or chosen.max() >= configs):
            raise InputError(f"{self._options.eval_indices}: index {chosen.max()} of {id}, which has {configs} "
                             "configurations; give the indices that belong to this data set")
        return chosen


def _eval_indices(folder):
    """Indices of every graph that the JSON files of a folder name, by full ID."""
    found = {}
    for name, collection in COLLECTIONS.items():
        file = Path(folder) / f"{collection.source}_{collection.search}.json"
        if collection.kind == "layout" and file.is_file():
            try:
                table = json.loads(file.read_text(encoding="utf-8"))
                found |= {f"{name}:{graph}": np.array(listed, dtype=np.int64) for graph, listed in table.items()}
            except (ValueError, TypeError, AttributeError, OverflowError) as error:
                raise InputError(f"{file}: must map graph names to lists of indices ({error})") from error
    if not found:
        raise InputError(f"{folder}: no evaluation indices; there must be files such as xla_default.json")
    return found


def load(data, split, answers, options):
    """The track's truth: see `evaluation.tracks.Track`."""
    return Truth(load_truth(data, split, answers), options)


def wrong_id(id):
    """Code, found and fix of an ID of no known collection."""
    return ("unknown_collection", f"{id[:60]!r} is in none of the five collections",
            f"write <collection>:<graph>, with a collection of {', '.join(COLLECTIONS)}")


def check_row(row, truth, problems):
    """Note repeated and impossible indices and configurations that are not listed."""

    def note(code, found, fix):
        problems.add(code, found, fix, ODD, row.line, row.id)

    distinct, counts = np.unique(row.values, return_counts=True)
    if len(distinct) < len(row.values):
        worst = int(np.argmax(counts))
        more = f" ({np.sum(counts > 1)} indices are repeated)" if np.sum(counts > 1) > 1 else ""
        note("duplicate_index", f"index {distinct[worst]} listed {counts[worst]} times{more}",
             "list each configuration once")
    configs = truth.configs(row.id) if truth is not None else None
    possible = distinct[(distinct >= 0) & (distinct < (np.inf if configs is None else configs))]
    if len(possible) < len(distinct):
        wrong = distinct[-1] if distinct[0] >= 0 else distinct[0]
        there = f"there are {configs} configurations, 0 to {configs - 1}" if configs else "indices start at 0"
        note("index_out_of_range", f"index {wrong} is impossible, {there}", "list only configurations that exist")
    tile = row.id.startswith("tile:")
    if configs and len(possible) < (min(metrics.TILE_LISTED, configs) if tile else configs):
        note("incomplete_list", f"lists {len(possible):,} of {configs:,} configurations",
             "list at least five" if tile and configs >= metrics.TILE_LISTED else "list every configuration")


def score_row(id, listed, truth):
    """Judge one graph.

    Parameters
    ----------
    id : str
    listed : ndarray of int64, shape (j,), or None
        Configurations, best first; None where the submission lacks the graph.
    truth : Truth

    Returns
    -------
    dict
        score (tile score, or Kendall's tau for layouts), kendall_tau, ordered_pair_accuracy, and
        top1/top5/top10_error (tile) or top1/top10/top100_error (layout), configs; and "warning" where tau is not
        defined (one configuration, equal runtimes, a row that tells nothing apart) and counts as 0. A missing graph
        has score and tau 0 and None for the others.
    """
    kind = parse_id(id)[0].kind
    names = [f"top{k}_error" for k in TOP_K[kind]]
    if listed is None:
        return {"score": 0.0, "kendall_tau": 0.0, "ordered_pair_accuracy": None, **dict.fromkeys(names),
                "configs": 0}
    target = truth.target(id)
    chosen = truth.indices(id, len(target))
    ranks = metrics.listed_ranks(listed, len(target))
    if chosen is not None:
        ranks, target = ranks[chosen], target[chosen]
        listed = np.argsort(ranks, kind="stable")
    pairs = metrics.pair_counts(ranks, target)
    score = metrics.tile_score(listed, target) if kind == "tile" else pairs.kendall_tau
    errors = {name: metrics.top_k_error(listed, target, k) for name, k in zip(names, TOP_K[kind], strict=True)}
    scored = {"score": score, "kendall_tau": pairs.kendall_tau,
              "ordered_pair_accuracy": pairs.ordered_pair_accuracy, **errors, "configs": len(target)}
    why = _degenerate(pairs)
    return {**scored, "warning": why} if why else scored


def _degenerate(pairs):
    """Why Kendall's tau is not defined, or None."""
    if pairs.total == 0:
        return "one configuration: nothing to rank, tau counts as 0"
    if pairs.total == pairs.tied_runtime:
        return "all runtimes are equal: tau counts as 0"
    if pairs.total == pairs.tied_predicted:
        return "the row tells no two configurations apart: tau counts as 0"
    return None


def group(id):
    """The collection of an ID."""
    return parse_id(id)[0].name


def columns():
    """Columns of a board of this track."""
    from evaluation.columns import RUNTIME_COLUMNS

    return RUNTIME_COLUMNS


def details(submission, truth, ids, group):
    """What an entry's panel shows: see `evaluation.search_view.details`."""
    from evaluation.search_view import details as search

    return search(submission, truth, ids, group)


PARTS = {
    "header": ("ID", "TopConfigs"), "id_pattern": re.compile(r"(tile:xla|layout:(xla|nlp):(default|random)):[^:/\\]+"),
    "wrong_id": wrong_id, "default_split": "valid", "check_split": "test", "load": load, "check_row": check_row,
    "score_row": score_row, "group": group, "average": Average(groups=len(COLLECTIONS)),
    "metrics": ("kendall_tau", "ordered_pair_accuracy", "top1_error", "top5_error", "top10_error", "top100_error"),
    "columns": columns, "details": details,
}
