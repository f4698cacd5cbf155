"""Mixed-integer programs through HiGHS: exact, and the two relaxations of the paper.

All state work, distinct incoming and outgoing tensors and overflow per stage, in units of the problem; the first column
is the bottleneck T.
"""

import time
from itertools import pairwise

import highspy
import numpy as np

from kit.partition.highs import Quiet
from kit.partition.problem import bottleneck, is_monotone, reached_work

INFINITY = highspy.kHighsInf
TOLERANCE = 1e-9
MARGIN = 1e-6  # a bound that rests on HiGHS' arithmetic is lowered by so much


class Model:
    """Columns and rows of a program, collected and then passed to HiGHS at once."""

    def __init__(self):
        self.columns, self.start, self.index, self.value, self.rows = [], [0], [], [], []

    def column(self, cost=0.0, low=0.0, high=1.0, integer=False):
        """Add a column; returns its number."""
        self.columns.append((cost, low, high, integer))
        return len(self.columns) - 1

    def row(self, terms, low, high):
        """Add ``low <= sum of factor * column <= high``; repeated columns are added up."""
        total = {}
        for column, factor in terms:
            total[column] = total.get(column, 0.0) + factor
        self.index += total.keys()
        self.value += total.values()
        self.start.append(len(self.index))
        self.rows.append((low, high))

    def solver(self, seconds, threads=1):
        """A silent HiGHS that holds the program."""
        program = highspy.HighsLp()
        cost, low, high, integer = zip(*self.columns, strict=True)
        program.num_col_, program.num_row_ = len(self.columns), len(self.rows)
        program.col_cost_, program.col_lower_ = np.array(cost, float), np.array(low, float)
        program.col_upper_ = np.array(high, float)
        program.row_lower_, program.row_upper_ = np.array(self.rows, float).reshape(-1, 2).T.copy()
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_ = np.array(self.start, np.int32)
        program.a_matrix_.index_ = np.array(self.index, np.int32)
        program.a_matrix_.value_ = np.array(self.value, float)
        kinds = highspy.HighsVarType
        program.integrality_ = [kinds.kInteger if i else kinds.kContinuous for i in integer]
        solver = Quiet()
        solver.setOptionValue("threads", threads)
        solver.setOptionValue("time_limit", float(max(0.01, seconds)))
        solver.setOptionValue("mip_rel_gap", 1e-7)
        for kind in ("mip", "primal", "dual"):
            solver.setOptionValue(f"{kind}_feasibility_tolerance", TOLERANCE)
        solver.passModel(program)
        return solver


def _between(after, before):
    """Terms of a node's membership: in the prefix `after`, not in `before`; None stands for all or nothing."""
    return [(after, 1.0)] * (after is not None) + [(before, -1.0)] * (before is not None)


def _prefixes(model, problem, count, low=None, high=None):
    """Nested prefixes of the graph closed under predecessors: column numbers, `count` per node.

    `low` and `high` are arrays (n, count) of bounds, 0 and 1 if not given.
    """
    low = np.zeros((len(problem.work), count)) if low is None else low
    high = np.ones((len(problem.work), count)) if high is None else high
    prefix = [[model.column(low=low[v, b], high=high[v, b], integer=True) for b in range(count)]
              for v in range(len(problem.work))]
    for row in prefix:
        for before, after in pairwise(row):
            model.row([(before, 1.0), (after, -1.0)], -INFINITY, 0.0)
    for u in range(len(problem.work)):
        for v in problem.succ[problem.succ_start[u]:problem.succ_start[u + 1]]:
            for b in range(count):
                model.row([(prefix[v][b], 1.0), (prefix[u][b], -1.0)], -INFINITY, 0.0)
    return prefix


def _load(model, problem, member, whole):
    """Terms of a stage's cost, where `member[v]` are terms of v's membership and `whole` their constant."""
    load, constant = [], 0.0
    for v, terms in enumerate(member):
        load += [(column, factor * problem.work[v]) for column, factor in terms]
        constant += whole * problem.work[v]
    for j in range(len(problem.weight)):
        source = member[problem.source[j]]
        for sign in (1.0, -1.0):
            paid = model.column()
            load.append((paid, problem.weight[j]))
            for v in problem.pin[problem.pin_start[j]:problem.pin_start[j + 1]]:
                model.row([(paid, 1.0), *[(c, -sign * f) for c, f in source], *[(c, sign * f) for c, f in member[v]]],
                          0.0, INFINITY)
    if np.isfinite(problem.capacity):
        spill = model.column(high=INFINITY)
        load.append((spill, 1.0))
        terms = [(c, -f * problem.param[v]) for v, t in enumerate(member) for c, f in t]
        model.row([(spill, 1.0), *terms], whole * problem.param.sum() - problem.capacity, INFINITY)
    return load, constant


