"""The embedded instances: real architectures and random graphs, with the best partitions and bounds known.

Everything here is simulated: times are a roofline's, or random. Each graph comes twice, with unlimited fast memory
and, as ``NAME-memory``, with half of what its parameters need at the largest number of stages asked for, so that
parameters overflow at every k.
"""

import dataclasses
import gzip
import json
from functools import cache
from pathlib import Path

from evaluation import dataset
from evaluation.bounds import FILE, read_bounds
from evaluation.files import atomic
from evaluation.instance import Instance
from kit.partition import instances
from kit.partition.random_graphs import RATIOS, TOPOLOGIES, generate
from kit.partition.random_graphs import STAGES as ALL_STAGES

HERE = Path(__file__).parent / "embedded"
GRAPHS = "graphs.json.gz"
NAME = "embedded-partition"
# NVLink-class: at PCI Express rates most of these networks are fastest on a single device, and nothing is to be split.
BANDWIDTH = 256 * 1024**3
RANDOM_SIZES = (64, 128)


@cache
def load():
    """All embedded instances by name, those with binding fast memory after each plain one."""
    with gzip.open(HERE / GRAPHS, "rt", encoding="utf-8") as file:
        graphs = [Instance.from_json(data) for data in json.load(file)]
    return {instance.name: instance for graph in graphs for instance in (graph, with_binding_memory(graph))}


def with_binding_memory(instance):
    """The instance as ``NAME-memory``, with fast memory that cannot hold all parameters whatever k is asked for."""
    memory = float(instance.parameter_bytes.sum() // (2 * max(instance.k)))
    return dataclasses.replace(instance, name=f"{instance.name}-memory", fast_memory=memory)


def bounds():
    """Records of ``bounds.json``: what is known about every pair (see `evaluation.bounds`)."""
    return read_bounds(HERE)


def write(folder):
    """Write the embedded set as a data set of the partition track.

    Parameters
    ----------
    folder : str or Path
        Gets ``instances/*.json``, ``bounds.json`` and ``dataset.json``.

    Returns
    -------
    evaluation.dataset.Dataset
    """
    for instance in load().values():
        instances.write(instance, Path(folder) / "instances")
    write_bounds(bounds(), Path(folder) / FILE)
    return dataset.describe(folder, name=NAME, simulated=True)


def write_bounds(records, path):
    """Write records of pairs, sorted, gzipped where the name says so; the same records make the same bytes."""
    text = json.dumps(dict(sorted(records.items())), separators=(",", ":"), allow_nan=False)
    with atomic(path, "wb") as file:
        data = text.encode()
        file.write(gzip.compress(data, 9, mtime=0) if Path(path).suffix == ".gz" else data)


def make():
    """Trace the architectures and draw the random graphs anew: the committed graphs (maintainers only)."""
    from kit.partition.architectures import ARCHITECTURES, instance

    graphs = []
    for name in ARCHITECTURES:
        traced = instance(name, ALL_STAGES)
        stages = [k for k in ALL_STAGES if k <= max(2, len(traced) // 4)]
        graphs.append(dataclasses.replace(traced, bandwidth=BANDWIDTH, k=stages))
    graphs += [generate(topology, size, ratio, 0) for topology in TOPOLOGIES for ratio in RATIOS
               for size in RANDOM_SIZES]
    text = json.dumps([graph.to_json() for graph in graphs], separators=(",", ":"), allow_nan=False)
    with atomic(HERE / GRAPHS, "wb") as file:
        file.write(gzip.compress(text.encode(), 9, mtime=0))
    return len(graphs)
