"""The board from folders of entries to Markdown, and what verification finds."""

import json
import subprocess
import sys

import polars as pl
import pytest

from evaluation import ledger
from evaluation.dataset import describe
from evaluation.engine import open_engine
from evaluation.errors import InputError
from evaluation.halves import divide
from evaluation.leaderboard import contest, update
from evaluation.lock import locked
from evaluation.markdown import plain
from evaluation.runtime_track import group
from evaluation.verify import verify
from tests.conftest import REPOSITORY
from tests.evaluation.conftest import make_entry, write_graph


@pytest.fixture
def scored(contest_data):
    """The contest after its first board."""
    data, entries, dataset, runtimes = contest_data
    update(entries, contest(data), html=True)
    return data, entries, dataset, runtimes


def records(entries):
    return [json.loads(line) for line in (entries / "results.jsonl").read_text(encoding="utf-8").splitlines()]


def test_the_board_ranks_and_is_written(scored):
    _, entries, *_ = scored
    text = (entries / "leaderboard.md").read_text(encoding="utf-8")
    assert [text.index(f"| {place}") for place in "123"] == sorted(text.index(f"| {place}") for place in "123")
    assert text.index("good") < text.index("fair") < text.index("poor")
    assert "## SIMULATED data: toy, runtime track, split valid" in text and "Landmarks" in text
    assert "among landmarks" not in text
    assert f"`{records(entries)[-1]['hash']}`" in text
    assert "SIMULATED" in (entries / "leaderboard.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("options", [{"jobs": 2}, {"cluster": "1"}])
def test_the_record_does_not_depend_on_the_engine(scored, options):
    data, entries, *_ = scored
    first = records(entries)
    (entries / "results.jsonl").unlink()
    if "cluster" in options:
        pytest.importorskip("distributed")
    with open_engine(**options) as engine:
        update(entries, contest(data), engine=engine)
    for record, again in zip(first, records(entries), strict=True):
        for name in set(record) - {"scored", "previous", "hash"}:
            assert record[name] == again[name]


def test_nothing_changed_scores_nothing(scored):
    data, entries, *_ = scored
    before = (entries / "results.jsonl").read_bytes()
    update(entries, contest(data))
    assert (entries / "results.jsonl").read_bytes() == before


def test_only_what_changed_is_scored_again(scored):
    data, entries, *_ = scored
    file = entries / "poor" / "submission.csv"
    file.write_text((entries / "good" / "submission.csv").read_text(encoding="utf-8"), encoding="utf-8")
    text = update(entries, contest(data))
    assert [r["entry"] for r in records(entries)] == ["fair", "good", "poor", "poor"]
    assert [line[:4] for line in text.splitlines() if "0.5 |" in line] == ["| 1 ", "| 1 ", "| 3 "]  # the copy ties
    assert verify(entries, contest(data)) == ([], [])


def test_other_runtimes_score_everything_again(scored, tmp_path):
    data, entries, _, runtimes = scored
    answers = pl.concat([pl.DataFrame({"id": id, "config": range(12), "runtime": runtime[::-1], "normalizer": 1})
                         for id, runtime in runtimes.items()])
    answers.write_parquet(tmp_path / "answers.parquet")
    update(entries, contest(data, answers=tmp_path / "answers.parquet"))
    assert [r["entry"] for r in records(entries)] == ["fair", "good", "poor"] * 2


def test_another_data_set_leaves_the_board_as_it_is(scored):
    data, entries, *_ = scored
    write_graph(data, "tile:xla:g0", "valid", range(1, 13))
    assert "## SIMULATED data: toy" in update(entries, contest(data))
    assert len(records(entries)) == 3
    assert len(verify(entries, contest(data))[1]) == 3  # not scored again: the cards name the data as it was


def test_two_processes_at_once(contest_data):
    data, entries, *_ = contest_data
    command = [sys.executable, "-m", "evaluation", "leaderboard", "--data", data, "--submissions", entries, "--html"]
    running = [subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait(120) for process in running] == [0, 0]
    assert [r["entry"] for r in records(entries)] == ["fair", "good", "poor"]
    assert verify(entries, contest(data)) == ([], [])


def test_the_lock_keeps_a_second_writer_out(tmp_path):
    with locked(tmp_path / "lock"), pytest.raises(InputError, match="another process"), \
            locked(tmp_path / "lock", seconds=0.1):
        pass
    with locked(tmp_path / "lock", seconds=0):
        pass


def edit(entries, change):
    path = entries / "results.jsonl"
    path.write_bytes(b"".join(change(path.read_bytes().splitlines(keepends=True))))


def test_a_clean_board_verifies(scored, run_module):
    data, entries, *_ = scored
    done = run_module("evaluation", "leaderboard", "--data", data, "--submissions", entries, "--verify", check=0)
    assert "the board is clean" in done.stdout


@pytest.mark.parametrize("change, named", [
    (lambda ls: [ls[0], ls[1].replace(b"0.", b"1.", 1), ls[2]], "line 2 was edited"),
    (lambda ls: [ls[1], ls[0], ls[2]], "line 2 was moved"),
    (lambda ls: [ls[0], ls[2]], "line 2 was cut out"),
    (lambda ls: ls[:2], "the last line was cut off or replaced: after line 2 a line is missing"),
    (lambda ls: [], "results.jsonl is missing"),
])
def test_tampering_with_the_record_is_named(scored, run_module, change, named):
    data, entries, *_ = scored
    edit(entries, change)
    done = run_module("evaluation", "leaderboard", "--data", data, "--submissions", entries, "--verify", check=1)
    assert named in done.stdout, done.stdout


def test_a_record_forged_from_end_to_end_is_found_by_scoring_again(scored):
    data, entries, *_ = scored
    old, path = records(entries), entries / "results.jsonl"
    path.unlink()
    forged = []
    for record in old:
        contents = {k: v for k, v in record.items() if k not in ("line", "previous", "hash")}
        if record["entry"] == "poor":
            contents["rows"]["score"][0] = 0.987
        ledger.append(path, forged, contents)
    text = (entries / "leaderboard.md").read_text(encoding="utf-8")
    (entries / "leaderboard.md").write_text(text.replace(old[-1]["hash"], forged[-1]["hash"]), encoding="utf-8")
    (problem,), _ = verify(entries, contest(data))
    assert problem.startswith("line 3, entry poor: score of tile:xla:g0 is recorded as 0.987")


@pytest.mark.parametrize("change, named", [
    (lambda e: (e / "good/submission.csv").open("a").write("tile:xla:new,0\n"), "submission.csv changed since"),
    (lambda e: (e / "good/card.json").open("a").write("\n"), "card.json changed since"),
    (lambda e: (e / "good/submission.csv").unlink(), "its submission.csv is gone"),
    (lambda e: (e / "good/card.json").write_text("{}"), "changed since: card.json lacks"),
    (lambda e: (e / "leaderboard.md").unlink(), "leaderboard.md is missing"),
    (lambda e: (e / "leaderboard.md").write_text("# All is well\n"), "leaderboard.md was edited"),
])
def test_changed_files_are_named(scored, change, named):
    data, entries, *_ = scored
    change(entries)
    problems, _ = verify(entries, contest(data))
    assert any(named in problem for problem in problems), problems


def test_a_damaged_record_takes_no_more_lines(scored):
    data, entries, *_ = scored
    edit(entries, lambda ls: [ls[0], ls[2]])
    with pytest.raises(InputError, match="line 2 was cut out"):
        update(entries, contest(data))


def test_what_cannot_be_scored_is_listed_and_stops_nothing(contest_data):
    data, entries, dataset, runtimes = contest_data
    rows = {id: range(len(runtime)) for id, runtime in runtimes.items()}
    make_entry(entries / "extra", rows, dataset, colour="red")
    make_entry(entries / "wrong", rows, dataset, seed="zero")
    make_entry(entries / "broken", {"tile:xla:g0": ["1.5"]}, dataset)
    make_entry(entries / "elsewhere", rows, dataset, split="test")
    make_entry(entries / "other", rows, dataset, dataset={**vars(dataset), "name": "far", "fingerprint": "0" * 64})
    make_entry(entries / "lost", rows, dataset)
    for name, text in {"nan": "NaN", "huge": "1e999", "half": r'"\ud800"'}.items():
        card = make_entry(entries / name, rows, dataset, parameters={"x": "HERE"}) / "card.json"
        card.write_text(card.read_text(encoding="utf-8").replace('"HERE"', text), encoding="utf-8")
    (entries / "lost" / "card.json").write_text('{"entry": "lost"}', encoding="utf-8")
    (entries / "empty").mkdir()
    (entries / "file.csv").write_text("ID,TopConfigs\n", encoding="utf-8")
    (entries / "linked").symlink_to(entries / "good")
    text = update(entries, contest(data))
    listed = dict(line[2:].split(": ", 1) for line in text.split("## Not scored")[1].split("##")[0].splitlines()
                  if line.startswith("- "))
    assert "unknown fields ('colour')" in listed["extra"] and "seed" in listed["wrong"]
    assert "float_index: row 2 (tile:xla:g0)" in listed["broken"] and "lacks command" in listed["lost"]
    assert "of the split test" in listed["elsewhere"] and "another data set, far" in listed["other"]
    assert listed["empty"] == "is an empty folder" and "is a file, not a folder" in listed["file.csv"]
    assert "symbolic link" in listed["linked"]
    assert all("card.json is not readable as JSON" in listed[name] for name in ("nan", "huge", "half"))
    assert {r["entry"] for r in records(entries)} == {"good", "fair", "poor"}


def test_entries_of_another_split_keep_their_board(scored):
    data, entries, dataset, runtimes = scored
    make_entry(entries / "trained", {id: range(12) for id in runtimes}, dataset, split="train")
    text = update(entries, contest(data, "train"))
    train, valid = (text.split(f"runtime track, split {split}")[1].split("##")[0] for split in ("train", "valid"))
    assert "trained" in train and "good" not in train and "good" in valid and "trained" not in valid
    assert verify(entries, contest(data))[1] == [
        "line 4, entry trained: not scored again: it is of the split train; --split chooses it"]


def test_a_split_that_does_not_exist_is_called_so(scored):
    data, entries, dataset, runtimes = scored
    make_entry(entries / "typo", {id: range(12) for id in runtimes}, dataset, split="vaild")
    text = update(entries, contest(data))
    assert "- typo: its card names the split 'vaild'; there are train, valid, test" in text


def test_the_terminal_gets_the_boards_alone(scored, run_module):
    data, entries, *_ = scored
    (entries / "stray").mkdir()
    shown = run_module("evaluation", "leaderboard", "--data", data, "--submissions", entries, check=0).stdout
    assert "SIMULATED data: toy" in shown and "- stray: is an empty folder" in shown
    assert "Landmarks" not in shown and "How to read it" not in shown
    assert shown.endswith(f"written: {entries}/leaderboard.md\n")


def private_figures(scored):
    """Scores of the graphs of the private half, of every entry, with nine digits as they would be written."""
    _, entries, _, runtimes = scored
    public, _ = divide(runtimes, group)
    found = set()
    for record in records(entries):
        rows = record["rows"]
        found |= {score for id, score in zip(rows["id"], rows["score"], strict=True) if id not in public}
    shown = {score for record in records(entries)
             for id, score in zip(record["rows"]["id"], record["rows"]["score"], strict=True) if id in public}
    return found - shown, set(runtimes) - public


def test_nothing_private_is_written_before_the_reveal(scored):
    data, entries, *_ = scored
    figures, ids = private_figures(scored)
    assert len(figures) > 10 and len(ids) == 9
    for name in ("leaderboard.md", "leaderboard.html"):
        text = (entries / name).read_text(encoding="utf-8")
        assert not [id for id in ids if id in text]
        assert not [figure for figure in figures if len(repr(figure)) > 8 and repr(figure) in text]
        assert "place 1)" not in text
    assert "place 1)" in update(entries, contest(data), html=True, reveal=True)
    assert "place 1)" in (entries / "leaderboard.html").read_text(encoding="utf-8")


def test_foreign_text_is_harmless_in_markdown():
    assert plain("a|b<script>[x](http://y)\n`c`") == "a&#124;b&#60;script&#62;&#91;x&#93;(http&#58;//y) &#96;c&#96;"
    assert plain("snake_case 1.5 %") == "snake_case 1.5 %" and len(plain("x" * 500)) == 80


def test_a_card_of_another_file_is_remarked_upon(contest_data):
    data, entries, dataset, runtimes = contest_data
    make_entry(entries / "copied", {id: range(12) for id in runtimes}, dataset, sha256="0" * 64)
    assert "- copied: its card was written for another submission.csv" in update(entries, contest(data))


def test_an_entry_cannot_rename_the_board(contest_data):
    data, entries, dataset, runtimes = contest_data
    make_entry(entries / "a-liar", {id: range(12) for id in runtimes}, dataset,
               dataset={"name": "measured", "simulated": False, "fingerprint": dataset.fingerprint})
    text = update(entries, contest(data))
    assert "## SIMULATED data: toy, runtime track" in text and "measured," not in text and "a-liar" in text


def test_a_folder_that_is_not_there(tmp_path, contest_data):
    with pytest.raises(InputError, match="no such folder of entries"):
        update(tmp_path / "none", contest(contest_data[0]))


@pytest.mark.real
def test_a_board_on_the_real_slice(real_data, tmp_path):
    from evaluation.truth import load_truth

    truth = load_truth(real_data, "valid")
    make_entry(tmp_path / "entries/byindex", {id: range(truth.configs(id)) for id in truth.ids}, describe(real_data))
    text = update(tmp_path / "entries", contest(real_data))
    assert "SIMULATED" not in text and "all public: layout:xla:default" in text and "among landmarks" not in text


def test_the_partition_track_has_its_own_board(tmp_path, contest_data):
    data, entries, *_ = contest_data
    update(entries, contest(data))
    for name, works in {"a": [1.0, 2.0, 3.0, 4.0], "b": [2.0, 2.0, 2.0, 2.0]}.items():
        nodes = [{"name": f"n{i}", "work": work, "parameter_bytes": 0, "output_bytes": 0}
                 for i, work in enumerate(works)]
        instance = {"name": name, "source": "test", "simulated": False, "bandwidth": 1e9, "fast_memory": None,
                    "activation_reserve": 0, "k": [2], "nodes": nodes, "edges": [[0, 1], [1, 2], [2, 3]]}
        path = tmp_path / "parts" / "instances" / f"{name}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(instance), encoding="utf-8")
    for entry, cut in {"balanced": "0;0;0;1", "first": "0;1;1;1"}.items():
        folder = make_entry(entries / entry, {}, describe(tmp_path / "parts", name="chains"), track="partition",
                            split="all")
        (folder / "submission.csv").write_text(f"ID,Stages\npartition:a:2,{cut}\npartition:b:2,0;0;1;1\n",
                                               encoding="utf-8")
    text = update(entries, contest(tmp_path / "parts"), html=True)
    chains, toy = text.index("## chains, partition track, split all"), text.index("## SIMULATED data: toy, runtime")
    assert chains < toy
    assert text.index("balanced") < text.index("first") < toy
    assert "lower bound" in text[:toy] or "ratio" in text[:toy]
    assert verify(entries, contest(tmp_path / "parts"))[0] == []