def borders(problem, k, ceiling):
    """What a node's ancestors and descendants say about its stage where no stage costs more than `ceiling`.

    As the work of its ancestors and itself needs so many stages, it cannot stand in an earlier one; likewise from
    behind.

    Returns
    -------
    (low, high) : float64 (n, k - 1)
        Bounds on whether node v is in one of the first b + 1 stages. Where the lower exceeds the upper, no partition
        is as cheap.
    """
    before, after = (np.ceil(np.maximum(work, 0.0) / max(ceiling, 1e-300) * (1 - TOLERANCE) - TOLERANCE)
                     for work in reached_work(problem))
    border = np.arange(k - 1)
    low = (border >= (k - np.maximum(1.0, after))[:, None]).astype(float)
    high = (border >= (np.maximum(1.0, before) - 1)[:, None]).astype(float)
    return low, high


def exact_model(problem, k, low=None, high=None):
    """Bound 3: one nested prefix per stage border. Empty stages are allowed where the capacity is not negative.

    Parameters
    ----------
    problem : Problem
    k : int
    low, high : float64 (n, k - 1), optional
        As `borders` returns them.

    Returns
    -------
    (model, prefix) : Model, list of n lists of k - 1 columns
    """
    model = Model()
    bottleneck = model.column(cost=1.0, high=INFINITY)
    prefix = _prefixes(model, problem, k - 1, low, high)
    for b in range(k):
        member = [_between(row[b] if b < k - 1 else None, row[b - 1] if b else None) for row in prefix]
        load, constant = _load(model, problem, member, 1.0 if b == k - 1 else 0.0)
        model.row([*load, (bottleneck, -1.0)], -INFINITY, -constant)
    return model, prefix


def bottleneck_model(problem, k):
    """Bound 1: the cheapest convex set with at least a k-th of the work."""
    model = Model()
    bottleneck = model.column(cost=1.0, high=INFINITY)
    prefix = _prefixes(model, problem, 2)
    member = [_between(after, before) for before, after in prefix]
    load, _ = _load(model, problem, member, 0.0)
    model.row([*load, (bottleneck, -1.0)], -INFINITY, 0.0)
    share = [(c, f * problem.work[v]) for v, terms in enumerate(member) for c, f in terms]
    model.row(share, problem.work.sum() / k, INFINITY)
    return model


def guess_model(problem, k, b):
    """Bound 2 for one b (from 0): a set as stage b, what is before it fits b stages, what is behind k - b - 1.

    The two sides pay their work, their distinct tensors across the set's borders and the overflow of their parameters
    over all their stages together; each a part of what their stages pay.
    """
    model = Model()
    bottleneck = model.column(cost=1.0, high=INFINITY)
    prefix = _prefixes(model, problem, 2)
    member = [_between(after, before) for before, after in prefix]
    load, _ = _load(model, problem, member, 0.0)
    model.row([*load, (bottleneck, -1.0)], -INFINITY, 0.0)
    for stages, side, whole in ((b, [_between(before, None) for before, _ in prefix], 0.0),
                                (k - 1 - b, [_between(None, after) for _, after in prefix], 1.0)):
        # Several stages hold several times the memory of one.
        wide = problem._replace(capacity=problem.capacity * stages) if np.isfinite(problem.capacity) else problem
        load, constant = _load(model, wide, side, whole)
        model.row([*load, (bottleneck, -float(stages))], -INFINITY, -constant)
    return model


def minimise(model, seconds, *, cutoff=None, threads=1):
    """Run HiGHS for a time.

    Parameters
    ----------
    model : Model
        Its first column is the value to be minimised.
    seconds : float
    cutoff : float, optional
        Only solutions that cost less are looked for.
    threads : int

    Returns
    -------
    (bound, columns) : float, float64 (columns,) or None
        A lower bound on the optimum, never above `cutoff`, rounded down; and the best solution found.
    """
    begin = time.monotonic()
    if cutoff is not None:
        cost, low, _, integer = model.columns[0]
        model.columns[0] = (cost, low, float(cutoff), integer)
    solver = model.solver(seconds, threads)
    solver.setOptionValue("time_limit", max(0.01, seconds - (time.monotonic() - begin)))
    solver.run()
    info, status = solver.getInfo(), solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible and cutoff is not None:
        return float(cutoff) * (1 - MARGIN), None
    bound = info.mip_dual_bound if any(column[3] for column in model.columns) else info.objective_function_value
    bound = bound if np.isfinite(bound) else 0.0
    bound = bound if cutoff is None else min(bound, cutoff)
    found = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    return max(0.0, bound * (1 - MARGIN)), np.array(solver.getSolution().col_value) if found else None


def solve_exact(problem, k, stages, seconds, threads=1):
    """Bound 3, and better partitions, from the exact program cut off at a known partition.

    Returns
    -------
    (bound, stages) : float, int64 (n,)
        The stages given where none better was found.
    """
    value = bottleneck(problem, stages, k)
    if k == 1 or len(problem.work) == 0:
        return value, stages
    begin = time.monotonic()
    low, high = borders(problem, k, value)
    if (low > high).any():
        return value * (1 - MARGIN), stages
    model, prefix = exact_model(problem, k, low, high)
    bound, columns = minimise(model, seconds - (time.monotonic() - begin), cutoff=value, threads=threads)
    if columns is None:
        return bound, stages
    found = k - 1 - np.rint(columns[np.array(prefix)]).astype(np.int64).sum(1)
    better = bottleneck(problem, found, k) < value and is_monotone(problem, found)
    return bound, found if better else stages
