"""Submitting: accepted and scored, refused here, refused there, failed there, interrupted; and the list."""

import json

import numpy as np
import pytest

from evaluation.files import sha256
from tests.kaggle_server import SCORED, Fault
from tests.with_kaggle.archives import npz_bytes

ALWAYS = 99
IDS = [f"tile:xla:{i:032x}" for i in range(3)]


@pytest.fixture
def data(tmp_path):
    """A data set whose test split holds three tile kernels with six configurations, runtimes withheld."""
    folder = tmp_path / "data" / "npz_all" / "npz" / "tile" / "xla" / "test"
    folder.mkdir(parents=True)
    for id in IDS:
        (folder / f"{id.rpartition(':')[2]}.npz").write_bytes(npz_bytes(
            config_runtime=np.zeros(6, np.int64), config_runtime_normalizers=np.ones(6, np.int64)))
    return tmp_path / "data"


@pytest.fixture
def entry(tmp_path):
    """An entry that is in order: a row for each test kernel, and a card."""
    folder = tmp_path / "submissions" / "mine"
    folder.mkdir(parents=True)
    write_csv(folder, dict.fromkeys(IDS, "0;1;2;3;4;5"))
    return folder


def write_csv(folder, rows, **card):
    """``submission.csv`` and a card that fits it."""
    text = "ID,TopConfigs\n" + "".join(f"{id},{listed}\n" for id, listed in rows.items())
    (folder / "submission.csv").write_text(text, encoding="utf-8")
    made = {"entry": "mine", "track": "runtime", "split": "test", "model": "gbdt",
            "dataset": {"name": "kaggle", "simulated": False}, "sha256": sha256(folder / "submission.csv"), **card}
    (folder / "card.json").write_text(json.dumps(made), encoding="utf-8")


def card_of(entry):
    """The entry's card."""
    return json.loads((entry / "card.json").read_text(encoding="utf-8"))


@pytest.fixture
def submit(kit, entry, data):
    """Submit the entry to the stand-in, checked against the data."""
    def run(*more, path=entry, **options):
        options.setdefault("check", 0)
        return kit("submit", path, "--competition", "small", "--data", data, "--retries", "1", *more, **options)

    return run


def refused(done):
    """The message of a refusal, in one line."""
    return " ".join(done.stderr.split())


def test_accepted_and_scored_with_both_scores_in_the_card(submit, kaggle, entry):
    competition = kaggle.competitions["small"]
    competition.verdicts = [{"status": "PENDING"}, dict(SCORED)]
    competition.scores = [0.9, 0.8, 0.55, 0.5]
    before = card_of(entry)
    done = submit("--message", "first try")
    assert "public score 0.7, private score 0.6" in done.stdout
    assert "place 3 of 4" in done.stdout
    (made,) = competition.submissions
    assert made["data"] == (entry / "submission.csv").read_bytes()
    assert made["description"] == "first try"
    card = card_of(entry)
    kept = card.pop("kaggle")
    assert card == before
    assert {key: kept[key] for key in ("competition", "ref", "status", "public_score", "private_score", "sha256")} == {
        "competition": "small", "ref": 1000, "status": "COMPLETE", "public_score": 0.7, "private_score": 0.6,
        "sha256": card["sha256"]}


def test_a_csv_by_itself_needs_no_card(submit, kaggle, entry, tmp_path):
    alone = tmp_path / "mine.csv"
    alone.write_bytes((entry / "submission.csv").read_bytes())
    assert "public score 0.7" in submit(path=alone).stdout
    assert kaggle.competitions["small"].submissions[0]["description"] == "mine.csv"


@pytest.mark.parametrize(("rows", "card", "fragment"), [
    ({IDS[0]: "0;1;2;3;4", IDS[1]: "0;1;2;3;4"}, {}, "missing_id"),
    ({**dict.fromkeys(IDS, "0;1;2;3;4"), "tile:xla:" + "f" * 32: "0;1;2;3;4"}, {}, "unknown_id"),
    ({**dict.fromkeys(IDS, "0;1;2;3;4"), IDS[0]: "0;1;2;3;6"}, {}, "index_out_of_range"),
    ({**dict.fromkeys(IDS, "0;1;2;3;4"), IDS[0]: "0;0;0;0;0"}, {}, "duplicate_index"),
    (dict.fromkeys(["tile:xla:unet3d"], "0;1;2;3;4"), {}, "not_a_test_id"),
    (dict.fromkeys(IDS, "0;1;2;3;4"), {"split": "valid"}, "ranks the split 'valid'"),
    (dict.fromkeys(IDS, "0;1;2;3;4"), {"dataset": {"name": "tiny", "simulated": True}}, "simulated data set 'tiny'"),
    (dict.fromkeys(IDS, "0;1;2;3;4"), {"sha256": "0" * 64}, "was changed after its card"),
])
def test_what_would_fail_is_refused_before_anything_is_sent(submit, kaggle, entry, rows, card, fragment):
    write_csv(entry, rows, **card)
    assert fragment in refused(submit(check=1))
    assert not kaggle.log


