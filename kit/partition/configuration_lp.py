"""The configuration linear program: cover all nodes by convex sets that cost at most T, with as few as possible.

A partition below T is such a cover by k sets; where even the fractional cover needs more than k, OPT > T. Columns come
from annealing and, where that finds none, from the search of `kit.partition.certificate`, which otherwise proves the
bound. The duals are smoothed (Wentges), because those of a degenerate cover jump about.
"""

import time

import highspy
import numpy as np

from kit.partition.certificate import FOUND, PROVED, refute
from kit.partition.orders import order_by
from kit.partition.pricing import INSIDE, labels_around, price
from kit.partition.problem import set_cost


class Master:
    """The covering program over the columns known so far.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem):
        self.problem, self.n = problem, len(problem.work)
        self.solver = highspy.Highs()
        self.solver.setOptionValue("output_flag", False)
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
    partitions : sequence of int64 (n,)
        Known partitions; their stages are the first columns.
    seed : int
    """

    def __init__(self, problem, k, partitions=(), seed=0):
        self.problem, self.k, self.seed = problem, k, seed
        self.random = np.random.default_rng(seed)
        self.order = order_by(problem, np.arange(len(problem.work)))
        self.master = Master(problem)
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

    def decide(self, target, *, deadline, steps=2000, starts=100):
        """Whether the cover at `target` needs more than k sets.

        Returns
        -------
        (verdict, values) : str, float64 (n,) or None
            "above": OPT > target, proved by `values`. "covered": k sets suffice fractionally. "unknown": out of time.
        """
        self.master.allow(target)
        centre, best, smoothing = None, 0.0, 0.6
        while time.monotonic() < deadline:
            size, duals = self.master.solve()
            if size <= self.k + 1e-9:
                return "covered", None
            values = duals if centre is None else smoothing * centre + (1 - smoothing) * duals
            self.seed += 1
            sets, most = price(self.problem, values, target, self._starts(starts), steps=steps, seed=self.seed)
            new = sum(self.master.add(inside) for inside in sets)
            share = values.sum() / max(most, 1e-9)
            if share > best:
                best, centre = share, values / max(most, 1e-9)
            if share > self.k:
                status, found = refute(self.problem, values, target, self.k, deadline=deadline)
                if status == PROVED:
                    return "above", values
                if status != FOUND:
                    return "unknown", None
                self.master.add(found)
                best, centre = 0.0, values
            elif new == 0:
                smoothing *= 0.5
        return "unknown", None
