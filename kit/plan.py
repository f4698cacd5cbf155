"""What a full run costs on this machine: a few files are packed and learnt from, the rest is extrapolated."""

import math
import os
import tempfile
import time
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from evaluation.collections import COLLECTIONS, SPLITS, find_root, graph_files
from evaluation.errors import InputError
from evaluation.files import DAMAGE
from evaluation.report import table
from kit import probe

SHARE = 0.04  # of the inflated bytes that may be measured
FEWEST, MOST = 3, 64  # files of a kind to measure
STEPS, ROUNDS = 600, 400  # of the networks and of the trees, as by default
GROUPS, GRAPHS = 3, {True: 8, False: 4}  # groups of graphs to learn from, and graphs of a step: kernels, layouts
ROWS = {"gbdt": 10_000, "gru": 64, "sage": 64}  # most configurations of a graph in a round or step
JUDGED, JUDGED_GRAPHS, EVALUATIONS = 500, 100, STEPS // 25  # the networks' validation
KEPT, BYTES_OF_A_NODE = 2 << 30, 600  # most bytes of encodings in memory, and of a node
# Bytes that memory grows by with a unit of the largest file, for where the measured ones are too small to tell, and how
# many units outweigh that.
GROWTH = {"packing": (4.5, 1e7), "features": (190, 1e5), "gbdt": (100, 1e5), "gru": (10_000, 1e5),
          "sage": (10_000, 1e5)}


@dataclass(frozen=True)
class Size:
    """One file, by the sizes of its members alone: nothing of it is inflated."""

    file: Path
    collection: str
    split: str
    configs: int
    nodes: int
    configurable: int
    inflated: int

    @property
    def is_tile(self):
        """Whether it is a kernel."""
        return COLLECTIONS[self.collection].kind == "tile"

    @property
    def sites(self):
        """Configurations times the nodes that they speak of: of a kernel all."""
        return self.configs * self.read_nodes

    @property
    def read_nodes(self):
        """Nodes that a network reads for each configuration."""
        return self.configurable or self.nodes


@dataclass(frozen=True)
class Cost:
    """One step of a full run.

    Attributes
    ----------
    step : str
    seconds, error : float
        Of all processes together, and its standard error; divide by the number of processes for wall time.
    memory : int
        Largest resident bytes of a process.
    disk : int
        Bytes that the step leaves behind.
    rough : bool
        Whether it is a guess from fits of a few steps.
    """

    step: str
    seconds: float
    error: float
    memory: int
    disk: int
    rough: bool = False


