"""What the gradient-boosted trees learn from: feature rows of the distinct configurations, in memory or mapped."""

import hashlib
import os
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from evaluation.engine import Here, in_order
from evaluation.errors import InputError
from kit import npz
from kit.distinct import distinct_configs, merged_runtimes
from kit.graphs import TileGraph

BYTES_OF_A_ROW = 64  # that LightGBM takes besides a byte a column: label, weight, score, gradients, order
BINNED = 200_000  # rows that LightGBM finds bins on: with no more, streaming saves little
RESERVED = 1_500_000_000  # bytes for Python, its packages and the rows the model is judged on


@dataclass(frozen=True)
class Table:
    """What is learnt from one graph; r rows, d columns.

    Attributes
    ----------
    features : float32 array, shape (r, d)
        May be mapped from a file.
    runtime : float64 array, shape (r,)
        Nanoseconds, for tiles over the normalizer; the median over copies of a configuration.
    """

    features: np.ndarray
    runtime: np.ndarray

    @property
    def ranks(self):
        """Ranks of the runtimes scaled to 0..1, ties averaged; 0 = fastest."""
        return (rankdata(self.runtime) - 1) / max(1, len(self.runtime) - 1)


class Tables(Sequence):
    """The tables of several graphs: one matrix, cut.

    Parameters
    ----------
    features : float32 array, shape (r, d)
    runtime : float64 array, shape (r,)
    sizes : int64 array
        Rows of each graph.
    cache : Path, optional
        A name beside which what follows from these tables may be kept.
    """

    def __init__(self, features, runtime, sizes, cache=None):
        self.features, self.runtime, self.sizes, self.cache = features, runtime, sizes, cache
        self.ends = np.cumsum(sizes, dtype=np.int64)

    def __len__(self):
        return len(self.sizes)

    def __getitem__(self, index):
        rows = slice(int(self.ends[index] - self.sizes[index]), int(self.ends[index]))
        return Table(self.features[rows], self.runtime[rows])


def feature_module(graph):
    """The module of `kit.features` for a graph's kind."""
    from kit.features import layout, tile

    return tile if isinstance(graph, TileGraph) else layout


def sample_rows(graph, rows, rng):
    """Choose the configurations to learn from.

    Every distinct configuration once, at the median of its copies' runtimes; where there are more than
    `rows`, see `stratified`.

    Parameters
    ----------
    graph : TileGraph or LayoutGraph
        With runtimes.
    rows : int
    rng : numpy.random.Generator

    Returns
    -------
    chosen : int64 array, shape (r,)
        Rows of the graph, increasing.
    runtime : float64 array, shape (r,)
    """
    median, _ = merged_runtimes(graph)
    picked = stratified(median, rows, rng)
    return distinct_configs(graph).first[picked], median[picked]


def stratified(runtime, rows, rng):
    """Places in `runtime`, int64, increasing: all, or where there are more than `rows` one drawn from each of as many
    equal strata of its order.
    """
    if len(runtime) <= rows:
        return np.arange(len(runtime))
    edges = np.arange(rows + 1) * len(runtime) // rows
    return np.sort(np.argsort(runtime, kind="stable")[rng.integers(edges[:-1], edges[1:])])


def generator(graph_id, seed):
    """The generator that a graph's rows are drawn with: its own, whatever the other graphs are."""
    return np.random.default_rng([seed, zlib.crc32(graph_id.encode())])


def distinct_features(graph, feature_set):
    """Features of the distinct configurations: float32, shape (d, columns); from the store where it has them."""
    frame = None if graph.stored is None else graph.stored.features(feature_set)
    if frame is None:
        frame = feature_module(graph).distinct_table(graph, feature_set)
    return frame.drop("graph_id", "config").to_numpy().astype(np.float32, copy=False)


def rows_within(memory, graphs, columns, rows):
    """How many rows a graph may have so that training stays within `memory` bytes (None: no limit)."""
    if memory is None or not len(graphs):
        return rows
    allowed = int((memory - RESERVED) / (columns + BYTES_OF_A_ROW) / len(graphs))
    if allowed < 2:
        needed = RESERVED + 2 * (columns + BYTES_OF_A_ROW) * len(graphs)
        raise InputError(f"{memory / 1e9:.1f} GB are too little for {len(graphs)} graphs; allow --max-memory "
                         f"{-(-needed // 10**8) / 10:.1f}GB or more")
    return min(rows, allowed)


