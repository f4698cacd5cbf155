"""The configuration linear program: cover all nodes by convex sets that cost at most T, with as few as possible.

A partition below T is such a cover by k sets; where even the fractional cover needs more than k, OPT > T. Columns come
from annealing and, where that finds none, from the search of `kit.partition.refutation`, which otherwise proves the
bound. The duals are smoothed (Wentges), because those of a degenerate cover jump about.

Large graphs are covered by groups: a set covers of a group the share that the nodes it holds have in the group's value.
Any values of the nodes can carry the proof, so also those that such a cover's duals spread over the nodes; the program
is only weaker, and much smaller. Its columns come from windows of many orders first.
"""

import time

import highspy
import numpy as np

from kit.partition.highs import Quiet
from kit.partition.implications import pair_costs
from kit.partition.orders import order_by, standard_orders
from kit.partition.pricing import labels_around, price
from kit.partition.problem import reached_work, set_cost
from kit.partition.refutation import refute
from kit.partition.vertices import LIMIT, PROVED
from kit.partition.windows import WindowSearch, groups_along, rough_values

COUNTEREXAMPLES = 20
BUDGET = 500
SMOOTHING = 0.8  # share of the centre
SLACK = 1.05  # columns that cost so much more than the target are worth a start
RESOLUTION = 0.002
PAIRS = 200  # nodes up to which the costs of all pairs are worth their time
SINGLE = 250  # nodes up to which each gets a row of its own
ROWS = 150
ORDERS = 60  # whose windows are looked at in a round


