"""The arrays that solvers and bounds work on: an instance in scaled units, as a hypergraph with precedence.

A tensor is a *net*: the node that produces it, the nodes that consume it, and the time its transfer takes. Nets stand
apart from nodes because merging nodes (see `kit.partition.contraction`) puts several producers into one.
"""

from typing import NamedTuple

import numpy as np
from numba import njit


class Problem(NamedTuple):
    """An instance as flat arrays; times are multiples of a unit, so that values near 1 matter.

    A net j is cut by a stage that holds some, not all, of its source and pins; the stage then pays ``weight[j]``.
    """

    work: np.ndarray  # float64 (n,) time of each node
    param: np.ndarray  # float64 (n,) time to stream each node's parameters; all 0 where fast memory is infinite
    capacity: float  # stream time of the parameters a stage can hold; may be negative or infinite
    weight: np.ndarray  # float64 (q,) transfer time of each net, > 0
    source: np.ndarray  # int64 (q,) the producing node
    pin_start: np.ndarray  # int64 (q + 1,)
    pin: np.ndarray  # int64, distinct consumers of net j: pin[pin_start[j]:pin_start[j + 1]], ascending
    made_start: np.ndarray  # int64 (n + 1,)
    made: np.ndarray  # int64 (q,), nets with source v
    used_start: np.ndarray  # int64 (n + 1,)
    used: np.ndarray  # int64, nets that v consumes
    succ_start: np.ndarray  # int64 (n + 1,)
    succ: np.ndarray  # int64 (m,) direct successors, tensor or not
    pred_start: np.ndarray  # int64 (n + 1,)
    pred: np.ndarray  # int64 (m,)


def group(keys, n):
    """Stable order that sorts small integers, and where each value's run starts: ``(order (m,), start (n + 1,))``."""
    start = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(keys, minlength=n), out=start[1:])
    return np.argsort(keys, kind="stable"), start


def assemble(work, param, capacity, edges, nets):
    """Index edges and nets both ways.

    Parameters
    ----------
    work, param : float64 (n,)
    capacity : float
    edges : int64 (m, 2)
        Rows [producer, consumer], duplicates allowed, no self-loop.
    nets : (weight float64 (q,), source int64 (q,), pin_start int64 (q + 1,), pin int64)

    Returns
    -------
    Problem
    """
    n = len(work)
    edges = np.unique(np.asarray(edges, np.int64).reshape(-1, 2), axis=0)
    weight, source, pin_start, pin = nets
    succ_order, succ_start = group(edges[:, 0], n)
    pred_order, pred_start = group(edges[:, 1], n)
    made, made_start = group(source, n)
    used_order, used_start = group(pin, n)
    used = np.repeat(np.arange(len(source)), np.diff(pin_start))[used_order]
    return Problem(np.ascontiguousarray(work, float), np.ascontiguousarray(param, float), float(capacity),
                   np.ascontiguousarray(weight, float), source, pin_start, pin, made_start, made, used_start, used,
                   succ_start, edges[succ_order, 1], pred_start, edges[pred_order, 0])


def from_instance(instance):
    """The arrays of an `evaluation.partition.Instance`.

    Returns
    -------
    problem : Problem
    unit : float
        Seconds per unit of time: the larger of the heaviest node's work and the mean work times the square root of n,
        so that stage costs come out near 1 whether an instance is given in seconds or in nanoseconds.
    """
    work, n = np.asarray(instance.work, float), len(instance.work)
    edges = np.unique(np.asarray(instance.edges, np.int64).reshape(-1, 2), axis=0)
    edges = edges[edges[:, 0] != edges[:, 1]]
    out = np.asarray(instance.output_bytes, float) / instance.bandwidth
    param, capacity = np.zeros(n), np.inf
    if instance.fast_memory is not None and np.isfinite(instance.fast_memory):
        param = np.asarray(instance.parameter_bytes, float) / instance.bandwidth
        capacity = (instance.fast_memory - instance.activation_reserve) / instance.bandwidth
    unit = max(work.max(initial=0.0), work.sum() / max(1.0, np.sqrt(n))) or max(out.max(initial=0.0),
                                                                               param.max(initial=0.0)) or 1.0
    consumers = np.bincount(edges[:, 0], minlength=n)
    source = np.flatnonzero((consumers > 0) & (out > 0))
    carried = edges[out[edges[:, 0]] > 0]
    pin_start = np.concatenate([[0], np.cumsum(consumers[source])]).astype(np.int64)
    nets = (out[source] / unit, source, pin_start, np.ascontiguousarray(carried[:, 1]))
    return assemble(work / unit, param / unit, capacity / unit, edges, nets), float(unit)


