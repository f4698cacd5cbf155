"""``python -m evaluation.bench``: wall time of scoring and of the board, the interpreter's start included."""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from evaluation.collections import COLLECTIONS
from evaluation.dataset import describe
from evaluation.entries import CARD, CSV
from evaluation.files import sha256
from evaluation.statistics import Average, resample

BOARD = 50  # entries
LAYOUT_CONFIGS = 1000


def write_split(folder, split="valid", share=1.0, seed=0):
    """Write npz files with runtimes only, as many as the published test split has (894), as a data set.

    Parameters
    ----------
    folder : Path
    split : str
    share : float
        Part of the published number of files.
    seed : int

    Returns
    -------
    dict of str to int
        Configurations of every graph, by ID.
    """
    rng, configs = np.random.default_rng(seed), {}
    for name, collection in COLLECTIONS.items():
        target = Path(folder) / "npz" / collection.folder / split
        target.mkdir(parents=True)
        for number in range(max(1, round(share * collection.published["test"]))):
            count = LAYOUT_CONFIGS if collection.kind == "layout" else int(rng.integers(2, 4000))
            stem = f"{number:032x}"
            np.savez_compressed(target / f"{stem}.npz", config_runtime=rng.integers(10**6, 10**7, count),
                                config_runtime_normalizers=np.full(count, 10**6))
            configs[f"{name}:{stem}"] = count
    return configs


def write_submission(path, configs, seed=0):
    """Write a submission that ranks every layout completely and lists five tiles, at random."""
    rng = np.random.default_rng(seed)
    with open(path, "w", encoding="utf-8") as out:
        out.write("ID,TopConfigs\n")
        for id, count in configs.items():
            listed = rng.permutation(count)[:5 if id.startswith("tile") else None]
            out.write(f"{id},{';'.join(map(str, listed.tolist()))}\n")


def write_entries(folder, data, configs, count):
    """Write entries with a card each, all of the split valid of `data`."""
    dataset = describe(data)
    for number in range(count):
        entry = Path(folder) / f"entry-{number:02d}"
        entry.mkdir(parents=True)
        write_submission(entry / CSV, configs, seed=number)
        card = {"entry": entry.name, "track": "runtime", "dataset": vars(dataset), "split": "valid", "model": "random",
                "parameters": {}, "seed": number, "sha256": sha256(entry / CSV), "versions": {}, "commit": None,
                "train_seconds": None, "predict_seconds": None, "fallbacks": {}, "command": None, "created": None}
        (entry / CARD).write_text(json.dumps(card), encoding="utf-8")


def median_seconds(command, repeats):
    """Median wall seconds of a command run as a process of its own."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def bootstrap_seconds(repeats, graphs=900, entries=10):
    """Median seconds of the bootstrap of one board, five equal groups."""
    groups = list(np.random.default_rng(0).random((5, entries, graphs // 5)))
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        resample(groups, Average(groups=5))
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def rows(repeats=5):
    """Rows of the table of benchmarks: what, figure, note."""
    with tempfile.TemporaryDirectory() as folder:
        data, entries = Path(folder) / "data", Path(folder) / "entries"
        configs = write_split(data)
        write_entries(entries, data, configs, BOARD)
        command = [sys.executable, "-m", "evaluation"]
        score = [*command, "score", entries / "entry-00" / CSV, "--data", data, "--json"]
        yield f"score {len(configs)} rows", f"{median_seconds(score, repeats):.2f} s", "with the interpreter's start"
        board = [*command, "leaderboard", "--data", data, "--submissions", entries]
        yield f"board, {BOARD} entries, all new", f"{median_seconds(board, 1):.1f} s", "once"
        yield f"board, {BOARD} entries, nothing changed", f"{median_seconds(board, repeats):.2f} s", "Markdown"
        page = median_seconds([*board, "--html"], repeats)
        yield f"board, {BOARD} entries, nothing changed", f"{page:.2f} s", "Markdown and HTML"
    yield "bootstrap, 900 graphs, 10 entries", f"{bootstrap_seconds(repeats):.2f} s", "2,000 rounds"


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.bench", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    for row in rows(parser.parse_args().repeats):
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
