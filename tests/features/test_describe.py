"""What `inspect` says of a store: sizes, and what is missing."""

import pytest

from kit.features import store
from kit.features.store.build import build
from kit.inspect import inspect
from kit.progress import human

pytestmark = pytest.mark.usefixtures("fresh")


def lines(path):
    """The lines on a store by their first words."""
    found = inspect(path).splitlines()
    start = next(i for i, line in enumerate(found) if "store" in line)
    return {line[:22].strip(): line for line in found[start:]}


def test_none(data):
    assert f"no store; python -m kit store --data {data} makes one" in inspect(data)


def test_sizes_and_completeness(data):
    made = build(data, report=lambda line: None)
    found = lines(data)
    graphs = sum(f.stat().st_size for f in made.folder.glob("graphs/**/*.npz"))
    assert found["graphs"].split()[1:] == ["10", "files", *human(graphs).split()]
    codes = sum(entry["codes"] for entry in made.graphs.values())
    assert found["layout configurations"].split()[2:5] == ["25", *f"{human(codes)},".split()]
    assert f" {codes / 50:.3f} bytes a configurable node" in found["layout configurations"]
    assert found["physical features"].endswith(", complete")
    assert found["wide features"].endswith("8 missing: they are computed when needed")


def test_a_table_that_is_gone_is_missed(data):
    made = build(data, report=lambda line: None)
    next(made.folder.glob("features/physical-*/**/*.parquet")).unlink()
    assert ", 1 missing" in lines(data)["physical features"]


def test_an_unfinished_store_and_one_of_other_data(data):
    made = build(data, report=lambda line: None)
    next(data.glob("npz_all/npz/tile/xla/valid/*.npz")).unlink()
    store._checked.cache_clear()
    assert f"store {made.folder}: of other data or another version, 10 graphs packed" in inspect(data)
    (made.folder / store.MANIFEST).unlink()
    assert f"store {made.folder}: unfinished, 10 graphs packed" in inspect(data)


def test_its_folder(data):
    made = build(data, report=lambda line: None)
    found = lines(made.folder)
    assert found["graphs"].split()[1] == "10"
    assert "missing" not in found["physical features"], "which tables there should be is known of a data set only"
