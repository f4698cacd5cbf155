"""Many instances and numbers of stages at once, on any engine: the judge's figures, interruptible."""

import time
from dataclasses import dataclass, field, replace

from evaluation.engine import holding_interrupts, open_engine
from evaluation.instance import Instance
from evaluation.partition import bottleneck, certified_ratio, check_stages
from kit.partition.instances import with_memory
from kit.progress import progress

PROVED = 0.9999


@dataclass(frozen=True)
class Task:
    """One pair to solve.

    Attributes
    ----------
    file : str
        For the report.
    instance : Instance
    k : int
    memory : str or None
        ``64MiB`` or ``50%``, in place of the instance's own fast memory.
    budget : dict
        ``seconds`` or ``evaluations``, and ``seed``.
    """

    file: str
    instance: Instance
    k: int
    memory: str | None = None
    budget: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What came of a task; times in seconds, bottleneck and ratio as the judge computes them.

    Attributes
    ----------
    instance : Instance
        With the fast memory it was solved for.
    stages : int64 array (n,)
    methods : dict
        As the solver reports them.
    certificate : dict or None
    history : list of (seconds, bottleneck, lower bound)
    """

    file: str
    instance: Instance
    k: int
    stages: object
    bottleneck: float
    lower_bound: float
    certified_ratio: float
    seconds: float
    methods: dict
    certificate: dict | None
    history: list

    @property
    def proved(self):
        """Whether the partition is proved optimal, to four digits."""
        return self.certified_ratio >= PROVED

    def to_json(self):
        """The keys that ``solve --json`` prints."""
        keys = ("file", "k", "bottleneck", "lower_bound", "certified_ratio", "proved", "seconds", "methods")
        return {key: getattr(self, key) for key in keys}


def solve_task(task):
    """Solve one pair and let the judge look at the answer: the best so far where Ctrl-C interrupts."""
    try:
        with holding_interrupts():
            from kit.partition.solve import solve
    except KeyboardInterrupt:
        task = replace(task, budget={"seconds": 0.0})
    instance = with_memory(task.instance, task.memory, task.k)
    start = time.monotonic()
    found = solve(instance, task.k, **task.budget)
    stages = check_stages(instance, found.stages, task.k)
    seconds = bottleneck(instance, stages)
    lower = min(found.lower_bound, seconds)
    return Outcome(task.file, instance, task.k, stages, seconds, lower, certified_ratio(lower, seconds),
                   time.monotonic() - start, found.methods, found.certificate, found.history)


def solve_all(tasks, jobs=1, done=lambda outcome: None, cluster=None):
    """Solve many pairs; Ctrl-C ends those that run with the best so far and leaves out those not begun.

    Parameters
    ----------
    tasks : list of Task
    jobs : int
        Processes at a time.
    done : callable
        Called with each outcome as it arrives, in this process.
    cluster : str, optional
        Dask workers in place of processes, see `evaluation.engine.open_engine`.

    Returns
    -------
    (list of Outcome, bool)
        In the order of the tasks; whether it was interrupted.
    """
    outcomes, interrupted = {}, False
    try:
        with open_engine(cluster, jobs) as engine, progress(total=len(tasks), desc="partitions", unit="pair") as bar:
            for number, outcome in engine.map(solve_task, tasks):
                outcomes[number] = outcome
                done(outcome)
                bar.update()
    except KeyboardInterrupt:  # also while workers start
        interrupted = True
    return [outcomes[number] for number in sorted(outcomes)], interrupted
