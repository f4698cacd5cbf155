"""The inspect verb on each kind of thing, and on none."""

import numpy as np
import pytest

from evaluation.errors import InputError
from kit.inspect import histogram, inspect
from kit.runs import train
from tests.builders import layout_arrays, save, save_data_set, tile_arrays


def test_a_data_set(tmp_path):
    text = inspect(save_data_set(tmp_path / "mine"))
    table = [line.split() for line in text.splitlines() if line.startswith(("tile", "layout"))]
    lines = {(name, split): rest for name, split, *rest in table}
    assert text.startswith("mine, root")
    assert lines["tile:xla", "train"] == ["3", "18", "12", "6"]
    assert lines["layout:xla:default", "test"] == ["1", "5", "6", "5"]
    assert lines["layout:nlp:random", "valid"] == ["0", "0", "0", "0"]


def test_a_tile_kernel(tmp_path):
    arrays = tile_arrays(configs=6)
    arrays["config_feat"][5] = arrays["config_feat"][4]
    text = inspect(save(tmp_path / "npz/tile/xla/valid/fusion.1.npz", arrays))
    assert "tile:xla:fusion.1: tile kernel" in text
    assert "configurations 6, of them 5 distinct" in text
    assert "opcodes parameter 4" in text
    assert f"runtime {arrays['config_runtime'].min():,} to" in text


def test_a_withheld_layout_graph(tmp_path):
    text = inspect(save(tmp_path / "a.npz", {**layout_arrays(), "config_runtime": np.zeros(5, np.int64)}))
    assert "configurable nodes 2" in text
    assert "runtimes withheld" in text


def test_a_run(tmp_path):
    train("tests.fake_ranker:SumRanker", save_data_set(tmp_path / "mine"), tmp_path / "run", report=lambda line: None)
    text = inspect(tmp_path / "run")
    assert "run of tests.fake_ranker:SumRanker, trained on mine" in text
    assert "layout:nlp:random: skipped: no training files" in text


def test_nothing(tmp_path):
    with pytest.raises(InputError, match="no data set below it"):
        inspect(tmp_path)
    with pytest.raises(InputError, match="there is no such file or folder"):
        inspect(tmp_path / "none")
    (tmp_path / "submission.csv").write_text("ID,TopConfigs\n", encoding="utf-8")
    with pytest.raises(InputError, match="a file of another kind; give a data set's folder"):
        inspect(tmp_path / "submission.csv")


def test_a_histogram_by_hand():
    assert histogram([1, 1, 1, 1, 10], width=2, height=1) == ["█▂", "1 10"]
    assert histogram([5, 5], width=4, height=2)[-1].startswith("5")
