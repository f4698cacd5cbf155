"""What the networks learn from: encodings and runtimes of graphs, all in memory or, from a store, a few at a time.

Every distinct configuration is there once, at the median of its copies' runtimes; where there are more than `rows`, one
from each of as many strata of runtime (`kit.models.tables.stratified`). Of stored layout graphs only the configurations
that a step draws are read. Encodings are made once and kept in the store's ``cache`` folder, which may be deleted.
"""

import zipfile
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from evaluation.collections import graph_id
from evaluation.engine import open_engine
from evaluation.errors import InputError
from evaluation.files import DAMAGE, code_digest
from kit import npz
from kit.distinct import merged_runtimes
from kit.models.encoding import Encoding, LayoutConfigs, PackedConfigs, TileConfigs, encode_distinct
from kit.models.tables import generator, stratified

KEPT = 2 << 30  # bytes of encodings in memory where no limit was given
SHARE = 0.3  # of a limit that encodings may take; torch and a step's values need the rest


@dataclass(frozen=True)
class Example:
    """A graph to learn from or to be judged on.

    Attributes
    ----------
    id : str
    graph : Encoding
    runtime : float64 tensor, shape (c,)
        Nanoseconds, for tiles over the normalizer.
    """

    id: str
    graph: object
    runtime: torch.Tensor


def examples(graphs, rows, seed, *, memory=None, workers=1):
    """Encodings and runtimes of the graphs that have something to rank.

    Parameters
    ----------
    graphs : sequence of graphs
        `kit.graphs.Graphs` with a store are read when they are looked at.
    rows, seed : int
    memory : int, optional
        Bytes that the process may take.
    workers : int
        Processes that make encodings which the store lacks.

    Returns
    -------
    sequence of Example
    """
    store = getattr(graphs, "store", None)
    if store is not None and all(store.entry(file) for file in graphs.files):
        return StoredExamples(store, graphs, rows, seed, memory, workers)
    found = []
    for graph in graphs:
        if graph.config_runtime is not None:
            median, _ = merged_runtimes(graph)
            if len(np.unique(median)) > 1:
                found.append(_example(graph.id, encode_distinct(graph), median, rows, seed))
    return found


def _example(name, encoding, median, rows, seed):
    picked = stratified(median, rows, generator(name, seed))
    configs = encoding.configs
    configs = configs.only(picked) if isinstance(configs, PackedConfigs) else configs.rows(torch.from_numpy(picked))
    return Example(name, replace(encoding, configs=configs), torch.from_numpy(median[picked]))


class StoredExamples(Sequence):
    """The examples of a store, read one at a time; the latest are kept as far as memory allows."""

    def __init__(self, store, graphs, rows, seed, memory, workers):
        self.store, self.collection, self.rows, self.seed = store, graphs.collection, rows, seed
        self.files = [file for file in graphs.files if store.entry(file)["rankable"]]
        self.most, self.size, self.kept = int(memory * SHARE) if memory else KEPT, 0, OrderedDict()
        self._make_missing(workers)

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        if index in self.kept:
            self.kept.move_to_end(index)
            return self.kept[index][0]
        example = self._read(self.files[index])
        size = _bytes_of(example)
        while self.kept and self.size + size > self.most:
            self.size -= self.kept.popitem(last=False)[1][1]
        self.kept[index] = example, size
        self.size += size
        return example

    def key(self):
        """Text that says what is learnt from: the same text, the same examples."""
        return repr((encoding_folder(self.store).name, self.rows, self.seed,
                     [(graph_id(self.collection, f), self.store.entry(f)["size"]) for f in self.files]))

    def _make_missing(self, workers):
        from kit.features.store.build import run_tasks

        targets = {encoding_file(self.store, file): file for file in self.files}
        missing = {target: file for target, file in targets.items() if not target.is_file()}
        tasks = [(self.store.folder, self.store.root, file, self.collection, target)
                 for target, file in missing.items()]
        sizes = [self.store.entry(file)["bytes"] for file in missing.values()]
        with open_engine(jobs=workers) as engine:
            run_tasks(write_encoding, tasks, engine, sizes, "encoding")

    def _read(self, file):
        from kit.features.store.graph import read_packed

        packed, median = read_packed(self.store, file)
        encoding = read_encoding(encoding_file(self.store, file), packed)
        return _example(graph_id(self.collection, file), encoding, median, self.rows, self.seed)


@lru_cache(maxsize=1)
def _code():
    """A digest of the code that encodings follow from."""
    here = Path(__file__).resolve()
    kit = here.parents[1]
    return code_digest(kit, [here, here.with_name("encoding.py"), *(kit / "features").glob("*.py")])


def encoding_folder(store):
    """Where a store keeps what the networks make of its graphs."""
    return store.folder / "cache" / f"encodings-{_code()}"


def encoding_file(store, file):
    """Where a store keeps the encoding of a file."""
    return encoding_folder(store) / file.relative_to(store.root)


def write_encoding(folder, root, file, collection, target):
    """Encode a stored graph and keep that: everything but the configurations of a layout graph."""
    from kit.features.store import Store
    from kit.features.store.graph import read

    encoding = encode_distinct(read(Store(folder, root, {}), file, collection))
    configs, arrays = encoding.configs, {}
    if isinstance(configs, PackedConfigs):
        arrays = {f"config_{name}": value.numpy() for name, value in vars(configs.base).items()}
        arrays |= {"source": configs.source, "ranks": np.concatenate([np.zeros(0, np.int32), *configs.ranks]),
                   "rank_sizes": np.array([len(r) for r in configs.ranks], np.int64)}
    else:
        arrays["config_values"] = configs.values.numpy()
    own = {n: v.numpy() for n, v in vars(encoding).items() if isinstance(v, torch.Tensor)}
    npz.write(target, own | {"totals": encoding.totals} | arrays, level=1)


def read_encoding(target, packed):
    """What `write_encoding` kept, together with the packed configurations (None for tiles)."""
    try:
        with zipfile.ZipFile(target) as archive:
            arrays = {name.removesuffix(".npy"): npz.read_member(archive, name.removesuffix(".npy"), npz.damaged)
                      for name in archive.namelist()}
    except DAMAGE as error:
        raise InputError(f"{target}: cannot be read ({error}); delete it, it is made again") from error
    configs = {n.removeprefix("config_"): _tensor(arrays.pop(n)) for n in list(arrays) if n.startswith("config_")}
    if packed is None:
        found = TileConfigs(**configs)
    else:
        ends = np.cumsum(arrays.pop("rank_sizes"))
        ranks = np.split(arrays.pop("ranks"), ends[:-1]) if len(ends) else []
        found = PackedConfigs(LayoutConfigs(**configs), packed, arrays.pop("source"), ranks,
                              np.arange(len(packed.codes)))
    totals = arrays.pop("totals")
    return Encoding(**{n: _tensor(a) for n, a in arrays.items()}, totals=totals, configs=found)


def _tensor(array):
    return torch.from_numpy(array.copy())


def _bytes_of(example):
    tensors = [*vars(example.graph).values(), *vars(example.graph.configs).values(), example.runtime]
    base = getattr(example.graph.configs, "base", None)
    tensors += [] if base is None else vars(base).values()
    return 4096 + sum(t.nbytes for t in tensors if isinstance(t, torch.Tensor | np.ndarray))
