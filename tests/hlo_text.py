"""What a module's text implies for its features: the reference that the HLO reader is compared with."""

import re

import numpy as np

from kit.hlo.schema import message

_LINE = re.compile(r"^\s+(ROOT )?%?(\S+) = (\(.*?\)|\S+) ([\w-]+)\((.*?)\)(?:, (.*))?$")
_TYPES = {"f32": "f32", "bf16": "bf16", "s32": "s32", "pred": "pred"}


def parsed_text(folder, name):
    """Instructions in the module's order: (computation, root?, name, shape, opcode, operands, attributes)."""
    computation, lines = None, {}
    for line in (folder / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        head = re.match(r"^(?:ENTRY )?%?([\w.-]+) .*\{$|^(?:ENTRY )?%?([\w.-]+) \{$", line)
        if head and not line.startswith("HloModule"):
            computation = head[1] or head[2]
        match = _LINE.match(line)
        if match and computation:
            root, node, kind, opcode, operands, rest = match.groups()
            lines[computation, node] = (computation, bool(root), node, kind, opcode,
                                        [o.strip().lstrip("%") for o in operands.split(",")], rest or "")
    module = message("HloModuleProto").FromString((folder / f"{name}.pb").read_bytes())
    order = [(c.name.decode(), node.name.decode()) for c in module.computations for node in c.instructions]
    assert sorted(order) == sorted(lines)
    return [lines[key] for key in order]


def _padded(values, keep):
    return [*values[:keep], *[0] * (keep - len(values[:keep]))]


def expected(kind, opcode, operands, attributes):
    """The features that a line of text implies, by name."""
    found = {}

    def listed(name, values, keep, product=True):
        found.update({f"{name}_{i}": v for i, v in enumerate(_padded(values, keep))})
        if product:
            found.update({f"{name}_sum": sum(values), f"{name}_product": int(np.prod(values, dtype=np.int64))})

    plain = re.match(r"(\w+)\[([\d,]*)\](?:\{([\d,]*)\})?", kind)
    if kind.startswith("("):
        found |= {"shape_element_type_is_tuple": 1, "shape_tuple_shapes_size": kind.count("[")}
    else:
        found[f"shape_element_type_is_{_TYPES[plain[1]]}"] = 1
        listed("shape_dimensions", [int(d) for d in plain[2].split(",") if d], 6)
        listed("layout_minor_to_major", [int(d) for d in (plain[3] or "").split(",") if d], 6, False)
    if opcode == "parameter":
        found["parameter_number"] = int(operands[0])
    numbers = re.search(r"dimensions=\{([\d,]*)\}", attributes)
    if numbers and "_dims" not in attributes.split("dimensions")[0][-5:]:
        listed("dimensions", [int(d) for d in numbers[1].split(",") if d], 6, False)
    window = re.search(r"window=\{(.*?)\}", attributes)
    if window:
        _window(listed, found, dict(part.split("=") for part in window[1].split()))
    labels = re.search(r"dim_labels=(\w+)_(\w+)->(\w+)", attributes)
    if labels:
        _labels(found, *labels.groups())
    for name in ("feature_group_count", "batch_group_count"):
        value = re.search(rf"{name}=(\d+)", attributes)
        found[name] = int(value[1]) if value else int(opcode == "convolution")
    slices = re.search(r" ?slice=\{(\[.*?\])\}", attributes)
    if slices:
        spans = [[int(v) for v in s.split(":")] + [1] for s in re.findall(r"\[([\d:]+)\]", slices[1])]
        for i, name in enumerate(("start", "limit", "stride")):
            listed(f"slice_dims_{name}", [s[i] for s in spans], 2)
    sizes = re.search(r"dynamic_slice_sizes=\{([\d,]+)\}", attributes)
    if sizes:
        listed("dynamic_slice_sizes", [int(d) for d in sizes[1].split(",")], 2)
    padding = re.search(r"padding=([\d_x-]+)", attributes)
    if padding:
        sides = [[int(v) for v in p.split("_")] for p in padding[1].split("x")]
        listed("padding_config_edge_padding_low", [s[0] for s in sides], 2)
        listed("padding_config_edge_padding_high", [s[1] for s in sides], 2)
    found["is_stable"] = int("is_stable=true" in attributes)
    return found


def _window(listed, found, parts):
    size = [int(v) for v in parts["size"].split("x")]
    ones = "x".join("1" for _ in size)
    pads = [p.split("_") for p in parts.get("pad", "x".join("0_0" for _ in size)).split("x")]
    listed("window_size", size, 6)
    listed("window_padding_low", [int(p[0]) for p in pads], 6)
    listed("window_padding_high", [int(p[1]) for p in pads], 6)
    for name, key in (("stride", "stride"), ("window_dilation", "rhs_dilate"), ("base_dilation", "lhs_dilate")):
        listed(f"window_{name}", [int(v) for v in parts.get(key, ones).split("x")], 6)
    found["window_window_reversal_false_count"] = len(size)


def _labels(found, image, kernel, output):
    start = "convolution_dim_numbers_"
    found |= {f"{start}input_batch_dim": image.index("b"), f"{start}input_feature_dim": image.index("f"),
              f"{start}kernel_input_feature_dim": kernel.index("i"),
              f"{start}kernel_output_feature_dim": kernel.index("o"),
              f"{start}output_batch_dim": output.index("b"), f"{start}output_feature_dim": output.index("f")}
    for i in range(2):
        found[f"{start}input_spatial_dims_{i}"] = image.index(str(i))
        found[f"{start}kernel_spatial_dims_{i}"] = kernel.index(str(i))
