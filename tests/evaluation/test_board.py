"""Boards small enough to work out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation import board, columns, landmarks
from evaluation.collections import COLLECTIONS
from evaluation.halves import divide
from evaluation.markdown import render
from evaluation.page import page
from evaluation.search_view import complete, excess, rank_pairs

CARD = {"entry": "x", "train_seconds": 3.0, "predict_seconds": 0.5}


def record(entry, scores, configs=10, simulated=True, **rows):
    """A record with one score a graph."""
    return {"entry": entry, "track": "runtime", "split": "valid", "card": {**CARD, "entry": entry},
            "dataset": {"name": "toy", "simulated": simulated, "fingerprint": "f"}, "warnings": [], "scored": "now",
            "line": 1, "details": {},
            "rows": {"id": list(scores), "score": list(scores.values()), "configs": [configs] * len(scores), **rows}}


def whole(entry, values, **more):
    """The same score on all graphs of a collection: four tile kernels and four layout graphs."""
    tile, layout = values
    ids = {f"tile:xla:t{i}": tile for i in range(4)} | {f"layout:xla:default:l{i}": layout for i in range(4)}
    return record(entry, ids, **more)


def test_a_table_by_hand():
    made = board.make([whole("b", (0.5, 0.1)), whole("a", (0.9, 0.6)), whole("c", (1.0, 0.0))], {})
    assert [(s.place, s.name, round(s.values["overall"], 9)) for s in made.standings] == [
        (1, "a", 0.3), (2, "c", 0.2), (3, "b", 0.12)]
    first = made.standings[0]
    assert first.values["tile:xla"] == 0.9 and first.values["layout:xla:default"] == pytest.approx(0.6)
    assert (first.low, first.high) == (pytest.approx(0.3), pytest.approx(0.3))  # no graph differs from another
    assert first.groups["tile:xla"]["graphs"] == 2 and made.graphs == {"tile:xla": (2, 2), "layout:xla:default": (2, 2)}
    assert [s.ahead for s in made.standings] == [1.0, 1.0, None]
    assert [s.like_leader for s in made.standings] == [True, False, False]
    assert first.values["train_seconds"] == 3.0 and first.values["micro_per_config"] == pytest.approx(0.5e6 / 80)


def test_ties_share_a_place():
    made = board.make([whole(name, score) for name, score in {"a": (0.5, 0.5), "b": (0.9, 0.1), "c": (0.1, 0.2),
                                                              "d": (0.9, 0.9)}.items()], {})
    assert [(s.place, s.name) for s in made.standings] == [(1, "d"), (2, "a"), (2, "b"), (4, "c")]


def test_a_collection_without_rows_is_a_gap_and_counts_zero():
    part = whole("a", (0.9, 0.0))
    part["rows"]["configs"] = [10] * 4 + [0] * 4
    made = board.make([part, whole("b", (0.9, 0.2))], {})
    gap = made.standings[1]
    assert gap.name == "a" and gap.values["layout:xla:default"] is None and "layout:xla:default" not in gap.groups
    assert gap.values["overall"] == pytest.approx(0.18)


def test_the_paired_comparison_sees_what_intervals_overlap_on():
    """Entry b is always a little worse than a, on graphs that differ much from one another."""
    ids = [f"tile:xla:t{i}" for i in range(20)]
    levels = np.linspace(0.0, 1.0, 20)
    a, b = record("a", dict(zip(ids, levels, strict=True))), record("b", dict(zip(ids, levels - 0.01, strict=True)))
    leader, second = board.make([a, b], {}).standings
    assert leader.name == "a" and leader.ahead == 1.0 and not second.like_leader
    assert second.high > leader.low


def test_chance_is_marked():
    ids, rng = [f"tile:xla:t{i}" for i in range(20)], np.random.default_rng(0)
    made = board.make([record(n, dict(zip(ids, rng.normal(size=20), strict=True))) for n in "ab"], {})
    assert made.standings[1].like_leader and 0.5 <= made.standings[0].ahead < 0.975


def test_single_graphs_are_left_out_of_comparisons():
    made = board.make([record("a", {"tile:xla:t": 1.0}), record("b", {"tile:xla:t": -5.0})], {})
    assert made.standings[1].like_leader and made.standings[0].ahead is None
    assert made.undivided == ["tile:xla"]


def test_the_private_half_shows_only_when_revealed():
    scores = {f"tile:xla:t{i}": 0.0 for i in range(4)}
    public, _ = divide(scores, lambda id: "tile:xla")
    a = record("a", {id: 0.9 if id in public else 0.1 for id in scores})
    b = record("b", dict.fromkeys(scores, 0.5))
    hidden = board.make([a, b], {})
    assert [s.name for s in hidden.standings] == ["a", "b"] and hidden.standings[0].private is None
    shown = board.make([a, b], {}, reveal=True)
    assert [s.private["place"] for s in shown.standings] == [2, 1]
    assert shown.standings[0].private["score"] == pytest.approx(0.1 / 5)


def test_boards_do_not_depend_on_the_private_half():
    ids = [f"tile:xla:t{i}" for i in range(9)]
    public, _ = divide(ids, lambda id: "tile:xla")
    texts = set()
    for private in (0.25, 0.75):
        row = record("a", {id: 0.5 if id in public else private for id in ids})
        made, shown = board.make([row], {}), board.make([row], {}, reveal=True)
        texts.add(render([made], {}, "0" * 64) + page([made], {}, "0" * 64))
        assert all(f"{private / 5:.4f} (place 1)" in text([shown], {}, "0" * 64) for text in (render, page))
    assert len(texts) == 1


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 99)), unique=True, min_size=1))
def test_halves(pairs):
    ids = [f"{group}:{number}" for group, number in pairs]
    public, alone = divide(ids, lambda id: id[0])
    assert divide(ids[::-1], lambda id: id[0]) == (public, alone)
    for group in {id[0] for id in ids}:
        part = [id for id in ids if id[0] == group]
        assert len(public & set(part)) == (len(part) + 1) // 2
        assert (group in alone) == (len(part) == 1)


def test_a_new_column_is_one_entry(monkeypatch):
    lowest = columns.Column("lowest", "worst graph", lambda result: min(row["score"] for row in result.rows), "higher")
    monkeypatch.setattr(columns, "RUNTIME_COLUMNS", [*columns.RUNTIME_COLUMNS, lowest])
    made = board.make([whole("a", (0.9, 0.6))], {})
    assert made.columns[-1].heading == "worst graph" and made.standings[0].values["lowest"] == pytest.approx(0.6)


def test_errors_are_averaged_over_the_graphs_that_have_them():
    rows = record("a", {"tile:xla:t0": 1.0, "tile:xla:t1": 1.0, "tile:xla:t2": 1.0}, top1_error=[0.1, None, 0.3])
    made = board.make([rows], {}, reveal=False)
    public, _ = divide(rows["rows"]["id"], lambda id: "tile")
    there = [e for id, e in zip(rows["rows"]["id"], [0.1, None, 0.3], strict=True) if id in public and e is not None]
    assert made.standings[0].values["tile_top1_error"] == pytest.approx(np.mean(there))


def test_landmarks_are_carried_with_their_sources():
    marks = landmarks.load("runtime")
    assert all(mark.source for mark in marks)
    best = next(mark for mark in marks if mark.entry == "TpuGraphs best baseline")
    errors = {name: 100 * figures["top1_error"] for name, figures in best.values.items()}
    assert errors == pytest.approx({"layout:xla:random": 24.3, "layout:xla:default": 1.7, "layout:nlp:random": 23.7,
                                    "layout:nlp:default": 2.3, "tile:xla": 10.5})
    cheaper = [time["evaluate"] / time["predict"] for time in landmarks.evaluation_times()]
    assert round(min(cheaper)) == 12 and 3100 < max(cheaper) < 3200


def test_only_the_full_measured_data_set_is_compared_with_landmarks():
    sizes = {name: (c.published["valid"], 0) for name, c in COLLECTIONS.items()}
    assert landmarks.is_full({"simulated": False}, "valid", sizes)
    assert not landmarks.is_full({"simulated": True}, "valid", sizes)
    assert not landmarks.is_full({"simulated": False}, "test", sizes)
    assert landmarks.neighbours(0.704, landmarks.load("runtime")) == "below 6th place, above 10th place"
    assert landmarks.neighbours(0.99, landmarks.load("runtime")).startswith("above 1st place")


def test_search_view_by_hand():
    target = np.array([40, 10, 20, 80])
    assert complete(np.array([2, 9, 2, 0]), 4).tolist() == [2, 0, 1, 3]
    assert excess(np.array([3, 2]), target, np.array([1, 2, 3, 4, 9])).tolist() == [7.0, 1.0, 1.0, 0.0, 0.0]
    assert rank_pairs(np.array([3, 1]), target) == [[1, 2], [4, 1]]
    assert rank_pairs(None, target) == []
