"""A contest from start to end: entrants cannot see the answers, and their folders are scored."""

import shutil

import numpy as np
import pytest

from evaluation.contest import held_back, new
from evaluation.errors import InputError
from evaluation.truth import read_runtimes
from tests.builders import save, tile_arrays


@pytest.fixture
def source(tmp_path):
    """Two labelled tile kernels in train and in valid, a withheld one in test."""
    root = tmp_path / "source" / "npz" / "tile" / "xla"
    for split in ("train", "valid"):
        for seed in range(2):
            save(root / split / f"k{seed}.npz", tile_arrays(seed=seed))
    blank = tile_arrays()
    blank["config_runtime"], blank["config_runtime_normalizers"] = np.zeros(6, np.int64), np.ones(6, np.int64)
    save(root / "test" / "k9.npz", blank)
    return tmp_path / "source"


def test_a_class_exercise_from_start_to_end(source, tmp_path, run_module):
    folder = tmp_path / "exercise"
    said = run_module("evaluation", "contest", "new", folder, "--from", source, check=0).stdout
    assert "the runtimes of 2 graphs (valid)" in said
    blank = folder / "entrants/npz/tile/xla/test"
    assert sorted(file.name for file in blank.iterdir()) == ["k0.npz", "k1.npz"]
    assert not read_runtimes(blank / "k0.npz").runtime.any() and read_runtimes(blank / "k0.npz").normalizer.all()
    assert not (folder / "entrants/npz/tile/xla/valid").exists()
    with np.load(blank / "k0.npz") as handed, np.load(source / "npz/tile/xla/valid/k0.npz") as original:
        assert handed.files == original.files and np.array_equal(handed["config_feat"], original["config_feat"])
    shutil.copytree(folder / "entrants/template", folder / "entries/anna")
    common = ("--data", folder / "entrants", "--split", "test")
    run_module("evaluation", "check", folder / "entries/anna/submission.csv", *common, "--strict", check=0)
    board = run_module("evaluation", "leaderboard", *common, "--answers", folder / "answers.parquet",
                       "--submissions", folder / "entries", check=0).stdout
    assert "exercise contest, runtime track, split test" in board and "template (folder anna)" in board
    forgotten = run_module("evaluation", "leaderboard", *common, "--submissions", folder / "entries", check=1)
    assert "--answers FILE" in forgotten.stderr
    for readme in ("README.md", "entrants/README.md"):
        text = (folder / readme).read_text(encoding="utf-8")
        assert "exercise" in text and "{" not in text


def test_no_runtime_of_the_held_split_is_handed_out(source, tmp_path):
    new(tmp_path / "exercise", source)
    held = read_runtimes(source / "npz/tile/xla/valid/k0.npz").runtime
    for file in (tmp_path / "exercise/entrants").rglob("*"):
        if file.suffix == ".npz" and "train" not in file.parts:
            with np.load(file) as arrays:
                assert all(not np.isin(held, arrays[name]).any() for name in arrays.files)


def test_test_is_held_back_where_its_runtimes_are_known(source):
    save(source / "npz/tile/xla/test/k9.npz", tile_arrays(seed=3))
    assert held_back(source)[0] == "test"


def test_nothing_to_hold_back(source, tmp_path):
    shutil.rmtree(source / "npz/tile/xla/valid")
    with pytest.raises(InputError, match="neither test nor valid has runtimes"):
        new(tmp_path / "exercise", source)
    assert not (tmp_path / "exercise").exists()


def test_a_folder_in_use_is_left_alone(source, tmp_path):
    (tmp_path / "exercise").mkdir()
    (tmp_path / "exercise/notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="is there already"):
        new(tmp_path / "exercise", source)
    assert (tmp_path / "exercise/notes.txt").read_text(encoding="utf-8") == "mine"
