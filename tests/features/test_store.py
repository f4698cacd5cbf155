"""The store: the same graphs, tables and scores as without it; made again where the data changed, whole after kills."""

import os
import subprocess
import sys

import numpy as np
import pytest

from evaluation.errors import InputError
from kit.distinct import distinct_configs, merged_runtimes
from kit.features import layout, store, tile
from kit.features.store import build as building
from kit.features.store.build import build
from kit.features.store.tables import parts
from kit.graphs import Graphs, TileGraph, read_graph
from tests.builders import layout_arrays, save, save_data_set
from tests.conftest import REPOSITORY

COLLECTIONS = ("tile:xla", "layout:xla:default")

pytestmark = pytest.mark.usefixtures("fresh")


def quiet(line):
    """Where a build's report goes."""


def contents(folder):
    """{relative path: bytes} of all files."""
    return {f.relative_to(folder).as_posix(): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


def pairs(data):
    """(graph from the store, graph from its file) of all splits."""
    for collection in COLLECTIONS:
        for split in ("train", "valid", "test"):
            graphs = Graphs(data, collection, split)
            assert graphs.store is not None
            yield from ((graph, read_graph(file, collection)) for graph, file in zip(graphs, graphs.files, strict=True))


def test_graphs_come_back_as_they_were(data):
    build(data, report=quiet)
    for stored, plain in pairs(data):
        for name, value in vars(plain).items():
            if name != "stored":
                np.testing.assert_array_equal(getattr(stored, name), value)
        assert stored.configs == plain.configs


def test_tables_come_back_as_they_were(data):
    build(data, features=("physical", "wide"), report=quiet)
    for stored, plain in pairs(data):
        module = tile if isinstance(plain, TileGraph) else layout
        for feature_set in ("physical", "wide"):
            found, wanted = stored.stored.features(feature_set), module.distinct_table(plain, feature_set)
            assert found.columns == wanted.columns
            np.testing.assert_array_equal(found.to_numpy(), wanted.to_numpy())
            whole = module.table(plain, feature_set)
            np.testing.assert_array_equal(whole.drop("graph_id", "config").to_numpy(), wanted.drop(
                "graph_id", "config").to_numpy()[distinct_configs(plain).inverse])


def test_copies_are_merged_at_their_median_with_their_spread(tmp_path):
    arrays = layout_arrays(configs=4)
    arrays["node_config_feat"][[2, 3]] = arrays["node_config_feat"][0]
    arrays["config_runtime"] = np.array([10, 7, 30, 20])
    save(tmp_path / "data/npz/layout/xla/default/train/a.npz", arrays)
    build(tmp_path / "data", report=quiet)
    graph = Graphs(tmp_path / "data", "layout:xla:default", "train")[0]
    np.testing.assert_array_equal(distinct_configs(graph).count, [3, 1])
    median, spread = merged_runtimes(graph)
    np.testing.assert_array_equal(median, [20, 7])
    np.testing.assert_array_equal(spread, [20, 0])


def test_a_second_build_does_nothing(data, monkeypatch):
    before = contents(build(data, report=quiet).folder)
    monkeypatch.setattr(building, "pack_files", None)
    monkeypatch.setattr("kit.features.store.tables.write_part", None)
    assert contents(build(data, report=quiet).folder) == before


def test_a_changed_file_is_packed_again_and_the_others_are_kept(data):
    made = build(data, report=quiet)
    changed, *others = sorted(made.folder.glob("graphs/layout/**/*.npz"))
    times = {f: f.stat().st_mtime_ns for f in others}
    source = data / "npz_all/npz/layout/xla/default" / changed.relative_to(made.folder / "graphs/layout/xla/default")
    save(source, layout_arrays(configs=9, seed=99))
    store._checked.cache_clear()
    assert Graphs(data, "layout:xla:default", "train").store is None
    build(data, report=quiet)
    assert {f: f.stat().st_mtime_ns for f in others} == times
    for stored, plain in pairs(data):
        np.testing.assert_array_equal(stored.config_rows, plain.config_rows)


def test_a_file_that_changed_since_is_read_itself(data):
    build(data, report=quiet)
    graphs = Graphs(data, "layout:xla:default", "train")
    save(graphs.files[0], layout_arrays(configs=50))
    assert graphs[0].configs == 50


def test_another_format_is_made_anew(data, monkeypatch):
    build(data, report=quiet)
    for module in ("kit.features.store", "kit.features.store.build", "kit.features.store.graph"):
        monkeypatch.setattr(f"{module}.FORMAT", 999)
    store._checked.cache_clear()
    assert store.find(data) is None
    build(data, report=quiet)
    assert store.find(data) is not None


def test_a_file_that_is_gone_leaves_the_store(data):
    made = build(data, report=quiet)
    gone = sorted(data.glob("npz_all/npz/tile/xla/train/*.npz"))[0]
    gone.unlink()
    build(data, report=quiet)
    assert not (made.folder / "graphs/tile/xla/train" / gone.name).exists()


def test_several_processes_make_the_same_store(data, tmp_path, monkeypatch):
    monkeypatch.setattr(building, "GROUP_FILES", 1)
    alone = contents(build(data, workers=1, report=quiet).folder)
    monkeypatch.setenv(store.VARIABLE, str(tmp_path / "stores"))
    together = build(data, workers=2, report=quiet)
    assert together.folder.is_relative_to(tmp_path / "stores")
    assert contents(together.folder) == alone


def test_a_data_set_that_cannot_be_written_has_its_store_in_the_cache(data, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    data.chmod(0o555)
    try:
        assert build(data, report=quiet).folder.is_relative_to(tmp_path / "cache")
        assert store.find(data) is not None
        assert not (data / ".store").exists()
    finally:
        data.chmod(0o755)


def test_a_damaged_graph_is_named(data):
    made = build(data, report=quiet)
    graphs = Graphs(data, "layout:xla:default", "train")
    file = store.packed_file(made.folder, made.root, graphs.files[0])
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(InputError, match=file.name):
        graphs[0]


def test_a_damaged_manifest_is_named(data):
    made = build(data, report=quiet)
    (made.folder / store.MANIFEST).write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=store.MANIFEST):
        store.find(data)


def test_kernels_share_a_file_of_tables(data):
    made = build(data, report=quiet)
    found = parts(made, "physical")
    assert sorted(len(files) for part, files in found.items() if "tile" in part.as_posix()) == [1, 1, 3]


_KILLS = """
import os, signal, sys, time
import joblib, numba, numpy as np, polars
import kit.features.compiled, kit.features.layout, kit.features.tile, kit.features.store.graph, kit.narrow
from kit.features import store
from kit.features.store.build import build

def attempt(folder, moment=None):  # imports stay behind; polars has not started its threads, so forking is safe
    os.environ[store.VARIABLE] = folder
    child = os.fork()
    if child == 0:
        build(sys.argv[1], report=lambda line: None)
        os._exit(0)
    if moment is not None:
        time.sleep(moment)
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

begin = time.monotonic()
assert attempt(sys.argv[2]) == 0
whole, rng = time.monotonic() - begin, np.random.default_rng(0)
killed = sum(attempt(sys.argv[3], rng.uniform(0, whole / 8)) < 0 for _ in range(20))
assert attempt(sys.argv[3]) == 0
print(killed)
"""


def test_killed_at_any_moment_it_ends_as_in_peace(tmp_path):
    data = save_data_set(tmp_path / "data", layouts=("layout:xla:default", "layout:nlp:random"), train=8)
    done = subprocess.run([sys.executable, "-c", _KILLS, data, tmp_path / "peace", tmp_path / "killed"], check=True,
                          capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(REPOSITORY)})
    assert int(done.stdout) > 0
    assert contents(tmp_path / "killed") == contents(tmp_path / "peace")
