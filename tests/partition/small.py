"""Small random instances and the slow, independent answers that fast code is compared with."""

from itertools import product
from types import SimpleNamespace

import numpy as np


def instance(work, output, edges, *, param=None, memory=None, reserve=0.0, bandwidth=1.0):
    """What solvers read of an instance, without the judge's checks."""
    n = len(work)
    return SimpleNamespace(name="small", work=np.array(work, float), output_bytes=np.array(output, float),
                           parameter_bytes=np.zeros(n) if param is None else np.array(param, float),
                           edges=np.array(edges, np.int64).reshape(-1, 2), bandwidth=float(bandwidth),
                           fast_memory=memory, activation_reserve=float(reserve))


def random_instance(seed, most=7, overflow=None):
    """A random graph of 1 to `most` nodes, some without work or output, labels not in topological order."""
    random = np.random.default_rng(seed)
    n = int(random.integers(1, most + 1))
    place = random.permutation(n)
    dense = random.uniform(0.2, 0.9)
    edges = [(place[a], place[b]) for a in range(n) for b in range(a + 1, n) if random.random() < dense]
    work = random.uniform(0, 10, n) * (random.random(n) < 0.8)
    output = random.uniform(0, 10, n) * (random.random(n) < 0.8) * random.choice([0.1, 0.5, 2.0])
    param = random.uniform(0, 10, n)
    overflow = seed % 2 == 1 if overflow is None else overflow
    memory = param.sum() * random.uniform(0, 1) if overflow else None
    reserve = random.choice([0.0, 1.0, 8.0]) if overflow else 0.0
    return instance(work, output, edges, param=param, memory=memory, reserve=reserve,
                    bandwidth=float(random.choice([1.0, 4.0])))


def cost(graph, inside):
    """Cost of a set as a stage, term by term as the model states it."""
    inside = set(inside)
    if not inside:
        return 0.0
    entering = {u for u, v in graph.edges.tolist() if v in inside and u not in inside}
    leaving = {u for u, v in graph.edges.tolist() if u in inside and v not in inside}
    moved = sum(graph.output_bytes[u] for u in entering) + sum(graph.output_bytes[u] for u in leaving)
    spill = 0.0
    if graph.fast_memory is not None:
        spill = max(0.0, sum(graph.parameter_bytes[list(inside)]) + graph.activation_reserve - graph.fast_memory)
    return sum(graph.work[list(inside)]) + (moved + spill) / graph.bandwidth


def worst(graph, stages):
    """The bottleneck of a partition."""
    return max(cost(graph, np.flatnonzero(np.array(stages) == s)) for s in set(stages))


def optimum(graph, k):
    """The least bottleneck over every labelling that is monotone along edges."""
    edges, best = graph.edges.tolist(), np.inf
    for stages in product(range(min(k, len(graph.work))), repeat=len(graph.work)):
        if all(stages[u] <= stages[v] for u, v in edges):
            best = min(best, worst(graph, stages))
    return best
