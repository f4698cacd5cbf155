"""Partition instances from files of any format known, and folders of them."""

import dataclasses
import gzip
import json
from pathlib import Path

from evaluation.errors import InputError
from evaluation.instance import Instance, dumps
from kit.partition import dnn_partitioning, pipedream, regal
from kit.partition.drafts import GIB, STAGES
from kit.partition.units import parse_memory

OWN_KEYS = {"bandwidth", "fast_memory", "activation_reserve"}  # by these the kit's own JSON is known
KEYS = {"name", "source", "simulated", "k", "nodes", "edges", *OWN_KEYS}
NODE_KEYS = {"name", "work", "parameter_bytes", "output_bytes"}
BANDWIDTH = 16 * GIB  # bytes a second where a format states none: PCI Express 3.0, 16 lanes, about


def read(path, *, bandwidth=None, keep_input=False, k=None):
    """An instance from a file, whatever its format, and notes on what was left out, merged or assumed.

    Parameters
    ----------
    path : str or Path
        The kit's own JSON (also ``.gz``), a pipedream ``graph.txt``, a dnn-partitioning JSON, a ``CostGraphDef`` in
        protobuf text, or a TpuGraphs npz.
    bandwidth : float, optional
        Bytes a second, instead of the file's own; where neither states one: 16 GiB/s, for dnn-partitioning the
        2 GiB/s its costs were made with, for a cost graph that which makes transfers half as long as work.
    keep_input : bool
        Keep the data loading of a pipedream profile.
    k : sequence of int, optional
        Numbers of stages to ask for instead of the file's own, or of 2, 4, 8 and 16.

    Returns
    -------
    (Instance, list of str)

    Raises
    ------
    InputError
        Where the file is missing, of no known format, or holds what no instance may hold.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path}: is a folder; give one instance of it, such as {path / 'instances' / 'NAME.json'}")
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    if path.suffix == ".npz":
        from kit.partition import tpugraphs  # with numba behind it

        draft, default = tpugraphs.read(path), BANDWIDTH
    else:
        text = _text(path)
        if text.lstrip().startswith(("{", "[")):
            data = _json(text, path)
            _refuse_unknown(data, path)
            if OWN_KEYS & set(data):
                return _own(path, data, bandwidth, k), _unknown_keys(data)
            draft, default = dnn_partitioning.read(path, data), dnn_partitioning.BANDWIDTH
        elif " -- " in text:
            draft, default = pipedream.read(path, text, keep_input), BANDWIDTH
        else:
            draft = regal.read(path, text)
            default = _cost_graph_bandwidth(draft, bandwidth)
    return draft.instance(bandwidth or default, k or STAGES), draft.notes


def with_memory(instance, memory, k):
    """The instance with the fast memory that `memory` (``64MiB``, ``50%``, None) means for k stages."""
    fast = parse_memory(memory)(float(instance.parameter_bytes.sum()), k)
    return instance if memory is None else dataclasses.replace(instance, fast_memory=fast)


def write(instance, folder):
    """Write ``NAME.json`` into a folder; returns the path."""
    from evaluation.files import atomic

    path = Path(folder) / f"{instance.name}.json"
    with atomic(path) as file:
        file.write(dumps(instance) + "\n")
    return path


def _own(path, data, bandwidth, k):
    try:
        instance = Instance.from_json(data)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return dataclasses.replace(instance, bandwidth=bandwidth or instance.bandwidth, k=k or instance.k)


def _unknown_keys(data):
    """A note on keys that nothing reads: one misspelt would be missed without a word."""
    unknown = sorted(set(data) - KEYS) + sorted({f"nodes.{key}" for node in data["nodes"] for key in node
                                                 if key not in NODE_KEYS})
    return [f"keys that are left out: {', '.join(unknown)}"] if unknown else []


def _text(path):
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    except (UnicodeDecodeError, OSError, EOFError) as error:
        raise InputError(f"{path}: cannot be read as text: {error}; a profile, JSON, cost graph or npz file is "
                         "expected") from error
    if not text.strip():
        raise InputError(f"{path}: the file is empty; a profile, JSON, cost graph or npz file is expected")
    return text


def _json(text, path):
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{path}: this is no JSON: {error}; is the file complete?") from error


def _refuse_unknown(data, path):
    if "fpgas" in data:
        raise InputError(f"{path}: this is a split by hand, not a graph; give the graph it belongs to")
    data = data if isinstance(data, dict) else {}
    objects = [*data["nodes"]] if isinstance(data.get("nodes"), list) else [None]
    if not OWN_KEYS & set(data) and isinstance(data.get("edges"), list):
        objects += data["edges"]
    if not isinstance(data.get("edges"), list) or not all(isinstance(one, dict) for one in objects):
        raise InputError(f"{path}: a JSON object with the lists 'nodes' and 'edges' is expected")


def _cost_graph_bandwidth(draft, bandwidth):
    _, work, _, output = zip(*draft.nodes.values(), strict=True)
    value = regal.default_bandwidth(output, work)
    if not bandwidth:
        draft.notes.append(f"the file states no bandwidth: {value:.4g} B/s makes a mean transfer take "
                           f"{regal.RATIO} of a mean node's work; --bandwidth sets another")
    return value
