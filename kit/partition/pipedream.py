"""Profiles of pipedream (``graph.txt``): measured milliseconds and bytes of every layer.

Format: ``nodeID -- operation -- forward_compute_time=ms, backward_compute_time=ms, activation_size=bytes,
parameter_size=bytes``, then one tab-indented ``nodeA -- nodeB`` an edge. An activation size may be a list
``[a; b; c]``: one node with several outputs.
"""

import re

from evaluation.errors import InputError
from kit.partition.drafts import Draft, instance_name, number

FIELD = re.compile(r"(\w+)=(\[[^\]]*\]|[^,\s]+)")
INPUT = re.compile(r"Input\d*")
KEYS = ("forward_compute_time", "activation_size", "parameter_size")


def read(path, text, keep_input=False):
    """A draft from the text of a profile.

    Work is the forward time; all outputs of a node count as one tensor.

    Parameters
    ----------
    path : Path
    text : str
    keep_input : bool
        Keep the ``Input`` nodes, whose time is that of loading data.

    Raises
    ------
    InputError
        Naming the line.
    """
    draft = Draft(instance_name(path, ".txt", ".graph"), f"pipedream profile {path.name}, forward pass", False)
    for count, line in enumerate(text.splitlines(), 1):
        if line.strip():
            _read_line(draft, line, f"{path}, line {count}")
    inputs = [key for key, node in draft.nodes.items() if INPUT.fullmatch(node[0].partition(" ")[2])]
    if inputs and not keep_input:
        seconds = sum(draft.nodes[key][1] for key in inputs)
        draft.drop(inputs)
        draft.notes.append(f"left out {len(inputs)} Input node(s), {seconds * 1e3:.6g} ms: data loading is no "
                           "computation; --keep-input keeps them")
    return draft


def _read_line(draft, line, where):
    parts = [part.strip() for part in line.split(" -- ")]
    if line.startswith(("\t", " ")) and len(parts) == 2:
        draft.edges.append(tuple(parts))
        return
    if len(parts) < 3:
        raise InputError(f"{where}: {line.strip()!r} is neither 'node -- operation -- times and sizes' nor an "
                         "indented 'node -- node'")
    fields = dict(FIELD.findall(parts[-1]))
    missing = [key for key in KEYS if key not in fields]
    if missing:
        raise InputError(f"{where}: {missing[0]}= is missing")
    if parts[0] in draft.nodes:
        raise InputError(f"{where}: {parts[0]} is defined a second time")
    time, output, parameters = (_total(fields[key], key, where) for key in KEYS)
    operation = parts[1].partition("(")[0].strip()
    draft.nodes[parts[0]] = (f"{parts[0]} {operation}", time / 1e3, parameters, output)


def _total(text, key, where):
    return sum(number(part, key, where) for part in text.strip("[]").split(";") if part.strip())
