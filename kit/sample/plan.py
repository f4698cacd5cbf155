"""What a sample holds: which program is in which split, and how many graphs of which size."""

from dataclasses import dataclass, field

from kit.sample import programs
from kit.sample.draws import Draws

SPLITS = ("train", "valid", "test")
_SHARES = {"train": 0.6, "valid": 0.8}  # ends of the splits in the order of architectures; test is the rest
TRAINING_FIRST = 0.7  # lead of training steps: weight gradients decide the runtimes of the real files


@dataclass(frozen=True)
class Scale:
    """Sizes of a sample, each per split in the order of `SPLITS`.

    Attributes
    ----------
    kernels : tuple of int
        Tile kernels.
    layouts : dict of str to tuple of int
        Layout graphs of a family, the same programs in `default` and `random`.
    most_nodes : dict of str to int
        Programs of a family with more are left out.
    kernel_nodes : int
        Programs with more are not cut into kernels.
    configurations, tiles : tuple of int
        Fewest and most configurations of a layout graph and of a kernel, drawn log-uniform.
    always : dict of str to int
        Programs that every seed has among the layouts, in the split of their architecture, and how many configurations
        they get: what tests of scale need must not depend on a draw.
    """

    kernels: tuple
    layouts: dict
    most_nodes: dict
    kernel_nodes: int
    configurations: tuple
    tiles: tuple
    always: dict = field(default_factory=dict)


SCALES = {
    "small": Scale((72, 14, 14), {"xla": (24, 6, 6), "nlp": (18, 6, 6)}, {"xla": 5000, "nlp": 5200}, 1600,
                   (300, 600), (50, 300)),
    # Graphs and configurations as large as the data set's largest: 100,040 configurations of (nearly) 364 nodes whose
    # layouts can be chosen, and a graph of (a little over) 40,000 nodes
    "large": Scale((2600, 340, 340), {"xla": (36, 8, 8), "nlp": (24, 6, 6)}, {"xla": 42_000, "nlp": 42_000}, 9000,
                   (100, 100_040), (200, 9900), {"densenet_121.train.b16.f32": 100_040, "gpt_xl.train.b4.bf16": 1000}),
}


def splits(source, seed):
    """Architecture -> split: none is in two of them, at any size, in any collection.

    Parameters
    ----------
    source : {"xla", "nlp"}
    seed : int

    Returns
    -------
    dict of str to str
    """
    names = sorted({programs.architecture(n) for n in programs.names(source)})
    order = [names[i] for i in Draws(seed, "splits", source).order(len(names))]
    return {name: next((s for s, end in _SHARES.items() if i < round(end * len(order))), "test")
            for i, name in enumerate(order)}


def layout_programs(source, split, scale, seed):
    """Names of the programs of one family and split: architectures in turn, training steps more often.

    Parameters
    ----------
    source : {"xla", "nlp"}
    split : {"train", "valid", "test"}
    scale : Scale
    seed : int

    Returns
    -------
    list of str
        Sorted.
    """
    count = scale.layouts[source][SPLITS.index(split)]
    return _in_turn(source, split, scale.most_nodes[source], count, seed, scale.always)


def configurations(name, scale, draws):
    """Configurations of a program's layout graph.

    Parameters
    ----------
    name : str
    scale : Scale
    draws : Draws
        Of the graph, from its start.

    Returns
    -------
    int
    """
    return scale.always.get(name) or int(draws.between(*scale.configurations))


def kernel_programs(split, scale, seed):
    """Names of the programs that kernels of a split are cut from, in a drawn order.

    Parameters
    ----------
    split : {"train", "valid", "test"}
    scale : Scale
    seed : int

    Returns
    -------
    list of str
    """
    count = scale.kernels[SPLITS.index(split)]
    return _in_turn("xla", split, scale.kernel_nodes, count, seed)


def _in_turn(source, split, most_nodes, count, seed, always=()):
    """Up to `count` programs: those of `always`, the first of every architecture, then the second ones, and so on."""
    ranked = []
    for family, its_split in splits(source, seed).items():
        if its_split != split:
            continue
        names = [n for n in programs.names(source, most_nodes) if programs.architecture(n) == family]
        draws = Draws(seed, "programs", family)
        keys = draws.uniform(len(names)) - [TRAINING_FIRST * (".train." in n) for n in names]
        inner = enumerate(sorted(zip(keys, names, strict=True)))
        ranked += [(-1 if name in always else turn, name) for turn, (_, name) in inner]
    return sorted(name for _, name in sorted(ranked)[:count])
