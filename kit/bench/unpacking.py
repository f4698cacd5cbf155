"""Verify-and-unpack against ``unzip`` on the same archive, in turns, in one run."""

import shutil
import statistics
import subprocess
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np

from kit.kaggle.unpack import members, unpack

SMALL, LARGE = (1500, 60_000), (8, 20_000_000)  # files and bytes: tile kernels and layout graphs of the real archive
ROUNDS = 5


def make_archive(path):
    """A zip archive of files that are packed already, as npz files are, in the proportions of the real one."""
    generator = np.random.default_rng(0)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for kind, (count, size) in (("tile", SMALL), ("layout", LARGE)):
            for number in range(count):
                archive.writestr(f"npz_all/npz/{kind}/train/{number}.npz", generator.bytes(size))


def with_kit(archive, folder):
    """Seconds that the kit takes."""
    start = time.perf_counter()
    with open(archive, "rb", buffering=0) as file:
        unpack(file, members(file, archive), folder, lambda count: None)
    return time.perf_counter() - start


def with_unzip(archive, folder):
    """Seconds that ``unzip`` takes."""
    start = time.perf_counter()
    subprocess.run(["unzip", "-q", archive, "-d", folder], check=True)
    return time.perf_counter() - start


def rows():
    """One row of the table: throughput of both and their ratio, medians over rounds in turns."""
    if not shutil.which("unzip"):
        return [("verify and unpack", "not measured", "unzip is not installed")]
    with tempfile.TemporaryDirectory() as work:
        archive = Path(work, "archive.zip")
        make_archive(archive)
        size = archive.stat().st_size / 1e6
        seconds = {with_kit: [], with_unzip: []}
        for number in range(ROUNDS + 1):  # the first round warms the page cache and is left out
            for method, found in seconds.items():
                folder = Path(work, method.__name__)
                taken = method(archive, folder)
                found += [taken] if number else []
                shutil.rmtree(folder)
        kit, unzip = (size / statistics.median(found) for found in seconds.values())
    return [("verify and unpack", f"{kit / unzip:.2f} times unzip",
             f"{kit:.0f} MB/s against {unzip:.0f} MB/s, {SMALL[0] + LARGE[0]} files, {size:.0f} MB, "
             f"median of {ROUNDS} rounds in turns")]


if __name__ == "__main__":
    for row in rows():
        print(": ".join(row[:2]), f"({row[2]})")
