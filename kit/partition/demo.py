"""The partition track in half a minute: two instances solved, the rest re-scored, all on a board."""

from pathlib import Path

from evaluation import dataset
from evaluation.bounds import FILE, parse_pair, verify_pair
from evaluation.leaderboard import contest, update
from kit.partition import embedded
from kit.partition.baselines import BASELINES
from kit.partition.jobs import PROVED, Task, solve_all
from kit.partition.show import table
from kit.partition.stored import write_baseline, write_stored

LIVE = (("resnet50", 8), ("random-ws-64-0.5-0", 8))
SHOWN = "equal work"  # of what people use today, the entry beside the best known


def rescore():
    """Check what is on record of the embedded instances: partitions, their times, no bound above them.

    Returns
    -------
    dict of int to list of float
        Certified ratios by k.
    """
    ratios, known = {}, embedded.load()
    for id, pair in embedded.bounds().items():
        name, k = parse_pair(id)
        ratios.setdefault(k, []).append(verify_pair(known[name], k, pair)[1])
    return dict(sorted(ratios.items()))


def demo(submissions="submissions", data="data/partition", *, seconds=5.0, live=LIVE, say=print):
    """Solve two embedded instances, score what is on record for the rest, and make the board.

    Parameters
    ----------
    submissions, data : str or Path
        Folders to write to.
    seconds : float
        Budget of each pair that is solved.
    live : sequence of (str, int)
        Instances and k to solve.
    say : callable
        Gets each line of text.

    Returns
    -------
    list of kit.partition.jobs.Outcome
    """
    known = embedded.load()
    say(f"partition track: {len(known)} embedded instances (simulated costs), {len(live)} pairs solved now")
    budget = {"seconds": seconds, "seed": 0}
    outcomes, _ = solve_all([Task(name, known[name], k, None, budget) for name, k in live])
    say(table(outcomes))
    say("on record, scored again:")
    for k, ratios in rescore().items():
        proved = sum(ratio >= PROVED for ratio in ratios)
        say(f"  k = {k:>2}: {len(ratios):>3} pairs, {proved:>3} proved optimal, lowest ratio {min(ratios):.4f}")
    _entries(Path(submissions), Path(data))
    say(update(submissions, contest(data), html=True))
    return outcomes


def _entries(submissions, data):
    """The data set, an entry with the best known partitions, and one of a baseline."""
    if not (data / dataset.FILE).is_file() or not (data / FILE).is_file():
        embedded.write(data)
    write_stored(submissions / f"{embedded.NAME}-best-known", data)
    write_baseline(submissions / f"{embedded.NAME}-{SHOWN.replace(' ', '-')}", data, SHOWN, BASELINES[SHOWN])
