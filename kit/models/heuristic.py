"""Rankers that learn nothing: the floors that a model has to clear."""

import json
from pathlib import Path

import numpy as np

from evaluation.errors import InputError
from evaluation.files import atomic
from kit.graphs import TileGraph

RECORD_FILE = "ranker.json"
OUTPUT_PRODUCT = 15  # column of config_feat: product of the output bounds


def tile_scores(graph):
    """Largest tile first: the product of the output bounds, negated; float64, shape (c,)."""
    return -graph.config_feat[:, OUTPUT_PRODUCT].astype(np.float64)


class _Fixed:
    """What rankers without parameters share: there is nothing to fit, and a name to save."""

    learns = False  # so that no collection is skipped for want of labels

    def fit(self, train, valid, *, seed=0, minutes=None, steps=None, folder=None, threads=1):
        """Learn nothing."""

    def save(self, folder):
        """Write the ranker's name, so that a run's folder tells what it holds."""
        with atomic(Path(folder) / RECORD_FILE) as out:
            json.dump({"ranker": type(self).__name__}, out)

    @classmethod
    def load(cls, folder):
        """The ranker; `InputError` where another one was saved."""
        file = Path(folder) / RECORD_FILE
        try:
            name = json.loads(file.read_text(encoding="utf-8"))["ranker"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{folder}: not a saved {cls.__name__} ({error}); train again") from error
        if name != cls.__name__:
            raise InputError(f"{file}: holds {name}, not {cls.__name__}; train again")
        return cls()


class Heuristic(_Fixed):
    """Tiles: the largest first. Layouts: the fewest padded bytes of the configurable nodes' outputs first."""

    def scores(self, graph):
        """Negated tile volume, or bytes with the most minor axis in 128s and the next in 8s; shape (c,)."""
        from kit.features.layout import padded_output_bytes

        return tile_scores(graph) if isinstance(graph, TileGraph) else padded_output_bytes(graph)


class Analytic(_Fixed):
    """Layouts: the least arithmetic, each node's times the padding of its output. Tiles: a modelled time."""

    def scores(self, graph):
        """Modelled time of every configuration, in units of its own; float64, shape (c,)."""
        if isinstance(graph, TileGraph):
            from kit.features.tile import modelled_time

            return modelled_time(graph)
        from kit.features.layout import padded_arithmetic

        return padded_arithmetic(graph)
