"""Scores of a data set small enough to work out by hand, and the commands on it."""

import json

import numpy as np
import polars as pl
import pytest

from evaluation import statistics
from evaluation.dataset import describe, label
from evaluation.errors import InputError
from evaluation.scoring import score_submission
from evaluation.tracks import TRACKS, Options, read_submission
from evaluation.truth import load_truth
from tests.evaluation.conftest import write_graph


def scored(path, data, options=None):
    truth = TRACKS["runtime"].load(data, "valid", None, options or Options())
    return score_submission(read_submission(path, truth), truth, "valid")


def rows_of(result):
    return {row["id"]: row for row in result["rows"]}


def test_a_perfect_submission(tiny, submission, perfect):
    result = scored(submission(perfect), tiny)
    assert result["score"] == pytest.approx(2 / 5) and result["score_present"] == pytest.approx(1.0)
    assert result["groups"]["tile:xla"]["score"] == 1.0 and result["groups"]["tile:xla"]["graphs"] == 2
    assert result["warnings"] == []
    assert set(rows_of(result)["tile:xla:a"]) >= {"score", "kendall_tau", "ordered_pair_accuracy", "top1_error",
                                                  "top5_error", "top10_error"}
    assert "top100_error" in rows_of(result)["layout:xla:default:g"]


def test_figures_by_hand(tiny, submission, perfect):
    perfect["tile:xla:a"] = [0, 1]                    # best listed 100, best 50
    perfect["layout:xla:default:g"] = [0, 1, 2, 3]    # reversed
    perfect["layout:xla:default:h"] = [0, 2, 1]       # one of three pairs wrong
    result = scored(submission(perfect), tiny)
    rows = rows_of(result)
    assert rows["tile:xla:a"]["score"] == 0.0 and rows["tile:xla:a"]["top1_error"] == 1.0
    assert rows["layout:xla:default:g"]["score"] == -1.0 and rows["layout:xla:default:g"]["top1_error"] == 3.0
    assert rows["layout:xla:default:h"]["score"] == pytest.approx(1 / 3)
    assert rows["layout:xla:default:h"]["ordered_pair_accuracy"] == pytest.approx(2 / 3)
    assert result["groups"]["layout:xla:default"]["score"] == pytest.approx((-1 + 1 / 3) / 2)
    assert result["score"] == pytest.approx((0.5 + (-1 + 1 / 3) / 2) / 5)
    assert result["score_present"] == pytest.approx((0.5 + (-1 + 1 / 3) / 2) / 2)
    assert result["low"] <= result["score"] <= result["high"]


def test_a_missing_graph_scores_zero(tiny, submission, perfect):
    del perfect["layout:xla:default:g"]
    result = scored(submission(perfect), tiny)
    assert rows_of(result)["layout:xla:default:g"]["score"] == 0.0
    assert result["groups"]["layout:xla:default"]["score"] == 0.5
    assert result["groups"]["layout:xla:default"]["missing"] == 1
    assert result["warnings"][0].startswith("missing_id: (layout:xla:default:g): 1 of the graphs")


@pytest.mark.parametrize("id, runtime, score, why", [
    ("tile:xla:one", [7], 1.0, "one configuration"),
    ("layout:xla:default:one", [7], 0.0, "one configuration"),
    ("layout:xla:default:equal", [7, 7, 7], 0.0, "all runtimes are equal"),
])
def test_degenerate_graphs_have_a_defined_score_and_a_warning(tiny, submission, perfect, id, runtime, score, why):
    write_graph(tiny, id, "valid", runtime)
    result = scored(submission({**perfect, id: range(len(runtime))}), tiny)
    assert rows_of(result)[id]["score"] == score and rows_of(result)[id]["kendall_tau"] == 0.0
    assert len(result["warnings"]) == 1
    assert result["warnings"][0].startswith(f"degenerate: row 6 ({id}): {why}")


def test_a_row_that_tells_nothing_apart_is_degenerate(tiny, submission, perfect):
    perfect["layout:xla:default:h"] = [8, 9]
    result = scored(submission(perfect), tiny)
    assert rows_of(result)["layout:xla:default:h"]["score"] == 0.0
    assert any("tells no two configurations apart" in line for line in result["warnings"])


