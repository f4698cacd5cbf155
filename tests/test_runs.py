"""Training runs, prediction with stand-ins, blending: with a ranker whose scores are known."""

import json

import numpy as np
import polars as pl
import pytest

from evaluation.errors import InputError
from kit import submission
from kit.models import ranker as rankers
from kit.predict import blend, predict, stand_in
from kit.runs import train
from tests.builders import layout_arrays, save, save_data_set

FAKE = "tests.fake_ranker:SumRanker"


@pytest.fixture
def data(tmp_path):
    return save_data_set(tmp_path / "data", layouts=("layout:xla:default", "layout:nlp:random"))


def quiet(_):
    """Say nothing."""


def fit(data, run, model=FAKE, **settings):
    return train(model, data, run, report=quiet, **settings)


def test_a_run_holds_a_ranker_for_each_collection_with_labels(data, tmp_path):
    lines = []
    train(FAKE, data, tmp_path / "run", seed=3, steps=7, report=lines.append)
    record = rankers.read_run(tmp_path / "run")
    assert list(record["collections"]) == ["tile:xla", "layout:xla:default", "layout:nlp:random"]
    assert record["skipped"] == {"layout:xla:random": "no training files", "layout:nlp:default": "no training files"}
    assert any("layout:nlp:default: skipped: no training files" in line for line in lines)
    seen = rankers.load(tmp_path / "run", "layout:xla:default").rankers[0].seen
    assert seen["train"] == [f"layout:xla:default:graph.train.{i}" for i in range(3)]
    assert seen["valid"] == ["layout:xla:default:graph.valid.0"]
    assert (seen["seed"], seen["steps"]) == (3, 7)


def test_skips_what_holds_only_noise(tmp_path):
    arrays = layout_arrays()
    arrays["node_config_feat"][:] = arrays["node_config_feat"][1]
    save(tmp_path / "data/npz/layout/xla/random/train/a.npz", arrays)
    record = fit(tmp_path / "data", tmp_path / "run")
    assert "only copies of one configuration" in record["skipped"]["layout:xla:random"]


def test_folds_are_by_graph_and_cover_each_once(data, tmp_path):
    fit(data, tmp_path / "run", folds=4, fit="train+valid", collections=["tile:xla"])
    members = rankers.load(tmp_path / "run", "tile:xla").rankers
    held_out = sorted(id for m in members for id in m.seen["valid"])
    assert held_out == sorted([f"tile:xla:graph.train.{i}" for i in range(3)] + ["tile:xla:graph.valid.0"])
    for member in members:
        assert not set(member.seen["train"]) & set(member.seen["valid"])
        assert len(member.seen["train"]) == 3


def test_train_and_valid_together_hold_nothing_out(data, tmp_path):
    fit(data, tmp_path / "run", fit="train+valid", collections=["tile:xla"])
    seen = rankers.load(tmp_path / "run", "tile:xla").rankers[0].seen
    assert (len(seen["train"]), seen["valid"]) == (4, [])


def test_several_seeds_share_the_minutes(data, tmp_path):
    fit(data, tmp_path / "run", seeds=2, seed=5, minutes=4.0, collections=["tile:xla"])
    members = rankers.load(tmp_path / "run", "tile:xla").rankers
    assert [(m.seen["seed"], m.seen["minutes"]) for m in members] == [(5, 2.0), (6, 2.0)]


def test_more_folds_than_graphs(data, tmp_path):
    with pytest.raises(InputError, match="use at most --folds 3"):
        fit(data, tmp_path / "run", folds=4)


@pytest.mark.parametrize(("wanted", "trained", "expected"), [
    ("layout:nlp:default", ["layout:nlp:default", "layout:nlp:random"], "layout:nlp:default"),
    ("layout:nlp:default", ["layout:nlp:random", "layout:xla:default"], "layout:nlp:random"),
    ("layout:nlp:default", ["tile:xla", "layout:xla:random"], "layout:xla:random"),
    ("layout:nlp:default", ["tile:xla"], None),
    ("tile:xla", ["layout:xla:default"], None),
])
def test_stand_ins(wanted, trained, expected):
    assert stand_in(wanted, trained) == expected


