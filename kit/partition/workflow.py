"""What the subverbs of ``python -m kit partition`` do."""

import hashlib
import json
from pathlib import Path

from evaluation import dataset
from evaluation.bounds import pair_id, read_json
from evaluation.errors import InputError
from evaluation.files import atomic
from evaluation.instance import Instance, dumps
from kit.partition import embedded, instances, random_graphs
from kit.partition.jobs import Task

INSTANCES = "instances"


def expand(files):
    """The instance files meant: a folder of a data set stands for all its instances.

    Raises
    ------
    InputError
        Where a folder holds none.
    """
    found = []
    for file in map(Path, files):
        folder = file / INSTANCES if (file / INSTANCES).is_dir() else file
        listed = sorted(folder.glob("*.json*")) if folder.is_dir() else [file]
        if not listed:
            raise InputError(f"{file}: a folder without instances; python -m kit partition instances --out DIR "
                             "writes some")
        found += listed
    return found


def read_all(files, say, **options):
    """Instances of files, notes said once each; a list of (path, Instance)."""
    found = []
    for path in expand(files):
        instance, notes = instances.read(path, **options)
        for note in notes:
            say(f"{path.name}: {note}")
        found.append((path, instance))
    return found


def make_instances(files, folder, say, *, random=0, seed=0, memory=None, **options):
    """Write a data set of the partition track: converted files, random graphs, or else the embedded set.

    Returns
    -------
    evaluation.dataset.Dataset
    """
    if not files and not random:
        return embedded.write(folder)
    made = [instance for _, instance in read_all(files, say, **options)]
    made += list(random_graphs.series(random, seed))
    names = [instance.name for instance in made]
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise InputError(f"two instances would be called {sorted(repeated)[0]}; rename one of the files")
    for instance in made:
        instances.write(instances.with_memory(instance, memory, max(instance.k)), Path(folder) / INSTANCES)
    everything = [Instance.from_json(read_json(path)) for path in expand([folder])]
    simulated = any(instance.simulated for instance in everything)
    return dataset.describe(folder, name=Path(folder).resolve().name, simulated=simulated)


def tasks(pairs, k, memory, budget, only_asked=False):
    """A `Task` for each pair of file and number of stages: `k`, or those that an instance asks for.

    With `only_asked`, of `k` only what the instance asks for too: other pairs are on no board.
    """
    listed = [Task(str(path), instance, count, memory, budget) for path, instance in pairs
              for count in (k or instance.k) if not only_asked or count in instance.k]
    if not listed:
        raise InputError("no number of stages to solve for: the instances ask for none of those given; leave -k out, "
                         "or make a data set that asks for them (partition instances -k 2 4 8)")
    return listed


def data_folder(pairs):
    """The data set that all files belong to: the parent of their folder ``instances``.

    Raises
    ------
    InputError
        Where they are no data set, so that no board could judge them.
    """
    folders = {path.resolve().parent for path, _ in pairs}
    if len(folders) != 1 or next(iter(folders)).name != INSTANCES:
        raise InputError("an entry needs instances of one data set: python -m kit partition instances FILE... --out "
                         "DIR makes one, then solve DIR")
    return next(iter(folders)).parent


def write_entry(out, outcomes, folder, budget, force=False):
    """Write partitions as an entry; the card tells what they were found with."""
    from kit import submission

    seconds = sum(outcome.seconds for outcome in outcomes)
    card = submission.card(Path(out).resolve().name, "partition", dataset.describe(folder), "all",
                           "kit.partition.solve", parameters=budget, seed=budget["seed"], predict_seconds=seconds)
    rows = [(pair_id(outcome.instance.name, outcome.k), outcome.stages.tolist()) for outcome in outcomes]
    return submission.write_entry(out, rows, card, force=force)


def fingerprint(instance):
    """SHA-256 of an instance's JSON: what a certificate belongs to."""
    return hashlib.sha256(dumps(instance).encode()).hexdigest()


def certificate_path(folder, outcome_or_name, k):
    """``NAME.kK.bound.json``."""
    return Path(folder) / f"{outcome_or_name}.k{k}.bound.json"


def write_certificate(folder, outcome):
    """Write the bound of an outcome with what it can be proved again from."""
    path = certificate_path(folder, outcome.instance.name, outcome.k)
    record = {"instance": outcome.instance.name, "fingerprint": fingerprint(outcome.instance), "k": outcome.k,
              "lower_bound": outcome.lower_bound, "certificate": outcome.certificate}
    with atomic(path) as file:
        json.dump(record, file, allow_nan=False)
    return path


def check_certificate(folder, instance, k):
    """Prove a written bound again, without the solver that found it.

    Returns
    -------
    (float, float, str)
        The bound on record, the bound proved again (0 where the method leaves no certificate), the method.

    Raises
    ------
    InputError
        Where the file is missing, belongs to another instance, or does not hold.
    """
    from kit.partition.certificate import METHODS, check

    path = certificate_path(folder, instance.name, k)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; python -m kit partition bound FILE -k {k} --out {folder} "
                         "writes it")
    record = read_json(path)
    missing = {"fingerprint", "lower_bound", "certificate"} - set(record)
    if missing:
        raise InputError(f"{path}: {sorted(missing)[0]} is missing; run python -m kit partition bound again")
    if record["fingerprint"] != fingerprint(instance):
        raise InputError(f"{path}: belongs to another version of {instance.name} (costs, bandwidth or memory differ); "
                         "check it with the options it was made with")
    certificate = record["certificate"] or {}
    method = str(certificate.get("method", "none"))
    if method not in METHODS:
        return record["lower_bound"], 0.0, method
    proved = check(instance, k, certificate)
    if proved < record["lower_bound"] * (1 - 1e-6):
        raise InputError(f"{path}: only {proved} s can be proved again, {record['lower_bound']} s are on record")
    return record["lower_bound"], proved, method
