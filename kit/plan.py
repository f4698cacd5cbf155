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
from evaluation.report import table

SHARE = 0.04  # of the inflated bytes that may be measured
FEWEST, MOST = 3, 24  # files of a kind to measure
BASE_MEMORY, SITE_MEMORY = 200e6, 5.5  # bytes of a process that packs, and of each configurable node and configuration
STEPS, ROUNDS = 600, 400  # of the networks and of the trees, as by default


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
    """

    step: str
    seconds: float
    error: float
    memory: int
    disk: int


def size_of(file, collection, split):
    """`Size` of an npz file."""
    try:
        with zipfile.ZipFile(file) as archive:
            held = {info.filename.removesuffix(".npy"): info.file_size for info in archive.infolist()}
    except (OSError, zipfile.BadZipFile) as error:
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
        factors, _ = nnls(scaled / size, np.ones(len(rows)))
        return float(wanted.sum(axis=0) @ (factors / size))

    everything = np.arange(len(seconds))
    if len(seconds) == 1:
        return total(everything), total(everything)
    left_out = [total(np.delete(everything, i)) for i in everything]
    return total(everything), float(np.sqrt((len(seconds) - 1) * np.var(left_out)))


def plan(data, *, clock=time.perf_counter):
    """Measure on a few files and extrapolate.

    Parameters
    ----------
    data : str or Path
    clock : callable
        Seconds; `time.process_time` tells what work would take on an idle machine.

    Returns
    -------
    list of Cost
        Packing, features, then training and prediction of the baselines.

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
    found = []
    with tempfile.TemporaryDirectory() as folder:
        kinds = [[s for s in sizes if s.is_tile == tile] for tile in (True, False)]
        measured = [_Measured(few(kind), root, Path(folder) / str(i), clock) for i, kind in enumerate(kinds) if kind]
        kinds = [kind for kind in kinds if kind]
        sites = max(s.configs * s.configurable for s in sizes)
        memory = {"packing": int(BASE_MEMORY + SITE_MEMORY * sites), "features": int(BASE_MEMORY + 3 * sites)}
        for step in ("packing", "features"):
            parts = [m.total(step, kind) for m, kind in zip(measured, kinds, strict=True)]
            disk = sum(m.disk(step) * sum(s.configs for s in kind) for m, kind in zip(measured, kinds, strict=True))
            found.append(Cost(step, sum(p[0] for p in parts), math.hypot(*(p[1] for p in parts)),
                              memory[step], int(disk)))
        for model in ("gbdt", "gru", "sage"):
            found += _baseline(model, measured, kinds, clock)
    return found


class _Measured:
    """What some files of one kind took, packed into a folder of their own."""

    def __init__(self, sizes, root, folder, clock):
        from kit.features.store import Store, packed_file
        from kit.features.store.graph import store_graph
        from kit.features.store.tables import write_part

        self.sizes, self.seconds, self.bytes = sizes, {"packing": [], "features": []}, {"packing": 0, "features": 0}
        self.configs, graphs = sum(s.configs for s in sizes), {}
        warm = folder.with_suffix(".warm")
        for size in [sizes[0], *sizes]:  # the first one loads the compiled kernels, and does not count
            place = folder if graphs or self.seconds["packing"] or warm.exists() else warm
            target, part = packed_file(place, root, size.file), place / "part" / f"{len(graphs)}.parquet"
            start = clock()
            entry = store_graph(size.file, size.collection, target)
            packed = clock()
            write_part(place, root, [size.file], "physical", part)
            done = clock()
            if place == warm:
                continue
            graphs[size.file.relative_to(root).as_posix()] = {**entry, "bytes": target.stat().st_size}
            self._note(packed - start, done - packed, target, part)
        self.store = Store(folder, root, graphs)

    def _note(self, packing, features, target, part):
        for step, seconds, file in (("packing", packing, target), ("features", features, part)):
            self.seconds[step].append(max(seconds, 1e-6))
            self.bytes[step] += file.stat().st_size

    def disk(self, step):
        """Bytes a configuration."""
        return self.bytes[step] / max(1, self.configs)

    def total(self, step, sizes):
        """Seconds of all files of the kind, and their error."""
        return extrapolate([_terms(s, step) for s in self.sizes], self.seconds[step], [_terms(s, step) for s in sizes])


def _terms(size, step):
    return (1, size.inflated) if step == "packing" else (1, size.nodes, size.configs)


def _baseline(model, measured, kinds, clock):
    """Costs of training a baseline by its defaults and of ranking the test split with it."""
    train = predict = 0.0
    for part, kind in zip(measured, kinds, strict=True):
        collections = len({s.collection for s in kind})
        seconds, scoring = _fit(model, part, clock, kind)
        rows = sum(min(10_000, s.configs) for s in kind if s.split == "train")
        mine = sum(min(10_000, s.configs) for s in part.sizes)
        train += seconds * ROUNDS * rows / mine if model == "gbdt" else seconds * STEPS * collections
        predict += scoring * sum(s.configs for s in kind if s.split == "test") / part.configs
    rows = sum(min(10_000, s.configs) for kind in kinds for s in kind)
    memory = int(1.5e9 + 84 * rows) if model == "gbdt" else int(3e9)
    return [Cost(f"{model}: training", train, 0.5 * train, memory, 10**7),
            Cost(f"{model}: ranking the test split", predict, 0.5 * predict, memory, 0)]


def _fit(model, part, clock, kind):
    """Seconds of one round or step, and of ranking the measured graphs; the second round or step counts."""
    from kit.graphs import Graphs
    from kit.models import ranker as rankers

    names = {s.collection for s in part.sizes if part.store.entry(s.file)["rankable"]}
    if not names:
        return 0.0, 0.0
    name = sorted(names)[0]
    graphs = Graphs.of([s.file for s in part.sizes if s.collection == name], name, part.store)
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        for steps in (1, 1, 5):  # the first fit makes what the others read
            ranker, start = rankers.resolve(model)(), clock()
            ranker.fit(graphs, graphs[:0], seed=0, minutes=None, steps=steps, folder=Path(folder), threads=1)
            seconds[steps] = clock() - start
    start = clock()
    for graph in graphs:
        ranker.scores(graph)
    scale = sum(s.configs for s in part.sizes) / sum(s.configs for s in part.sizes if s.collection == name)
    each = max(1e-6, (seconds[5] - seconds[1]) / 4) * (scale if model == "gbdt" else 1)
    return each, (clock() - start) * scale


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
    rows = [[c.step, f"{c.seconds / hours:.2f} h", f"± {c.error / hours:.2f} h", f"{c.memory / 1e9:.1f} GB",
             f"{c.disk / 1e9:.2f} GB"] for c in costs]
    return "\n".join([table(["step", f"time on {cores} cores", "error", "memory of a process", "disk"], rows), "",
                      f"Measured on at most {100 * SHARE:.0f} % of the data. Training is by the defaults: {ROUNDS} "
                      f"rounds, {STEPS} steps a collection; its error is a rough half."])


def as_json(costs):
    """The contract's object: ``steps``, a list of costs in seconds and bytes."""
    return {"cores": os.cpu_count() or 1, "steps": [asdict(c) for c in costs]}
