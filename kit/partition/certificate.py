"""Certificates: prove a lower bound again from little data, whatever program found it.

What has to be trusted is the minimum cut, the search over cuts (`kit.partition.refutation`) and the program over
ideals, not column generation, annealing or a solver of linear programs.
"""

import numpy as np

from evaluation.errors import InputError
from kit.partition.anchors import anchor_bounds
from kit.partition.ideals import enumerate_ideals, improve
from kit.partition.problem import from_instance
from kit.partition.refutation import refute
from kit.partition.slicegraph import simple
from kit.partition.vertices import PROVED

MARGIN = 1e-9


def _target(certificate, unit):
    bound = certificate.get("bound")
    if isinstance(bound, bool) or not isinstance(bound, int | float) or not 0 <= bound < np.inf:
        raise InputError(f"certificate: bound is {bound!r}; it must be a number of seconds, 0 or more")
    return bound / unit


def _check_simple(problem, k, certificate, unit):
    return simple(problem, k) * (1 - MARGIN)


def _check_anchor(problem, k, certificate, unit):
    node = certificate.get("node")
    if not isinstance(node, int) or not 0 <= node < len(problem.work):
        raise InputError(f"certificate: node is {node!r}; the instance has nodes 0 to {len(problem.work) - 1}")
    value = np.zeros(1)
    anchor_bounds(problem, np.array([node]), np.inf, value)
    return value[0] * (1 - MARGIN)


def _check_ideals(problem, k, certificate, unit):
    target = _target(certificate, unit)
    ideals = enumerate_ideals(problem, int(certificate.get("limit", 200_000)))
    if ideals is None:
        return 0.0
    stages, _ = improve(problem, ideals, k, target)
    return target if stages is None else 0.0


def _check_configuration(problem, k, certificate, unit):
    target, values = _target(certificate, unit), np.array(certificate.get("values", []), float)
    if values.shape != problem.work.shape or not np.isfinite(values).all() or (values < 0).any():
        raise InputError(f"certificate: values must be {len(problem.work)} numbers, 0 or more")
    status, _ = refute(problem, values, target, k, budget=10_000_000)
    return target if status == PROVED else 0.0


METHODS = {"simple": _check_simple, "anchor": _check_anchor, "ideals": _check_ideals,
           "configuration": _check_configuration}


def check(instance, k, certificate):
    """Prove the bound of a certificate again.

    Parameters
    ----------
    instance : evaluation.instance.Instance
    k : int
    certificate : dict
        ``method`` and what it needs: ``node`` (anchor), ``bound`` and ``limit`` (ideals), ``bound`` and ``values``, one
        a node (configuration). Bounds in seconds.

    Returns
    -------
    float
        The bound that was proved, in seconds; 0 where the certificate proves nothing, or its method leaves none.

    Raises
    ------
    InputError
        The certificate does not fit the instance.
    """
    problem, unit = from_instance(instance)
    method = METHODS.get(certificate.get("method"))
    return float(method(problem, k, certificate, unit) * unit) if method else 0.0
