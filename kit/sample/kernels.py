"""Tile kernels: fusions cut from the programs, as arrays of the tile files.

A kernel holds the called computations first, then fusions that feed a convolution, the fused computation, and an entry
of parameters and the fusion; a kernel of one instruction has no fusion. Layouts are those that pad least, as in the
data set's kernels. `kit.sample.cuts.cuts` says where a program is cut, `kernel` makes the arrays of one cut.
"""

from dataclasses import dataclass, field
from math import prod

import numpy as np

from kit.hlo import edges
from kit.hlo.features import RESTING
from kit.hlo.schema import COLUMN, OPCODE_IDS, OPCODES
from kit.sample.cuts import PRODUCTS

LANES, SUBLANES = 128, 8

_DIMS = slice(COLUMN["shape_dimensions_0"], COLUMN["shape_dimensions_0"] + 6)
_SHAPE = slice(COLUMN["shape_element_type_is_invalid_type"], COLUMN["parameter_number"])
_LAYOUT = slice(COLUMN["layout_minor_to_major_0"], COLUMN["layout_minor_to_major_0"] + 6)
_TUPLE = COLUMN["shape_element_type_is_tuple"]


@dataclass(frozen=True, eq=False)
class Kernel:
    """One kernel as the arrays of a tile file; n nodes.

    Attributes
    ----------
    node_feat : float32 array, shape (n, 140)
    node_opcode : uint8 array, shape (n,)
    edge_index : int64 array, shape (m, 2)
    root : int
        The node whose shape is the kernel's (first) output, inside the fused computation.
    product : int or None
        Its convolution, where there is one.
    operands : list of list of int
        Operand nodes in order; a convolution's are input and kernel.
    macs : float
        Multiply-accumulates.
    """

    node_feat: np.ndarray = field(repr=False)
    node_opcode: np.ndarray = field(repr=False)
    edge_index: np.ndarray = field(repr=False)
    root: int
    product: int | None
    operands: list = field(repr=False)
    macs: float


