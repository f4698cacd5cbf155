"""Small valid inputs that tests take and break in one place."""

import numpy as np


def tile_arrays(configs=6, nodes=4, seed=0):
    """Arrays of a valid tile kernel: a chain of nodes, distinct configurations."""
    rng = np.random.default_rng(seed)
    feat = np.zeros((nodes, 140), np.float32)
    feat[:, 21] = feat[:, 28] = 8
    feat[-1, 0] = 1
    config = np.zeros((configs, 24), np.float32)
    config[:, 8] = np.arange(1, configs + 1)
    config[:, 14], config[:, 15] = config[:, 8], config[:, 8]
    return {
        "node_feat": feat, "node_opcode": np.full(nodes, 63, np.uint8),
        "edge_index": np.stack([np.arange(1, nodes), np.arange(nodes - 1)], axis=1).astype(np.int64),
        "config_feat": config, "config_runtime": rng.integers(1_000, 9_000, configs),
        "config_runtime_normalizers": np.full(configs, 4_000, np.int64),
    }


def layout_arrays(configs=5, nodes=6, configurable=2, seed=0):
    """Arrays of a valid layout graph: a chain whose first nodes are configurable."""
    rng = np.random.default_rng(seed)
    arrays = tile_arrays(configs, nodes, seed)
    del arrays["config_feat"], arrays["config_runtime_normalizers"]
    arrays["node_opcode"][:configurable] = 26
    arrays["node_feat"][:configurable, 21:25] = [16, 32, 64, 128]
    digits = np.full((configs, configurable, 18), -1, np.float32)
    for row in digits.reshape(-1, 18)[1:]:
        row[:4], row[6:10] = rng.permutation(4), rng.permutation(4)
    return {**arrays, "node_config_ids": np.arange(configurable), "node_config_feat": digits,
            "node_splits": np.array([[nodes]], np.int64)}


def save(path, arrays):
    """Write an npz file as the data set's authors do: deflated."""
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)
    return path


def save_data_set(folder, *, layouts=("layout:xla:default",), train=3):
    """A small valid data set in the layout of the Kaggle download: tiles and some layout collections."""
    root = folder / "npz_all" / "npz"
    for number, split in enumerate(("train", "valid", "test")):
        for i in range(train if split == "train" else 1):
            for place, make in (("tile/xla", tile_arrays), *((n.replace(":", "/"), layout_arrays) for n in layouts)):
                arrays = make(seed=10 * number + i)
                if split == "test":
                    arrays["config_runtime"] = np.zeros_like(arrays["config_runtime"])
                name = f"{number:031x}{i}" if split == "test" else f"graph.{split}.{i}"
                save(root / place / split / f"{name}.npz", arrays)
    return folder
