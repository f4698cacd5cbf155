"""What a reader of XLA modules has to know: the messages, the opcodes, the names of the 140 node features.

The messages are the fields that the features need, declared at run time; protobuf skips all others, so that
modules of any XLA version can be read without XLA. Field numbers after ``xla/service/hlo.proto``,
``xla/xla_data.proto`` and the TpuGraphs tuning files.
"""

from functools import cache

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

OPCODES = (None, *(
    "abs add add-dependency after-all all-reduce all-to-all atan2 batch-norm-grad batch-norm-inference "
    "batch-norm-training bitcast bitcast-convert broadcast call ceil cholesky clamp collective-permute "
    "count-leading-zeros compare complex concatenate conditional constant convert convolution copy copy-done "
    "copy-start cosine custom-call divide domain dot dynamic-slice dynamic-update-slice exponential "
    "exponential-minus-one fft floor fusion gather get-dimension-size set-dimension-size get-tuple-element imag "
    "infeed iota is-finite log log-plus-one and not or xor map maximum minimum multiply negate outfeed pad "
    "parameter partition-id popcnt power real recv recv-done reduce reduce-precision reduce-window remainder "
    "replica-id reshape reverse rng rng-get-and-update-state rng-bit-generator round-nearest-afz rsqrt scatter "
    "select select-and-scatter send send-done shift-left shift-right-arithmetic shift-right-logical sign sine "
    "slice sort sqrt subtract tanh trace transpose triangular-solve tuple tuple-select while cbrt all-gather "
    "collective-permute-start collective-permute-done logistic dynamic-reshape all-reduce-start all-reduce-done "
    "reduce-scatter all-gather-start all-gather-done opt-barrier async-start async-update async-done "
    "round-nearest-even stochastic-convert tan").split())
OPCODE_IDS = {name: i for i, name in enumerate(OPCODES) if name}  # 0 stands for an opcode that is not listed

# PrimitiveType numbers of xla_data.proto in the order of the one-hot columns 2..20.
ELEMENT_TYPES = {0: "invalid_type", 1: "pred", 2: "s8", 3: "s16", 4: "s32", 5: "s64", 6: "u8", 7: "u16", 8: "u32",
                 9: "u64", 10: "f16", 11: "f32", 12: "f64", 16: "bf16", 15: "c64", 18: "c128", 13: "tuple",
                 14: "opaque_type", 17: "token"}


def _listed(name, count, *rest):
    return [f"{name}_{i}" for i in range(count)] + [f"{name}_{r}" for r in rest]


def _conv_names():
    names = []
    for part, dims in (("input", ("batch", "feature")), ("kernel", ("input_feature", "output_feature")),
                       ("output", ("batch", "feature"))):
        names += [f"{part}_{d}_dim" if part != "kernel" else f"kernel_{d}_dim" for d in dims]
        names += [] if part == "output" else [f"{part}_spatial_dims_{i}" for i in range(4)]
    return [f"convolution_dim_numbers_{n}" for n in names]


FEATURES = tuple(
    ["is_root", "element_size_in_bits"] + [f"shape_element_type_is_{t}" for t in ELEMENT_TYPES.values()]
    + _listed("shape_dimensions", 6, "sum", "product") + ["shape_tuple_shapes_size", "parameter_number"]
    + _listed("dimensions", 6)
    + [n for field in ("size", "stride", "padding_low", "padding_high", "window_dilation", "base_dilation")
       for n in _listed(f"window_{field}", 6, "sum", "product")]
    + _listed("window_window_reversal", 6, "true_count", "false_count")
    + _conv_names() + ["feature_group_count", "batch_group_count"]
    + [n for field in ("slice_dims_start", "slice_dims_stride", "slice_dims_limit", "dynamic_slice_sizes",
                       "padding_config_edge_padding_low", "padding_config_edge_padding_high")
       for n in _listed(field, 2, "sum", "product")]
    + ["is_stable"] + _listed("layout_minor_to_major", 6))
COLUMN = {name: i for i, name in enumerate(FEATURES)}

