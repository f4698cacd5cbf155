"""Training and prediction from a store: the same scores as from the files, within the memory that was allowed."""

import numpy as np
import polars as pl
import pytest

from evaluation.errors import InputError
from kit.features import store
from kit.features.store.build import build
from kit.models import examples, tables
from kit.predict import predict
from kit.runs import train
from tests.builders import save_data_set


def quiet(line):
    """Where reports go."""


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.delenv(store.VARIABLE, raising=False)
    store._checked.cache_clear()
    return save_data_set(tmp_path / "data", layouts=("layout:xla:default",), train=4)


def scores(model, data, folder, **options):
    """Scores of the test split by a run of two steps."""
    train(model, data, folder / "run", steps=2, report=quiet, **options)
    predict(folder / "run", data, "test", folder / "entry", report=quiet)
    return pl.read_parquet(folder / "entry" / "scores.parquet")


@pytest.mark.parametrize(("model", "options"), [
    ("gbdt", {}), ("gbdt", {"rows": 3, "objective": "lambdarank"}), ("gbdt", {"objective": "pairwise"}),
    ("gbdt", {"features": "wide"}), ("gru", {"width": 8}), ("sage", {"width": 8}), ("heuristic", {}), ("analytic", {})])
def test_scores_are_equal_with_and_without_a_store(model, options, data, tmp_path):
    options = options if "rows" in options or model in ("heuristic", "analytic") else {"rows": 4, **options}
    plain = scores(model, data, tmp_path / "plain", **options)
    build(data, report=quiet)
    stored = scores(model, data, tmp_path / "stored", **options)
    again = scores(model, data, tmp_path / "again", **options)  # from what the first run kept
    assert len(plain) == 11
    assert plain.equals(stored)
    assert plain.equals(again)


def test_a_limit_makes_a_store_and_reaches_the_ranker(data, tmp_path, monkeypatch):
    found = []
    monkeypatch.setattr(tables, "rows_within", lambda memory, *rest: found.append(memory) or rest[-1])
    monkeypatch.setattr("kit.models.gbdt.rows_within", tables.rows_within)
    train("gbdt", data, tmp_path / "run", steps=1, memory=8_000_000_000, report=quiet)
    assert store.find(data) is not None
    assert found == [8_000_000_000] * 2


def test_rankers_that_know_no_limit_train_all_the_same(data, tmp_path):
    train("heuristic", data, tmp_path / "run", memory=8_000_000_000, report=quiet)
    assert store.find(data) is not None


def test_rows_are_fewer_where_memory_is_tight():
    allowed = tables.RESERVED + 10 * 500 * (6 + tables.BYTES_OF_A_ROW)
    assert tables.rows_within(allowed, range(10), 6, 10_000) == 500
    assert tables.rows_within(None, range(10), 6, 10_000) == 10_000
    assert tables.rows_within(10**12, range(10), 6, 10_000) == 10_000
    with pytest.raises(InputError, match=r"too little for \d+ graphs; allow --max-memory \d+\.\dGB"):
        tables.rows_within(10**9, range(10), 6, 10_000)


def test_encodings_beyond_the_limit_are_dropped_and_read_again(data):
    from kit.graphs import Graphs

    build(data, report=quiet)
    graphs = Graphs(data, "layout:xla:default", "train")
    free = examples.examples(graphs, 100, 0)
    size = examples._bytes_of(free[0])
    tight = examples.examples(graphs, 100, 0, memory=int(2.5 * size / examples.SHARE))
    for index in (0, 1, 2, 3, 0, 2):
        assert (tight[index].runtime == free[index].runtime).all()
        assert tight.size <= tight.most
        assert len(tight.kept) <= 2
    assert len(free.kept) == 4


def test_a_step_reads_only_the_rows_that_it_draws(data):
    from kit.graphs import Graphs

    build(data, report=quiet)
    example = examples.examples(Graphs(data, "layout:xla:default", "train"), 100, 0)[0]
    codes = example.graph.configs.packed.codes
    assert isinstance(codes, np.memmap)
    assert len(example.graph.rows([1, 0]).configs) == 2