def tables(graphs, feature_set, rows, seed, engine=None):
    """Feature tables of the graphs that have something to rank.

    Parameters
    ----------
    graphs : sequence of graphs
        Those of a store are gathered in its ``cache`` folder, once, and mapped.
    feature_set : str
    rows, seed : int
        At most so many rows of a graph, see `stratified`.
    engine : optional
        Where tables are computed that no store keeps, see `evaluation.engine`.

    Returns
    -------
    Tables
    """
    store = getattr(graphs, "store", None)
    if store is not None and len(graphs) and all(store.entry(file) for file in graphs.files):
        return _stored(store, graphs, feature_set, rows, seed)
    tasks = [(graphs[i:i + 1], feature_set, rows, seed) for i in range(len(graphs))]
    found = [table for part in in_order((engine or Here()).map(_part, tasks)) for table in part]
    if not found:
        return Tables(np.zeros((0, 0), np.float32), np.zeros(0), np.zeros(0, np.int64))
    return Tables(np.concatenate([t.features for t in found]), np.concatenate([t.runtime for t in found]),
                  np.array([len(t.runtime) for t in found]))


def _part(task):
    return list(_each(*task))


def _each(graphs, feature_set, rows, seed):
    for graph in graphs:
        if graph.config_runtime is None:
            continue
        median, _ = merged_runtimes(graph)
        if len(np.unique(median)) > 1:
            picked = stratified(median, rows, generator(graph.id, seed))
            yield Table(distinct_features(graph, feature_set)[picked], median[picked])


def _stored(store, graphs, feature_set, rows, seed):
    from kit.features.store.tables import folder_of

    key = repr((rows, seed, [(id, store.entry(file)) for id, file in zip(graphs.ids, graphs.files, strict=True)]))
    name = f"{graphs.collection.replace(':', '-')}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    cache = store.folder / "cache" / folder_of(store, feature_set).name / name
    file = cache.with_name(name + ".npz")
    if not file.is_file():
        _gather(store, graphs, feature_set, rows, seed, file)
    with zipfile.ZipFile(file) as archive:
        return Tables(npz.mapped(archive, "features"), npz.read_member(archive, "runtime", npz.damaged),
                      npz.read_member(archive, "sizes", npz.damaged), cache)


def _gather(store, graphs, feature_set, rows, seed, file):
    """Write the tables of stored graphs as one matrix; one graph stands in memory at a time."""
    columns = len(feature_module(graphs[0]).columns(feature_set))
    sizes = np.array([min(rows, e["distinct"]) for e in map(store.entry, graphs.files) if e["rankable"]], np.int64)
    runtime = []

    def features():
        for table in _each(graphs, feature_set, rows, seed):
            runtime.append(table.runtime)
            yield table.features

    npz.write(file, {"features": ((int(sizes.sum()), columns), np.float32, features()), "sizes": sizes,
                     "runtime": ((int(sizes.sum()),), np.float64, runtime)}, plain=("features",))


def dataset(learn, label, parameters, plain=False, **fields):
    """A LightGBM data set, streamed from large tables; from a store's it is kept in LightGBM's own binary format.

    Parameters
    ----------
    learn : Tables
    label : array, shape (r,)
    parameters : dict
        LightGBM's: what they say of binning must not change afterwards.
    plain : bool
        Hold all rows in memory, for who deals them out.
    **fields
        ``weight`` or ``group``, as `lightgbm.Dataset` takes them.

    Returns
    -------
    lightgbm.Dataset
    """
    import lightgbm as lgb

    if plain or len(learn.features) <= BINNED:
        return lgb.Dataset(np.array(learn.features), label, **fields)
    if learn.cache is None:
        return lgb.Dataset(_rows(learn.features), label, params=parameters, **fields)
    file = learn.cache.with_name(f"{learn.cache.name}-{parameters['objective']}.bin")
    if not file.is_file():
        made = lgb.Dataset(_rows(learn.features), label, params=parameters, **fields).construct()
        with tempfile.TemporaryDirectory(dir=file.parent, prefix=".binary-", suffix=".tmp") as folder:
            made.save_binary(Path(folder) / "data")
            os.replace(Path(folder) / "data", file)
    return lgb.Dataset(file, params=parameters)


def _rows(features):
    import lightgbm as lgb

    class Rows(lgb.Sequence):
        """The matrix, looked at a few thousand rows at a time."""

        batch_size = 1 << 14

        def __getitem__(self, index):
            return np.array(features[index], np.float64)

        def __len__(self):
            return len(features)

    return Rows()
