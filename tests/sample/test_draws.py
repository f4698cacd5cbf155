"""Draws that are the same everywhere."""

import numpy as np

from kit.sample.draws import Draws, six_digits


def test_streams_are_named_and_pinned():
    first = Draws(0, "a").uniform(3)
    assert np.array_equal(first, Draws(0, "a").uniform(3))
    assert not np.array_equal(first, Draws(0, "b").uniform(3))
    assert Draws(0, "a").below(1000, 4).tolist() == [418, 88, 266, 274]


def test_normal_has_the_moments_of_a_normal():
    values = Draws(0, "normal").normal(20_000)
    assert abs(values.mean()) < 0.03 and abs(values.std() - 1) < 0.03


def test_between_stays_between():
    values = [Draws(i, "between").between(2.0, 8.0) for i in range(200)]
    assert min(values) >= 2.0 and max(values) <= 8.0
    assert abs(np.mean(np.log(values)) - np.log(4.0)) < 0.1


def test_order_is_a_permutation():
    assert sorted(Draws(0, "order").order(50).tolist()) == list(range(50))


def test_six_digits():
    assert six_digits(1.23456789) == 1.23457
    assert six_digits(np.array([1e12 / 3, 0.0])).tolist() == [333333000000.0, 0.0]
