"""A tiny runtime data set whose every score can be worked out by hand."""

import numpy as np
import pytest

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
