"""The partition track through the same check, score and leaderboard as the runtime track."""

import json

import pytest

from evaluation import dataset
from evaluation.bounds import verify_pair
from evaluation.errors import InputError
from evaluation.instance import dumps
from evaluation.leaderboard import contest, update
from evaluation.scoring import score_submission
from evaluation.tracks import TRACKS, Options, read_submission
from tests.evaluation.test_partition import DIAMOND, make

# chain: 5 + 1 + 5 s of work, transfers of 1 s; the diamond's best split of two is {a, b, c} | {d}
CHAIN = make([[0, 1], [1, 2]], [5.0, 1.0, 5.0], name="chain", k=[2, 3])
DIAMOND_2 = make(*DIAMOND, name="diamond.v2")
RECORD = {"method": "exact", "solver": "by hand", "version": "1", "seconds": 1}
BOUNDS = {"partition:chain:2": {"lower": {"value": 7.0, **RECORD},
                                "best": {"value": 7.0, "stages": "0;0;1", **RECORD}}}
GOOD = {"partition:chain:2": "0;0;1", "partition:chain:3": "0;1;2", "partition:diamond.v2:2": "0;0;0;1"}


@pytest.fixture
def data(tmp_path):
    """A data set of two instances, three pairs, one of them on record."""
    folder = tmp_path / "data" / "instances"
    folder.mkdir(parents=True)
    for instance in (CHAIN, DIAMOND_2):
        (folder / f"{instance.name}.json").write_text(dumps(instance), encoding="utf-8")
    (folder.parent / "bounds.json").write_text(json.dumps(BOUNDS), encoding="utf-8")
    dataset.describe(folder.parent, name="hand-made", simulated=True)
    return folder.parent


def write(path, rows):
    path.write_text("ID,Stages\n" + "".join(f"{id},{stages}\n" for id, stages in rows.items()), encoding="utf-8")
    return path


def score(path, data):
    truth = TRACKS["partition"].load(data, "all", None, Options())
    submission = read_submission(path, truth, "all")
    submission.problems.refuse(path)
    return score_submission(submission, truth, "all")


def test_scores_by_hand(data, tmp_path):
    result = score(write(tmp_path / "s.csv", GOOD), data)
    rows = {row["id"]: row for row in result["rows"]}
    assert rows["partition:chain:2"]["bottleneck"] == 7
    assert rows["partition:chain:2"]["certified_ratio"] == 1
    assert rows["partition:chain:2"]["over_best"] == 0
    assert rows["partition:chain:3"]["bottleneck"] == 6
    assert rows["partition:chain:3"]["lower_bound"] == 5  # nothing on record: the longest node
    assert rows["partition:chain:3"]["over_best"] is None
    assert rows["partition:diamond.v2:2"]["certified_ratio"] == pytest.approx(5 / 8)
    assert list(result["groups"]) == ["2", "3"]
    assert result["groups"]["2"]["score"] == pytest.approx((1 * 5 / 8) ** (1 / 2))
    assert result["score"] == pytest.approx((1 * 5 / 8 * 5 / 6) ** (1 / 3))
    assert result["score_present"] == result["score"]
    assert {"track", "score", "score_present", "low", "high", "split", "groups", "rows", "warnings"} == set(result)


def test_a_missing_pair_scores_zero_and_takes_the_geometric_mean_with_it(data, tmp_path):
    result = score(write(tmp_path / "s.csv", dict(list(GOOD.items())[:2])), data)
    assert result["rows"][1] == {"id": "partition:diamond.v2:2", "score": 0.0, "certified_ratio": 0.0,
                                 "bottleneck": None, "lower_bound": 5.0, "over_best": None, "configs": 0}
    assert result["score"] == 0
    assert result["groups"]["3"]["score"] == pytest.approx(5 / 6)
    json.dumps(result, allow_nan=False)


@pytest.mark.parametrize(("id", "stages", "code"), [
    ("partition:chain:2", "0;1;0", "cyclic_stages: row 2 (partition:chain:2): the stages depend on each other in a "
     "circle: stage 0 -> stage 1 (a -> b), stage 1 -> stage 0 (b -> c)"),
    ("partition:chain:2", "0;1", "wrong_length: row 2 (partition:chain:2): 2 stages for 3 nodes"),
    ("partition:chain:2", "0;0;1;1", "wrong_length"), ("partition:chain:2", "0;0;2", "wrong_stage"),
    ("partition:chain:2", "0;0;-1", "wrong_stage"), ("partition:chain:2", "0;0;x", "row 2"),
    ("partition:chain:0", "0;0;0", "wrong_id"), ("partition:chain", "0;0;0", "wrong_id"),
    ("tile:xla:chain", "0;0;0", "wrong_id")])
