"""Random graphs in the style of REGAL's synthetic data set; never called REGAL, whose graphs they are not.

After Paliwal et al., "Reinforced Genetic Algorithm Learning for Optimizing Computation Graphs", ICLR 2020: random
topologies of 50 to 200 nodes, sizes and costs about N(50, 10). How hard a graph is depends on how long a transfer
takes beside a node's work, so that ratio is chosen openly.
"""

import numpy as np

from evaluation.errors import InputError
from evaluation.instance import Instance

RATIOS = (0.1, 0.5, 1.0)
SIZES = (50, 100, 150, 200)
STAGES = (2, 4, 8, 16, 32, 64)
MICROSECOND, KIB = 1e-6, 1024


def generate(topology, n=100, ratio=0.5, seed=0, k=STAGES):
    """A random graph as an instance: the same arguments, the same instance.

    Parameters
    ----------
    topology : {"er", "ba", "ws", "sbm"}
        Erdos-Renyi, Barabasi-Albert, Watts-Strogatz or stochastic block model; an undirected graph whose edges then
        follow a random order of the nodes.
    n : int
        Nodes, at least 1.
    ratio : float
        Mean transfer time of an output over the mean work of a node (about 50 microseconds).
    seed : int
    k : sequence of int
        Numbers of stages to ask for; those above ``n / 2`` are left out.

    Returns
    -------
    Instance
        Simulated; work in microseconds and bytes in KiB are about N(50, 10), parameters too.
    """
    if topology not in TOPOLOGIES:
        raise InputError(f"topology {topology!r} is unknown; choose from {', '.join(TOPOLOGIES)}")
    if n < 1 or ratio <= 0:
        raise InputError(f"n = {n} and ratio = {ratio}: a graph needs a node, and a ratio above 0")
    random = np.random.default_rng([seed, n, list(TOPOLOGIES).index(topology)])
    pairs = np.array(sorted(TOPOLOGIES[topology](n, random)), np.int64).reshape(-1, 2)
    edges = np.sort(random.permutation(n)[pairs], axis=1)
    work, output, parameters = (np.maximum(1, random.normal(50, 10, n)) for _ in range(3))
    name = f"random-{topology}-{n}-{ratio:g}-{seed}"
    return Instance(name, f"REGAL-style random graph: {topology}, {n} nodes, transfer/work {ratio:g}, seed {seed}",
                    True, KIB / (ratio * MICROSECOND), None, 0, [count for count in k if count <= max(2, n // 2)],
                    [f"n{node}" for node in range(n)], work * MICROSECOND, np.round(parameters * KIB),
                    np.round(output * KIB), edges)


def series(count, seed=0, sizes=SIZES):
    """`count` instances that go through topologies, ratios and sizes in turn, seeds counting up from `seed`."""
    kinds = [(topology, ratio, size) for size in sizes for ratio in RATIOS for topology in TOPOLOGIES]
    for number in range(count):
        topology, ratio, size = kinds[number % len(kinds)]
        yield generate(topology, size, ratio, seed + number // len(kinds))


def _erdos_renyi(n, random, degree=4.0):
    """Each pair with the probability that gives the mean degree."""
    first, second = np.triu_indices(n, 1)
    chosen = random.random(len(first)) < degree / max(1, n - 1)
    return set(zip(first[chosen].tolist(), second[chosen].tolist(), strict=True))


def _barabasi_albert(n, random, links=2):
    """Every new node links to `links` older ones, chosen in proportion to their degrees."""
    pairs, ends = set(), list(range(min(links, n)))
    for node in range(links, n):
        targets = set()
        while len(targets) < links:
            targets.add(ends[random.integers(len(ends))])
        pairs |= {(target, node) for target in targets}
        ends += [*sorted(targets), *[node] * links]
    return pairs


def _watts_strogatz(n, random, neighbours=4, rewired=0.3):
    """A ring of nearest neighbours, each link moved to a random end with probability `rewired`."""
    reach = min(neighbours // 2, (n - 1) // 2)
    pairs = {tuple(sorted((node, (node + step) % n))) for node in range(n) for step in range(1, reach + 1)}
    for pair in sorted(pairs):
        node, other = pair[0], int(random.integers(n))
        moved = tuple(sorted((node, other)))
        if random.random() < rewired and node != other and moved not in pairs:
            pairs.remove(pair)
            pairs.add(moved)
    return pairs


def _block_model(n, random, blocks=4, degree=4.0, inside=0.8):
    """Blocks of nearly equal size; a share `inside` of the mean degree stays within a node's block."""
    block = np.arange(n) * blocks // n
    first, second = np.triu_indices(n, 1)
    same = block[first] == block[second]
    size = max(1, n // blocks)
    probability = np.where(same, degree * inside / max(1, size - 1), degree * (1 - inside) / max(1, n - size))
    chosen = random.random(len(first)) < probability
    return set(zip(first[chosen].tolist(), second[chosen].tolist(), strict=True))


TOPOLOGIES = {"er": _erdos_renyi, "ba": _barabasi_albert, "ws": _watts_strogatz, "sbm": _block_model}