def size_of(file, collection, split):
    """`Size` of an npz file."""
    try:
        with zipfile.ZipFile(file) as archive:
            held = {info.filename.removesuffix(".npy"): info.file_size for info in archive.infolist()}
    except DAMAGE as error:
        raise InputError(f"{file}: cannot be read ({error}); fetch or make the file again") from error
    entries = {name: max(0, held.get(name, 0) - 128) // 8 for name in ("config_runtime", "node_config_ids")}
    return Size(file, collection, split, entries["config_runtime"], max(0, held.get("node_opcode", 128) - 128),
                entries["node_config_ids"], sum(held.values()))


def few(sizes, share=SHARE):
    """Files to measure: spread over the order of size, none so large that fewer than three fit into the share."""
    budget = share * sum(s.inflated for s in sizes)
    small = sorted((s for s in sizes if s.inflated <= budget / FEWEST), key=lambda s: s.inflated)
    small = small or sorted(sizes, key=lambda s: s.inflated)[:FEWEST]
    for count in range(min(MOST, len(small)), 0, -1):
        chosen = [small[i] for i in np.unique(np.linspace(0, len(small) - 1, count).astype(int))]
        if sum(s.inflated for s in chosen) <= budget or count <= FEWEST:
            return chosen
    return small[:1]


def extrapolate(terms, seconds, wanted):
    """Total of a cost that is a sum of terms with factors from 0 up, relative errors counting alike.

    The factors are scaled so that what was measured adds up: relative errors alone would make them too small where the
    terms tell little.

    Parameters
    ----------
    terms : array, shape (m, t)
        Of what was measured.
    seconds : array, shape (m,)
    wanted : array, shape (n, t)
        Of everything.

    Returns
    -------
    total, error : float
        The error is the jackknife's, each measurement left out in turn; all of the total where there is one.
    """
    terms, seconds, wanted = (np.asarray(a, np.float64) for a in (terms, seconds, wanted))

    def total(rows):
        scaled = terms[rows] / seconds[rows, None]
        size = scaled.max(axis=0)
        size[size == 0] = 1
        factors = nnls(scaled / size, np.ones(len(rows)))[0] / size
        return float(wanted.sum(axis=0) @ factors * (seconds[rows].sum() / (terms[rows] @ factors).sum()))

    everything = np.arange(len(seconds))
    if len(seconds) == 1:
        return total(everything), total(everything)
    left_out = [total(np.delete(everything, i)) for i in everything]
    return total(everything), float(np.sqrt((len(seconds) - 1) * np.var(left_out)))


def memory_of(step, peaks, units, wanted):
    """Bytes of a process whose largest file has so many units, from the peaks at smaller ones.

    Parameters
    ----------
    step : str
        Key of `GROWTH`, whose rate counts for as much as that many measured units.
    peaks, units : sequence
        Increasing.
    wanted : int
    """
    rate, doubt = GROWTH[step]
    slope = (peaks[-1] - peaks[0] + rate * doubt) / (units[-1] - units[0] + doubt)
    return int(peaks[-1] + slope * max(0, wanted - units[-1]))


def plan(data, *, clock=time.perf_counter, models=("gbdt", "gru", "sage")):
    """Measure on a few files and extrapolate.

    Parameters
    ----------
    data : str or Path
    clock : callable
        Seconds; `time.process_time` tells what work would take on an idle machine.
    models : sequence of {"gbdt", "gru", "sage"}

    Returns
    -------
    list of Cost
        Packing, features, then training and prediction of the baselines; these are left out where runtimes are withheld
        or do not differ.

    Raises
    ------
    InputError
        Where there is no data, or a file is damaged.
    """
    root = find_root(data)
    sizes = [size_of(file, name, split) for name in COLLECTIONS for split in SPLITS
             for file in graph_files(root, name, split)]
    if not sizes:
        raise InputError(f"{data}: no files; download the data set, or make the embedded one")
    kinds = [kind for tile in (True, False) if (kind := [s for s in sizes if s.is_tile == tile])]
    chosen = sorted((s for kind in kinds for s in few(kind)), key=lambda s: s.sites)
    with tempfile.TemporaryDirectory() as folder:
        store, packing = _packing(chosen, sizes, root, Path(folder), clock)
        found = [packing, _features(chosen, sizes, store, clock)]
        for model in models:
            found += _baseline(model, chosen, kinds, store, clock)
    return found


def _packing(chosen, sizes, root, folder, clock):
    """A store of the files that are measured, and what packing all will cost."""
    from kit.features.store import Store

    start, taken, graphs = probe.apart(probe.packing, chosen, folder, root, clock)
    peaks, sites = [t.peak for t in taken], [s.sites for s in chosen]
    memory = memory_of("packing", peaks, sites, max(s.sites for s in sizes))
    cost = _sum("packing", start, [[s] for s in chosen], taken, sizes, lambda s: (1, s.inflated), memory)
    return Store(folder, root, graphs), cost


def _features(chosen, sizes, store, clock):
    parts = [[s] for s in chosen if not s.is_tile]
    tiles = [s for s in chosen if s.is_tile]
    count = -(-len(tiles) // FEWEST)
    parts += [tiles[i:i + count] for i in range(0, len(tiles), count)] if tiles else []
    parts.sort(key=_bulk)
    start, taken = probe.apart(probe.features, parts, store.folder, store.root, clock)
    memory = memory_of("features", [t.peak for t in taken], [_bulk(part) for part in parts],
                       max(_bulk([s]) for s in sizes))
    return _sum("features", start, parts, taken, sizes, lambda s: (1, s.nodes, s.configurable, s.configs), memory)


def _configs(part):
    return sum(s.configs for s in part)


def _bulk(part):
    """What the memory of making feature tables grows with: a node takes as much as ten configurations."""
    return 10 * max(s.nodes for s in part) + _configs(part)


def _sum(step, start, parts, taken, sizes, terms, memory):
    """The cost of a step of all files, kernels and layouts each by themselves."""
    seconds, errors, disk = start, [], 0.0
    for tile in (True, False):
        mine = [(part, t) for part, t in zip(parts, taken, strict=True) if part[0].is_tile == tile]
        wanted = [s for s in sizes if s.is_tile == tile]
        if not mine:
            continue
        total, error = extrapolate([np.sum([terms(s) for s in part], axis=0) for part, _ in mine],
                                   [t.seconds for _, t in mine], [terms(s) for s in wanted])
        seconds += total
        errors.append(error)
        disk += sum(t.bytes for _, t in mine) / max(1, sum(_configs(part) for part, _ in mine)) * _configs(wanted)
    return Cost(step, seconds, math.hypot(*errors), memory, int(disk))


def _baseline(model, chosen, kinds, store, clock):
    """Costs of training a baseline by its defaults and of ranking the test split with it."""
    training, ranking, memory = [], [], []
    for kind in kinds:
        groups = _groups([s for s in chosen if s.is_tile == kind[0].is_tile and store.entry(s.file)["rankable"]])
        if groups:
            learnt = probe.apart(probe.baseline, model, groups, store, clock)
            training += _training(model, learnt, kind)
            ranking.append(_ranking(model, learnt, [s for s in kind if s.split == "test"]))
            memory.append(_memory(model, learnt, kind))
    if not training:
        return []
    return [Cost(f"{model}: {what}", sum(p[0] for p in parts), math.hypot(*(p[1] for p in parts)),
                 max(memory), disk, rough=True)
            for what, parts, disk in (("training", training, 10**7), ("ranking the test split", ranking, 0))]


def _groups(sizes):
    """Graphs that are learnt from together, of small, middle and large ones."""
    sizes = sorted(sizes, key=lambda s: s.sites)
    parts = [sizes[i * len(sizes) // GROUPS:(i + 1) * len(sizes) // GROUPS] for i in range(GROUPS)]
    return [part[:GRAPHS[part[0].is_tile]] for part in parts if part]


def _training(model, learnt, kind):
    """(seconds, error) of preparing, of all steps, and of judging on the validation graphs, of all collections."""
    collections = [[s for s in kind if s.collection == name] for name in sorted({s.collection for s in kind})]
    learn = [[s for s in part if s.split == "train"] for part in collections]
    judge = [[s for s in part if s.split == "valid"] for part in collections]
    prepared = [(sum(_terms(s, ROWS[model]) for s in group), t.seconds)
                for group, t in zip(learnt.groups, learnt.prepared, strict=True)]
    terms, seconds = zip(*(prepared[1:] or prepared), strict=True)  # the first also loads packages
    yield extrapolate(terms, seconds, [_terms(s, ROWS[model]) for s in kind if s.split != "test"])
    steps = [_step(model, group, len(group)) for group in learnt.groups]
    if model == "gbdt":
        wanted = [ROUNDS * _step(model, part, len(part)) for part in
                  (a + b for a, b in zip(learn, judge, strict=True))]
    else:
        wanted = [STEPS * _step(model, part, GRAPHS[part[0].is_tile]) for part in learn if part]
    yield extrapolate(steps, [t.seconds for t in learnt.step], wanted)
    if model != "gbdt":
        yield _ranking(model, learnt, [s for part in judge for s in part[:JUDGED_GRAPHS]] * EVALUATIONS, JUDGED)


def _terms(size, rows):
    """What preparing and ranking a graph grow with."""
    return np.array([1, size.nodes, min(rows, size.configs) * size.read_nodes])


def _step(model, sizes, graphs):
    """What a round or a step on some of the graphs grows with."""
    if model == "gbdt":
        return np.array([1, sum(min(ROWS[model], s.configs) for s in sizes)])
    return np.array([1, graphs * np.mean([min(ROWS[model], s.configs) * s.read_nodes for s in sizes])])


def _ranking(model, learnt, sizes, rows=10**9):
    """(seconds, error) of ranking graphs, at most so many configurations of each."""
    if not sizes:
        return 0.0, 0.0
    return extrapolate([_terms(s, 10**9) for s in learnt.ranked], [t.seconds for t in learnt.ranking],
                       [_terms(s, rows) for s in sizes])


def _memory(model, learnt, kind):
    """Bytes of a training: the step of the largest graphs of a collection, and the encodings that networks keep."""
    units, kept = [_step(model, group, len(group))[1] for group in learnt.groups], [0]
    wanted = []
    for name in {s.collection for s in kind}:
        mine = sorted((s for s in kind if s.collection == name and s.split != "test"), key=lambda s: s.sites)
        largest = mine if model == "gbdt" else mine[-GRAPHS[kind[0].is_tile]:]
        wanted.append(_step(model, largest, len(largest))[1] if largest else 0)
        if model != "gbdt":
            kept.append(BYTES_OF_A_NODE * sum(s.nodes for s in mine))
    return memory_of(model, [t.peak for t in learnt.step], units, max(wanted)) + min(KEPT, max(kept))


def report(costs, cores=None):
    """The plan as text.

    Parameters
    ----------
    costs : list of Cost
    cores : int, optional
        Processes to divide by; those of this machine by default.
    """
    cores = cores or os.cpu_count() or 1
    hours = 3600 * cores
    rows = [[c.step, f"{c.seconds / hours:.2f} h", f"± {c.error / hours:.2f} h" + ", rough" * c.rough,
             f"{c.memory / 1e9:.1f} GB", f"{c.disk / 1e9:.2f} GB"] for c in costs]
    lines = [table(["step", f"time on {cores} cores", "error", "memory of a process", "disk"], rows), "",
             f"Measured on at most {100 * SHARE:.0f} % of the data, or on {FEWEST} files of a kind where that is more. "
             "Errors are standard errors."]
    if any(c.rough for c in costs):
        lines.append(f"Rough is guessed from fits of a few steps, by the defaults: all of {ROUNDS} rounds or {STEPS} "
                     "steps a collection, without early stopping; take it for no better than a factor of two.")
    else:
        lines.append("No training: in the files that were measured, runtimes are withheld or do not differ.")
    return "\n".join(lines)


def as_json(costs):
    """The contract's object: ``steps``, a list of costs in seconds and bytes."""
    return {"cores": os.cpu_count() or 1, "steps": [asdict(c) for c in costs]}
