"""The 140 features of an instruction, from its protobuf: the numbers that TpuGraphs' C++ extractor gives.

Checked bit for bit against the published files. Lists keep their first six, four or two entries, padded with 0;
their sums and products run over the whole list in wrapping 64-bit integers, and the product of an empty list is 1.
"""

import numpy as np

from kit.hlo.schema import COLUMN, ELEMENT_TYPES, FEATURES, OPCODE_IDS

_WINDOW = ("size", "stride", "padding_low", "padding_high", "window_dilation", "base_dilation")
_SLICE = ("start", "stride", "limit")
_SCALARS = ("parameter_number", "feature_group_count", "batch_group_count", "is_stable")
_ELEMENT_COLUMN = {number: COLUMN["shape_element_type_is_invalid_type"] + i for i, number in enumerate(ELEMENT_TYPES)}
_CONV_SCALARS = {field: COLUMN[f"convolution_dim_numbers_{name}_dim"] for field, name in (
    ("input_batch_dimension", "input_batch"), ("input_feature_dimension", "input_feature"),
    ("kernel_input_feature_dimension", "kernel_input_feature"),
    ("kernel_output_feature_dimension", "kernel_output_feature"),
    ("output_batch_dimension", "output_batch"), ("output_feature_dimension", "output_feature"))}
RESTING = np.array([name.endswith("_product") for name in FEATURES], dtype=np.float32)  # of no list: product 1
_AT = {name: COLUMN[f"{name}_0"] for name in (
    "shape_dimensions", "dimensions", "window_window_reversal", "dynamic_slice_sizes", "layout_minor_to_major",
    "convolution_dim_numbers_input_spatial_dims", "convolution_dim_numbers_kernel_spatial_dims",
    "padding_config_edge_padding_low", "padding_config_edge_padding_high",
    *(f"window_{f}" for f in _WINDOW), *(f"slice_dims_{f}" for f in _SLICE))}


def wrapped(number):
    """An integer reduced to 64 bits with sign, as C++ arithmetic on the processors in question does."""
    return (number + 2**63) % 2**64 - 2**63


class _Rows:
    """Features as (row, column, value) triples: most of the 140 columns of a row are at rest."""

    def __init__(self):
        self.row, self.column, self.value = [], [], []

    def put(self, row, column, value):
        self.row.append(row)
        self.column.append(column)
        self.value.append(value)

    def entries(self, row, column, values, keep):
        for offset, value in enumerate(values[:keep]):
            self.put(row, column + offset, value)

    def summed(self, row, column, values, keep):
        """Entries, then their sum and product."""
        self.entries(row, column, values, keep)
        product = 1
        for value in values:
            product *= value
        self.put(row, column + keep, wrapped(sum(values)))
        self.put(row, column + keep + 1, wrapped(product))

    def array(self, rows):
        features = np.tile(RESTING, (rows, 1))
        features[self.row, self.column] = np.array(self.value, dtype=np.int64)
        return features


def _window(out, row, dimensions):
    for name in _WINDOW:
        out.summed(row, _AT[f"window_{name}"], [getattr(d, name) for d in dimensions], 6)
    reversal = [d.window_reversal for d in dimensions]
    out.entries(row, _AT["window_window_reversal"], reversal, 6)
    out.put(row, COLUMN["window_window_reversal_true_count"], sum(reversal))
    out.put(row, COLUMN["window_window_reversal_false_count"], len(reversal) - sum(reversal))


def _convolution(out, row, numbers):
    for name, column in _CONV_SCALARS.items():
        out.put(row, column, getattr(numbers, name))
    for part in ("input", "kernel"):
        out.entries(row, _AT[f"convolution_dim_numbers_{part}_spatial_dims"],
                    getattr(numbers, f"{part}_spatial_dimensions"), 4)


def _shape(out, row, shape):
    column = _ELEMENT_COLUMN.get(shape.element_type)
    if column is not None:  # types younger than the data set have no column
        out.put(row, column, 1)
    if shape.dimensions:
        out.summed(row, _AT["shape_dimensions"], shape.dimensions, 6)
        out.entries(row, _AT["layout_minor_to_major"], shape.layout.minor_to_major, 6)
    if shape.tuple_shapes:
        out.put(row, COLUMN["shape_tuple_shapes_size"], len(shape.tuple_shapes))


def _instruction(out, row, node):
    _shape(out, row, node.shape)
    for name in _SCALARS:
        value = getattr(node, name)
        if value:
            out.put(row, COLUMN[name], value)
    if node.dimensions:
        out.entries(row, _AT["dimensions"], node.dimensions, 6)
    if node.HasField("window"):
        _window(out, row, node.window.dimensions)
    if node.HasField("convolution_dimension_numbers"):
        _convolution(out, row, node.convolution_dimension_numbers)
    if node.slice_dimensions:
        for name in _SLICE:
            values = [getattr(d, name) for d in node.slice_dimensions]
            out.summed(row, _AT[f"slice_dims_{name}"], values, 2)
    if node.dynamic_slice_sizes:
        out.summed(row, _AT["dynamic_slice_sizes"], node.dynamic_slice_sizes, 2)
    if node.HasField("padding_config"):
        for side in ("low", "high"):
            values = [getattr(d, f"edge_padding_{side}") for d in node.padding_config.dimensions]
            out.summed(row, _AT[f"padding_config_edge_padding_{side}"], values, 2)


def node_features(computations):
    """Features and opcodes of all instructions, computation by computation.

    Parameters
    ----------
    computations : sequence of HloComputationProto

    Returns
    -------
    node_feat : float32 array, shape (n, 140)
        Columns as `kit.hlo.schema.FEATURES`.
    node_opcode : uint8 array, shape (n,)
        Index into `kit.hlo.schema.OPCODES`, 0 where the opcode is not listed.
    """
    out, opcodes, row = _Rows(), [], 0
    for computation in computations:
        for node in computation.instructions:
            _instruction(out, row, node)
            if node.id == computation.root_id:
                out.put(row, COLUMN["is_root"], 1)
            opcodes.append(OPCODE_IDS.get(node.opcode.decode("utf-8", "replace"), 0))
            row += 1
    return out.array(row), np.array(opcodes, dtype=np.uint8)
