"""Tables of cells: in order, several at once, kept as they finish."""

import json

from kit.bench import cells


def _square(number, log):
    with open(log, "a", encoding="utf-8") as out:
        out.write(f"{number}\n")
    return {"square": number * number}


def _todo(folder, *numbers):
    return [{"number": number, "log": str(folder / "log")} for number in numbers]


def test_in_order_and_once_each(tmp_path):
    found = list(cells.compute(_square, _todo(tmp_path, 3, 1, 3, 2)))
    assert [result["square"] for result in found] == [9, 1, 9, 4]
    assert sorted((tmp_path / "log").read_text(encoding="utf-8").split()) == ["1", "2", "3"]


def test_side_by_side(tmp_path):
    keep = tmp_path / "kept"
    found = list(cells.compute(_square, _todo(tmp_path, 4, 5), jobs=2, keep=keep))
    assert [result["square"] for result in found] == [16, 25]
    assert len(keep.read_text(encoding="utf-8").splitlines()) == 2


def test_what_was_kept_is_not_computed_again(tmp_path):
    keep = tmp_path / "kept"
    list(cells.compute(_square, _todo(tmp_path, 1, 2), keep=keep))
    lines = keep.read_text(encoding="utf-8").splitlines(keepends=True)
    keep.write_text(lines[0] + lines[1][:20], encoding="utf-8")  # killed while writing
    (tmp_path / "log").unlink()
    assert [result["square"] for result in cells.compute(_square, _todo(tmp_path, 1, 2, 3), keep=keep)] == [1, 4, 9]
    assert (tmp_path / "log").read_text(encoding="utf-8").split() == ["2", "3"]


def test_a_cell_of_another_setting_is_not_taken(tmp_path):
    keep = tmp_path / "kept"
    keep.write_text(json.dumps({"cell": {"number": 2, "log": "elsewhere"}, "result": {"square": -1}}) + "\n",
                    encoding="utf-8")
    assert next(cells.compute(_square, _todo(tmp_path, 2), keep=keep)) == {"square": 4}
