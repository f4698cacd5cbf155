"""Each baseline trained on a whole data set, a few steps a collection, and its test split ranked: time and memory.

Measured on the data set that ``KIT_BENCH_DATA`` names, by default on the small sample, written for the occasion. Of the
large sample (``python -m kit sample --scale large``) it takes about an hour.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kit.bench.prediction import MODELS
from kit.bench.store import VARIABLE, WORKERS, data_set

MEMORY, THREADS, STEPS = "8GB", 2, 8
LOOK = 0.5  # seconds between two looks at the memory


def members(process):
    """A process and all that it started, as far as they live; Linux only."""
    found = [process]
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        found += [member for child in _text(children).split() for member in members(int(child))]
    return found


def held(processes):
    """Resident bytes of processes, what they share counted once; 0 where the system does not tell."""
    lines = (line for process in processes for line in _text(Path(f"/proc/{process}/smaps_rollup")).splitlines())
    return 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _text(path):
    """A file of a process, empty once the process has ended."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


def command(*words):
    """Run a verb of the kit with all that it starts.

    Parameters
    ----------
    *words : str or Path
        What stands behind ``python -m kit``.

    Returns
    -------
    seconds, cpu : float
        By the clock, and of all its processes together.
    peak : int
        Most bytes that they held together, at looks half a second apart; 0 where the system does not tell.

    Raises
    ------
    subprocess.CalledProcessError
        It failed; what it wrote stands in `stderr`.
    """
    start, used = time.perf_counter(), _used()
    peak = 0
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        process = subprocess.Popen([sys.executable, "-m", "kit", *map(str, words)], stdout=subprocess.DEVNULL,
                                   stderr=said)
        while process.poll() is None:
            peak = max(peak, held(members(process.pid)))
            time.sleep(LOOK)
        if process.returncode:
            said.seek(0)
            raise subprocess.CalledProcessError(process.returncode, process.args, stderr=said.read())
    return time.perf_counter() - start, _used() - used, peak


def _used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def row(what, *words):
    """A row of the bench table."""
    seconds, cpu, peak = command(*words)
    memory = f"{peak / 1e9:.2f} GB" if peak else "memory not seen here"
    return what, f"{seconds:.0f} s, {memory}", f"{cpu:.0f} s of the processor, once; all its processes together"


def rows():
    """Rows of the bench table."""
    with tempfile.TemporaryDirectory() as folder, data_set(folder) as data:
        name = data.name if os.environ.get(VARIABLE) else "the small sample"
        yield row(f"{name}: store, {WORKERS} processes", "store", "--data", data, "--workers", WORKERS)
        for model in MODELS:
            run = Path(folder) / model
            yield row(f"{name}: training {model}, {STEPS} steps a collection, --max-memory {MEMORY}",
                      "train", "--model", model, "--data", data, "--run", run, "--steps", STEPS,
                      "--max-memory", MEMORY, "--threads", THREADS)
            yield row(f"{name}: ranking the test split with {model}",
                      "predict", "--run", run, "--data", data, "--split", "test", "--out", f"{run}-entry")