def layout(dims):
    """The order of dimensions, minor to major, that pads least in tiles of 8 x 128.

    Parameters
    ----------
    dims : sequence of int

    Returns
    -------
    list of int

    Notes
    -----
    The second dimension of a tile may be 1, 2 or 4 where the array has no more (seen on the data set's kernels:
    ``bf16[2,19,19,2304]{3,0,2,1}``, ``bf16[2,300,300,64]{2,3,1,0}``). Ties go to the larger second, then the later
    minor dimension; the rest follows from last to first.
    """
    if len(dims) < 2:
        return list(range(len(dims)))

    def padding(minor, second):
        rows = dims[second] if dims[second] in (1, 2, 4) else -(-dims[second] // SUBLANES) * SUBLANES
        return -(-dims[minor] // LANES) * LANES * rows / (dims[minor] * dims[second])

    pairs = ((a, b) for a in range(len(dims)) for b in range(len(dims)) if a != b)
    minor, second = min(pairs, key=lambda p: (padding(*p), -dims[p[1]], -p[0]))
    return [minor, second, *(d for d in reversed(range(len(dims))) if d not in (minor, second))]


def _dims(row):
    return [int(d) for d in row[_DIMS] if d]


def _laid(row):
    """A row with the layout that its shape gets in a kernel."""
    row = row.copy()
    row[_LAYOUT] = 0
    order = layout(_dims(row))
    row[_LAYOUT.start:_LAYOUT.start + len(order)] = order
    return row


def _shaped(row, dims=None):
    """A row at rest but for the shape of another, or for its type and other dimensions."""
    new = RESTING.copy()
    new[_SHAPE] = row[_SHAPE]
    if dims is not None:
        new[_DIMS] = 0
        new[_DIMS.start:_DIMS.start + len(dims)] = dims
        new[_DIMS.stop:_DIMS.stop + 2] = sum(dims), prod(dims)
    return _laid(new)


class _Builder:
    """Collects the nodes of a kernel, computation by computation."""

    def __init__(self, module):
        self.module = module
        self.rows, self.opcodes, self.operands, self.calls, self.computation = [], [], [], [], []
        self.roots, self.macs, self.product = [], 0.0, None

    def add(self, row, opcode, operands=(), calls=()):
        row[0] = 0
        self.rows.append(row)
        self.opcodes.append(OPCODE_IDS[opcode])
        self.operands.append(list(operands))
        self.calls.append(list(calls))
        self.computation.append(len(self.roots))
        return len(self.rows) - 1

    def close(self, root):
        """End a computation; returns its number."""
        self.rows[root][0] = 1
        self.roots.append(root)
        return len(self.roots) - 1

    def parameter(self, row, number):
        row = _shaped(row)
        row[COLUMN["parameter_number"]] = number
        return self.add(row, "parameter")

    def called(self, number):
        """A reduction's computation, as it stands in the program."""
        nodes = np.flatnonzero(self.module.computation == number)
        root = nodes[self.module.node_feat[nodes, 0] == 1].item()
        new = {}
        for node in nodes.tolist():
            new[node] = self.add(self.module.node_feat[node].copy(), OPCODES[self.module.node_opcode[node]],
                                 [new[o] for o in self.module.operands[node]])
        return self.close(new[root])


class _Body:
    """One fused computation: nodes of the program, parameters for what comes from outside."""

    def __init__(self, builder, group, fed=None):
        self.builder, self.group, self.fed = builder, group, fed or {}
        self.new, self.inputs, self.called = {}, {}, {}

    def prepare(self):
        """The computations that the group's reductions call, before the group itself."""
        for node in sorted(self.group):
            for number in self.builder.module.calls[node]:
                self.called[node] = self.builder.called(number)

    def outside(self, node):
        """The parameter that stands for a node of another kernel."""
        if node not in self.inputs:
            self.inputs[node] = self.builder.parameter(self.builder.module.node_feat[node], len(self.inputs))
        return self.inputs[node]

    def visit(self, node):
        """A node of the program in this computation, its operands first."""
        if node in self.fed:
            return self.fed_fusion(node)
        if node not in self.group:
            return self.outside(node)
        if node not in self.new:
            operands = [self.visit(o) for o in self.builder.module.operands[node]]
            self.new[node] = self.emit(node, operands)
        return self.new[node]

    def fed_fusion(self, node):
        """The fusion that computes an operand of a convolution."""
        if node not in self.new:
            number, inputs = self.fed[node]
            row = _shaped(self.builder.module.node_feat[node])
            self.new[node] = self.builder.add(row, "fusion", [self.outside(i) for i in inputs], [number])
        return self.new[node]

    def emit(self, node, operands):
        module, build = self.builder.module, self.builder
        opcode, row = OPCODES[module.node_opcode[node]], _laid(module.node_feat[node])
        if opcode in PRODUCTS:
            build.macs += float(module.macs[node])
        if opcode == "dot":
            return _as_convolution(build, row, operands, float(module.macs[node]))
        if opcode == "reshape" and len(self.group) > 1:
            opcode = "bitcast"
        calls = [self.called[node]] if node in self.called else []
        at = build.add(row, opcode, operands, calls)
        build.product = at if opcode == "convolution" else build.product
        return at


def _as_convolution(build, row, operands, macs):
    """A dot as the convolution that TPUs compute: batch dimensions become a window, the rest is two-dimensional."""
    left, right = (_dims(build.rows[o]) for o in operands)
    out = _dims(row)
    depth = round(macs / max(prod(out), 1)) or 1
    batch = round(prod(left) * prod(right) / (max(prod(out), 1) * depth**2)) or 1
    rows, columns = prod(left) // (batch * depth), prod(right) // (batch * depth)
    window = [] if batch == 1 else [batch]
    flat = [[*window, rows, depth], [*window, depth, columns]]
    operands = [_bitcast(build, o, dims) for o, dims in zip(operands, flat, strict=True)]
    at = build.add(_product_row(row, window, rows, columns), "convolution", operands)
    build.product = at
    return _bitcast(build, at, out)


def _bitcast(build, node, dims):
    if _dims(build.rows[node]) == list(dims):
        return node
    return build.add(_shaped(build.rows[node], dims), "bitcast", [node])


def _product_row(row, window, rows, columns):
    """A convolution's features for a product of matrices, as XLA writes them."""
    new = _shaped(row, [*window, rows, columns])
    base = len(window)
    for name, value in (("input_batch", base), ("input_feature", base + 1), ("kernel_input_feature", base),
                        ("kernel_output_feature", base + 1), ("output_batch", base), ("output_feature", base + 1)):
        new[COLUMN[f"convolution_dim_numbers_{name}_dim"]] = value
    for name in ("feature_group_count", "batch_group_count"):
        new[COLUMN[name]] = 1
    for size in window:  # one window position a matrix: size B, stride B - 1, input spread by B
        for name, value in (("size", size), ("stride", max(size - 1, 1)), ("window_dilation", 1),
                            ("base_dilation", size)):
            for suffix in ("0", "sum", "product"):
                new[COLUMN[f"window_{name}_{suffix}"]] = value
        for name in ("padding_low", "padding_high"):
            new[COLUMN[f"window_{name}_product"]] = 0
        new[COLUMN["window_window_reversal_false_count"]] = 1
    return new


def _feeding(module, cut):
    """For each operand of the group's convolution that is computed in the group: the nodes that compute it."""
    group = set(cut.nodes)
    products = [n for n in cut.nodes if OPCODES[module.node_opcode[n]] in PRODUCTS]
    sources = {}
    for operand in (o for n in products for o in module.operands[n] if o in group):
        nodes, stack = set(), [operand]
        while stack:
            node = stack.pop()
            if node in group and node not in nodes:
                nodes.add(node)
                stack += module.operands[node]
        sources[operand] = nodes
    return sources


def _fused(build, cut):
    """The fused computation (and those before it); returns its number, inputs and outputs."""
    fed = {}
    for operand, nodes in sorted(_feeding(build.module, cut).items()):
        body = _Body(build, nodes)
        body.prepare()
        fed[operand] = (build.close(body.visit(operand)), list(body.inputs))
    body = _Body(build, set(cut.nodes), fed)
    body.prepare()
    outputs = [body.visit(cut.root), *(body.visit(e) for e in cut.extra)]
    if len(outputs) == 1:
        return build.close(outputs[0]), list(body.inputs), outputs
    return build.close(_tuple(build, outputs, "tuple", outputs)), list(body.inputs), outputs


def _tuple(build, outputs, opcode, operands, calls=()):
    row = RESTING.copy()
    row[_TUPLE] = 1
    row[COLUMN["shape_tuple_shapes_size"]] = len(outputs)
    return build.add(row, opcode, operands, calls)


def _alone(build, cut):
    """A kernel of one instruction, without a fusion around it."""
    body = _Body(build, {cut.root})
    body.prepare()
    root = body.visit(cut.root)
    build.close(root)
    return root


def kernel(module, cut):
    """The arrays of one kernel.

    Parameters
    ----------
    module : kit.hlo.Module
    cut : Cut
        Of `kit.sample.cuts.cuts`.

    Returns
    -------
    Kernel
    """
    build = _Builder(module)
    if len(cut.nodes) == 1:
        root = _alone(build, cut)
    else:
        number, inputs, outputs = _fused(build, cut)
        root = outputs[0]
        parameters = [build.parameter(module.node_feat[node], i) for i, node in enumerate(inputs)]
        build.close(build.add(_shaped(build.rows[root]), "fusion", parameters, [number]) if len(outputs) == 1
                    else _tuple(build, outputs, "fusion", parameters, [number]))
    roots = np.array(build.roots)
    return Kernel(np.array(build.rows, dtype=np.float32), np.array(build.opcodes, dtype=np.uint8),
                  edges(build.operands, build.calls, roots, np.array(build.computation)),
                  root, build.product, build.operands, build.macs)


def copy(row, order):
    """A kernel that copies an array into another layout.

    Parameters
    ----------
    row : float32 array, shape (140,)
        Any node with the array's shape.
    order : sequence of int
        The layout that it is copied from, minor to major.

    Returns
    -------
    Kernel
    """
    source, target = _shaped(row), _shaped(row)
    source[_LAYOUT.start:_LAYOUT.start + len(order)] = order
    target[0] = 1
    codes = np.array([OPCODE_IDS["parameter"], OPCODE_IDS["copy"]], dtype=np.uint8)
    return Kernel(np.stack([source, target]), codes, np.array([[1, 0]]), 1, None, [[], [0]], 0.0)
