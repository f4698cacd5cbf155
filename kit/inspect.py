"""What a data set, an npz file, a run or an entry holds, as text for a terminal."""

import json
import zipfile
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from evaluation import dataset
from evaluation.collections import COLLECTIONS, SPLITS, find_root, graph_files
from evaluation.errors import InputError
from evaluation.files import DAMAGE
from kit.graphs import TileGraph, distinct_configs, read_graph
from kit.hlo.schema import OPCODES
from kit.kaggle.manifest import missing, read_state
from kit.models import ranker as rankers
from kit.progress import progress

BARS = " ▁▂▃▄▅▆▇█"
WIDTH = 64


def inspect(path):
    """Describe whatever stands at `path`.

    Parameters
    ----------
    path : str or Path
        A data set, an npz file, a store, a run, an entry, or a partition instance.

    Returns
    -------
    str

    Raises
    ------
    InputError
        Where it is none of these, or is damaged.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path}: there is no such file or folder")
    if path.is_file() and path.suffix == ".npz":
        return "\n".join(_graph_lines(read_graph(path)))
    if path.is_file() and path.suffix in (".json", ".gz", ".txt"):
        return _instance(path)
    if (path / rankers.RUN_FILE).is_file():
        return "\n".join(_run_lines(path))
    if (path / "card.json").is_file():
        return "\n".join(_entry_lines(path))
    if (path / "instances").is_dir():
        return _instances(path)
    if (path / "manifest.json").is_file():
        return "\n".join(_store_lines(path))
    if path.is_dir():
        return "\n".join(_dataset_lines(path) if read_state(path) is None else [missing(path).text])
    raise InputError(f"{path}: a file of another kind; give a data set's folder, an npz file, a run, "
                     "an entry or a partition instance")


def histogram(values, width=WIDTH, height=4):
    """A histogram of positive numbers on a logarithmic axis, as lines of block characters.

    Parameters
    ----------
    values : array
    width, height : int
        Characters across, lines.

    Returns
    -------
    list of str
        `height` lines of bars and one with the ends of the axis.
    """
    logs = np.log(np.asarray(values, np.float64))
    counts, _ = np.histogram(logs, bins=width)
    eighths = np.ceil(counts / max(1, counts.max()) * height * 8).astype(int)
    lines = ["".join(BARS[min(8, max(0, e - 8 * row))] for e in eighths) for row in reversed(range(height))]
    low, high = f"{np.min(values):.4g}", f"{np.max(values):.4g}"
    return [*lines, low + " " * max(1, width - len(low) - len(high)) + high]


def _graph_lines(graph):
    kind = "tile kernel" if isinstance(graph, TileGraph) else "layout graph"
    count = len(distinct_configs(graph).first)
    yield f"{graph.id}: {kind}"
    yield f"nodes {graph.nodes:,}, edges {len(graph.edge_index):,}"
    if not isinstance(graph, TileGraph):
        yield f"configurable nodes {len(graph.node_config_ids):,}, segments {len(graph.node_splits):,}"
    yield f"configurations {graph.configs:,}, of them {count:,} distinct"
    codes, counts = np.unique(graph.node_opcode, return_counts=True)
    top = np.argsort(-counts, kind="stable")[:8]
    yield "opcodes " + ", ".join(f"{OPCODES[codes[i]] or codes[i]} {counts[i]:,}" for i in top)
    yield ""
    yield from _runtime_lines(graph)


def _runtime_lines(graph):
    runtime = graph.config_runtime
    if runtime is None:
        yield "runtimes withheld (test file)"
        return
    yield (f"runtime {runtime.min():,} to {runtime.max():,} ns, the slowest {runtime.max() / runtime.min():.3f} times "
           "the fastest; configurations by runtime (ns, logarithmic axis):")
    yield from histogram(runtime)


def _store_lines(path, data=False):
    """Lines on a store's folder, or on the store of a data set."""
    from kit.features.store import describe

    return describe.lines(path) if data else describe.of_folder(path)


def _run_lines(run):
    record = rankers.read_run(run)
    data = record.get("dataset", {})
    yield f"run of {record['model']}, trained on {data.get('name', 'an unknown data set')}" + (
        " (simulated)" if data.get("simulated") else "")
    settings = {key: record.get(key) for key in ("seed", "seeds", "folds", "fit", "minutes", "steps", "threads")}
    yield ", ".join(f"{key} {value}" for key, value in {**settings, **record.get("options", {})}.items()
                    if value is not None)
    for name, part in record["collections"].items():
        yield f"  {name}: {len(part['members'])} fitted in {part.get('train_seconds', 0):.1f} s"
    for name, reason in record.get("skipped", {}).items():
        yield f"  {name}: skipped: {reason}"
    yield f"made by: {record.get('command', '')}"


def _entry_lines(folder):
    from kit.submission import read_card

    for key, value in read_card(folder).items():
        yield f"{key}: {value if isinstance(value, str) else json.dumps(value)}"


def _instance(path):
    from kit.partition.show import describe

    return describe(path)


def _instances(path):
    from kit.partition.show import describe_folder

    return describe_folder(path)


def _header(path, member):
    """Shape of one member of an npz file; no data is inflated beyond the header."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open(f"{member}.npy") as file:
            npy.read_magic(file)
            return npy.read_array_header_1_0(file)[0]
    except DAMAGE as error:
        raise InputError(f"{path}: {member} cannot be read ({error}); fetch or make the file again") from error


def _dataset_lines(path):
    root, identity = find_root(path), dataset.describe(path)
    files = {(name, split): graph_files(root, name, split) for name in COLLECTIONS for split in SPLITS}
    bar = progress(total=sum(map(len, files.values())), desc="reading headers", unit="file")
    yield f"{identity.label}, root {root}"
    yield f"fingerprint {identity.fingerprint}"
    yield ""
    yield f"{'collection':<22}{'split':<7}{'files':>7}{'configurations':>16}{'nodes':>12}{'largest':>10}"
    for (name, split), paths in files.items():
        configs, nodes = [], []
        for file in paths:
            configs.append(_header(file, "config_runtime")[0])
            nodes.append(_header(file, "node_opcode")[0])
            bar.update()
        yield (f"{name:<22}{split:<7}{len(paths):>7,}{sum(configs):>16,}{sum(nodes):>12,}"
               f"{max(configs, default=0):>10,}")
    bar.close()
    yield ""
    yield from _store_lines(path, data=True)
    if not identity.simulated:
        yield ""
        yield missing(path).text
