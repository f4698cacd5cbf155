"""The embedded sample as files: format, splits, answers, digest, no signal in the order."""

import hashlib
import json
import zipfile

import numpy as np
import polars as pl
import pytest

from evaluation.collections import COLLECTIONS, find_root, graph_files, graph_name
from evaluation.errors import InputError
from evaluation.metrics import kendall_tau
from kit import sample
from kit.graphs import Graphs, TileGraph, read_graph
from kit.sample import plan, programs
from kit.sample.draws import Draws

SPLITS = ("train", "valid", "test")
LEAST = {"tile:xla": (60, 12, 12)}
DIGEST = "aa1a5228c586208b9400bdca5d9d85cdc3e21335e87e3911ecfeaa4e9ecc9697"


def _digest(root):
    """SHA-256 over the arrays of all files, runtimes rounded to seven digits."""
    digest = hashlib.sha256()
    for file in sorted(root.rglob("*.npz")):
        digest.update(file.relative_to(root).as_posix().encode())
        with np.load(file, allow_pickle=False) as arrays:
            for name in sorted(arrays.files):
                array = arrays[name]
                if name.startswith("config_runtime"):
                    array = np.array([float(f"{value:.7g}") for value in array.tolist()])
                digest.update(f"{name} {array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def test_the_same_arrays_on_every_machine(sample_data):
    assert _digest(find_root(sample_data)) == DIGEST


def test_every_file_is_read(sample_data):
    for collection in COLLECTIONS:
        for split, least in zip(SPLITS, LEAST.get(collection, (12, 4, 4)), strict=True):
            graphs = Graphs(sample_data, collection, split)
            assert len(graphs) >= least
            for graph in graphs:
                assert (graph.config_runtime is None) == (split == "test")
                assert graph.configs >= 50 if isinstance(graph, TileGraph) else 300 <= graph.configs <= 600


def test_types_and_shapes_as_in_the_real_files(sample_data):
    root = find_root(sample_data)
    types = {"node_feat": "float32", "node_opcode": "uint8", "edge_index": "int64", "config_runtime": "int64"}
    kinds = {"tile": types | {"config_feat": "float32", "config_runtime_normalizers": "int64"},
             "layout": types | {"node_config_feat": "float32", "node_config_ids": "int64", "node_splits": "int64"}}
    for name, collection in COLLECTIONS.items():
        with np.load(graph_files(root, name, "test")[0], allow_pickle=False) as arrays:
            assert {member: str(arrays[member].dtype) for member in arrays.files} == kinds[collection.kind]
            assert not arrays["config_runtime"].any()
            if collection.kind == "tile":
                assert (arrays["config_runtime_normalizers"] == 1).all()
            else:
                assert arrays["node_splits"].shape[0] == 1


def test_no_program_is_in_two_splits(sample_data):
    seen = {split: {programs.architecture(name) for source in ("xla", "nlp")
                    for name in plan.layout_programs(source, split, plan.SCALES["small"], 0)}
            | {programs.architecture(n) for n in plan.kernel_programs(split, plan.SCALES["small"], 0)}
            for split in SPLITS}
    assert not seen["train"] & seen["valid"] and not seen["train"] & seen["test"] and not seen["valid"] & seen["test"]
    root = find_root(sample_data)
    for split in ("train", "valid"):
        names = {graph_name(f).split(".")[0].rsplit("_", 1)[0] for f in graph_files(root, "tile:xla", split)}
        assert names <= {name.split(".")[0].rsplit("_", 1)[0] for name in programs.names()
                         if programs.architecture(name) in seen[split]}


@pytest.mark.parametrize("seed", [0, 1])
def test_the_large_plan_reaches_the_data_sets_size(seed):
    """At least 60 layout graphs, 2 million configurations, one of 100,040 by 362 nodes, one of over 40,000 nodes."""
    scale, counts, nodes = plan.SCALES["large"], {}, []
    for split in SPLITS:
        for source in ("xla", "nlp"):
            for name in plan.layout_programs(source, split, scale, seed):
                nodes.append(programs.nodes(name))
                for search in ("default", "random"):
                    draws = Draws(seed, f"layout:{source}:{search}", name)
                    counts[name, search] = plan.configurations(name, scale, draws)
    assert len(counts) >= 60 and sum(counts.values()) >= 2_000_000
    assert max(counts.values()) == counts["densenet_121.train.b16.f32", "random"] == 100_040
    assert len(programs.load("densenet_121.train.b16.f32").module.node_config_ids) == 362
    assert 40_000 <= max(nodes) <= 42_000


def test_answers_hold_what_the_files_withhold(sample_data):
    for split in ("valid", "test"):
        answers = pl.read_parquet(sample_data / "answers" / f"{split}.parquet")
        assert answers.columns == ["id", "config", "runtime", "normalizer"]
        for collection in COLLECTIONS:
            for graph in Graphs(sample_data, collection, split):
                mine = answers.filter(pl.col("id") == graph.id)
                assert mine["config"].to_list() == list(range(graph.configs)) and mine["runtime"].min() > 0
                assert split == "test" or mine["runtime"].to_list() == graph.config_runtime.tolist()


def test_the_order_of_configurations_tells_nothing(sample_data):
    for collection in COLLECTIONS:
        taus = [kendall_tau(np.arange(g.configs), g.config_runtime) for g in Graphs(sample_data, collection, "train")
                if np.ptp(g.config_runtime)]
        assert abs(np.mean(taus)) < 0.05


def test_sample_submission_lists_every_test_graph(sample_data):
    lines = (sample_data / "sample_submission.csv").read_text(encoding="utf-8").splitlines()
    expected = {f"{c}:{graph_name(f)}" for c in COLLECTIONS for f in graph_files(find_root(sample_data), c, "test")}
    assert lines[0] == "ID,TopConfigs" and {line.split(",")[0] for line in lines[1:]} == expected
    assert all(len(stem.rsplit(":", 1)[1]) == 32 for stem in expected)


def test_known_as_simulated(sample_data):
    record = json.loads((sample_data / "dataset.json").read_text(encoding="utf-8"))
    assert record["simulated"] is True and record["name"] == "sample-small" and record["fingerprint"]


def test_the_same_bytes_again_and_others_with_another_seed(tmp_path, monkeypatch):
    one, small = (1, 1, 1), {"xla": 700, "nlp": 700}
    tiny = plan.Scale((3, 1, 1), {"xla": one, "nlp": one}, small, 700, (60, 80), (50, 60))
    monkeypatch.setitem(plan.SCALES, "small", tiny)
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        sample.write(tmp_path / name, seed=seed, workers=1, collections=["tile:xla", "layout:xla:random"])
    files = {n: {f.relative_to(tmp_path / n): f.read_bytes() for f in (tmp_path / n).rglob("*.npz")} for n in "abc"}
    assert files["a"] == files["b"] and files["a"] != files["c"]
    assert {i.date_time for f in files["a"] for i in zipfile.ZipFile(tmp_path / "a" / f).infolist()} == {
        (1980, 1, 1, 0, 0, 0)}
    assert all(read_graph(tmp_path / "a" / f).configs >= 50 for f in files["a"])


def test_what_is_in_the_way_is_kept(tmp_path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="in the way"):
        sample.write(tmp_path)
    assert (tmp_path / "mine.txt").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("wrong", [{"scale": "huge"}, {"constants": "none"}, {"collections": ["tile:nlp"]}])
def test_unknown_words_are_refused(tmp_path, wrong):
    with pytest.raises(InputError, match="there are"):
        sample.write(tmp_path / "new", **wrong)
    assert not (tmp_path / "new").exists()