class Master:
    """The covering program over the columns known so far.

    Parameters
    ----------
    problem : Problem
    group : int64 (n,)
        Row that each node belongs to, numbered from 0.
    value : float64 (n,)
        Positive; a node's share in it is what it counts for in its row.
    """

    def __init__(self, problem, group, value):
        self.problem, self.group, self.rows = problem, group, int(group.max(initial=-1)) + 1
        self.share = value / np.bincount(group, value, self.rows)[group]
        self.solver = Quiet()
        self.solver.setOptionValue("threads", 1)
        for _ in range(self.rows):
            self.solver.addRow(1.0, highspy.kHighsInf, 0, np.array([], np.int32), np.array([]))
        # A dear column per row keeps the program feasible until real ones cover it.
        for row in range(self.rows):
            self.solver.addCol(float(self.rows), 0.0, highspy.kHighsInf, 1, np.array([row], np.int32), np.array([1.0]))
        self.sets, self.costs, self.known = [], [], set()

    def add(self, inside):
        """Add a convex set as a column; False where it is known."""
        key = np.packbits(inside).tobytes()
        if key in self.known:
            return False
        self.known.add(key)
        covered = np.bincount(self.group[inside], self.share[inside], self.rows)
        rows = np.flatnonzero(covered).astype(np.int32)
        self.sets.append(inside.copy())
        self.costs.append(set_cost(self.problem, inside))
        self.solver.addCol(1.0, 0.0, highspy.kHighsInf, len(rows), rows, covered[rows])
        return True

    def allow(self, target):
        """Let only sets that cost at most `target` take part."""
        for i, cost in enumerate(self.costs):
            self.solver.changeColBounds(self.rows + i, 0.0, highspy.kHighsInf if cost <= target else 0.0)

    def solve(self):
        """Size of the smallest fractional cover and its duals, spread over the nodes: ``(float, float64 (n,))``."""
        self.solver.run()
        duals = np.maximum(0.0, np.array(self.solver.getSolution().row_dual))
        return self.solver.getInfo().objective_function_value, duals[self.group] * self.share


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
        n = len(problem.work)
        self.problem, self.k, self.seed = problem, k, seed
        self.random = np.random.default_rng(seed)
        self.centre = None
        self.order = order_by(problem, np.arange(n))
        self.windows, self.anchors = None, None
        self.pairs = pair_costs(problem, upper) if n <= PAIRS else None
        if n <= SINGLE:
            self.master = Master(problem, np.arange(n), np.ones(n))
        else:
            self._group(partitions)
        for v in range(n):
            self.master.add(np.arange(n) == v)
        for stages in partitions:
            for stage in np.unique(stages):
                self.master.add(stages == stage)

    def _group(self, partitions):
        """Rows for groups of nodes, and what finds columns and proofs quickly on large graphs."""
        problem, value = self.problem, rough_values(self.problem)
        orders = standard_orders(problem)
        self.master = Master(problem, groups_along(problem, orders[2], value, ROWS), value)
        self.centre = value / value.sum() * self.k
        orders += [order_by(problem, stages + np.argsort(np.argsort(orders[2])) / len(value)) for stages in partitions]
        self.windows = WindowSearch(problem, orders, self.k, self.seed)
        # Nodes comparable with most others come first: the graph falls apart without them, and of the anchors behind
        # them few have enough value around.
        above, below = reached_work(problem, np.ones(len(value)))
        self.anchors = np.argsort(-(above + below), kind="stable")

    def _starts(self, values, target, count):
        """Labels to climb from: half of them the known columns worth most, half any, single nodes among them."""
        sets = self.master.sets
        worth = np.array(sets) @ values
        worth[np.array(self.master.costs) > SLACK * target] = 0
        best = np.argsort(-worth, kind="stable")[:count // 2]
        chosen = np.concatenate([best, self.random.integers(len(sets), size=count - len(best))])
        return np.array([labels_around(self.problem, sets[i], self.order) for i in chosen])

    def _price(self, values, target, steps, starts):
        """Sets worth more than 1 that cost at most `target`, and the largest worth met."""
        if self.windows is None:
            rows = self._starts(values, target, starts)
            return price(self.problem, values, target, rows, steps=steps, seed=self.seed)
        sets, worths = self.windows.find(values, target, ORDERS)
        rows = np.array([labels_around(self.problem, inside, self.order) for inside in sets[:starts]])
        more, most = price(self.problem, values, target, rows, steps=steps, seed=self.seed)
        return np.concatenate([sets[worths > 1], more]), max(most, worths.max(initial=0.0))

    def _recentre(self, target):
        """Scale the centre so that no known column within the target is worth more than 1; what it is worth then."""
        if self.centre is None:
            return 0.0
        worth = np.array(self.master.sets) @ self.centre
        self.centre = self.centre / worth[np.array(self.master.costs) <= target].max(initial=1e-9)
        return self.centre.sum()

    def decide(self, target, *, deadline, steps=1000, starts=20):
        """Whether the cover at `target` needs more than k sets.

        Returns
        -------
        (verdict, values) : str, float64 (n,) or None
            "above": OPT > target, proved by `values`. "covered": k sets suffice fractionally. "unknown": out of time.
        """
        self.master.allow(target)
        best = self._recentre(target)
        smoothing, budget = SMOOTHING, max(BUDGET, 4 * len(self.problem.work) * (self.windows is not None))
        while time.monotonic() < deadline:
            size, duals = self.master.solve()
            if size <= self.k + 1e-9:
                return "covered", None
            values = duals if self.centre is None else smoothing * self.centre + (1 - smoothing) * duals
            self.seed += 1
            sets, most = self._price(values, target, steps, starts)
            if values.sum() > self.k * most:
                status, found = refute(self.problem, values, target, self.k, deadline=deadline, pairs=self.pairs,
                                       order=self.anchors, budget=budget, most=COUNTEREXAMPLES)
                budget *= 2 if status == LIMIT else 1
                if status == PROVED:
                    self.centre = values
                    return "above", values
                sets = np.concatenate([sets, found])
            new = sum(self.master.add(inside) for inside in sets)
            most = max(most, (sets @ values).max(initial=0.0))
            if self.centre is not None:  # it may have looked better than it is
                worth = (sets @ self.centre).max(initial=1.0)
                self.centre, best = self.centre / worth, best / worth
            share = values.sum() / max(most, 1e-9)
            if share > best:
                best, self.centre = share, values / max(most, 1e-9)
            # Nothing new about a smoothed point: look nearer to the duals themselves.
            smoothing = SMOOTHING if new else 0.5 * smoothing
        return "unknown", None

    def _try(self, values, target, deadline):
        """Whether `values` prove OPT > target; counterexamples become columns."""
        status, found = refute(self.problem, values, target, self.k, deadline=deadline, pairs=self.pairs,
                               order=self.anchors, budget=20 * BUDGET, most=COUNTEREXAMPLES)
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
        ceiling, last = high, 0.0
        # Large programs climb in small steps and never step back: most columns go when the target falls.
        large = self.windows is not None
        step, long = (0.2, 0.3) if large else (0.5, 0.0)
        while time.monotonic() < deadline and high - low > RESOLUTION * high:
            target = max(last, low + step * (high - low))
            end = min(deadline, time.monotonic() + max(slice_seconds, long * (deadline - time.monotonic())))
            verdict, values = self.decide(target, deadline=end)
            if verdict == "above":
                low, last = target, 0.0
                yield low, values
            elif verdict == "covered" or not large:
                high, last = target, 0.0
                ceiling = min(ceiling, target) if verdict == "covered" else ceiling
            else:
                last = target
            top, values = last or high, self.centre
            end = min(deadline, time.monotonic() + slice_seconds / 2)
            for _ in range(4):
                if top - low <= RESOLUTION * top or time.monotonic() > end or values is None:
                    break
                target = (low + top) / 2
                if self._try(values, target, end):
                    low = target
                    yield low, values
                else:
                    top = target
            if high - low <= RESOLUTION * high:
                high = min(ceiling, low * (1 + 8 * RESOLUTION))
