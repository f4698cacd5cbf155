"""Writing a simulated data set in the layout of the Kaggle download."""

import hashlib
import json
import shutil
import tempfile
from pathlib import Path

import joblib
import numpy as np
import polars as pl

from evaluation import dataset
from evaluation.collections import COLLECTIONS
from evaluation.errors import InputError
from evaluation.files import atomic
from kit import npz
from kit.features.physics import dimensions
from kit.progress import progress
from kit.sample import configurations as layouts
from kit.sample import constants as named
from kit.sample import kernels, plan, programs
from kit.sample.cost import LayoutCost, nanoseconds, noisy
from kit.sample.cuts import cuts
from kit.sample.draws import Draws
from kit.sample.tiles import TileKernel

MACHINES = 3  # a normalizer is the default's runtime on the machine that measured, which differ a little
MACHINE_SPREAD = 3e-3  # normalizers differ by under 1 % inside a real graph
LEAST_ELEMENTS = 1 << 15  # of a kernel's output: smaller ones have too few tiles
LISTED_TILES = 5
ANSWERS = {"id": pl.String, "config": pl.Int64, "runtime": pl.Int64, "normalizer": pl.Int64}


def write(folder, scale="small", seed=0, constants="calibrated", collections=None, workers=2):
    """Write a simulated data set.

    Parameters
    ----------
    folder : str or Path
        Must not exist, be empty, or hold a sample written before, which is replaced. It gets
        ``npz_all/npz/...``, ``sample_submission.csv``, ``dataset.json`` and ``answers/<split>.parquet``.
    scale : {"small", "large"}
    seed : int
        The same seed gives the same arrays on every machine.
    constants : str or Constants
        Set of the cost model, see `kit.sample.constants`.
    collections : iterable of str, optional
        Only these of the five.
    workers : int
        Processes.

    Raises
    ------
    InputError
        Where the scale, the set or a collection is unknown, or `folder` holds something else.
    """
    folder = Path(folder)
    _check(folder, scale, collections)
    values = named.constants(constants) if isinstance(constants, str) else constants
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as temporary:
        made = Path(temporary) / folder.name
        root = made / "npz_all" / "npz"
        jobs = _jobs(plan.SCALES[scale], seed, list(collections or COLLECTIONS))
        run = joblib.Parallel(n_jobs=workers, return_as="generator") if workers > 1 else None
        shared = (root, plan.SCALES[scale], seed, values)
        tasks = (joblib.delayed(_write_one)(*shared, *job) for job in jobs)
        results = run(tasks) if run else (_write_one(*shared, *job) for job in jobs)
        rows = list(progress(results, total=len(jobs), desc="sample", unit="program"))
        _write_answers(made, [row for part in rows for row in part])
        _write_sample_submission(made, [row for part in rows for row in part])
        with atomic(made / dataset.FILE) as out:
            json.dump({"name": f"sample-{scale}" if seed == 0 else f"sample-{scale}-{seed}", "simulated": True}, out)
        if folder.exists():
            shutil.rmtree(folder)
        made.rename(folder)
    dataset.describe(folder)


def _check(folder, scale, collections):
    if scale not in plan.SCALES:
        raise InputError(f"{scale!r} is no scale of the sample; there are: {', '.join(plan.SCALES)}")
    unknown = set(collections or ()) - set(COLLECTIONS)
    if unknown:
        raise InputError(f"{sorted(unknown)[0]!r} is no collection; there are: {', '.join(COLLECTIONS)}")
    if folder.is_dir() and any(folder.iterdir()):
        file = folder / dataset.FILE
        if not file.is_file() or not json.loads(file.read_text(encoding="utf-8")).get("simulated"):
            raise InputError(f"{folder}: is in the way and was not made by this command; "
                             "give a folder that does not exist yet with --out")


def _jobs(scale, seed, collections):
    """Split, program, kernels and layout collections, a job a program; the largest first: none is waited for last."""
    kernels_of, wanted = {}, {}
    for split in plan.SPLITS:
        cut = plan.kernel_programs(split, scale, seed) if "tile:xla" in collections else []
        counts = _shares(scale.kernels[plan.SPLITS.index(split)], len(cut))
        kernels_of |= {(split, name): count for name, count in zip(cut, counts, strict=True)}
        for source in ("xla", "nlp"):
            layout_collections = [c for c in collections if c.startswith(f"layout:{source}:")]
            wanted |= {(split, name): layout_collections
                       for name in plan.layout_programs(source, split, scale, seed) if layout_collections}
    jobs = [(*key, kernels_of.get(key, 0), wanted.get(key, [])) for key in {**kernels_of, **wanted}]
    return sorted(jobs, key=lambda job: (-programs.nodes(job[1]), job[:2]))


