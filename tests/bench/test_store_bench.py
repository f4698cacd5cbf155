"""How the store is measured."""

import os
from pathlib import Path

import pytest

from kit.bench import store as bench
from tests.builders import layout_arrays, save


def test_a_pair_leaves_nothing_behind(tmp_path):
    file = save(tmp_path / "a.npz", layout_arrays())
    inflated, packed = bench.pair(file, "layout:xla:default", tmp_path / "store" / "a.npz")
    assert inflated > 0 and packed > 0
    assert [f for f in tmp_path.rglob("*") if f.is_file()] == [file]


def test_the_ratio_is_one_of_sums(monkeypatch, tmp_path):
    """1 + 3 seconds of inflating against 2 + 6 of packing, whichever file took them."""
    seconds = {"a": (1, 6), "b": (3, 2)}
    monkeypatch.setattr(bench, "pair", lambda file, collection, target: seconds[file])
    assert bench.ratio([("a", "x"), ("b", "x")], 1, tmp_path) == (0.5, 4, 8)


def test_the_data_set_that_is_named_is_measured_with_stores_elsewhere(monkeypatch, tmp_path):
    monkeypatch.setenv(bench.VARIABLE, str(tmp_path / "mine"))
    monkeypatch.setenv("KIT_STORE", "before")
    with bench.data_set(tmp_path / "work") as data:
        assert data == Path(tmp_path / "mine")
        assert os.environ["KIT_STORE"] == f"{tmp_path / 'work'}/stores"
    assert os.environ["KIT_STORE"] == "before"


def test_an_environment_without_stores_is_left_so_also_after_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv(bench.VARIABLE, str(tmp_path))
    monkeypatch.delenv("KIT_STORE", raising=False)
    with pytest.raises(OSError, match="broken"), bench.data_set(tmp_path):
        raise OSError("broken")
    assert "KIT_STORE" not in os.environ
