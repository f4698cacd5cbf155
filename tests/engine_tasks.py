"""Tasks that worker processes import by name."""

import os
import signal
import time
from pathlib import Path

from evaluation.errors import InputError
from kit.partition.random_graphs import generate
from kit.partition.solve import solve

SOLVES = [(seed, k) for seed in range(20) for k in (2, 3)]


def solved(task):
    """Stages and bottleneck of a small random graph, by a fixed number of evaluations."""
    seed, k = task
    found = solve(generate("er", 20, 0.5, seed), k, evaluations=20, seed=seed)
    return found.stages.tolist(), found.bottleneck, found.lower_bound


def square(number):
    """Something quick."""
    return number * number


def refuse(number):
    """Fail on one of the tasks, as wrong input does."""
    if number == 3:
        raise InputError("task 3 is wrong")
    return number


def die(number):
    """End the process that runs this, as a lack of memory does."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_once(task):
    """End the process that runs this, unless the file is there."""
    file, number = task
    if number == 2 and not Path(file).exists():
        Path(file).touch()
        die(number)
    return number


def threads(name):
    """The number of threads that libraries are told to use, and that polars does use."""
    import polars as pl

    time.sleep(0.2)  # so that each worker gets one
    return os.environ.get(name), pl.thread_pool_size()
