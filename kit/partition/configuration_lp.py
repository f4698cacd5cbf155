"""The configuration linear program: cover all nodes by convex sets that cost at most T, with as few as possible.

A partition below T is such a cover by k sets; where even the fractional cover needs more than k, OPT > T. Columns come
from annealing and, where that finds none, from the search of `kit.partition.refutation`, which otherwise proves the
bound. The duals are smoothed (Wentges), because those of a degenerate cover jump about.
"""

import time

import highspy
import numpy as np

from kit.partition.orders import order_by
from kit.partition.pricing import labels_around, price
from kit.partition.problem import set_cost
from kit.partition.refutation import LIMIT, PROVED, pair_costs, refute

COUNTEREXAMPLES = 20
BUDGET = 500
RESOLUTION = 0.002
PAIRS = 200  # nodes up to which the costs of all pairs are worth their time


class Master:
    """The covering program over the columns known so far.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem):
        self.problem, self.n = problem, len(problem.work)
        self.solver = highspy.Highs()
        self.solver.silent()
        self.solver.setOptionValue("threads", 1)
        for _ in range(self.n):
            self.solver.addRow(1.0, highspy.kHighsInf, 0, np.array([], np.int32), np.array([]))
        # A dear column per node keeps the program feasible until real ones cover it.
        for v in range(self.n):
            self.solver.addCol(float(self.n), 0.0, highspy.kHighsInf, 1, np.array([v], np.int32), np.array([1.0]))
        self.sets, self.costs, self.known = [], [], set()

    def add(self, inside):
        """Add a convex set as a column; False where it is known."""
        key = np.packbits(inside).tobytes()
        if key in self.known:
            return False
        self.known.add(key)
        members = np.flatnonzero(inside).astype(np.int32)
        self.sets.append(inside.copy())
        self.costs.append(set_cost(self.problem, inside))
        self.solver.addCol(1.0, 0.0, highspy.kHighsInf, len(members), members, np.ones(len(members)))
        return True

    def allow(self, target):
        """Let only sets that cost at most `target` take part."""
        for i, cost in enumerate(self.costs):
            self.solver.changeColBounds(self.n + i, 0.0, highspy.kHighsInf if cost <= target else 0.0)

    def solve(self):
        """Size of the smallest fractional cover and the nodes' duals: ``(float, float64 (n,))``."""
        self.solver.run()
        duals = np.array(self.solver.getSolution().row_dual)
        return self.solver.getInfo().objective_function_value, np.maximum(0.0, duals)


class ConfigurationBound:
    """The bound, raised a target at a time.

    Parameters
    ----------
    problem : Problem
    k : int
    upper : float
        The best bottleneck known: targets lie below.
    partitions : sequence of int64 (n,)
        Known partitions; their stages are the first columns.
    seed : int
    """

    def __init__(self, problem, k, upper, partitions=(), seed=0):
        self.problem, self.k, self.seed = problem, k, seed
        self.random = np.random.default_rng(seed)
        self.centre = None
        self.order = order_by(problem, np.arange(len(problem.work)))
        self.master = Master(problem)
        self.pairs = pair_costs(problem, upper) if len(problem.work) <= PAIRS else None
        for v in range(len(problem.work)):
            self.master.add(np.arange(len(problem.work)) == v)
        for stages in partitions:
            for stage in np.unique(stages):
                self.master.add(stages == stage)

    def _starts(self, count):
        """Labels to climb from: known columns and single nodes, at random."""
        n, sets = len(self.problem.work), self.master.sets
        rows = np.empty((count, n), np.int64)
        for row in rows:
            row[:] = labels_around(self.problem, sets[self.random.integers(len(sets))], self.order)
        return rows

    def decide(self, target, *, deadline, steps=1000, starts=20):
        """Whether the cover at `target` needs more than k sets.

        Returns
        -------
        (verdict, values) : str, float64 (n,) or None
            "above": OPT > target, proved by `values`. "covered": k sets suffice fractionally. "unknown": out of time.
        """
        self.master.allow(target)
        best, smoothing, budget = 0.0, 0.6, BUDGET
        while time.monotonic() < deadline:
            size, duals = self.master.solve()
            if size <= self.k + 1e-9:
                return "covered", None
            values = duals if self.centre is None else smoothing * self.centre + (1 - smoothing) * duals
            self.seed += 1
            sets, most = price(self.problem, values, target, self._starts(starts), steps=steps, seed=self.seed)
            if values.sum() > self.k * most:
                status, found = refute(self.problem, values, target, self.k, deadline=deadline, pairs=self.pairs,
                                       budget=budget, most=COUNTEREXAMPLES)
                budget *= 2 if status == LIMIT else 1
                if status == PROVED:
                    self.centre = values
                    return "above", values
                sets = np.concatenate([sets, found])
            new = sum(self.master.add(inside) for inside in sets)
            most = max(most, (sets @ values).max(initial=0.0))
            share = values.sum() / max(most, 1e-9)
            if share > best:
                best, self.centre = share, values / max(most, 1e-9)
            elif new == 0:
                smoothing *= 0.5
        return "unknown", None

    def _try(self, values, target, deadline):
        """Whether `values` prove OPT > target; counterexamples become columns."""
        status, found = refute(self.problem, values, target, self.k, deadline=deadline, pairs=self.pairs,
                               budget=20 * BUDGET, most=COUNTEREXAMPLES)
        for inside in found:
            self.master.add(inside)
        return status == PROVED

    def raise_bound(self, low, high, *, deadline, slice_seconds=8.0):
        """Generator: raise a bound as far as the program and the time allow.

        Parameters
        ----------
        low, high : float
            A valid bound, and the best partition's bottleneck.
        deadline : float
            Of `time.monotonic`.
        slice_seconds : float
            Column generation at one target stops after so long; the values it has by then are tried on lower targets.

        Yields
        ------
        (bound, values) : float, float64 (n,)
            Each new bound and the node values that prove it.
        """
        ceiling = high
        while time.monotonic() < deadline and high - low > RESOLUTION * high:
            target = (low + high) / 2
            end = min(deadline, time.monotonic() + slice_seconds)
            verdict, values = self.decide(target, deadline=end)
            if verdict == "above":
                low = target
                yield low, values
            else:
                high = target
                ceiling = min(ceiling, target) if verdict == "covered" else ceiling
            top, values = high, self.centre
            for _ in range(4):
                if top - low <= RESOLUTION * top or time.monotonic() > deadline or values is None:
                    break
                target = (low + top) / 2
                if self._try(values, target, deadline):
                    low = target
                    yield low, values
                else:
                    top = target
            if high - low <= RESOLUTION * high:
                high = min(ceiling, low * (1 + 8 * RESOLUTION))
