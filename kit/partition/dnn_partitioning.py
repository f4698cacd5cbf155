"""Graphs of the dnn-partitioning benchmarks (JSON), and splits by hand (``*_expert.json``).

After Tarnawski et al., "Efficient Algorithms for Device Placement of DNN Graph Operators", NeurIPS 2020.
"""

import numpy as np

from evaluation.errors import InputError
from evaluation.partition import check_stages
from kit.partition.drafts import GIB, Draft, instance_name, number

BANDWIDTH = 2 * GIB  # bytes a second that the transfer costs of these files were computed with


def read(path, data):
    """A draft from the parsed JSON: work is ``fpgaLatency`` (ms), parameters are ``size``, an output is its edges'.

    An edge's ``size`` in bytes is taken, not its ``cost``: in the layer graphs that is seconds read as
    milliseconds, 1000 times too small. Where there is no size, ``cost`` is taken as milliseconds at 2 GiB/s.

    Raises
    ------
    InputError
        Naming the node or edge that is not as it should be.
    """
    draft = Draft(instance_name(path, ".json"), f"dnn-partitioning {path.name}", False)
    for node in data["nodes"]:
        where = f"{path}, node {node.get('id')!r}"
        if node.get("id") is None or node["id"] in draft.nodes:
            raise InputError(f"{where}: every node needs an id of its own")
        draft.nodes[node["id"]] = (str(node.get("name") or node["id"]),
                                   number(node.get("fpgaLatency"), "fpgaLatency", where) / 1e3,
                                   number(node.get("size", 0), "size", where), 0.0)
    outputs = _read_edges(draft, path, data["edges"])
    draft.nodes = {key: (*node[:3], max(outputs.get(key, {0.0}))) for key, node in draft.nodes.items()}
    _add_notes(draft, data, outputs)
    return draft


def read_split(instance, graph, data, where):
    """Stages of a split by hand, in the node order of `instance`.

    Parameters
    ----------
    instance : Instance
        Made from `graph`.
    graph : dict
        The parsed graph whose node ids the split uses.
    data : dict
        Parsed ``*_expert.json``: ``fpgas``, then ``cpus``, each with the ids of its nodes.
    where : str
        For messages.

    Returns
    -------
    int64 array (n,)
        The stages in the file's order, empty devices left out. Feasibility is checked.
    """
    devices = [device["nodes"] for device in [*data["fpgas"], *data.get("cpus", [])] if device["nodes"]]
    ids = [node["id"] for node in graph["nodes"]]
    stage = {}
    for device, nodes in enumerate(devices):
        for node in nodes:
            if stage.setdefault(node, device) != device:
                raise InputError(f"{where}: node {node} is in stages {stage[node]} and {device}")
    lost, unknown = [node for node in ids if node not in stage], sorted(set(stage) - set(ids))
    if lost:
        raise InputError(f"{where}: node {lost[0]} is in no stage")
    if unknown:
        raise InputError(f"{where}: node {unknown[0]} is not in the graph")
    return check_stages(instance, np.array([stage[node] for node in ids]), len(devices))


def _read_edges(draft, path, edges):
    outputs = {}
    for edge in edges:
        where = f"{path}, edge {edge.get('sourceId')} -> {edge.get('destId')}"
        draft.edges.append((edge.get("sourceId"), edge.get("destId")))
        size = edge.get("size")
        if size is None:
            size = number(edge.get("cost"), "cost", where) / 1e3 * BANDWIDTH
        outputs.setdefault(edge.get("sourceId"), set()).add(number(size, "size", where))
    return outputs


def _add_notes(draft, data, outputs):
    uneven = sum(len(sizes) > 1 for sizes in outputs.values())
    if uneven:
        draft.notes.append(f"{uneven} nodes have edges of different sizes: the largest is taken as the one output")
    shared = len(data["nodes"]) - len({node.get("colorClass", node["id"]) for node in data["nodes"]})
    if shared:
        draft.notes.append(f"colour classes are left out ({shared} nodes share one): they ask for nodes on one "
                           "device, which is no part of this problem")
    if any(node.get("isBackwardNode") for node in data["nodes"]):
        draft.notes.append("backward nodes are kept as ordinary nodes")
