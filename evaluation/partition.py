"""The judge of the partition track: costs of stages, feasibility, bottleneck and certified ratio.

The problem is max-throughput partitioning for pipelines (MTPP) after Archer, Fahrbach, Liu and Prabhu, "Practical
Performance Guarantees for Pipelined DNN Inference", ICML 2024. Written for clarity and apart from every solver.
"""

import itertools
from dataclasses import dataclass

import numpy as np

from evaluation.errors import InputError, InvalidSubmission
from evaluation.instance import Instance, find_cycle

__all__ = ["Instance", "StageCosts", "bottleneck", "certified_ratio", "check_stages", "find_problem",
           "simple_bound", "stage_costs"]

ROUNDING = 1e-9  # a bound that is above a partition by less than this, relatively, is above by rounding only


@dataclass(frozen=True, eq=False)
class StageCosts:
    """Seconds that every stage spends; float64 arrays with one entry a stage, 0 for an empty stage."""

    io_in: np.ndarray
    work: np.ndarray
    overflow: np.ndarray
    io_out: np.ndarray

    @property
    def total(self):
        """Seconds of every stage."""
        return self.io_in + self.work + self.overflow + self.io_out


def stage_costs(instance, stages, k=None):
    """Time of every stage of a partition.

    A stage receives each tensor it consumes from outside once, computes, streams the parameters that do not fit
    beside its activations, and sends each of its tensors that is consumed outside once, however many stages read
    it. ``overflow = max(0, parameters + activation_reserve - fast_memory) / bandwidth``.

    Parameters
    ----------
    instance : Instance
    stages : int array (n,)
        Stage of every node, from 0; any labelling, feasible or not.
    k : int, optional
        Number of stages to report; by default the highest label plus one.

    Returns
    -------
    StageCosts
        Arrays (k,), seconds. O(n + m log m).
    """
    stages = np.asarray(stages, np.int64)
    k = int(stages.max()) + 1 if k is None else k
    producer, stage_of_consumer = instance.edges[:, 0], stages[instance.edges[:, 1]]
    crossing = stages[producer] != stage_of_consumer
    arrivals = np.unique(np.stack([producer[crossing], stage_of_consumer[crossing]], axis=1), axis=0)
    sent = np.unique(producer[crossing])
    total = lambda where, what: np.bincount(where, weights=what, minlength=k)  # noqa: E731
    return StageCosts(
        io_in=total(arrivals[:, 1], instance.output_bytes[arrivals[:, 0]]) / instance.bandwidth,
        work=total(stages, instance.work),
        overflow=_overflow_bytes(instance, stages, k) / instance.bandwidth,
        io_out=total(stages[sent], instance.output_bytes[sent]) / instance.bandwidth)


def _overflow_bytes(instance, stages, k):
    """Parameter bytes of every stage beyond its fast memory; an empty stage holds nothing and streams nothing."""
    if instance.fast_memory is None:
        return np.zeros(k)
    needed = np.bincount(stages, weights=instance.parameter_bytes, minlength=k) + instance.activation_reserve
    in_use = np.bincount(stages, minlength=k) > 0
    return np.where(in_use, np.maximum(0, needed - instance.fast_memory), 0)


def check_stages(instance, stages, k):
    """Whether a labelling is a partition into at most k stages that can run one after another.

    Stages need not be numbered along the edges, and stages may be empty: only the quotient graph, whose nodes are
    the stages, must have no cycle.

    Parameters
    ----------
    instance : Instance
    stages : sequence of int (n,)
        Stage of every node in the instance's order, 0 to k - 1.
    k : int

    Returns
    -------
    int64 array (n,)

    Raises
    ------
    InvalidSubmission
        Naming what is wrong and where; a cycle is spelled out with the stages and an edge for each step.
    """
    problem = find_problem(instance, stages, k)
    if problem:
        raise InvalidSubmission(f"{instance.name}: {problem[1]}; {problem[2]}")
    return np.asarray(stages, np.int64)


def find_problem(instance, stages, k):
    """Why a labelling is no partition, as (code, what was found, how to mend it), or None.

    See `check_stages` for the arguments.
    """
    given = np.asarray(stages)
    if given.shape != (len(instance),):
        return ("wrong_length", f"{given.size} stages for {len(instance)} nodes",
                "give every node exactly one stage, in the instance's node order")
    whole = given.dtype.kind in "iu"
    outside = np.flatnonzero((given < 0) | (given >= k)) if whole else [0]
    if len(outside):
        return ("wrong_stage", f"node {instance.nodes[outside[0]]!r} is in stage {given[outside[0]]}",
                f"stages are whole numbers from 0 to {k - 1}")
    given = given.astype(np.int64)
    cycle = find_cycle(k, _quotient(instance, given))
    if cycle:
        return ("cyclic_stages", f"the stages depend on each other in a circle: {_spelled(instance, given, cycle)}",
                "no stage of these could run first, move nodes so that data flow one way")
    return None


def _quotient(instance, stages):
    """Distinct edges between different stages, rows [from, to]."""
    ends = stages[instance.edges]
    return np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0)


def _spelled(instance, stages, cycle):
    """The cycle in words: each step with one edge of the graph that makes it."""
    witness = {}
    for producer, consumer in instance.edges.tolist():
        witness.setdefault((int(stages[producer]), int(stages[consumer])), (producer, consumer))
    steps = []
    for start, end in itertools.pairwise(cycle):
        producer, consumer = witness[start, end]
        steps.append(f"stage {start} -> stage {end} ({instance.nodes[producer]} -> {instance.nodes[consumer]})")
    return ", ".join(steps)


def bottleneck(instance, stages):
    """Seconds of the slowest stage: the time between two results once the pipeline is full."""
    return float(stage_costs(instance, stages).total.max())


def simple_bound(instance, k):
    """Seconds that no partition into k stages can undercut: the longest node, and an equal share of all work."""
    return max(float(instance.work.max()), float(instance.work.sum()) / k)


def certified_ratio(lower_bound, bottleneck):
    """How much of the distance to the optimum is proved: lower bound / bottleneck, 0 to 1, 1 = proved optimal.

    Parameters
    ----------
    lower_bound : float
        Seconds that no partition can undercut, from the organiser's file.
    bottleneck : float
        Seconds of the partition that is judged.

    Raises
    ------
    InputError
        If the bound exceeds the bottleneck by more than rounding: then it is no bound.
    """
    if not 0 <= lower_bound <= bottleneck * (1 + ROUNDING):
        raise InputError(f"the lower bound {lower_bound} s is not between 0 and the bottleneck {bottleneck} s that "
                         "a valid partition reaches: the organiser's bounds.json is wrong for this pair")
    return 1.0 if bottleneck == 0 else min(1.0, lower_bound / bottleneck)
