"""Every broken file is refused or tolerated with its code, its place and a fix."""

import gzip
import io
import resource
import zipfile

import pytest

from evaluation.errors import InvalidSubmission
from evaluation.problems import Problems
from evaluation.tracks import TRACKS, read_submission

ROW = "tile:xla:a,0;1\n"
GOOD = "ID,TopConfigs\n" + ROW


def problems(path):
    submission = read_submission(path)
    return submission.problems.refusals(), submission.problems.warnings()


def test_a_good_file_has_no_problems(submission):
    read = read_submission(submission(GOOD + "layout:nlp:random:b,2;0;1"))
    assert problems(read.path) == ([], [])
    assert read.track is TRACKS["runtime"]
    assert read.values("layout:nlp:random:b").tolist() == [2, 0, 1]
    assert [row.line for row in read.rows.values()] == [2, 3]


@pytest.mark.parametrize("text, line", [
    ("", "empty_file: the file is empty; give a CSV"),
    (" \n\n", "empty_file"),
    ("ID,Rank\n" + ROW, "wrong_header: row 1: the first line reads 'ID,Rank'; make it ID,TopConfigs (runtime track)"),
    (ROW, "wrong_header: row 1"),
    ("ID;TopConfigs\n" + ROW, "wrong_header: row 1: the first line reads 'ID;TopConfigs'; make it ID,TopConfigs "
     "(runtime track) or ID,Stages (partition track), with a comma after the ID in every row"),
    ("ID,TopConfigs\n", "no_rows: a header and nothing below it; write one row for every ID"),
    (GOOD + "tile:gpu:b,0\n", "unknown_collection: row 3 (tile:gpu:b): 'tile:gpu:b' is in none of the five"),
    (GOOD + "layout:xla:b,0\n", "unknown_collection: row 3"),
    (GOOD + "tile:xla:b,0;1.0\n", "float_index: row 3 (tile:xla:b): entry 2 is '1.0'; write whole numbers from 0"),
    (GOOD + "tile:xla:b,0;1e3;2.5\n", "float_index: row 3 (tile:xla:b): entry 2 is '1e3' (2 such entries)"),
    (GOOD + "tile:xla:b,0;x\n", "not_an_index: row 3 (tile:xla:b): entry 2 is 'x'"),
    (GOOD + "tile:xla:b,0;1;\n", "not_an_index: row 3 (tile:xla:b): entry 3 is ''"),
    (GOOD + "tile:xla:b,0;;1\n", "not_an_index: row 3 (tile:xla:b): entry 2 is ''"),
    (GOOD + "tile:xla:b,\n", "empty_list: row 3 (tile:xla:b): nothing is listed; list whole numbers"),
    (GOOD + "tile:xla:b\n", "wrong_fields: row 3 (tile:xla:b): 1 fields where 2 are expected; write ID, one comma"),
    (GOOD + "tile:xla:b,0,1,2\n", "wrong_fields: row 3 (tile:xla:b): 4 fields"),
    (GOOD.encode() + b"tile:xla:\xff,0\n", "encoding: row 3: bytes that are not UTF-8; save the file as UTF-8"),
    (GOOD.encode("utf-16"), "encoding: the file is UTF-16; save it as UTF-8"),
    (GOOD.encode() + b"\0\0\0", "not_a_csv: this is a binary file"),
    (gzip.compress(GOOD.encode(), mtime=0), "not_a_csv: this is a gzip file"),
    (b"\x80\x04\x95\x10", "not_a_csv: this is a pickle"),
    (b"tree\nversion=v4\n", "not_a_csv: this is a LightGBM model"),
])
def test_refused(submission, text, line):
    refusals, _ = problems(submission(text))
    assert any(found.startswith(line) for found in refusals), refusals


def test_a_model_file_is_refused(submission):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("model/data.pkl", b"x")
    refusals, _ = problems(submission(data.getvalue(), "model.pt"))
    assert refusals == ["not_a_csv: this is a zip file (a PyTorch or NumPy model, or a compressed CSV); "
                        "give a CSV that begins with the line ID,TopConfigs or ID,Stages"]


