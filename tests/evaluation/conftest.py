"""A tiny runtime data set whose every score can be worked out by hand."""

import json

import numpy as np
import pytest

from evaluation.dataset import describe

TILE, LAYOUT = "tile:xla", "layout:xla:default"


def write_graph(root, id, split, runtime, normalizer=None):
    """Write the runtime members of one graph."""
    collection, name = id.rsplit(":", 1)
    folder = root / "npz" / collection.replace(":", "/") / split
    folder.mkdir(parents=True, exist_ok=True)
    members = {"config_runtime": np.array(runtime, dtype=np.int64)}
    if collection.startswith("tile"):
        members["config_runtime_normalizers"] = np.array(normalizer or [1] * len(runtime), dtype=np.int64)
    np.savez_compressed(folder / f"{name}.npz", **members)


@pytest.fixture
def tiny(tmp_path):
    """Two tile kernels and two layout graphs, split valid."""
    write_graph(tmp_path, f"{TILE}:a", "valid", [100, 200, 400, 50, 800, 1600])
    write_graph(tmp_path, f"{TILE}:b.v2", "valid", [10, 20])
    write_graph(tmp_path, f"{LAYOUT}:g", "valid", [4, 3, 2, 1])
    write_graph(tmp_path, f"{LAYOUT}:h", "valid", [1, 2, 3])
    return tmp_path


@pytest.fixture
def submission(tmp_path):
    """Write a submission from a dict of ID to list, or from raw text or bytes."""

    def write(rows, name="submission.csv"):
        path = tmp_path / name
        if isinstance(rows, dict):
            rows = "ID,TopConfigs\n" + "".join(f"{id},{';'.join(map(str, row))}\n" for id, row in rows.items())
        path.write_bytes(rows.encode() if isinstance(rows, str) else rows)
        return path

    return write


PERFECT = {f"{TILE}:a": [3, 0, 1, 2, 4], f"{TILE}:b.v2": [0, 1], f"{LAYOUT}:g": [3, 2, 1, 0], f"{LAYOUT}:h": [0, 1, 2]}


@pytest.fixture
def perfect():
    """Rows of a perfect submission for `tiny`."""
    return {id: list(row) for id, row in PERFECT.items()}


def make_entry(folder, rows, identity, **changes):
    """Write an entry of the runtime track with a complete card, then change fields of the card."""
    folder.mkdir(parents=True)
    text = "ID,TopConfigs\n" + "".join(f"{id},{';'.join(map(str, row))}\n" for id, row in rows.items())
    (folder / "submission.csv").write_text(text, encoding="utf-8")
    card = {"entry": folder.name, "track": "runtime", "dataset": vars(identity), "split": "valid", "model": "by hand",
            "parameters": {}, "seed": 0, "sha256": None, "versions": {}, "commit": None, "train_seconds": 2.0,
            "predict_seconds": 0.5, "fallbacks": {}, "command": "python -m kit predict", "created": None}
    (folder / "card.json").write_text(json.dumps({**card, **changes}), encoding="utf-8")
    return folder


GROUPS = ("tile:xla", "layout:xla:default", "layout:nlp:random")
NOISE = {"good": 0.1, "fair": 0.6, "poor": 3.0}


@pytest.fixture
def contest_data(tmp_path):
    """A simulated data set of three collections with six graphs each, and a submissions folder of three entries."""
    rng, data, entries = np.random.default_rng(5), tmp_path / "data", tmp_path / "entries"
    runtimes = {f"{group}:g{i}": rng.integers(1000, 9000, 12) for group in GROUPS for i in range(6)}
    for id, runtime in runtimes.items():
        write_graph(data, id, "valid", runtime)
        write_graph(data, id, "train", runtime)
    dataset = describe(data, name="toy", simulated=True)
    for name, noise in NOISE.items():
        make_entry(entries / name, {id: np.argsort(np.log(runtime) + noise * rng.normal(size=12))
                                    for id, runtime in runtimes.items()}, dataset)
    return data, entries, dataset, runtimes