def test_tolerant_warnings_against_the_data(tiny, submission, perfect):
    perfect |= {"tile:xla:b.v2": [0, 1, 2, 3, 4], "layout:xla:default:g": [3, 2, 1], "tile:xla:new": [0],
                "tile:xla:newer": [0]}
    read = read_submission(submission(perfect), load_truth(tiny, "valid"))
    assert read.problems.warnings() == [
        "index_out_of_range: row 3 (tile:xla:b.v2): index 4 is impossible, there are 2 configurations, 0 to 1; "
        "list only configurations that exist",
        "incomplete_list: row 4 (layout:xla:default:g): lists 3 of 4 configurations; list every configuration",
        "unknown_id: 2 IDs have no file in this split, the first in row 6 (tile:xla:new); leave them out, or give the "
        "--data and --split they belong to; they do not count"]
    assert len(read.problems.refusals(strict=True)) == 3


def test_the_name_of_a_data_set_is_told_without_looking_at_its_files(tiny):
    before = sorted(tiny.rglob("*"))
    damaged = next(file for file in before if file.suffix == ".npz")
    damaged.write_bytes(b"no archive")
    assert label(tiny) == tiny.name
    assert sorted(tiny.rglob("*")) == before


def test_a_row_that_cannot_be_read_is_not_called_missing(tiny, submission):
    read = read_submission(submission("ID,TopConfigs\ntile:xla:a,1.5\n"), load_truth(tiny, "valid"))
    assert "have no row that can be read, the first tile:xla:a;" in read.problems.warnings()[0]


def test_five_tiles_are_enough_and_four_are_not(tiny, submission, perfect):
    truth = load_truth(tiny, "valid")
    assert read_submission(submission(perfect), truth).problems.refusals(strict=True) == []
    perfect["tile:xla:a"] = [0, 1, 2, 3]
    refusals = read_submission(submission(perfect), truth).problems.refusals(strict=True)
    assert refusals == ["incomplete_list: row 2 (tile:xla:a): lists 4 of 6 configurations; list at least five"]


def test_raw_and_normalized_tile_runtimes(tmp_path, submission):
    write_graph(tmp_path, "tile:xla:a", "valid", [100, 110], [50, 100])   # normalized 2.0 and 1.1
    path = submission({"tile:xla:a": [0]})
    assert rows_of(scored(path, tmp_path))["tile:xla:a"]["score"] == pytest.approx(2 - 2.0 / 1.1)
    assert rows_of(scored(path, tmp_path, Options(tile_target="raw")))["tile:xla:a"]["score"] == 1.0


def test_eval_indices_choose_the_configurations_that_count(tiny, submission, perfect, tmp_path):
    folder = tmp_path / "indices"
    folder.mkdir()
    (folder / "xla_default.json").write_text(json.dumps({"h": [0, 0, 2, 2]}), encoding="utf-8")
    perfect["layout:xla:default:h"] = [1, 0, 2]     # wrong only about configuration 1, which does not count
    rows = rows_of(scored(submission(perfect), tiny, Options(eval_indices=str(folder))))
    assert rows["layout:xla:default:h"]["score"] == pytest.approx(1.0)
    assert rows["layout:xla:default:g"]["score"] == 1.0  # not among the indices: judged on all of them
    (folder / "xla_default.json").write_text(json.dumps({"h": [3]}), encoding="utf-8")
    with pytest.raises(InputError, match="index 3 of layout:xla:default:h, which has 3 configurations"):
        scored(submission(perfect), tiny, Options(eval_indices=str(folder)))
    with pytest.raises(InputError, match="no evaluation indices"):
        scored(submission(perfect), tiny, Options(eval_indices=str(tiny)))


def answers(path, rows):
    pl.DataFrame(rows, schema=["id", "config", "runtime", "normalizer"], orient="row").write_parquet(path)
    return path