@pytest.mark.parametrize("text, code", [
    (b"\xef\xbb\xbf" + GOOD.encode(), "bom"),
    (GOOD.replace("\n", "\r\n"), "crlf"),
    ('"ID","TopConfigs"\n"tile:xla:a","0;1"\n', "quotes"),
    ("ID, TopConfigs\ntile:xla:a, 0;1\n", "spaces"),
    ("ID,TopConfigs\ntile:xla:a,0; 1\n", "spaces"),
    (GOOD + "\n", "blank_line"),
])
def test_harmless_oddities_are_tolerated_with_one_warning(submission, text, code):
    read = read_submission(submission(text))
    assert read.values("tile:xla:a").tolist() == [0, 1]
    assert [line.split(":")[0] for line in read.problems.warnings(strict=True)] == [code]
    assert read.problems.refusals(strict=True) == []


@pytest.mark.parametrize("row, line", [
    ("tile:xla:b,0;1;0;0", "duplicate_index: row 3 (tile:xla:b): index 0 listed 3 times; list each configuration once"),
    ("tile:xla:b,0;1;-1", "index_out_of_range: row 3 (tile:xla:b): index -1 is impossible"),
    ("tile:xla:a,1;0", "duplicate_id: row 3 (tile:xla:a): the ID stands in row 2 already; that row counts"),
])
def test_odd_rows_are_tolerated_and_refused_when_strict(submission, row, line):
    read = read_submission(submission(GOOD + row + "\n"))
    assert read.problems.refusals() == [] and read.problems.warnings()[0].startswith(line)
    assert read.problems.refusals(strict=True)[0].startswith(line)
    assert read.values("tile:xla:a").tolist() == [0, 1]


def test_an_index_too_large_for_int64_stays_too_large(submission):
    read = read_submission(submission(GOOD + f"tile:xla:b,{'9' * 25};0\ntile:xla:c,{'9' * 19};0\n"))
    assert all(read.values(f"tile:xla:{name}")[0] > 2**61 for name in "bc")


def test_every_problem_is_reported(submission):
    refusals, _ = problems(submission(GOOD + "tile:xla:b,1.5\nnowhere,0\ntile:xla:c,x\n"))
    assert [line.split(":")[0] for line in refusals] == ["float_index", "unknown_collection", "not_an_index"]


def test_many_of_one_kind_are_one_line(submission):
    refusals, _ = problems(submission("ID,TopConfigs\n" + "".join(f"tile:xla:{i},1.5\n" for i in range(50))))
    assert refusals == ["float_index: 50 times, first row 2 (tile:xla:0): entry 1 is '1.5'; "
                        "write whole numbers from 0, joined with ';'"]


@pytest.mark.parametrize("start", [b"", b"ID,TopConfigs\ntile:xla:a,"])
def test_a_200_mb_line_is_refused_in_bounded_memory(tmp_path, start):
    path = tmp_path / "long.csv"
    with open(path, "wb") as file:
        file.write(start)
        for _ in range(200):
            file.write(b"0;1;2;3;" * (1 << 17))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refusals, _ = problems(path)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert refusals[0].startswith("line_too_long: row 2" if start else "wrong_header")
    assert grown < 100_000  # kilobytes


def test_a_folder_or_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InvalidSubmission, match="is a folder; give the CSV file in it"):
        read_submission(tmp_path)
    with pytest.raises(InvalidSubmission, match="cannot be read"):
        read_submission(tmp_path / "none.csv")


def test_refuse_lists_every_reason():
    found = Problems()
    found.refuse("x.csv")
    found.add("a", "this", "do that", "refused", 3, "id")
    found.add("b", "odd", "mend", "odd")
    with pytest.raises(InvalidSubmission) as error:
        found.refuse("x.csv", strict=True)
    assert str(error.value) == "x.csv cannot be accepted:\n  a: row 3 (id): this; do that\n  b: odd; mend"
