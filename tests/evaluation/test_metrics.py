"""The metrics against hand-computed values, SciPy, and a slow count of pairs."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation import metrics

values = st.lists(st.integers(0, 6), min_size=2, max_size=40)


def counted_by_hand(x, y):
    """Concordant, discordant, tied in x, tied in y: every pair looked at, in plain Python."""
    concordant = discordant = tied_x = tied_y = 0
    for (a, b), (c, d) in itertools.combinations(zip(x, y, strict=True), 2):
        concordant += (a - c) * (b - d) > 0
        discordant += (a - c) * (b - d) < 0
        tied_x += a == c
        tied_y += b == d
    return concordant, discordant, tied_x, tied_y


@given(values, st.randoms(use_true_random=False))
def test_tau_and_accuracy_agree_with_a_slow_count_of_pairs(x, random):
    y = [random.randrange(5) for _ in x]
    concordant, discordant, tied_x, tied_y = counted_by_hand(x, y)
    total = len(x) * (len(x) - 1) // 2
    denominator = ((total - tied_x) * (total - tied_y)) ** 0.5
    expected = (concordant - discordant) / denominator if denominator else 0.0
    assert metrics.kendall_tau(x, y) == pytest.approx(expected, abs=1e-12)
    accuracy = concordant / (total - tied_y) if total != tied_y else 0.5
    assert metrics.ordered_pair_accuracy(x, y) == pytest.approx(accuracy, abs=1e-12)


@settings(deadline=None)  # the first call imports scipy.stats
@given(st.integers(2, 300), st.integers(1, 400), st.integers(0, 2**32 - 1))
def test_tau_is_scipys_value(size, distinct, seed):
    from scipy.stats import kendalltau

    rng = np.random.default_rng(seed)
    x, y = rng.permutation(size), rng.integers(0, distinct, size)
    expected = kendalltau(x, y).statistic
    assert metrics.kendall_tau(x, y) == (0.0 if np.isnan(expected) else pytest.approx(expected, abs=1e-15))


def test_large_runtimes_do_not_become_ties():
    runtimes = np.array([1_000_000_000, 1_000_000_001, 1_000_000_002])  # equal once cast to float32
    assert metrics.kendall_tau([0, 1, 2], runtimes) == 1.0


def test_a_list_is_inverted_before_it_is_compared():
    runtime = np.array([30, 10, 20, 40])
    best_first = np.argsort(runtime)
    assert best_first.tolist() == [1, 2, 0, 3]
    assert metrics.kendall_tau(metrics.listed_ranks(best_first, 4), runtime) == 1.0
    assert metrics.kendall_tau(best_first, runtime) < 1.0  # the mistake the inversion avoids


def test_a_reversed_list_has_the_mirrored_tau():
    runtime = np.random.default_rng(0).integers(0, 50, 200)  # with ties
    forward = np.argsort(runtime, kind="stable")
    straight = metrics.kendall_tau(metrics.listed_ranks(forward, 200), runtime)
    mirrored = metrics.kendall_tau(metrics.listed_ranks(forward[::-1], 200), runtime)
    assert straight == -mirrored and 0.98 < straight < 1.0


@pytest.mark.parametrize("listed, configs, ranks", [
    ([2, 0, 1], 3, [1, 2, 0]),
    ([2], 3, [1, 1, 0]),            # not listed: tied for last
    ([1, 1, 0], 3, [2, 0, 3]),      # listed twice: the first place counts
    ([7, -1, 0], 2, [2, 3]),        # impossible indices are ignored
    ([], 2, [0, 0]),
])
def test_listed_ranks(listed, configs, ranks):
    assert metrics.listed_ranks(np.array(listed, dtype=np.int64), configs).tolist() == ranks


@pytest.mark.parametrize("predicted, runtime", [([5], [3]), ([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [7, 7, 7]), ([], [])])
def test_undefined_tau_is_zero(predicted, runtime):
    assert metrics.kendall_tau(predicted, runtime) == 0.0


def test_accuracy_of_constant_predictions_and_of_constant_runtimes():
    assert metrics.ordered_pair_accuracy([1, 1], [1, 2]) == 0.0
    assert metrics.ordered_pair_accuracy([1, 2], [3, 3]) == 0.5


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="2 predictions for 3 runtimes"):
        metrics.kendall_tau([1, 2], [1, 2, 3])


RUNTIME = np.array([10, 20, 40, 80, 160, 5])


@pytest.mark.parametrize("listed, score", [
    ([5, 0, 1, 2, 3], 1.0),          # the fastest is among the five
    ([0, 1, 2, 3, 4], 0.0),          # twice as slow
    ([1], -2.0),                     # four times as slow
    ([1, 1, 1, 1, 0, 5], 0.0),       # only five entries count, duplicates included
    ([9, 9, 9, 9, 5], 1.0),          # impossible ones are ignored but use up a place
    ([9, 9, 9, 9, 9, 5], 0.0),       # none of the five exists
])
def test_tile_score(listed, score):
    assert metrics.tile_score(np.array(listed), RUNTIME) == score


def test_tile_score_of_a_single_configuration_is_one():
    assert metrics.tile_score(np.array([0]), np.array([123])) == 1.0


def test_top_k_error():
    listed = np.array([2, 0, 5])
    assert [metrics.top_k_error(listed, RUNTIME, k) for k in (1, 2, 3, 10)] == [7.0, 1.0, 0.0, 0.0]
    assert metrics.top_k_error(np.array([6]), RUNTIME, 1) is None
