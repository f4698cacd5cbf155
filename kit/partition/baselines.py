"""What people use today: simple rules that split one topological order, for comparison.

Each takes an instance and k and returns stages, int64 (n,), monotone along edges, at most k of them.
"""

import numpy as np

from kit.partition.orders import attached_sources, order_by
from kit.partition.problem import from_instance
from kit.partition.slicegraph import slice_order


def _order(problem):
    return order_by(problem, np.arange(len(problem.work)), attached_sources(problem))


def _by_share(instance, k, amounts):
    """Cut where the running total of `amounts` passes each k-th; a node belongs where its middle falls."""
    problem, _ = from_instance(instance)
    order = _order(problem)
    amounts = np.asarray(amounts, float)[order]
    if amounts.sum() <= 0:
        amounts = np.ones(len(order))
    middle = np.cumsum(amounts) - amounts / 2
    stages = np.empty(len(order), np.int64)
    stages[order] = np.minimum(k - 1, (middle * k / amounts.sum()).astype(np.int64))
    return stages


def equal_nodes(instance, k):
    """The same number of nodes in each stage, give or take one."""
    return _by_share(instance, k, np.ones(len(instance.work)))


def equal_work(instance, k):
    """The same work in each stage, as nearly as rounding to whole nodes allows."""
    return _by_share(instance, k, instance.work)


def equal_parameters(instance, k):
    """The same parameter bytes in each stage; by nodes where there are none."""
    return _by_share(instance, k, instance.parameter_bytes)


def greedy(instance, k):
    """Fill a stage until its work passes the mean, then open the next; what is left over falls to the last."""
    problem, _ = from_instance(instance)
    stages, stage, filled = np.empty(len(problem.work), np.int64), 0, 0.0
    for v in _order(problem):
        if filled + problem.work[v] > problem.work.sum() / k and filled > 0 and stage < k - 1:
            stage, filled = stage + 1, 0.0
        stages[v] = stage
        filled += problem.work[v]
    return stages


def _without_communication(problem):
    empty = np.zeros(0, np.int64)
    start = np.zeros(len(problem.work) + 1, np.int64)
    return problem._replace(param=np.zeros_like(problem.param), capacity=np.inf, weight=np.zeros(0), source=empty,
                            pin=empty, pin_start=np.zeros(1, np.int64), made=empty, made_start=start, used=empty,
                            used_start=start)


def work_only(instance, k):
    """Contiguous slices of least bottleneck work, blind to communication and memory."""
    problem, _ = from_instance(instance)
    return slice_order(_without_communication(problem), _order(problem), k)[1]


def torchgpipe(instance, k):
    """The balance rule of torchgpipe: blocks of a sequence whose sums of work differ by at most one item.

    Barany and Grinberg, "Block partitions of sequences", arXiv 1308.2452, on work scaled to [0, 1] and from blocks of
    equal length with the remainder in the last, as torchgpipe.balance does. It fails where there are fewer nodes than
    stages; here fewer stages are used then.
    """
    problem, _ = from_instance(instance)
    order = _order(problem)
    work, blocks = problem.work[order], min(k, len(order))
    scaled = (work - work.min()) / (np.ptp(work) or 1.0)
    ends = np.arange(1, blocks + 1) * (len(order) // blocks)
    ends[-1] = len(order)
    _balance(ends, np.concatenate([[0.0], np.cumsum(scaled)]))
    stages = np.empty(len(order), np.int64)
    stages[order] = np.searchsorted(ends, np.arange(len(order)), side="right")
    return stages


def _balance(ends, total):
    """Feed the smallest block from the side of the largest until their sums differ by 1 at most."""
    while True:
        largest = int(np.argmax(np.diff(total[np.concatenate([[0], ends])])))
        giver = -1
        while giver != largest:
            sums = np.diff(total[np.concatenate([[0], ends])])
            smallest = np.flatnonzero(sums == sums.min())
            taker = int(smallest[np.argmin(np.abs(smallest - largest))])
            if sums[largest] <= sums[taker] + 1 + 1e-12:
                return
            giver = taker - 1 if largest < taker else taker + 1
            ends[min(giver, taker)] += -1 if largest < taker else 1


BASELINES = {"equal nodes": equal_nodes, "equal work": equal_work, "equal parameters": equal_parameters,
             "greedy": greedy, "work only": work_only, "torchgpipe": torchgpipe}
