"""Bytes to HLO modules, or a message that says what the bytes are instead and how to get the right ones."""

from google.protobuf.message import DecodeError

from evaluation.errors import InputError
from kit.hlo.schema import OPCODE_IDS, message

HOW = """serialized HLO modules come from
  JAX          jax.jit(f).lower(*shapes).compiler_ir("hlo").as_serialized_hlo_module_proto()
  TensorFlow   tf.function(f, jit_compile=True).experimental_get_compiler_ir(*inputs)(stage="hlo_serialized")
  PyTorch/XLA  torch_xla._XLAC._get_xla_tensors_hlo_proto([output])
  any of them  XLA_FLAGS="--xla_dump_to=DIR --xla_dump_hlo_as_proto", then DIR/*.hlo.pb"""

_MLIR = "an MLIR module (StableHLO) {}: HLO is what XLA makes of it"
_STARTS = (
    (b"ML\xefR", _MLIR.format("as bytecode")),
    (b"HloModule ", "HLO as text: the protobuf form of the same module is needed"),
    (b"module @", _MLIR.format("as text")),
    (b"module {", _MLIR.format("as text")),
    (b"#loc", _MLIR.format("as text")),
    (b"PK\x03\x04", "a zip archive (an npz file is one already: python -m kit inspect reads it)"),
    (b"<!DOCTYPE", "a web page"), (b"<html", "a web page"),
    (b"\x1f\x8b", "a gzip file: unpack it first"),
)


def refuse(path, found):
    """Raise the error that says what was found and how to get the right thing."""
    raise InputError(f"{path}: {found}; {HOW}")


def _varint(data, at):
    """A varint and the place after it; IndexError where the data end within it."""
    value = shift = 0
    while shift < 70:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    raise ValueError("a varint of more than ten bytes")


def _end_of_field(data, at):
    """The place where the field at `at` ends, which may lie behind the data's end."""
    tag, at = _varint(data, at)
    if not tag >> 3:
        raise ValueError("field number 0")
    fixed = {1: 8, 5: 4}
    if tag & 7 in fixed:
        return at + fixed[tag & 7]
    value, at = _varint(data, at)
    if tag & 7 == 0:
        return at
    if tag & 7 == 2:
        return at + value
    raise ValueError("a wire type that is none")


def _undecodable(data):
    """Why bytes are no protobuf: how much is missing of a truncated file, or that they are none at all."""
    at = last = 0
    try:
        while at < len(data):
            last, at = at, _end_of_field(data, at)
    except IndexError:
        return f"a truncated protobuf: it ends within the field that begins at byte {last}; fetch or dump it again"
    except ValueError:
        return f"no protobuf: it begins with {data[:16]!r}"
    if at > len(data):
        return (f"a truncated protobuf or none at all: the field at byte {last} should end at byte {at}, "
                f"the file ends at byte {len(data)}; fetch or dump it again")
    return "no HLO module, though it might be another protobuf"


def _parsed(name, data):
    try:
        return message(name).FromString(data)
    except DecodeError:
        return None


def _is_module(module):
    """Whether a message that parsed is a module: any bytes parse as some message or other."""
    nodes = [node for computation in module.computations for node in computation.instructions]
    return bool(nodes) and all(node.opcode for node in nodes) and any(
        node.opcode.decode("utf-8", "replace") in OPCODE_IDS for node in nodes)


def _as_module(data):
    module = _parsed("HloModuleProto", data)
    return [(module, None)] if module and _is_module(module) else None


def _as_tuned(data):
    tuned = _parsed("ModuleTuningData", data)  # an HloProto has no field 2, and other things in field 3
    return [(tuned.module, tuned)] if tuned and tuned.fingerprint and _is_module(tuned.module) else None


def _as_proto(data):
    proto = _parsed("HloProto", data)
    return [(proto.hlo_module, None)] if proto and _is_module(proto.hlo_module) else None


def _as_tuning_file(data):
    file = _parsed("TuningData", data)
    if not file or not file.modules or not all(_is_module(m.module) for m in file.modules):
        return None
    return [(m.module, m) for m in file.modules]


def parse(data, path):
    """The modules that a file's bytes hold.

    Parameters
    ----------
    data : bytes
    path : str or Path
        For messages.

    Returns
    -------
    list of (HloModuleProto, ModuleTuningData or None)

    Raises
    ------
    InputError
        Where the bytes are none of the four messages.
    """
    if not data.strip():
        refuse(path, "an empty file")
    for start, found in _STARTS:
        if data.lstrip()[:16].startswith(start) or data.startswith(start):
            refuse(path, found)
    for attempt in (_as_module, _as_tuned, _as_proto, _as_tuning_file):
        modules = attempt(data)
        if modules:
            return modules
    refuse(path, _undecodable(data))
