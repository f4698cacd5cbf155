"""What a sample holds: which program is in which split, and how many graphs of which size."""

from dataclasses import dataclass

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
    """

    kernels: tuple
    layouts: dict
    most_nodes: dict
    kernel_nodes: int
    configurations: tuple
    tiles: tuple


SCALES = {
    "small": Scale((72, 14, 14), {"xla": (24, 6, 6), "nlp": (18, 6, 6)}, {"xla": 5000, "nlp": 5200}, 1600,
                   (300, 600), (50, 300)),
    "large": Scale((600, 80, 80), {"xla": (90, 20, 20), "nlp": (60, 15, 15)}, {"xla": 40_000, "nlp": 40_000}, 9000,
                   (1000, 100_040), (50, 9900)),
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
    return _in_turn(source, split, scale.most_nodes[source], scale.layouts[source][SPLITS.index(split)], seed)


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


def _in_turn(source, split, most_nodes, count, seed):
    """Up to `count` programs: the first of every architecture, then the second ones, and so on."""
    ranked = []
    for family, its_split in splits(source, seed).items():
        if its_split != split:
            continue
        names = [n for n in programs.names(source, most_nodes) if programs.architecture(n) == family]
        draws = Draws(seed, "programs", family)
        keys = draws.uniform(len(names)) - [TRAINING_FIRST * (".train." in n) for n in names]
        ranked += [(turn, name) for turn, (_, name) in enumerate(sorted(zip(keys, names, strict=True)))]
    return sorted(name for _, name in sorted(ranked)[:count])
