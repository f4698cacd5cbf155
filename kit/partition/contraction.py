"""Merging nodes that every partition better than a target keeps together.

Where no convex set that holds u and lacks v costs less than the target, u and v share a stage in every partition that
is cheaper than the target. The merged problem has the same partitions below the target, so

    OPT >= min(target, OPT of the merged problem).
"""

import time
from typing import NamedTuple

import numpy as np
from numba import njit
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from kit.partition.anchors import cheapest_stage
from kit.partition.flow import IN, _arc, build, charge, maximum_flow, surroundings
from kit.partition.problem import Problem, assemble, edge_list


class Contraction(NamedTuple):
    """A merged problem and, for every node of the original, the merged node that holds it."""

    problem: Problem
    group: np.ndarray  # int64 (n,)
    target: float  # valid for partitions that cost less
    closed: bool  # no partition costs less than the target


@njit(cache=True, nogil=True)
def _together(problem, u, neighbours, multiplier, target, joined):
    """Mark the neighbours without which every stage that holds u costs at least `target`."""
    n = len(problem.work)
    state, cost = np.zeros(n, np.int8), problem.work + multiplier * problem.param
    constant = multiplier * problem.capacity if multiplier > 0 else 0.0
    state[u] = IN
    above, below = surroundings(problem, state)
    network, count, base = build(problem, state, above, below, 1)
    base += charge(network, state, cost)
    reached, _ = maximum_flow(network, n, n + 1, target - base + constant)
    bound = reached + base - constant
    first, _, _, residual = network
    kept_first, kept = first.copy(), residual[:count].copy()
    for i in range(len(neighbours)):
        if joined[i]:
            continue
        first[:], residual[:count] = kept_first, kept
        # The flow found so far stays feasible when the neighbour is forced out: only the rest has to be found.
        _arc(network, count, neighbours[i], n + 1, np.inf)
        more, _ = maximum_flow(network, n, n + 1, target - bound)
        joined[i] = bound + more >= target


@njit(cache=True, nogil=True)
def _joins(problem, u, target, side):
    """Neighbours of u that share its stage below `target`, and whether u alone rules the target out."""
    neighbours = np.unique(np.concatenate((problem.succ[problem.succ_start[u]:problem.succ_start[u + 1]],
                                           problem.pred[problem.pred_start[u]:problem.pred_start[u + 1]])))
    joined = np.zeros(len(neighbours), np.bool_)
    state = np.zeros(len(problem.work), np.int8)
    state[u] = IN
    bound, multiplier = cheapest_stage(problem, state, target, side)
    if bound >= target:
        return neighbours[:0], True
    _together(problem, u, neighbours, multiplier, target, joined)
    if problem.capacity < np.inf and multiplier < 1:
        _together(problem, u, neighbours, 1.0, target, joined)
    return neighbours[joined], False


def merge(problem, pairs):
    """Merge the nodes of each pair, and with them every cycle that comes of it.

    Parameters
    ----------
    problem : Problem
    pairs : int64 (p, 2)

    Returns
    -------
    (merged, group) : Problem, int64 (n,)
    """
    n, edges = len(problem.work), edge_list(problem)
    arcs = np.concatenate([edges, pairs, pairs[:, ::-1]])
    count, group = connected_components(coo_array((np.ones(len(arcs)), (arcs[:, 0], arcs[:, 1])), shape=(n, n)),
                                        connection="strong")
    group = group.astype(np.int64)
    nets = {}
    for j in range(len(problem.weight)):
        source = group[problem.source[j]]
        pins = np.unique(group[problem.pin[problem.pin_start[j]:problem.pin_start[j + 1]]])
        pins = pins[pins != source]
        if len(pins):
            key = (int(source), *pins.tolist())
            nets[key] = nets.get(key, 0.0) + problem.weight[j]
    source = np.array([key[0] for key in nets], np.int64)
    start = np.cumsum([0] + [len(key) - 1 for key in nets]).astype(np.int64)
    pin = np.array([v for key in nets for v in key[1:]], np.int64)
    edges = group[edges]
    merged = assemble(np.bincount(group, problem.work, count), np.bincount(group, problem.param, count),
                      problem.capacity, edges[edges[:, 0] != edges[:, 1]],
                      (np.array(list(nets.values()), float), source, start, pin))
    return merged, group


def contract(problem, target, *, deadline=None):
    """Merge what belongs together below `target`, again and again while it helps.

    Parameters
    ----------
    problem : Problem
    target : float
        Units of the problem; the best bottleneck known, usually.
    deadline : float, optional
        Stop at this value of `time.monotonic`; what is merged by then is valid.

    Returns
    -------
    Contraction
    """
    group, late = np.arange(len(problem.work)), False
    while not late:
        pairs, side = [], np.empty(len(problem.work), bool)
        for u in range(len(problem.work)):
            late = deadline is not None and time.monotonic() > deadline
            if late:
                break
            partners, closed = _joins(problem, u, target, side)
            if closed:
                return Contraction(problem, group, target, True)
            pairs += [(u, v) for v in partners]
        if not pairs:
            break
        problem, onto = merge(problem, np.array(pairs, np.int64))
        group = onto[group]
    return Contraction(problem, group, target, False)