def test_what_is_wrong_with_a_row_is_said_with_its_place(data, tmp_path, run_module, id, stages, code):
    path = write(tmp_path / "s.csv", {id: stages})
    done = run_module("evaluation", "check", path, "--data", data, check=1)
    assert code in done.stdout
    run_module("evaluation", "score", path, "--data", data, check=1)


def test_pairs_without_an_instance_are_told_and_do_not_count(data, tmp_path):
    extra = GOOD | {"partition:chain:7": "0;0;0", "partition:nowhere:2": "0"}
    result = score(write(tmp_path / "s.csv", extra), data)
    assert len(result["rows"]) == 3
    assert any("unknown_id: 2 IDs" in line or "2 IDs have no file" in line for line in result["warnings"])


def test_the_command_prints_one_json_object(data, tmp_path, run_module):
    done = run_module("evaluation", "score", write(tmp_path / "s.csv", GOOD), "--data", data, "--json", check=0)
    result = json.loads(done.stdout)
    assert result["track"] == "partition" and result["split"] == "all"
    assert {"certified_ratio", "bottleneck", "lower_bound"} <= set(result["rows"][0])
    assert "partition track, all" in run_module("evaluation", "score", tmp_path / "s.csv", "--data", data).stdout


def entry(folder, name, rows, data):
    (folder / name).mkdir(parents=True)
    write(folder / name / "submission.csv", rows)
    card = {"entry": name, "track": "partition", "dataset": vars(dataset.describe(data)), "split": "all",
            "model": "by hand", "parameters": {}, "seed": 0, "sha256": None, "versions": {}, "commit": None,
            "train_seconds": None, "predict_seconds": 1.0, "fallbacks": {}, "command": None, "created": None}
    (folder / name / "card.json").write_text(json.dumps(card), encoding="utf-8")


def test_entries_have_a_board_of_their_own_with_the_papers_landmarks_apart(data, tmp_path):
    entry(tmp_path / "entries", "good", GOOD, data)
    entry(tmp_path / "entries", "all-in-one", {id: ";".join("0" * (3 if "chain" in id else 4)) for id in GOOD}, data)
    text = update(tmp_path / "entries", contest(data), html=True)
    assert "SIMULATED data: hand-made, partition track, split all" in text
    assert text.index("| 1 | good") < text.index("| 2")
    assert "certified ratio | k = 2 | k = 3" in text
    assert "Landmarks of the partition track" in text and "0.945" in text
    page = (tmp_path / "entries" / "leaderboard.html").read_text(encoding="utf-8")
    assert "369 production graphs" in page and "Landmarks of the runtime track" not in page


def test_a_bound_that_an_entrant_sends_along_never_counts(data, tmp_path):
    entry(tmp_path / "entries", "good", GOOD, data)
    (tmp_path / "entries" / "good" / "bounds.json").write_text(
        json.dumps({"partition:diamond.v2:2": {"lower": {"value": 8.0, **RECORD}}}), encoding="utf-8")
    update(tmp_path / "entries", contest(data))
    record = json.loads((tmp_path / "entries" / "results.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    columns = record["rows"]
    assert columns["lower_bound"][columns["id"].index("partition:diamond.v2:2")] == 5


def test_new_bounds_change_the_truths_fingerprint(data):
    before = TRACKS["partition"].load(data, "all", None, Options()).fingerprint
    (data / "bounds.json").write_text("{}", encoding="utf-8")
    assert TRACKS["partition"].load(data, "all", None, Options()).fingerprint != before


@pytest.mark.parametrize(("split", "answers", "message"), [("valid", None, "one split"), ("all", "x", "no answers")])
def test_options_of_the_other_track_are_refused(data, split, answers, message):
    with pytest.raises(InputError, match=message):
        TRACKS["partition"].load(data, split, answers, Options())


def test_a_folder_without_instances_is_refused(tmp_path):
    with pytest.raises(InputError, match="partition instances"):
        TRACKS["partition"].load(tmp_path, "all", None, Options())


@pytest.mark.parametrize("change", [{"value": float("inf")}, {"value": None}])
def test_a_bad_record_is_refused(data, change):
    bad = {"partition:chain:2": {"lower": {**RECORD, "value": 1.0} | change}}
    (data / "bounds.json").write_text(json.dumps(bad), encoding="utf-8")
    with pytest.raises(InputError, match="organiser's file"):
        TRACKS["partition"].load(data, "all", None, Options())


def test_records_are_verified():
    assert verify_pair(CHAIN, 2, BOUNDS["partition:chain:2"]) == (7, 1)
    too_high = {**BOUNDS["partition:chain:2"], "lower": {"value": 7.1, **RECORD}}
    with pytest.raises(InputError, match="is wrong"):
        verify_pair(CHAIN, 2, too_high)
    wrong_time = {**BOUNDS["partition:chain:2"], "best": {"value": 6.0, "stages": "0;0;1", **RECORD}}
    with pytest.raises(InputError, match=r"takes 7\.0 s"):
        verify_pair(CHAIN, 2, wrong_time)
