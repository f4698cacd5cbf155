"""Pairs of configurations: which are made, and that won comparisons rank."""

import numpy as np
import pytest

from kit.models import pairwise
from kit.models.tables import Table


class Sign:
    """A classifier that looks at the first column's difference; biased, as a trained one may be."""

    def predict(self, rows, num_threads):
        return np.clip(0.6 + 0.4 * np.sign(rows[:, 0]), 0, 1)


def test_every_pair_stands_in_both_directions():
    table = Table(np.array([[1.0], [2.0], [4.0]], np.float32), np.array([10.0, 20.0, 20.0]))
    data = pairwise.dataset([table], 0)
    np.testing.assert_array_equal(data.data.ravel(), [-1, -3, 1, 3])  # equal runtimes tell nothing
    np.testing.assert_array_equal(data.label, [0, 0, 1, 1])


def test_graphs_weigh_the_same_and_seeds_decide():
    rng = np.random.default_rng(0)
    tables = [Table(rng.random((rows, 2), np.float32), rng.random(rows)) for rows in (5, 400)]
    first, again, other = (pairwise.dataset(tables, seed) for seed in (0, 0, 1))
    small = 5 * 4
    weights = first.weight
    assert weights[:small].sum() == pytest.approx(weights[small:].sum(), rel=1e-4)
    np.testing.assert_array_equal(first.data, again.data)
    assert not np.array_equal(first.data, other.data)


def test_won_comparisons_rank_and_equal_rows_tie():
    table = np.array([[3.0], [1.0], [2.0], [1.0]], np.float32)
    scores = pairwise.scores(Sign(), table, 1)
    assert scores[1] == scores[3] < scores[2] < scores[0]
    assert scores[2] == pytest.approx(0.5)  # beats one, loses to one, whatever the bias


def test_many_rows_are_compared_with_some(monkeypatch):
    monkeypatch.setattr(pairwise, "RIVALS", 5)
    monkeypatch.setattr(pairwise, "ROWS_AT_ONCE", 50)
    values = np.random.default_rng(0).permutation(101).astype(np.float32)
    scores = pairwise.scores(Sign(), values[:, None], 1)
    assert np.corrcoef(scores, values)[0, 1] > 0.9
    assert scores[values.argmin()] < scores[values.argmax()]
