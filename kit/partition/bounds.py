"""Lower bounds, one function each: valid whatever the time limit, in seconds, rounded down, with their certificates.

A certificate is a JSON-able dict with a ``method``; `kit.partition.certificate.check` proves the bound from it again.
"""

import time

import numpy as np

from kit.partition import mip
from kit.partition.anchors import anchor_bounds
from kit.partition.configuration_lp import ConfigurationBound
from kit.partition.ideals import solve_ideals
from kit.partition.problem import from_instance
from kit.partition.slicegraph import simple as simple_value

MARGIN = 1e-9
CHUNK = 32_000  # nodes of all the graphs that are cut between two looks at the clock


def simple_bound(problem, k):
    """Bound 0 and its certificate: ``(float, dict)``, in units of the problem."""
    return simple_value(problem, k) * (1 - MARGIN), {"method": "simple"}


def anchor_bound(problem, k, *, low=0.0, limit=np.inf, deadline=np.inf):
    """Bound 4: the dearest anchor; the nodes that promise most come first.

    Nodes that cost no more than `low` even alone are left out: no anchor of theirs is above it.

    Returns
    -------
    (bound, certificate) : float, dict
        In units of the problem. Does not depend on k.
    """
    promise = problem.work + problem.param
    np.add.at(promise, problem.source, problem.weight)
    for j in range(len(problem.weight)):
        promise[problem.pin[problem.pin_start[j]:problem.pin_start[j + 1]]] += problem.weight[j]
    nodes, best, node = np.argsort(-promise, kind="stable"), 0.0, None
    chunk = max(1, CHUNK // max(1, len(nodes)))
    for at in range(0, len(nodes), chunk):
        if time.monotonic() > deadline or best >= limit or promise[nodes[at]] <= max(best, low):
            break
        part = nodes[at:at + chunk]
        values = np.zeros(len(part))
        done = anchor_bounds(problem, part, limit, values)
        top = int(np.argmax(values[:done]))
        if values[top] > best:
            best, node = float(values[top]), int(part[top])
    return min(best, limit) * (1 - MARGIN), {"method": "anchor", "node": node}


def bottleneck_bound(problem, k, *, seconds):
    """Bound 1 by HiGHS: ``(float, dict)``, in units."""
    return mip.minimise(mip.bottleneck_model(problem, k), seconds)[0], {"method": "bottleneck"}


def guess_bound(problem, k, *, seconds):
    """Bound 2 by HiGHS, the largest over all positions: ``(float, dict)``, in units."""
    end, best = time.monotonic() + seconds, (0.0, {"method": "guess", "position": 0})
    for b in range(k):
        left = (end - time.monotonic()) / (k - b)
        if left <= 0.01:
            break
        value = mip.minimise(mip.guess_model(problem, k, b), left)[0]
        best = max(best, (value, {"method": "guess", "position": b}), key=lambda pair: pair[0])
    return best


def exact_bound(problem, k, stages, *, seconds, threads=1):
    """Bound 3 by HiGHS, with the better of the partitions: ``(float, dict, int64 (n,))``."""
    bound, stages = mip.solve_exact(problem, k, stages, seconds, threads)
    return bound, {"method": "exact"}, stages


def ideals_bound(problem, k, stages, *, limit, deadline=None):
    """Bound 5: the optimum where ideals are few, else 0: ``(float, dict, int64 (n,))``."""
    value, stages, proved = solve_ideals(problem, k, stages, limit=limit, deadline=deadline)
    bound = value * (1 - 2 * MARGIN) if proved else 0.0
    return bound, {"method": "ideals", "limit": int(limit)}, stages


def configuration_bound(problem, k, low, high, *, deadline, partitions=(), seed=0):
    """Bound 6, a generator of ever better ``(float, dict)``; see `ConfigurationBound.raise_bound`."""
    program = ConfigurationBound(problem, k, high, partitions, seed)
    for bound, values in program.raise_bound(low, high, deadline=deadline):
        scale = values.max(initial=0.0) or 1.0
        yield bound * (1 - MARGIN), {"method": "configuration", "values": (values / scale).tolist()}


def paper_bounds(instance, k, seconds):
    """The bounds that the paper has: simple, bottleneck, guess, each in seconds; a time limit for each program."""
    problem, unit = from_instance(instance)
    return {"simple": simple_bound(problem, k)[0] * unit,
            "bottleneck": bottleneck_bound(problem, k, seconds=seconds)[0] * unit,
            "guess": guess_bound(problem, k, seconds=seconds)[0] * unit}
