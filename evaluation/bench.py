"""``python -m evaluation.bench``: wall time of scoring and of the board, the interpreter's start included."""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from evaluation.collections import COLLECTIONS

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


def median_seconds(command, repeats):
    """Median wall seconds of a command run as a process of its own."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def main():
    """Print the medians."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.bench", description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        configs = write_split(folder)
        write_submission(f"{folder}/submission.csv", configs)
        score = [sys.executable, "-m", "evaluation", "score", f"{folder}/submission.csv", "--data", folder]
        print(f"score {len(configs)} rows: {median_seconds([*score, '--json'], args.repeats):.2f} s")


if __name__ == "__main__":
    main()