def test_an_entry_ranks_every_graph_by_its_scores(data, tmp_path):
    fit(data, tmp_path / "run", collections=["tile:xla", "layout:xla:default"])
    card = predict(tmp_path / "run", data, "test", tmp_path / "entries/a", report=quiet)
    assert card["fallbacks"] == {"layout:nlp:random": "layout:xla:default"}
    lines = (tmp_path / "entries/a/submission.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "ID,TopConfigs"
    assert lines[-1] == f"tile:xla:{2:031x}0,0;1;2;3;4;5"  # the sums grow with the index
    assert lines[1:] == sorted(lines[1:])
    assert len(lines) == 4
    scores = pl.read_parquet(tmp_path / "entries/a/scores.parquet")
    assert scores.columns == ["id", "config", "score"]
    assert len(scores) == 6 + 5 + 5
    assert submission.sha256(tmp_path / "entries/a/submission.csv") == card["sha256"]


def test_a_card_holds_what_the_contract_says(data, tmp_path):
    fit(data, tmp_path / "run")
    predict(tmp_path / "run", data, "valid", tmp_path / "entries/a", report=quiet)
    card = json.loads((tmp_path / "entries/a/card.json").read_text(encoding="utf-8"))
    assert set(card) == {"entry", "track", "dataset", "split", "model", "parameters", "seed", "sha256", "versions",
                         "commit", "train_seconds", "predict_seconds", "fallbacks", "command", "created"}
    assert set(card["dataset"]) == {"name", "simulated", "fingerprint"}
    assert (card["entry"], card["track"], card["split"], card["model"]) == ("a", "runtime", "valid", FAKE)


def test_ties_are_ranked_by_index():
    np.testing.assert_array_equal(submission.rank([1.0, 0.5, 1.0, 0.5], "g"), [1, 3, 0, 2])


def test_scores_that_are_no_numbers_are_refused(data, tmp_path):
    fit(data, tmp_path / "run", model="tests.fake_ranker:Wordy", collections=["tile:xla"])
    with pytest.raises(InputError, match="scores are not numbers"):
        predict(tmp_path / "run", data, "valid", tmp_path / "entries/a", report=quiet)


def test_a_ranker_that_cannot_be_read_again_is_known_before_the_next_one_is_trained(data, tmp_path):
    with pytest.raises(FileNotFoundError, match="tile-xla"):
        fit(data, tmp_path / "run", model="tests.fake_ranker:Careless")
    assert not list((tmp_path / "run").rglob("fitted.json"))


def test_scores_that_are_not_finite_are_refused(data, tmp_path):
    fit(data, tmp_path / "run", model="tests.fake_ranker:NotFinite", collections=["tile:xla"])
    with pytest.raises(InputError, match="1 scores that are not finite"):
        predict(tmp_path / "run", data, "valid", tmp_path / "entries/a", report=quiet)
    assert not (tmp_path / "entries").exists()


@pytest.fixture
def entry(data, tmp_path):
    fit(data, tmp_path / "run")
    predict(tmp_path / "run", data, "valid", tmp_path / "entries/a", report=quiet)
    return tmp_path / "entries/a"


def test_its_own_entry_is_replaced(data, tmp_path, entry):
    predict(tmp_path / "run", data, "valid", entry, report=quiet)
    assert sorted(p.name for p in entry.iterdir()) == ["card.json", "scores.parquet", "submission.csv"]
    assert [p.name for p in entry.parent.iterdir()] == ["a"]


@pytest.mark.parametrize("change", ["edited", "no card", "foreign"])
def test_an_entry_it_did_not_make_is_kept(data, tmp_path, entry, change):
    if change == "edited":
        with open(entry / "submission.csv", "a", encoding="utf-8") as file:
            file.write("tile:xla:x,0\n")
    elif change == "no card":
        (entry / "card.json").unlink()
    else:
        for file in entry.iterdir():
            file.unlink()
        (entry / "notes.txt").write_text("mine", encoding="utf-8")
    before = {p.name: p.read_bytes() for p in entry.iterdir()}
    with pytest.raises(InputError, match="--force"):
        predict(tmp_path / "run", data, "valid", entry, report=quiet)
    assert {p.name: p.read_bytes() for p in entry.iterdir()} == before
    predict(tmp_path / "run", data, "valid", entry, force=True, report=quiet)
    assert (entry / "card.json").exists()


def test_an_invalid_submission_is_not_written(tmp_path, data):
    from evaluation import dataset

    card = submission.card("a", "runtime", dataset.describe(data), "valid", "by hand")
    with pytest.raises(InputError, match="unknown_collection"):
        submission.write_entry(tmp_path / "entries/a", [("mystery:x", [0, 1])], card)
    assert not list((tmp_path / "entries").iterdir())


def test_a_run_that_is_none_is_named(tmp_path, data):
    (tmp_path / "run").mkdir()
    with pytest.raises(InputError, match="no run.json in it"):
        predict(tmp_path / "run", data, "valid", tmp_path / "a", report=quiet)
    (tmp_path / "run/run.json").write_text("[1", encoding="utf-8")
    with pytest.raises(InputError, match="not the record of a run"):
        rankers.read_run(tmp_path / "run")


def test_a_folder_of_something_else_is_not_emptied(tmp_path, data):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis/chapter1.tex").write_text("long work", encoding="utf-8")
    with pytest.raises(InputError, match="holds something that is no run"):
        fit(data, tmp_path / "thesis")
    assert (tmp_path / "thesis/chapter1.tex").exists()


@pytest.mark.parametrize(("model", "message"), [
    ("grbm", "unknown model 'grbm': use one of heuristic"),
    ("no_such_module:X", "No module named 'no_such_module'"),
    ("tests.fake_ranker:Nothing", "has no class Nothing"),
    (":SumRanker", "unknown model ':SumRanker': use one of heuristic"),
    ("tests.fake_ranker:", "unknown model 'tests.fake_ranker:'"),
    ("fake_ranker.py:SumRanker", "without .py: fake_ranker:SumRanker"),
    ("tests.fake_ranker:Forgetful", "has no save, load; a ranker is a class with the methods fit, scores, save, load"),
    ("tests.fake_ranker:OldFashioned", "its fit does not take seed, minutes, steps, folder, threads; begin it with"),
])
def test_a_model_that_is_not_there(data, tmp_path, model, message):
    with pytest.raises(InputError, match=message):
        fit(data, tmp_path / "run", model=model)


@pytest.mark.parametrize(("text", "error", "message"), [
    ("import no_such_library", InputError, "module broken_ranker imports it: install it"),
    ("import numpy\nnumpy.no_such_name", AttributeError, "no_such_name"),
])
def test_a_module_that_fails_while_it_is_imported(tmp_path, monkeypatch, text, error, message):
    (tmp_path / "broken_ranker.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(error, match=message):
        rankers.resolve("broken_ranker:Any")


def test_blending_averages_min_max_scaled_scores(data, tmp_path):
    fit(data, tmp_path / "up", collections=["tile:xla"])
    fit(data, tmp_path / "down", collections=["tile:xla"], sign=-3)
    for name in ("up", "down"):
        predict(tmp_path / name, data, "valid", tmp_path / "entries" / name, report=quiet)
    card = blend([tmp_path / "entries/up", tmp_path / "entries/down", tmp_path / "entries/down"],
                 tmp_path / "entries/both")
    scores = pl.read_parquet(tmp_path / "entries/both/scores.parquet").filter(pl.col("id").str.starts_with("tile"))
    np.testing.assert_allclose(scores["score"], np.linspace(2 / 3, 1 / 3, 6))
    assert card["parameters"]["entries"] == ["up", "down", "down"]


def test_blending_refuses_other_splits(data, tmp_path, entry):
    predict(tmp_path / "run", data, "test", tmp_path / "entries/b", report=quiet)
    with pytest.raises(InputError, match="not of one data set and split"):
        blend([entry, tmp_path / "entries/b"], tmp_path / "entries/c")


def test_constant_scores_scale_to_zero():
    np.testing.assert_array_equal(rankers.min_max([3.0, 3.0]), [0, 0])


def test_a_ranker_that_learns_nothing_needs_no_labels(data, tmp_path):
    record = fit(data, tmp_path / "run", model="heuristic")
    assert not record["skipped"]
    assert len(record["collections"]) == 5