@njit(cache=True, nogil=True)
def stage_costs(problem, stages, k):
    """Cost of every stage, straight from the definition, in O(n + pins + k).

    Parameters
    ----------
    problem : Problem
    stages : int64 (n,)
        Stage of every node, in 0 .. k-1.
    k : int

    Returns
    -------
    float64 (k,)
        Work, incoming and outgoing transfers, overflow; 0 for an empty stage.
    """
    cost, held, filled = np.zeros(k), np.zeros(k), np.zeros(k, np.bool_)
    for v in range(len(problem.work)):
        cost[stages[v]] += problem.work[v]
        held[stages[v]] += problem.param[v]
        filled[stages[v]] = True
    seen = np.full(k, -1, np.int64)
    for j in range(len(problem.weight)):
        home = stages[problem.source[j]]
        left = False
        for p in range(problem.pin_start[j], problem.pin_start[j + 1]):
            stage = stages[problem.pin[p]]
            if stage != home and seen[stage] != j:
                seen[stage] = j
                cost[stage] += problem.weight[j]
                left = True
        if left:
            cost[home] += problem.weight[j]
    for stage in range(k):
        if filled[stage]:
            cost[stage] += max(0.0, held[stage] - problem.capacity)
    return cost


@njit(cache=True, nogil=True)
def total(values, side):
    """Sum of `values`, float64 (n,), over the nodes where `side`, bool (n,), holds."""
    found = 0.0
    for v in range(len(side)):
        if side[v]:
            found += values[v]
    return found


@njit(cache=True, nogil=True)
def work_and_transfers(problem, inside):
    """Work and transfers of one set of nodes, bool (n,), together; its parameters; whether it holds a node."""
    cost, held, filled = 0.0, 0.0, False
    for v in range(len(problem.work)):
        if inside[v]:
            cost += problem.work[v]
            held += problem.param[v]
            filled = True
    for j in range(len(problem.weight)):
        home = inside[problem.source[j]]
        for p in range(problem.pin_start[j], problem.pin_start[j + 1]):
            if inside[problem.pin[p]] != home:
                cost += problem.weight[j]
                break
    return cost, held, filled


@njit(cache=True, nogil=True)
def set_cost(problem, inside):
    """Cost f(S) of one set of nodes as a stage; `inside` is bool (n,). An empty set costs 0."""
    cost, held, filled = work_and_transfers(problem, inside)
    if not filled:
        return 0.0
    return cost + max(0.0, held - problem.capacity)


@njit(cache=True, nogil=True)
def _reached(start, other, work):
    """Work of each node and of all that it reaches, float64 (n,)."""
    n = len(work)
    total, seen, stack = np.zeros(n), np.full(n, -1, np.int64), np.empty(n, np.int64)
    for v in range(n):
        stack[0], size = v, 1
        seen[v] = v
        while size > 0:
            size -= 1
            x = stack[size]
            total[v] += work[x]
            for e in range(start[x], start[x + 1]):
                if seen[other[e]] != v:
                    seen[other[e]] = v
                    stack[size] = other[e]
                    size += 1
    return total


def reached_work(problem, work=None):
    """Work of every node together with its ancestors, and with its descendants: two float64 (n,), in O(n m)."""
    work = problem.work if work is None else work
    return (_reached(problem.pred_start, problem.pred, work), _reached(problem.succ_start, problem.succ, work))


def bottleneck(problem, stages, k):
    """The largest stage cost, in units."""
    return float(stage_costs(problem, np.ascontiguousarray(stages, np.int64), k).max(initial=0.0))


def is_monotone(problem, stages):
    """Whether stage numbers never fall along an edge, which makes the quotient acyclic."""
    edges = edge_list(problem)
    return bool((stages[edges[:, 0]] <= stages[edges[:, 1]]).all())


def edge_list(problem):
    """Precedence edges as int64 (m, 2), rows [producer, consumer]."""
    producer = np.repeat(np.arange(len(problem.work)), np.diff(problem.succ_start))
    return np.stack([producer, problem.succ], 1)
