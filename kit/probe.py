"""What a few files take: packed, turned into feature tables, learnt from, each step in a process of its own.

Peaks are those of the process so far, so files come in the order of their size.
"""

import os
import re
import resource
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from evaluation.engine import Processes

STEPS = {"gbdt": 20, "gru": 2, "sage": 2}  # rounds or steps to measure after the first one
RANKED, RANKED_SITES = 3, 300_000  # graphs to rank, and what at most one may have


@dataclass(frozen=True)
class Taken:
    """What something took.

    Attributes
    ----------
    seconds : float
        By the clock that was asked for, above 0.
    peak : int
        Largest resident bytes of the process so far.
    bytes : int
        Left on the disk.
    """

    seconds: float
    peak: int = 0
    bytes: int = 0


def apart(function, *arguments):
    """What a module's function returns in a fresh process; what it prints goes to standard error."""
    [(_, result)] = Processes(1, apart=True).map(_hushed, [(function, arguments)])
    return result


def _hushed(task):
    """LightGBM speaks of its files on standard output, which belongs to the plan."""
    os.dup2(sys.stderr.fileno(), 1)
    function, arguments = task
    return function(*arguments)


def peak():
    """Largest resident bytes of this process.

    Linux counts what a parent held when it started the process as the process's own in what `resource` says; the kernel
    file does not.
    """
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s*(\d+) kB", status.read_text(encoding="utf-8")) if status.is_file() else None
    if found:
        return 1024 * int(found[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _took(clock, function, *arguments, file=None):
    start = clock()
    function(*arguments)
    return Taken(max(clock() - start, 1e-6), peak(), file.stat().st_size if file else 0)


def _begun(clock, function, firsts):
    """Seconds that a process spends on imports and on loading compiled kernels: what comes first takes longer."""
    return max(0.0, sum(_took(clock, function, *a).seconds - _took(clock, function, *a).seconds for a in firsts))


def packing(sizes, folder, root, clock):
    """Pack files into a store.

    Parameters
    ----------
    sizes : list of kit.plan.Size
    folder, root : Path
        The store's, and the data set's.
    clock : callable

    Returns
    -------
    start : float
        Seconds before the first file.
    taken : list of Taken
    graphs : dict
        As in `kit.features.store.Store`.
    """
    from kit.features.store import packed_file

    firsts = {s.is_tile: s for s in reversed(sizes)}.values()
    with tempfile.TemporaryDirectory() as warm:
        start = _begun(clock, _pack_anew, [(s, Path(warm) / s.file.name) for s in firsts])
    taken, graphs = [], {}
    for size in sizes:
        target = packed_file(folder, root, size.file)
        taken.append(_took(clock, _pack_anew, size, target, graphs, root, file=target))
    return start, taken, graphs


def _pack_anew(size, target, graphs=None, root=None):
    from kit.features.store.graph import store_graph

    target.unlink(missing_ok=True)
    entry = store_graph(size.file, size.collection, target)
    if graphs is not None:
        graphs[size.file.relative_to(root).as_posix()] = {**entry, "bytes": target.stat().st_size}


def features(parts, folder, root, clock):
    """Make feature tables of packed files: of every part, a list of files, one; as `packing`, without the graphs."""
    from kit.features.store.tables import write_part

    firsts = {part[0].is_tile: part[:1] for part in reversed(parts)}.values()
    arguments = [(folder, root, [s.file for s in part], "physical", folder / "parts" / f"{number}.parquet")
                 for number, part in enumerate([*firsts, *parts])]
    start = _begun(clock, write_part, arguments[:len(firsts)])
    return start, [_took(clock, write_part, *a, file=a[-1]) for a in arguments[len(firsts):]]


@dataclass(frozen=True)
class Learnt:
    """What a baseline took: of every group of graphs preparing and one step, and of some graphs ranking."""

    groups: list
    prepared: list
    step: list
    ranked: list
    ranking: list


def baseline(model, groups, store, clock):
    """Fit a baseline to groups of graphs for a few steps each, and rank a few of the graphs with it.

    Parameters
    ----------
    model : str
    groups : list of list of kit.plan.Size
        Of one kind, in `store`, with something to rank; small ones first.
    store : kit.features.store.Store
    clock : callable

    Returns
    -------
    Learnt
    """
    from kit.models import ranker as rankers

    prepared, steps = [], []
    for group in groups:
        first, second, longer = (_took(clock, _fit, rankers.resolve(model)(), group, store, count)
                                 for count in (1, 1, 1 + STEPS[model]))  # the first one also makes what is kept
        prepared.append(Taken(max(first.seconds - second.seconds, 1e-6)))
        steps.append(Taken(max((longer.seconds - second.seconds) / STEPS[model], 1e-6), longer.peak))
    ranker = rankers.resolve(model)()
    _fit(ranker, groups[0], store, 1)
    ranked = _to_rank([size for group in groups for size in group])
    ranking = [_took(clock, lambda size=size: ranker.scores(store.read(size.file, size.collection)))
               for size in ranked]
    return Learnt(groups, prepared, steps, ranked, ranking)


def _fit(ranker, group, store, steps):
    from kit.graphs import Graphs

    graphs = Graphs.of([size.file for size in group], group[0].collection, store)
    with tempfile.TemporaryDirectory() as folder:
        ranker.fit(graphs, graphs[:0], seed=0, minutes=None, steps=steps, folder=Path(folder), threads=1)


def _to_rank(sizes):
    """Some graphs that are ranked soon, a small one and larger ones."""
    sizes = sorted(sizes, key=lambda s: s.sites)
    soon = [size for size in sizes if size.sites <= RANKED_SITES] or sizes[:1]
    return [soon[place] for place in sorted({0, len(soon) // 2, len(soon) - 1})][:RANKED]
