"""TpuGraphs npz files as partition instances: times and bytes from the node features, by a roofline.

Columns of ``node_feat`` as the data set names them; opcodes as the data set numbers them.
"""

import numpy as np

from kit.graphs import read_graph
from kit.partition.drafts import Draft, instance_name
from kit.partition.roofline import TPU_V3_CORE

IS_ROOT, TYPES, SHAPE = 0, slice(2, 21), slice(21, 27)
WINDOW, WINDOW_PRODUCT = slice(37, 43), 44
KERNEL_INPUT_FEATURE, KERNEL_SPATIAL = 99, slice(101, 105)
# Bytes an element of the types in columns 2..20: invalid, pred, s8..s64, u8..u64, f16, f32, f64, bf16, c64, c128, and
# tuple, opaque, token, which have none of their own.
TYPE_BYTES = np.array([0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 2, 8, 16, 0, 0, 0], np.float64)
OPCODES = {11: "bitcast", 13: "broadcast", 14: "call", 23: "conditional", 24: "constant", 26: "convolution",
           27: "copy", 34: "dot", 41: "fusion", 45: "get-tuple-element", 48: "iota", 63: "parameter", 70: "reduce",
           72: "reduce-window", 75: "reshape", 98: "transpose", 100: "tuple", 102: "while"}
CALLERS = (14, 23, 41, 102)  # what they call is in the graph and does their work
WITHOUT_WORK = (11, 24, 45, 63, 100, *CALLERS)
CONVOLUTION, DOT, ELEMENT, PARAMETER, TUPLE = 26, 34, 45, 63, 100


def read(path, machine=TPU_V3_CORE):
    """A draft from an npz file of the data set.

    Work is the larger of arithmetic and memory traffic; a convolution costs
    ``2 x outputs x window x input channels``, a dot ``2 x batch x m x k x n``, anything
    else one operation an output element. Parameters of the entry computation count as parameter bytes.

    Parameters
    ----------
    path : Path
    machine : Roofline
    """
    graph = read_graph(path)
    sizes = output_bytes(graph)
    work = machine.seconds(operations(graph), _traffic(graph, sizes))
    work[np.isin(graph.node_opcode, WITHOUT_WORK)] = 0
    parameters = np.where(_entry_parameters(graph), sizes, 0)
    draft = Draft(instance_name(path, ".npz"), f"TpuGraphs {path.name}, roofline costs", True)
    for node, opcode in enumerate(graph.node_opcode.tolist()):
        name = f"{node} {OPCODES.get(opcode, f'opcode {opcode}')}"
        draft.nodes[node] = (name, float(work[node]), float(parameters[node]), float(sizes[node]))
    draft.edges = [(producer, consumer) for consumer, producer in graph.edge_index.tolist()]
    draft.notes.append("times come from a roofline on the node features, not from measurement; a tuple counts the "
                       "bytes of its parts")
    return draft


def elements(graph):
    """Elements of every node's output, float64 (n,): the product of the sizes given, 1 for a scalar."""
    sizes = _sizes(graph)
    return np.where(sizes > 0, sizes, 1).prod(axis=1)


def output_bytes(graph):
    """Bytes of every node's output, float64 (n,); a tuple has those of its operands."""
    types = graph.node_feat[:, TYPES]
    sizes = np.where(types.any(axis=1), TYPE_BYTES[types.argmax(axis=1)], 0) * elements(graph)
    consumer, producer = graph.edge_index.T
    into_tuple = graph.node_opcode[consumer] == TUPLE
    np.add.at(sizes, consumer[into_tuple], sizes[producer[into_tuple]])
    return sizes


def operations(graph):
    """Floating-point operations of every node, float64 (n,)."""
    sizes, count = _sizes(graph), elements(graph)
    result = count.copy()
    operands = [[] for _ in range(graph.nodes)]
    for consumer, producer in graph.edge_index.tolist():
        operands[consumer].append(producer)
    for node in np.flatnonzero(np.isin(graph.node_opcode, (CONVOLUTION, DOT))):
        given = (operands[node] * 2)[:2]  # the product of a tensor with itself has one operand
        channels = _channels(graph.node_feat[node], sizes[operands[node]])
        if channels:
            result[node] = 2 * count[node] * graph.node_feat[node, WINDOW_PRODUCT] * channels
        elif given:  # (b, m, k) x (b, k, n): result and operands multiply to (b m k n)^2 b
            batch = _batch(sizes[node], sizes[given])
            result[node] = 2 * np.sqrt(count[node] * count[given].prod() / batch)
    return result


def _sizes(graph):
    """Sizes of every node's output, float64 (n, 6), 0 beyond its rank."""
    return graph.node_feat[:, SHAPE].astype(np.float64)


def _channels(features, operands):
    """Input channels of a convolution, 0 for a dot: the kernel is the operand whose spatial sizes are the window's."""
    window = features[WINDOW]
    window = window[window > 0]
    spatial = features[KERNEL_SPATIAL].astype(np.int64)[:len(window)]
    for sizes in operands:
        if len(window) and np.array_equal(sizes[spatial], window[:len(spatial)]):
            return float(sizes[int(features[KERNEL_INPUT_FEATURE])])
    return 0.0


def _batch(sizes, operands):
    """Product of the leading sizes that result and operands share, two axes of the result left aside."""
    batch = 1.0
    for axis in range(int((sizes > 0).sum()) - 2):
        if not (operands[:, axis] == sizes[axis]).all():
            break
        batch *= sizes[axis]
    return batch


def _traffic(graph, sizes):
    """Bytes that every node reads and writes."""
    consumer, producer = graph.edge_index.T
    return sizes + np.bincount(consumer, weights=sizes[producer], minlength=graph.nodes)


def _entry_parameters(graph):
    """Which nodes are parameters, or elements of one, of the entry computation: the one whose root nobody calls."""
    is_root = graph.node_feat[:, IS_ROOT] > 0
    consumer, producer = graph.edge_index.T
    within = ~is_root[producer]  # an edge from a root leads into the computation that calls
    called = np.zeros(graph.nodes, bool)
    called[producer] = True
    inside = is_root & ~called
    operands = [[] for _ in range(graph.nodes)]
    for node, operand in zip(consumer[within].tolist(), producer[within].tolist(), strict=True):
        operands[node].append(operand)
    reached = np.flatnonzero(inside).tolist()
    for node in reached:  # grows while it is read
        fresh = [operand for operand in operands[node] if not inside[operand]]
        inside[fresh] = True
        reached += dict.fromkeys(fresh)
    parameters = inside & (graph.node_opcode == PARAMETER)
    elements = parameters[producer] & (graph.node_opcode[consumer] == ELEMENT)
    parameters[consumer[elements]] = True  # training programs take all weights as one tuple
    return parameters
