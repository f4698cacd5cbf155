"""The record of results: what was edited, moved, cut out or cut off is named."""

import json

import pytest

from evaluation import ledger
from evaluation.errors import InputError


@pytest.fixture
def record(tmp_path):
    """A file of four lines."""
    path, records = tmp_path / "results.jsonl", []
    for number in range(1, 5):
        ledger.append(path, records, {"entry": f"e{number}", "score": number / 4})
    return path


def lines(path):
    return path.read_bytes().splitlines(keepends=True)


def test_an_intact_file_is_read_back(record):
    records, problems = ledger.inspect(record)
    assert problems == [] and [r["line"] for r in records] == [1, 2, 3, 4]
    assert records[0]["previous"] == ledger.START and records[3]["previous"] == records[2]["hash"]
    assert ledger.read(record) == records and ledger.last_hash(records) == records[3]["hash"]


def test_no_file_is_an_empty_record(tmp_path):
    assert ledger.read(tmp_path / "none") == [] and ledger.last_hash([]) == ledger.START


@pytest.mark.parametrize("damage, named", [
    (lambda ls: [ls[0], ls[1].replace(b"0.5", b"0.9"), *ls[2:]], ["line 2 was edited: its contents do not fit"]),
    (lambda ls: [*ls[:3], ls[3].replace(b'"score":1.0', b'"score":2.0')], ["line 4 was edited"]),
    (lambda ls: [ls[0], ls[2], ls[1], ls[3]], ["line 3 was moved: it stands in the place of line 2",
                                               "line 2 was moved: it stands in the place of line 3"]),
    (lambda ls: [ls[0], *ls[2:]], ["line 2 was cut out"]),
    (lambda ls: ls[1:], ["line 1 was cut out"]),
    (lambda ls: [*ls, ls[2]], ["line 3 stands 2 times"]),
    (lambda ls: [ls[0], b"{\n", *ls[2:]], ["line 2 was edited: it is no record any more"]),
    (lambda ls: [*ls[:3], ls[3][:-1]], ["line 4 is torn: it does not end in a line end"]),
])
def test_damage_is_named(record, damage, named):
    record.write_bytes(b"".join(damage(lines(record))))
    problems = ledger.inspect(record)[1]
    assert all(any(problem.startswith(name) for problem in problems) for name in named), problems
    with pytest.raises(InputError, match="the record of results is damaged"):
        ledger.read(record)


def test_a_line_forged_with_a_fitting_hash_breaks_the_link(record, tmp_path):
    whole, scratch = lines(record), tmp_path / "scratch"
    records = [json.loads(whole[0])]
    ledger.append(scratch, records, {"entry": "e2", "score": 0.99})
    record.write_bytes(b"".join([whole[0], scratch.read_bytes(), *whole[2:]]))
    assert ledger.inspect(record)[1] == ["line 2 was replaced: line 3 carries another hash of it"]