def test_answers_give_the_same_as_the_files(tiny, submission, perfect, tmp_path, run_module):
    truth = load_truth(tiny, "valid")
    rows = [(id, c, int(r), int(n)) for id in reversed(truth.ids)
            for c, (r, n) in enumerate(zip(truth.runtimes(id).runtime, truth.runtimes(id).normalizer, strict=True))]
    file = answers(tmp_path / "answers.parquet", rows[::-1])
    perfect["layout:xla:default:h"] = [0, 2, 1]
    path = submission(perfect)
    done = run_module("evaluation", "score", path, "--answers", file, "--json", check=0)
    expected = scored(path, tiny)
    assert json.loads(done.stdout) == {**expected, "split": "answers"}


@pytest.mark.parametrize("rows, message", [
    ([("tile:xla:a", 0, 1, 1), ("tile:xla:a", 2, 1, 1)], "column 'config' of tile:xla:a: every graph needs 0, 1, 2"),
    ([("tile:xla:a", 0, 0, 1)], "column 'runtime' of tile:xla:a: answers must be positive"),
    ([("tile:abc:a", 0, 1, 1)], "is no ID of the runtime track"),
])
def test_bad_answers_are_refused(tmp_path, rows, message):
    with pytest.raises(InputError, match=message):
        load_truth(None, "test", answers(tmp_path / "answers.parquet", rows))


def test_answers_that_are_no_parquet_are_refused(tmp_path):
    (tmp_path / "answers.csv").write_text("id,config\n", encoding="utf-8")
    with pytest.raises(InputError, match="not a Parquet table with the columns id, config"):
        load_truth(None, "test", tmp_path / "answers.csv")


@pytest.mark.parametrize("runtime, message", [([0, 0], "are withheld"), ([0, 5], "must be positive")])
def test_withheld_and_impossible_runtimes_are_refused(tmp_path, submission, runtime, message):
    write_graph(tmp_path, "tile:xla:a", "valid", runtime)
    with pytest.raises(InputError, match=message):
        scored(submission({"tile:xla:a": [0]}), tmp_path)


@pytest.mark.parametrize("members, message", [
    (None, "runtimes cannot be read"),
    ({"config_runtime": np.array([1, 2])}, "config_runtime_normalizers"),
    ({"config_runtime": np.array([1, 2]), "config_runtime_normalizers": np.array([1])}, "2 runtimes, 1 normalizers"),
    ({"config_runtime": np.array([1.5]), "config_runtime_normalizers": np.array([1])}, "Cannot cast"),
    ({"config_runtime": np.array([{}], dtype=object), "config_runtime_normalizers": np.array([1])}, "allow_pickle"),
])
def test_unreadable_npz_files_are_refused(tmp_path, members, message):
    write_graph(tmp_path, "tile:xla:a", "valid", [1, 2])
    file = tmp_path / "npz/tile/xla/valid/a.npz"
    if members is None:
        file.write_bytes(file.read_bytes()[:100])
    else:
        np.savez(file, **members)
    with pytest.raises(InputError, match=message):
        load_truth(tmp_path, "valid").runtimes("tile:xla:a")


def test_unusual_headers_of_members_are_read_too(tmp_path):
    file = tmp_path / "npz/tile/xla/valid/a.npz"
    file.parent.mkdir(parents=True)
    np.savez(file, config_runtime=np.array([[3, 4]], dtype=np.int32),
             config_runtime_normalizers=np.asfortranarray(np.array([[1], [2]])))
    found = load_truth(tmp_path, "valid").runtimes("tile:xla:a")
    assert found.runtime.tolist() == [3, 4] and found.normalized.tolist() == [3.0, 2.0]


def test_the_fingerprint_follows_the_runtimes(tiny):
    before = load_truth(tiny, "valid").fingerprint
    assert load_truth(tiny, "valid").fingerprint == before
    write_graph(tiny, "layout:xla:default:h", "valid", [1, 2, 4])
    assert load_truth(tiny, "valid").fingerprint != before


