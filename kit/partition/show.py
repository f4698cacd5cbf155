"""Instances and solutions as text for a terminal."""

from collections import Counter
from pathlib import Path

import numpy as np

from evaluation.errors import InputError
from evaluation.partition import simple_bound, stage_costs
from evaluation.submission_file import read as read_csv
from evaluation.tracks import TRACKS
from kit.partition import instances
from kit.partition.units import show_bytes, show_seconds

PARTS = (("in", "io_in", "<"), ("work", "work", "#"), ("overflow", "overflow", "!"), ("out", "io_out", ">"))
WIDTH = 50


def describe(path):
    """What a file that holds a partition instance, in any format known, is about.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    str
    """
    instance, notes = instances.read(path)
    memory = "unlimited" if instance.fast_memory is None else show_bytes(instance.fast_memory)
    ratio = instance.output_bytes.mean() / instance.bandwidth / max(instance.work.mean(), 1e-300)
    kinds = Counter(name.split()[-1] for name in instance.nodes)
    lines = [f"{instance.name}{' (simulated)' if instance.simulated else ''}: {instance.source}",
             f"{len(instance)} nodes, {len(instance.edges)} edges, work {show_seconds(instance.work.sum())}, "
             f"parameters {show_bytes(instance.parameter_bytes.sum())}",
             f"bandwidth {show_bytes(instance.bandwidth)}/s, fast memory {memory}, activation reserve "
             f"{show_bytes(instance.activation_reserve)}",
             f"mean transfer / mean work {ratio:.3g}; k {', '.join(map(str, instance.k)) or 'not stated'}"]
    lines += [f"no split into {k} stages is faster than {show_seconds(simple_bound(instance, k))} (simple bound)"
              for k in instance.k]
    if len(kinds) < len(instance):
        lines.append("most frequent: " + ", ".join(f"{kind} {count}" for kind, count in kinds.most_common(5)))
    return "\n".join(lines + [f"note: {note}" for note in notes])


def stage_table(instance, stages, k):
    """Costs of every stage as text, one bar a stage: ``<`` in, ``#`` work, ``!`` overflow, ``>`` out.

    Parameters
    ----------
    instance : Instance
    stages : int64 array (n,)
    k : int

    Returns
    -------
    str
    """
    costs = stage_costs(instance, stages, k)
    total, counts = costs.total, np.bincount(stages, minlength=k)
    heading = f"{'stage':>5} {'nodes':>6} {'total':>10}" + "".join(f" {name:>10}" for name, _, _ in PARTS)
    lines = [heading]
    for stage in range(k):
        cells = "".join(f" {show_seconds(getattr(costs, field)[stage]):>10}" for _, field, _ in PARTS)
        mark = " <- bottleneck" if stage == int(total.argmax()) else ""
        lines.append(f"{stage:>5} {counts[stage]:>6} {show_seconds(total[stage]):>10}{cells}  "
                     f"{_bar(costs, stage, total.max())}{mark}")
    return "\n".join(lines)


def _bar(costs, stage, longest):
    if not longest:
        return ""
    return "".join(sign * round(WIDTH * getattr(costs, field)[stage] / longest) for _, field, sign in PARTS)


def read_solution(path, instance, k=None):
    """Partitions of an instance in a submission.

    Parameters
    ----------
    path : str or Path
        A CSV with ``ID,Stages``, or the folder of an entry.
    instance : Instance
    k : list of int, optional
        Only these numbers of stages.

    Returns
    -------
    dict of int to int64 array (n,)
        Stages for each k, feasible.

    Raises
    ------
    InputError
        Where the file holds none, or one that is no partition.
    """
    from evaluation.bounds import parse_pair
    from evaluation.partition import check_stages

    path = Path(path)
    path = path / "submission.csv" if path.is_dir() else path
    submission = read_csv(path, [TRACKS["partition"]])
    submission.problems.refuse(path)
    found = {parse_pair(id)[1]: row.values for id, row in submission.rows.items()
             if parse_pair(id)[0] == instance.name and (not k or parse_pair(id)[1] in k)}
    if not found:
        raise InputError(f"{path}: no row for {instance.name}{f' and k in {k}' if k else ''}; IDs are "
                         "partition:<instance>:<k>")
    return {count: check_stages(instance, stages, count) for count, stages in sorted(found.items())}


def table(outcomes):
    """Outcomes as a table for a terminal: one line a pair."""
    width = max([len(Path(outcome.file).name) for outcome in outcomes] + [8])
    lines = [f"{'instance':<{width}} {'k':>3} {'bottleneck':>12} {'lower bound':>12} {'ratio':>7} {'':<6} "
             f"{'seconds':>8}"]
    for outcome in outcomes:
        lines.append(f"{Path(outcome.file).name:<{width}} {outcome.k:>3} {show_seconds(outcome.bottleneck):>12} "
                     f"{show_seconds(outcome.lower_bound):>12} {outcome.certified_ratio:>7.4f} "
                     f"{'proved' if outcome.proved else '':<6} {outcome.seconds:>8.1f}")
    ratios = [outcome.certified_ratio for outcome in outcomes]
    mean = float(np.exp(np.mean(np.log(np.maximum(ratios, 1e-12)))))
    proved = sum(outcome.proved for outcome in outcomes)
    lines.append(f"geometric mean ratio {mean:.4f}, lowest {min(ratios):.4f}, {proved} of {len(ratios)} proved")
    return "\n".join(lines)
