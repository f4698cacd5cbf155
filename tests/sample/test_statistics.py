"""The sample beside the real slice, with stated tolerances."""

import numpy as np
import polars as pl
import pytest

from evaluation.metrics import kendall_tau
from kit.features import layout, tile
from kit.graphs import Graphs
from kit.models.ranker import resolve
from kit.sample import statistics

FAMILIES = {"xla": ("layout:xla:default", "layout:xla:random"), "nlp": ("layout:nlp:default", "layout:nlp:random"),
            "tile": ("tile:xla",)}
LAYOUTS = FAMILIES["xla"] + FAMILIES["nlp"]
DISTANCE = {"xla": 0.2, "nlp": 0.2, "tile": 0.3}  # measured: 0.17, 0.13, 0.25
KNOWN_OFF = {"nlp": {"convert"}, "tile": {"reshape"}}


def _rows(data, collections, splits=("train", "valid", "test")):
    return [row for c in collections for row in statistics.collect(data, c, splits)]


def test_clusters_by_hand():
    assert statistics.clusters(np.array([1000, 1000, 1002, 5000])) == 3
    assert statistics.clusters(np.array([7, 7, 7])) == 1


@pytest.mark.parametrize("name", ["nodes", "edges_per_node", "configurable", "clusters", "spread", "duplicates"])
def test_real_layout_graphs_lie_in_the_sample(sample_data, real_data, name):
    """Every labelled real layout graph that has something to rank lies in the central 95 % of its family's sample.

    Both U-Nets sit near the lower end for ``configurable`` and one for ``spread`` (6 and 7 % of the sample below them).
    """
    ours = [row[name] for row in _rows(sample_data, FAMILIES["xla"]) if name in row]
    low, high = np.quantile(ours, [0.025, 0.975])
    real = [row for row in _rows(real_data, FAMILIES["xla"], ("train", "valid")) if row["spread"] > 1.001]
    assert len(real) >= 2
    for row in real:
        assert low <= row[name] <= high, row["id"]


def test_sizes(sample_data, real_data):
    """Real graphs but for the largest (21,918 nodes) have sizes of the sample; kernels on average too."""
    ours = [row["nodes"] for row in _rows(sample_data, LAYOUTS)]
    real = [row["nodes"] for row in _rows(real_data, LAYOUTS)]
    assert sum(np.quantile(ours, 0.025) <= n <= np.quantile(ours, 0.975) for n in real) == len(real) - 1
    kernels = [np.mean([row["nodes"] for row in _rows(data, ["tile:xla"])]) for data in (sample_data, real_data)]
    assert 0.5 < kernels[0] / kernels[1] < 3


def test_noise(sample_data, real_data):
    """Between measurements of one configuration: drawn from 1e-5 to 1e-3.

    The three real files that repeat any have 4e-6, 1.6e-5 and 5.5e-5, at the sample's quiet end: its median is 1e-4,
    some six times theirs.
    """
    ours = [row["noise"] for row in _rows(sample_data, LAYOUTS) if "noise" in row]
    real = [row["noise"] for row in _rows(real_data, LAYOUTS, ("train", "valid")) if "noise" in row]
    assert 0.8e-5 < min(ours) < max(ours) < 1.2e-3
    assert 1 < np.median(ours) / np.median(real) < 10


def test_tiles_spread_as_real_ones_do(sample_data, real_data):
    """Slowest over fastest, kernels with at least nine configurations: medians within a factor of 2."""
    ours, real = ([row["spread"] for row in _rows(data, ["tile:xla"], ("train", "valid")) if row["configurations"] >= 9]
                  for data in (sample_data, real_data))
    assert 1 / 2 < np.median(ours) / np.median(real) < 2


def _mix(data, collections):
    """Mean share of every group of opcodes over all graphs."""
    mixes = [statistics.opcode_mix(g) for c in collections for s in ("train", "valid", "test")
             for g in Graphs(data, c, s)]
    return {group: float(np.mean([mix[group] for mix in mixes])) for group in mixes[0]}


@pytest.mark.parametrize("family", FAMILIES)
def test_opcode_mix(sample_data, real_data, family):
    """Total variation distance of the mean mixes, and every group that makes up 1 % of the real nodes within 5 times.

    Off by more: real kernels have reshapes and bitcasts that the simplified programs lack, and the two real
    language models hardly convert types.
    """
    ours, real = (_mix(data, FAMILIES[family]) for data in (sample_data, real_data))
    assert sum(abs(ours[group] - real[group]) for group in real) / 2 < DISTANCE[family]
    off = {group for group, share in real.items() if share > 0.01 and not 1 / 5 < ours[group] / share < 5}
    assert off == KNOWN_OFF.get(family, set())


def _answered(data, collection):
    """The test graphs with their runtimes."""
    answers = pl.read_parquet(data / "answers" / "test.parquet").sort("id", "config")
    for graph in Graphs(data, collection, "test"):
        yield graph, answers.filter(pl.col("id") == graph.id)["runtime"].to_numpy()


@pytest.mark.parametrize("collection", ["tile:xla", *LAYOUTS])
def test_no_single_column_is_enough(sample_data, tmp_path, collection):
    """Mean tau on valid and test: no column that the gbdt is given reaches 95 % of the gbdt's.

    Of the columns it is not given, one does on layout:nlp:random (``python -m kit.bench.columns`` prints them).
    """
    train, valid = (Graphs(sample_data, collection, split) for split in ("train", "valid"))
    judged = [(g, g.config_runtime) for g in valid] + list(_answered(sample_data, collection))
    ranker = resolve("gbdt")()
    ranker.fit(train, valid, seed=0, minutes=None, steps=None, folder=tmp_path, threads=1)
    learnt = np.mean([kendall_tau(ranker.scores(g), r) for g, r in judged])
    module = tile if collection.startswith("tile") else layout
    tables = [(module.table(g), r) for g, r in judged]
    for column in module.columns("physical"):
        taus = [kendall_tau(t[column].to_numpy(), r) if np.ptp(t[column].to_numpy()) else 0.0 for t, r in tables]
        assert abs(np.mean(taus)) < 0.95 * learnt, column


def test_figure_has_a_panel_for_every_number(sample_data):
    rows = statistics.collect(sample_data, "layout:nlp:random", ("valid",))
    assert len(statistics.compare(rows, rows[:1], ("nodes", "clusters")).axes) == 2
