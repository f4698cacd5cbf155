"""What `kit.plan` predicts beside what packing and features really take, in seconds of the processor and in memory.

Measured on the data set that ``KIT_BENCH_DATA`` names, by default on the small sample, written for the occasion.
"""

import tempfile
import time

from kit import probe
from kit.bench.store import data_set
from kit.plan import plan


def built(data, features):
    """Seconds of the processor and peak bytes of making or finishing a store, in this process."""
    from kit.features.store.build import build

    start = time.process_time()
    build(data, features=features, report=lambda line: None)
    return time.process_time() - start, probe.peak()


def row(cost, seconds, memory):
    """A row of the bench table: how far a prediction is from what was measured."""
    return (f"plan: {cost.step}, predicted beside real",
            f"time {cost.seconds / seconds - 1:+.0%}, memory {cost.memory / memory - 1:+.0%}",
            f"{cost.seconds:.1f} ± {cost.error:.1f} s against {seconds:.1f} s of the processor, "
            f"{cost.memory / 1e6:.0f} MB against {memory / 1e6:.0f} MB")


def rows():
    """Rows of the bench table."""
    with tempfile.TemporaryDirectory() as folder, data_set(folder) as data:
        costs = plan(data, clock=time.process_time, models=())
        for cost, features in zip(costs, ((), ("physical",)), strict=True):
            yield row(cost, *probe.apart(built, data, features))
        start = time.perf_counter()
        plan(data)
        yield "plan: all of it, with the baselines", f"{time.perf_counter() - start:.0f} s", "once"
