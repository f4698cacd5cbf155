"""What XLA does to a program before it chooses layouts: calls inlined, no-ops and duplicates gone.

The layout graphs of the data set were taken after XLA's simplification and before fusion; JAX hands out programs
before any of it. These are the passes that matter for their shape: call inlining, simplification of reshapes,
transposes, conversions, broadcasts, reductions and divisions, transposes folded into dots and reversals into
convolutions, common subexpressions, dead code, arguments as one tuple. Only `kit.sample.trace` uses it.
"""

import re

from kit.hlo.schema import message

_IMPURE = {b"rng", b"rng-bit-generator", b"parameter", b"all-reduce", b"infeed", b"while"}
_FLOATS = (10, 11, 12, 16)  # float16, float32, float64, bfloat16
_MANY_ARGUMENTS = 100  # from here on TPU programs take one tuple


class Node:
    """An instruction whose operands are nodes and whose called computations are `Graph` objects."""

    __slots__ = ("calls", "operands", "proto")

    def __init__(self, proto, operands, calls):
        self.proto, self.operands, self.calls = proto, operands, calls

    @property
    def opcode(self):
        return self.proto.opcode

    @property
    def dims(self):
        return list(self.proto.shape.dimensions)

    @property
    def type(self):
        return self.proto.shape.element_type


class Graph:
    """A computation: parameters in order, and the root from which all else is reached."""

    def __init__(self, name, parameters, root):
        self.name, self.parameters, self.root = name, parameters, root

    def ordered(self):
        """Nodes after their operands, as XLA orders them: depth first from the root; unused parameters first."""
        order, seen = [], {id(self.root)}
        stack = [(self.root, iter(self.root.operands))]
        while stack:
            node, rest = stack[-1]
            step = next((o for o in rest if id(o) not in seen), None)
            if step is None:
                order.append(node)
                stack.pop()
            else:
                seen.add(id(step))
                stack.append((step, iter(step.operands)))
        return [p for p in self.parameters if id(p) not in seen] + order


def graphs(module):
    """The computations of a parsed module as graphs, by id."""
    built = {}
    for c in module.computations:  # callees stand before callers
        nodes, parameters = {}, []
        for proto in c.instructions:
            proto.metadata = b""
            node = Node(proto, [nodes[i] for i in proto.operand_ids], [built[i] for i in proto.called_computation_ids])
            nodes[proto.id] = node
            if proto.opcode == b"parameter":
                parameters.append(node)
        parameters.sort(key=lambda n: n.proto.parameter_number)
        built[c.id] = Graph(c.name.decode(), parameters, nodes[c.root_id])
    return built


def _copied(proto):
    return type(proto).FromString(proto.SerializeToString())


def own(graph):
    """A tidied copy of a computation for one caller: the data set's programs do not share reductions."""
    parameters = [Node(_copied(p.proto), [], []) for p in graph.parameters]
    return Graph(graph.name, parameters, _merged(_inlined(graph, parameters), parameters))


def _inlined(graph, arguments):
    """The root of a copy of the graph, `arguments` in place of its parameters and called graphs in place of calls."""
    new = {id(p): a for p, a in zip(graph.parameters, arguments, strict=True)}
    for node in graph.ordered():
        if id(node) in new:
            continue
        operands = [new[id(o)] for o in node.operands]
        new[id(node)] = (_inlined(node.calls[0], operands) if node.opcode == b"call" else
                         Node(_copied(node.proto), operands, [own(c) for c in node.calls]))
    return new[id(graph.root)]


def _merged(root, parameters):
    """The root once every node is simplified and common subexpressions are one."""
    values, new = {}, {}
    for node in Graph("", parameters, root).ordered():
        node.operands = [new[id(o)] for o in node.operands]
        simpler = simplified(node)
        new[id(node)] = values.setdefault(_key(simpler), simpler)
    return new[id(root)]


def _key(node):
    """Equal for nodes that compute the same."""
    if node.opcode in _IMPURE:
        return id(node)
    bare = _copied(node.proto)
    for field in ("id", "name", "operand_ids", "called_computation_ids"):
        bare.ClearField(field)
    calls = tuple(_form(c) for c in node.calls)
    return bare.SerializeToString(), tuple(map(id, node.operands)), calls


def _form(graph):
    return tuple(n.opcode for n in graph.ordered())


# ---------------------------------------------------------------- one node at a time

def simplified(node):
    """The node, or a simpler one that computes the same."""
    rule = _RULES.get(node.opcode)
    return rule(node) if rule else node


def _retargeted(node, operands, **fields):
    proto = _copied(node.proto)
    for name, value in fields.items():
        getattr(proto, name)[:] = value
    return Node(proto, operands, node.calls)


def _reshape(node):
    source = node.operands[0]
    if source.opcode == b"reshape":
        return _reshape(_retargeted(node, source.operands))
    if source.dims == node.dims and source.type == node.type:
        return source
    return node


def _convert(node):
    source = node.operands[0]
    if source.type == node.type:
        return source
    if source.opcode == b"convert" and source.operands[0].type == node.type and (source.type, node.type) == (11, 16):
        return source.operands[0]  # bfloat16 to float32 and back
    return node


def _transpose(node):
    source, order = node.operands[0], list(node.proto.dimensions)
    if order == sorted(order):
        return source
    if source.opcode == b"transpose":
        return _transpose(_retargeted(node, source.operands, dimensions=[source.proto.dimensions[d] for d in order]))
    return node


def _kept(small, large):
    """Where the dimensions of one shape went in another that differs by dimensions of size 1, or None."""
    places, at = [], 0
    for size in small:
        while at < len(large) and large[at] != size:
            if large[at] != 1:
                return None
            at += 1
        if at == len(large):
            return None
        places.append(at)
        at += 1
    return places if all(size == 1 for size in large[at:]) else None