def test_bootstrap_of_two_values_by_hand():
    groups = [np.array([[0.0, 1.0]])]
    means, overall = statistics.resample(groups, statistics.Average(groups=1), rounds=20_000, seed=1)
    values, counts = np.unique(means[0, :, 0], return_counts=True)
    assert values.tolist() == [0.0, 0.5, 1.0]
    assert np.allclose(counts / 20_000, [0.25, 0.5, 0.25], atol=0.02)
    assert np.array_equal(means[0], overall)


def test_averages_by_hand():
    groups = [np.array([[1.0, 0.5]]), np.array([[0.2]])]
    means, overall = statistics.group_means(groups, statistics.Average(groups=5))
    assert means[:, 0].tolist() == [0.75, 0.2] and overall[0] == pytest.approx(0.95 / 5)
    groups = [np.array([[1.0, 4.0]]), np.array([[16.0]])]
    means, overall = statistics.group_means(groups, statistics.Average(geometric=True))
    assert means[:, 0].tolist() == [pytest.approx(2.0), pytest.approx(16.0)] and overall[0] == pytest.approx(4.0)


def test_a_geometric_mean_with_a_zero_is_zero():
    groups = [np.array([[0.0, 4.0]])]
    average = statistics.Average(geometric=True)
    assert statistics.group_means(groups, average)[1][0] == 0.0
    drawn = statistics.resample(groups, average, rounds=500)[1][:, 0]
    assert np.unique(drawn) == pytest.approx([0.0, 4.0])


def test_score_command(tiny, submission, perfect, run_module):
    path = submission(perfect)
    done = run_module("evaluation", "score", path, "--data", tiny, check=0)
    assert "tile:xla" in done.stdout and "score 0.4000" in done.stdout
    assert done.stdout.startswith(f"data set: {describe(tiny).label}\n")
    result = json.loads(run_module("evaluation", "score", path, "--data", tiny, "--json", check=0).stdout)
    assert list(result) == ["track", "score", "score_present", "low", "high", "split", "groups", "rows", "warnings"]


def test_commands_refuse_with_a_message_and_status_one(tiny, submission, run_module):
    bad = submission("ID,TopConfigs\ntile:xla:a,1.5\n")
    done = run_module("evaluation", "score", bad, "--data", tiny, check=1)
    assert "float_index: row 2 (tile:xla:a): entry 1 is '1.5'" in done.stderr and "Traceback" not in done.stderr
    done = run_module("evaluation", "check", bad, check=1)
    assert "refused (tolerant)" in done.stdout and "float_index: row 2" in done.stdout
    done = run_module("evaluation", "score", bad, check=1)
    assert "add --data DIR" in done.stderr
    run_module("evaluation", "score", check=2)


@pytest.mark.real
def test_the_real_sample_submission(real_data, run_module):
    file = real_data / "sample_submission.csv"
    assert "accepted (tolerant): runtime track, 894 rows" in run_module("evaluation", "check", file, check=0).stdout
    compare = ("evaluation", "check", file, "--data", real_data, "--split", "test")
    tolerant = run_module(*compare, check=0).stdout
    assert "lists 1,000 of 1,001 configurations" in tolerant
    assert sum("886 IDs have no file" in line for line in tolerant.splitlines()) == 1
    assert "refused (strict)" in run_module(*compare, "--strict", check=1).stdout


@pytest.mark.real
def test_the_real_validation_graphs(real_data, submission):
    from scipy.stats import kendalltau

    truth = load_truth(real_data, "valid")
    best = {id: np.argsort(truth.runtimes(id).normalized, kind="stable") for id in truth.ids}
    result, reverse = (scored(submission(lists), real_data)
                       for lists in (best, {id: row[::-1] for id, row in best.items()}))
    assert result["groups"]["tile:xla"]["score"] == 1.0
    for id in truth.ids:
        if id.startswith("layout"):
            expected = kendalltau(np.argsort(best[id]), truth.runtimes(id).runtime).statistic
            assert rows_of(result)[id]["score"] == pytest.approx(expected, abs=1e-15)
            assert rows_of(reverse)[id]["score"] == pytest.approx(-expected, abs=1e-15)
