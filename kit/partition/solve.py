"""One call that spends a budget over all solvers and bounds: `solve`."""

import time
from dataclasses import dataclass, field

import numpy as np

from kit.partition.orders import standard_orders
from kit.partition.problem import bottleneck, from_instance
from kit.partition.slicegraph import Population, simple, slice_order

PROVED = 0.9999


@dataclass
class Solution:
    """A partition, the bound it is measured against, and how both came about.

    Attributes
    ----------
    stages : int64 (n,)
        Stage of every node, monotone along edges, numbered from 0.
    bottleneck, lower_bound : float
        Seconds; the bound is rounded down.
    proved : bool
        ``lower_bound / bottleneck`` is at least 0.9999.
    seconds : float
        What was spent.
    methods : dict
        Per method ``{"upper" or "lower": seconds, "seconds": spent}``.
    certificate : dict or None
        What `kit.partition.certificate.check` re-proves the bound from; JSON-able.
    history : list of (seconds, bottleneck, lower_bound)
        One entry per improvement, for the picture of the closing gap.
    """

    stages: np.ndarray
    bottleneck: float
    lower_bound: float
    proved: bool
    seconds: float
    methods: dict
    certificate: dict | None = None
    history: list = field(default_factory=list)


def solve(instance, k, *, seconds=None, evaluations=None, seed=0, threads=1):
    """Split an instance into at most k stages, with a certified lower bound."""
    start = time.monotonic()
    problem, unit = from_instance(instance)
    stages = np.zeros(len(problem.work), np.int64)
    value = bottleneck(problem, stages, k)
    lower = simple(problem, k)
    orders = standard_orders(problem)
    for order in orders:
        found, labels = slice_order(problem, order, k, value)
        if labels is not None:
            value, stages = found, labels
    pool = Population(problem, k, seed=seed, orders=orders, threads=threads)
    while time.monotonic() - start < (seconds or 0) and value > lower * (1 + 1e-6):
        pool.advance()
    found, labels = pool.best()
    if found < value:
        value, stages = found, labels
    spent = time.monotonic() - start
    lower = min(lower, value) * (1 - 1e-9)
    return Solution(stages, value * unit, lower * unit, lower >= PROVED * value, spent,
                    {"slicegraph": {"upper": value * unit}, "simple": {"lower": lower * unit}},
                    None, [(spent, value * unit, lower * unit)])