def test_model_in_place_of_the_csv_is_refused(submit, kaggle, tmp_path):
    model = tmp_path / "model.csv"
    model.write_bytes(npz_bytes(weights=np.ones(3)))
    assert "not_a_csv" in refused(submit(path=model, check=1))
    assert not kaggle.log


def test_missing_entry_is_named(submit, tmp_path):
    assert f"{tmp_path}/nothing: no such file" in refused(submit(path=tmp_path / "nothing", check=1))


def test_tolerant_takes_what_kaggle_takes_and_says_what_is_odd(submit, entry):
    write_csv(entry, {**dict.fromkeys(IDS, "0;1;2;3;4"), IDS[0]: "0;0;0;0;0"})
    assert "warning: duplicate_index" in submit("--tolerant").stdout


@pytest.mark.parametrize(("fault", "fragments"), [
    (Fault("CreateSubmission", ALWAYS, status=400), ["(400)", "have not joined", "No submission was made"]),
    (Fault("CreateSubmission", ALWAYS, status=403), ["competitions/small/rules", "No submission was made"]),
    (Fault("CreateSubmission", ALWAYS, status=200, body={"message": "Could not submit to competition"}),
     ["did not accept the submission", "Could not submit to competition"]),
    (Fault("CreateSubmission", ALWAYS, status=502), ["is not known", "--list"]),
    (Fault("CreateSubmission", ALWAYS, close=True), ["is not known", "--list"]),
    (Fault("StartSubmissionUpload", ALWAYS, status=400), ["(400)", "have not joined"]),
    (Fault("upload", ALWAYS, status=403), ["refused the request (403)", "No submission was made"]),
    (Fault("upload", ALWAYS, status=500), ["(500 while uploading", "No submission was made"]),
    (Fault("upload", ALWAYS, status=308), ["connection ended before everything", "No submission was made"]),
    (Fault("upload", ALWAYS, close=True), ["no connection, or it broke, while uploading", "No submission was made"]),
])
def test_refused_by_the_server_is_a_failure_and_not_on_record(submit, kaggle, entry, fault, fragments):
    kaggle.faults.append(fault)
    before = card_of(entry)
    message = refused(submit(check=1))
    for fragment in fragments:
        assert fragment in message
    assert card_of(entry) == before
    assert not kaggle.competitions["small"].submissions


def test_creation_is_never_repeated_blindly(submit, kaggle):
    kaggle.faults.append(Fault("CreateSubmission", ALWAYS, status=502))
    submit(check=1)
    assert sum(entry["kind"] == "CreateSubmission" for entry in kaggle.log) == 1


def test_upload_that_breaks_once_is_repeated(submit, kaggle, entry):
    kaggle.faults.append(Fault("upload", status=503))
    submit()
    assert kaggle.competitions["small"].submissions[0]["data"] == (entry / "submission.csv").read_bytes()


@pytest.mark.parametrize(("verdict", "fragment"), [
    ({"status": "ERROR", "errorDescription": "Submission must have 894 rows"}, "Submission must have 894 rows"),
    ({"status": "ERROR"}, "gives no reason. Usual ones"),
])
def test_accepted_but_ended_in_error(submit, kaggle, entry, verdict, fragment):
    kaggle.competitions["small"].verdicts = [{"status": "PENDING"}, verdict]
    message = refused(submit(check=1))
    assert "could not score it (status ERROR)" in message and fragment in message
    assert card_of(entry)["kaggle"]["status"] == "ERROR"


def test_interrupted_wait_asks_again_without_submitting_again(submit, kaggle, entry):
    competition = kaggle.competitions["small"]
    competition.verdicts = [{"status": "PENDING"}, dict(SCORED)]
    assert "is not scored yet" in submit("--wait", "0").stdout
    assert card_of(entry)["kaggle"]["status"] == "PENDING"
    submit()
    assert card_of(entry)["kaggle"]["public_score"] == 0.7
    assert len(competition.submissions) == 1


def test_submission_that_is_not_visible_yet_is_waited_for(submit, kaggle):
    kaggle.faults.append(Fault("GetSubmission", status=404))
    assert "public score 0.7" in submit().stdout


def test_same_file_is_not_submitted_twice_by_accident(submit, kaggle):
    submit()
    assert "was submitted already (number 1000)" in refused(submit(check=1))
    submit("--again")
    assert len(kaggle.competitions["small"].submissions) == 2


def test_no_allowance_left_is_said_before_uploading(submit, kaggle):
    kaggle.competitions["small"].submissions = [{"ref": 1, "asked": 0, "data": b""}]
    kaggle.competitions["small"].allowed = 0
    assert "is left today; the count starts anew at 00:00 UTC" in refused(submit(check=1))
    assert not kaggle.uploads


def test_list_shows_past_submissions_and_what_is_left(kit, kaggle, submit):
    submit("--message", "first try")
    done = kit("submit", "--list", "--competition", "small", check=0)
    assert "1000  2026-01-02 03:04  COMPLETE  public 0.7  private 0.6  first try" in done.stdout
    assert "1 made today, 1 in total; 4 more are allowed now" in done.stdout


def test_nothing_to_submit(kit):
    assert "give an entry's folder" in kit("submit", check=1).stderr