def _broadcast(node):
    source, dims = node.operands[0], list(node.proto.dimensions)
    if source.dims == node.dims and dims == sorted(dims):
        return source
    if source.opcode == b"broadcast":
        return _broadcast(_retargeted(node, source.operands, dimensions=[dims[d] for d in source.proto.dimensions]))
    if source.opcode == b"reshape":  # of dimensions of size 1 alone: those are broadcast anyway
        before = source.operands[0].dims
        core = [d for d in before if d != 1]
        places = _kept(core, source.dims) if len(core) == len(before) else None
        if places is not None:
            return _broadcast(_retargeted(node, source.operands, dimensions=[dims[p] for p in places]))
    return node


def _element(node):
    source = node.operands[0]
    return source.operands[node.proto.tuple_index] if source.opcode == b"tuple" else node


def _dot(node):
    """Transposes folded into the contraction, where the order of what remains stays the same."""
    numbers = node.proto.dot_dimension_numbers
    for side, name in enumerate(("lhs", "rhs")):
        source = node.operands[side]
        if source.opcode != b"transpose":
            continue
        order = list(source.proto.dimensions)
        used = [getattr(numbers, f"{name}_{kind}_dimensions") for kind in ("contracting", "batch")]
        taken = {d for dims in used for d in dims}
        free = [order[d] for d in range(len(order)) if d not in taken]
        if free == sorted(free):
            for dims in used:
                dims[:] = [order[d] for d in dims]
            node.operands[side] = source.operands[0]
    return node


def _reduce(node):
    """A reduction over dimensions of size 1 is a reshape: its initial value changes nothing."""
    source = node.operands[0]
    if len(node.operands) == 2 and all(source.dims[d] == 1 for d in node.proto.dimensions):
        return _reshape(_renamed(node, b"reshape", [source]))
    return node


def _renamed(node, opcode, operands):
    """Another instruction of the same shape."""
    return Node(message("HloInstructionProto")(opcode=opcode, shape=node.proto.shape), operands, [])


def _divide(node):
    """Division by a constant is a product with its inverse."""
    divisor = node.operands[1]
    constant = divisor.operands[0] if divisor.opcode == b"broadcast" else divisor
    inverted = constant.opcode == b"constant" and node.type in _FLOATS
    return _renamed(node, b"multiply", node.operands) if inverted else node


def _convolution(node):
    """A reversed kernel is a window read backwards."""
    kernel, numbers = node.operands[1], node.proto.convolution_dimension_numbers
    if kernel.opcode != b"reverse" or not set(kernel.proto.dimensions) <= set(numbers.kernel_spatial_dimensions):
        return node
    for at, window in zip(numbers.kernel_spatial_dimensions, node.proto.window.dimensions, strict=True):
        window.window_reversal ^= at in kernel.proto.dimensions
    node.operands[1] = kernel.operands[0]
    return node


_RULES = {b"reshape": _reshape, b"reduce": _reduce, b"divide": _divide, b"convolution": _convolution,
          b"convert": _convert, b"transpose": _transpose, b"broadcast": _broadcast,
          b"get-tuple-element": _element, b"dot": _dot}


# ---------------------------------------------------------------- whole modules

def _entry(module):
    """The program of one device: the body of shard_map where there is one, else the entry computation."""
    inner = [c for c in module.computations if b"manual_computation_body" in c.name]
    return inner[-1].id if inner else module.entry_computation_id


def _tupled(graph):
    """Many parameters as one tuple and its elements, as TPU programs take them."""
    if len(graph.parameters) <= _MANY_ARGUMENTS:
        return graph
    argument = message("HloInstructionProto")(opcode=b"parameter")
    argument.shape.element_type = 13
    argument.shape.tuple_shapes.extend(p.proto.shape for p in graph.parameters)
    whole = Node(argument, [], [])
    for number, node in enumerate(graph.parameters):
        element = message("HloInstructionProto")(opcode=b"get-tuple-element", shape=node.proto.shape,
                                                 tuple_index=number)
        node.proto, node.operands = element, [whole]
    return Graph(graph.name, [whole], graph.root)


def _loop_names(graph):
    """Names by which the data set's node_splits know the parts of a loop."""
    for node in graph.ordered():
        if node.opcode == b"while":
            body, condition = node.calls
            condition.name, body.name = "while_cond", "while_body"
        for called in node.calls:
            _loop_names(called)


def _emit(graph, out, number):
    """Append a graph's computation after those that it calls; returns its id."""
    protos = []
    ids = {}
    for node in graph.ordered():
        called = [_emit(c, out, number) for c in node.calls]
        proto = _copied(node.proto)
        proto.id = number["node"]
        number["node"] += 1
        ids[id(node)] = proto.id
        proto.name = f"{proto.opcode.decode()}.{proto.id}".encode()
        proto.operand_ids[:] = [ids[id(o)] for o in node.operands]
        proto.called_computation_ids[:] = called
        protos.append(proto)
    number["computation"] += 1
    stem = re.sub(r"[.\d]+$", "", graph.name)
    out.computations.add(name=f"{stem}.{number['computation']}".encode(), id=number["computation"],
                         instructions=protos, root_id=ids[id(graph.root)])
    return number["computation"]


def tidy(module):
    """A parsed module as XLA would have it when it chooses layouts.

    Parameters
    ----------
    module : HloModuleProto
        As JAX lowers it.

    Returns
    -------
    HloModuleProto
    """
    graph = _tupled(own(graphs(module)[_entry(module)]))
    _loop_names(graph)
    out = message("HloModuleProto")(name=module.name)
    out.entry_computation_id = _emit(graph, out, {"node": 1, "computation": 0})
    out.entry_computation_name = out.computations[-1].name
    return out
