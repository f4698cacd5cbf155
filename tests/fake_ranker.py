"""A ranker as a competitor would bring it, for the tests: scores are the sums of the configurations' numbers."""

import json
from pathlib import Path

import numpy as np


class SumRanker:
    """Remembers the graphs it was fitted on and scores by the sum of a configuration's numbers."""

    def fit(self, train, valid, *, seed, minutes, steps, folder, threads, sign=1):
        """Take note of the settings."""
        self.seen = {"train": [g.id for g in train], "valid": [g.id for g in valid], "seed": seed,
                     "minutes": minutes, "steps": steps, "threads": threads, "sign": sign}

    def scores(self, graph):
        """Sum of the configuration's numbers."""
        return self.seen["sign"] * np.asarray(graph.config_rows, np.float64).sum(axis=1)

    def save(self, folder):
        """One JSON file."""
        Path(folder, "seen.json").write_text(json.dumps(self.seen), encoding="utf-8")

    @classmethod
    def load(cls, folder):
        """The ranker saved there."""
        ranker = cls()
        ranker.seen = json.loads(Path(folder, "seen.json").read_text(encoding="utf-8"))
        return ranker


class NotFinite(SumRanker):
    """Gives NaN."""

    def scores(self, graph):
        """NaN for the last configuration."""
        return np.append(super().scores(graph)[:-1], np.nan)


class Forgetful:
    """Cannot be kept: two of the four methods are missing."""

    def fit(self, train, valid, **settings):
        """Learns nothing."""

    def scores(self, graph):
        """All the same."""
        return np.zeros(graph.configs)


class OldFashioned(SumRanker):
    """Its fit knows nothing of seeds and budgets."""

    def fit(self, train, valid):
        """Learns nothing."""


class Wordy(SumRanker):
    """Gives words."""

    def scores(self, graph):
        """Not one number."""
        return ["fast"] * graph.configs


class Careless(SumRanker):
    """Saves nothing."""

    def save(self, folder):
        """As if it were done."""