# message -> {field: (number, type)}; a leading "*" is a repeated field.
_MESSAGES = {
    "HloProto": {"hlo_module": (1, "HloModuleProto")},
    "HloModuleProto": {"name": (1, "bytes"), "entry_computation_name": (2, "bytes"),
                       "computations": (3, "*HloComputationProto"), "entry_computation_id": (6, "int64")},
    "HloComputationProto": {"name": (1, "bytes"), "instructions": (2, "*HloInstructionProto"), "id": (5, "int64"),
                            "root_id": (6, "int64")},
    "HloInstructionProto": {
        "name": (1, "bytes"), "opcode": (2, "bytes"), "shape": (3, "ShapeProto"), "metadata": (7, "bytes"),
        "parameter_number": (9, "int64"), "tuple_index": (13, "int64"), "dimensions": (14, "*int64"),
        "window": (15, "Window"), "convolution_dimension_numbers": (16, "ConvolutionDimensionNumbers"),
        "slice_dimensions": (17, "*SliceDimensions"), "dynamic_slice_sizes": (20, "*int64"),
        "padding_config": (21, "PaddingConfig"), "dot_dimension_numbers": (30, "DotDimensionNumbers"),
        "id": (35, "int64"), "operand_ids": (36, "*int64"), "called_computation_ids": (38, "*int64"),
        "feature_group_count": (50, "int64"), "batch_group_count": (58, "int64"), "is_stable": (60, "bool")},
    "SliceDimensions": {"start": (1, "int64"), "limit": (2, "int64"), "stride": (3, "int64")},
    "ShapeProto": {"element_type": (2, "int32"), "dimensions": (3, "*int64"), "tuple_shapes": (4, "*ShapeProto"),
                   "layout": (5, "LayoutProto")},
    "LayoutProto": {"minor_to_major": (1, "*int64")},
    "Window": {"dimensions": (1, "*WindowDimension")},
    "WindowDimension": {"size": (1, "int64"), "stride": (2, "int64"), "padding_low": (3, "int64"),
                        "padding_high": (4, "int64"), "window_dilation": (5, "int64"),
                        "base_dilation": (6, "int64"), "window_reversal": (7, "bool")},
    "ConvolutionDimensionNumbers": {
        "kernel_input_feature_dimension": (3, "int64"), "kernel_output_feature_dimension": (4, "int64"),
        "kernel_spatial_dimensions": (6, "*int64"), "input_batch_dimension": (7, "int64"),
        "input_feature_dimension": (8, "int64"), "output_batch_dimension": (9, "int64"),
        "output_feature_dimension": (10, "int64"), "input_spatial_dimensions": (11, "*int64"),
        "output_spatial_dimensions": (12, "*int64")},
    "DotDimensionNumbers": {"lhs_contracting_dimensions": (1, "*int64"), "rhs_contracting_dimensions": (2, "*int64"),
                            "lhs_batch_dimensions": (3, "*int64"), "rhs_batch_dimensions": (4, "*int64")},
    "PaddingConfig": {"dimensions": (1, "*PaddingDimension")},
    "PaddingDimension": {"edge_padding_low": (1, "int64"), "edge_padding_high": (2, "int64"),
                         "interior_padding": (3, "int64")},
    # The tuning files of TpuGraphs.
    "TuningData": {"modules": (1, "*ModuleTuningData")},
    "ModuleTuningData": {"module": (1, "HloModuleProto"), "fingerprint": (2, "uint64"), "runs": (3, "*ConfigProfile"),
                         "config_index_to_node": (4, "*int64")},
    "ConfigProfile": {"op_config": (1, "OpConfig"), "module_config": (2, "ModuleConfig"), "error": (3, "bytes"),
                      "profile": (4, "Profile"), "is_default": (5, "bool")},
    "Profile": {"compute_time_ns": (4, "int64")},
    "OpConfig": {"tile_size_config": (1, "TileSizeConfig")},
    "TileSizeConfig": {"kernel_bounds": (1, "*int64"), "output_bounds": (2, "*int64"), "input_bounds": (3, "*int64")},
    "ModuleConfig": {"layout_config": (1, "LayoutConfig")},
    "LayoutConfig": {"nodes": (1, "*NodeLayout")},
    "NodeLayout": {"tensors": (1, "*TensorLayout")},
    "TensorLayout": {"dims": (1, "*int64")},
}
_PACKAGE = "fast_or_slow"


def _add_field(message, name, number, kind):
    field = message.field.add(name=name, number=number)
    field.label = field.LABEL_REPEATED if kind.startswith("*") else field.LABEL_OPTIONAL
    kind = kind.removeprefix("*")
    if kind in _MESSAGES:
        field.type, field.type_name = field.TYPE_MESSAGE, f".{_PACKAGE}.{kind}"
    else:
        field.type = getattr(field, f"TYPE_{kind.upper()}")


@cache
def _pool():
    file = descriptor_pb2.FileDescriptorProto(name="fast_or_slow/hlo.proto", package=_PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            _add_field(message, field, number, kind)
    pool = descriptor_pool.DescriptorPool()  # of its own: the default one would clash with XLA's Python package
    pool.Add(file)
    return pool


@cache
def message(name):
    """The protobuf class of one message: ``message("HloModuleProto").FromString(data)``."""
    return message_factory.GetMessageClass(_pool().FindMessageTypeByName(f"{_PACKAGE}.{name}"))
