"""The measurement on random graphs, on graphs small enough to be quick."""

from kit.partition.measure import format_table, measure


def test_a_row_a_kind_and_no_bound_above_a_partition():
    found = measure(2, 0.3, 1, nodes=8, seeds=(1,))
    assert len(found) == 9
    for rows in found.values():
        assert rows.shape == (1, 3) and (rows > 0).all() and (rows <= 1 + 1e-9).all()
        assert rows[0, 0] <= rows[0, 1]
    text = format_table(found, 2, 0.3)
    assert text.count("\n") == 13 and "| ba, 0.5 | 1 |" in text and "| all | 9 |" in text