def _shares(total, parts):
    return [total // parts + (i < total % parts) for i in range(parts)]


def _write_one(root, scale, seed, constants, split, name, count, collections):
    """Write the files of one program; what the answers need of each."""
    module = programs.load(name).module
    written = _write_kernels(root, split, module, scale.tiles, count, seed, constants) if count else []
    if collections:
        written += _write_layouts(root, collections, split, module, scale, seed, constants)
    return written


def _stem(split, name, seed):
    """A test file's name gives nothing away, as on Kaggle; the same in `default` and `random`."""
    if split != "test":
        return name
    return hashlib.md5(f"{seed}:{name}".encode(), usedforsecurity=False).hexdigest()


def _file(root, collection, split, name, seed):
    stem = _stem(split, name, seed)
    return root / COLLECTIONS[collection].folder / split / f"{stem}.npz", f"{collection}:{stem}"


def _withheld(split, runtime, normalizer):
    """What the file of a split states: nothing that is to be predicted, on test."""
    if split != "test":
        return runtime, normalizer
    return np.zeros_like(runtime), np.ones_like(normalizer)


# ---------------------------------------------------------------- layouts

def _write_layouts(root, collections, split, module, scale, seed, constants):
    """The files of one program in the layout collections of its family, which offer the same at the same cost."""
    shapes = dimensions(module.node_feat)
    free = layouts.choices(module, shapes)
    cost = LayoutCost(module, shapes, free, constants, seed)
    return [_write_layout(root, collection, split, module, scale, seed, free, cost) for collection in collections]


def _write_layout(root, collection, split, module, scale, seed, free, cost):
    draws = Draws(seed, collection, module.name)
    count = plan.configurations(module.name, scale, draws)
    picks, runtime = _measured(COLLECTIONS[collection].search, free, cost, count, draws)
    path, graph = _file(root, collection, split, module.name, seed)
    stated, _ = _withheld(split, runtime, np.ones_like(runtime))
    shape = (len(picks), len(module.node_config_ids), layouts.SLOTS)
    npz.write(path, {**_graph_arrays(module), "node_config_ids": module.node_config_ids.astype(np.int64),
                     "node_config_feat": (shape, np.float32, layouts.digit_rows(free, picks)),
                     "config_runtime": stated, "node_splits": module.node_splits.astype(np.int64)})
    return split, graph, runtime, np.ones_like(runtime)


def _measured(search, free, cost, count, draws):
    """Configurations and their runtimes, in an order that tells nothing."""
    if search == "random":
        picks = layouts.spread_search(free, count, draws)
        seconds = noisy(cost.runtime(picks), cost.noise, draws)
    else:
        picks, seconds = layouts.genetic_search(
            free, count, draws, lambda rows: noisy(cost.runtime(rows), cost.noise, draws))
    order = draws.order(count)
    return picks[order], nanoseconds(seconds[order])


def _graph_arrays(module):
    return {"node_feat": module.node_feat.astype(np.float32), "node_opcode": module.node_opcode.astype(np.uint8),
            "edge_index": module.edge_index.astype(np.int64)}


# ---------------------------------------------------------------- tiles

def _write_kernels(root, split, module, size, count, seed, constants):
    """Up to `count` kernels of a program, of different kinds where there are any."""
    name = module.name
    found = cuts(module, smallest=LEAST_ELEMENTS)
    written = []
    for at in Draws(seed, "kernels", name).order(len(found)):
        if len(written) == count:
            break
        kernel = kernels.kernel(module, found[at])
        tiles = TileKernel(kernel, f"{name}:{found[at].root}", constants, seed)
        row = _write_kernel(root, split, name, found[at].root, kernel, tiles, size, seed)
        written += [row] if row else []
    return written


def _write_kernel(root, split, name, number, kernel, tiles, size, seed):
    output, bounds = tiles.bounds()
    if len(output) < size[0]:
        return None
    draws = Draws(seed, "tiles", name, number)
    default = int(np.argmax(output.prod(axis=1)))  # the compiler takes the largest tile that fits
    keep = draws.order(len(output))[:int(draws.between(*size))]
    keep[0] = default if default not in keep else keep[0]
    output, bounds = output[keep], bounds[keep]
    seconds = tiles.runtime(output, bounds)
    runtime = nanoseconds(noisy(seconds, tiles.noise, draws))
    machines = nanoseconds(noisy(np.full(MACHINES, seconds[keep == default][0]), MACHINE_SPREAD, draws))
    normalizer = machines[draws.below(MACHINES, len(runtime))]
    digest = hashlib.md5(f"{name}:{number}".encode(), usedforsecurity=False).hexdigest()[:16]
    path, graph = _file(root, "tile:xla", split, f"{name}_{digest}", seed)
    stated, stated_normalizer = _withheld(split, runtime, normalizer)
    npz.write(path, {**_graph_arrays(kernel), "config_feat": tiles.columns(output, bounds),
                     "config_runtime": stated, "config_runtime_normalizers": stated_normalizer})
    return split, graph, runtime, normalizer


# ---------------------------------------------------------------- what is not npz

def _write_answers(folder, rows):
    """``answers/<split>.parquet``: id, config, runtime, normalizer of every configuration."""
    for split in plan.SPLITS:
        frames = [pl.DataFrame({"id": pl.repeat(graph, len(runtime), eager=True),
                                "config": np.arange(len(runtime), dtype=np.int64),
                                "runtime": runtime, "normalizer": normalizer})
                  for _, graph, runtime, normalizer in sorted((r for r in rows if r[0] == split), key=lambda r: r[1])]
        frame = pl.concat([pl.DataFrame(schema=ANSWERS), *frames])
        with atomic(folder / "answers" / f"{split}.parquet", "wb") as out:
            frame.write_parquet(out)


def _write_sample_submission(folder, rows):
    """Every test graph, its configurations by index: valid, and worth nothing."""
    with atomic(folder / "sample_submission.csv") as out:
        out.write("ID,TopConfigs\n")
        for _, graph, runtime, _ in sorted((r for r in rows if r[0] == "test"), key=lambda r: r[1]):
            listed = min(len(runtime), LISTED_TILES) if graph.startswith("tile") else len(runtime)
            out.write(f"{graph},{';'.join(map(str, range(listed)))}\n")
