"""Cost graphs in protobuf text (TensorFlow's ``CostGraphDef``), the format of the REGAL data set.

``node { name id input_info { preceding_node preceding_port } output_info { size } control_input compute_cost }``;
fields that are 0 are left out.
"""

import re

from evaluation.errors import InputError
from kit.partition.drafts import Draft, instance_name, number

TOKEN = re.compile(r'\s*(?:#[^\n]*\s*)*("(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[{}<>:,;]|[^\s{}<>:,;"\'#]+)')
RATIO = 0.5


def read(path, text):
    """A draft from a cost graph: ``compute_cost`` is microseconds, output sizes are summed to one tensor.

    A control edge carries no tensor. Where its producer has other consumers it goes through a node of no work and
    no output, so that crossing a stage with it costs nothing.

    Raises
    ------
    InputError
        Naming the place where the text cannot be read.
    """
    draft = Draft(instance_name(path, ".pbtxt", ".txt"), f"cost graph {path.name}", False)
    controls = []
    for message in _parse(text, path)["node"]:
        _read_node(draft, message, path, controls)
    _add_controls(draft, controls)
    return draft


def default_bandwidth(instance_outputs, instance_work, ratio=RATIO):
    """Bandwidth at which transferring a mean output takes `ratio` of the mean work of a node."""
    mean_work = sum(instance_work) / max(1, len(instance_work))
    mean_output = sum(instance_outputs) / max(1, len(instance_outputs))
    return mean_output / (ratio * mean_work) if mean_output and mean_work else 1.0


def _read_node(draft, message, path, controls):
    key = _integer(_one(message, "id", 0), "id", path)
    where = f"{path}, node {key}"
    if key in draft.nodes:
        raise InputError(f"{where}: two nodes have this id")
    output = sum(max(0.0, number(_one(info, "size", 0), "size", where)) for info in message.get("output_info", []))
    parameters = number(_one(message, "persistent_memory_size", 0), "persistent_memory_size", where)
    draft.nodes[key] = (str(_one(message, "name", f"node{key}")).strip("\"'") or f"node{key}",
                        number(_one(message, "compute_cost", 0), "compute_cost", where) / 1e6, parameters, output)
    draft.edges += [(_integer(_one(info, "preceding_node", 0), "preceding_node", where), key)
                    for info in message.get("input_info", [])]
    controls += [(_integer(source, "control_input", where), key) for source in message.get("control_input", [])]


def _add_controls(draft, controls):
    tensors = set(draft.edges)
    producers = {producer for producer, _ in tensors}
    gates = 0
    for producer, consumer in dict.fromkeys(controls):
        if (producer, consumer) in tensors or producer not in draft.nodes:
            draft.edges.append((producer, consumer))
        elif producer not in producers or draft.nodes[producer][3] == 0:
            draft.nodes[producer] = (*draft.nodes[producer][:3], 0.0)
            draft.edges.append((producer, consumer))
        else:
            gate = ("control", producer)
            gates += gate not in draft.nodes
            draft.nodes[gate] = (f"{draft.nodes[producer][0]}:control", 0.0, 0.0, 0.0)
            draft.edges += [(producer, gate), (gate, consumer)]
    if controls:
        draft.notes.append(f"{len(controls)} control edges carry no tensor; {gates} nodes without cost stand in for "
                           "producers that also send one")


def _integer(text, what, where):
    value = number(text, what, where)
    if value != int(value):
        raise InputError(f"{where}: {what} is {text!r}, expected a whole number")
    return int(value)


def _one(message, key, default):
    return message[key][-1] if key in message else default


def _parse(text, path):
    """Protobuf text to a dictionary of lists: field -> values (text, or dictionaries for messages)."""
    tokens, position = [], 0
    text = text.rstrip()
    while position < len(text):
        match = TOKEN.match(text, position)
        if not match:
            line = text.count("\n", 0, position) + 1
            raise InputError(f"{path}, line {line}: this is no protobuf text; a CostGraphDef with 'node {{ ... }}' "
                             "is expected")
        tokens.append(match[1])
        position = match.end()
    root, stack = {}, []
    message, index = root, 0
    while index < len(tokens):
        token = tokens[index]
        following = tokens[index + 1: index + 3]
        if token in "},;>" and (token in ",;" or stack):
            message = message if token in ",;" else stack.pop()
            index += 1
        elif following[:1] in (["{"], ["<"]) or following in ([":", "{"], [":", "<"]):
            inner = {}
            message.setdefault(token, []).append(inner)
            stack.append(message)
            message = inner
            index += 2 if following[0] in "{<" else 3
        elif following[:1] == [":"] and len(following) == 2 and following[1] not in "{}<>:,;":
            message.setdefault(token, []).append(following[1])
            index += 3
        else:
            raise InputError(f"{path}: the text breaks off or is not understood at {token!r}")
    if stack or "node" not in root:
        raise InputError(f"{path}: a CostGraphDef with closed 'node {{ ... }}' messages is expected")
    return root
