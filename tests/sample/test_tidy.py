"""XLA's simplifications, one small program each; the programs stand as lines of (opcode, operands, dims, fields)."""

from pathlib import Path

import pytest

from kit import hlo
from kit.hlo.schema import OPCODES, message
from kit.sample.tidy import tidy

LOOP = Path(__file__).parents[1] / "data" / "hlo" / "loop.pb"


def module(*nodes):
    """One computation; fields may name an element type as `type`."""
    made = message("HloModuleProto")(name=b"made", entry_computation_id=1)
    main = made.computations.add(name=b"main", id=1, root_id=len(nodes))
    for i, (opcode, operands, dims, fields) in enumerate(nodes, start=1):
        kind = fields.pop("type", 11)
        node = main.instructions.add(opcode=opcode.encode(), id=i, operand_ids=operands, **fields)
        node.shape.element_type = kind
        node.shape.dimensions[:] = dims
    return made


def tidied(*nodes):
    """Opcodes, operands and dimensions of the entry after tidying."""
    last = tidy(module(*nodes)).computations[-1]
    first = last.instructions[0].id
    return [(n.opcode.decode(), [o - first for o in n.operand_ids], list(n.shape.dimensions))
            for n in last.instructions]


def p(*dims, **fields):
    """A parameter."""
    return ("parameter", [], list(dims), fields)


@pytest.mark.parametrize(("nodes", "expected"), [
    # reshapes of reshapes, and those that change nothing
    ([p(4, 6), ("reshape", [1], [24], {}), ("reshape", [2], [2, 12], {})],
     [("parameter", [], [4, 6]), ("reshape", [0], [2, 12])]),
    ([p(4, 6), ("reshape", [1], [24], {}), ("reshape", [2], [4, 6], {}), ("tanh", [3], [4, 6], {})],
     [("parameter", [], [4, 6]), ("tanh", [0], [4, 6])]),
    # bfloat16 to float32 and back; but not the other way round
    ([p(4, type=16), ("convert", [1], [4], {}), ("convert", [2], [4], {"type": 16}), ("tanh", [3], [4], {"type": 16})],
     [("parameter", [], [4]), ("tanh", [0], [4])]),
    ([p(4), ("convert", [1], [4], {"type": 16}), ("convert", [2], [4], {})],
     [("parameter", [], [4]), ("convert", [0], [4]), ("convert", [1], [4])]),
    # transposes that undo each other
    ([p(4, 6), ("transpose", [1], [6, 4], {"dimensions": [1, 0]}), ("transpose", [2], [4, 6], {"dimensions": [1, 0]}),
      ("tanh", [3], [4, 6], {})],
     [("parameter", [], [4, 6]), ("tanh", [0], [4, 6])]),
    # what JAX writes for x[:, None] in an expression
    ([p(4), ("reshape", [1], [4, 1], {}), ("broadcast", [2], [4, 1], {"dimensions": [0, 1]}), ("reshape", [3], [4], {}),
      ("broadcast", [4], [4, 6], {"dimensions": [0]})],
     [("parameter", [], [4]), ("broadcast", [0], [4, 6])]),
    ([p(4), ("reshape", [1], [4, 1], {}), ("broadcast", [2], [4, 6, 1], {"dimensions": [0, 2]})],
     [("parameter", [], [4]), ("broadcast", [0], [4, 6, 1])]),
    # division by a constant, not by anything else
    ([p(4), ("constant", [], [], {}), ("broadcast", [2], [4], {}), ("divide", [1, 3], [4], {})],
     [("parameter", [], [4]), ("constant", [], []), ("broadcast", [1], [4]), ("multiply", [0, 2], [4])]),
    ([p(4), ("divide", [1, 1], [4], {})], [("parameter", [], [4]), ("divide", [0, 0], [4])]),
    # the same computed twice, but random numbers stay distinct
    ([p(4), ("tanh", [1], [4], {}), ("tanh", [1], [4], {}), ("add", [2, 3], [4], {})],
     [("parameter", [], [4]), ("tanh", [0], [4]), ("add", [1, 1], [4])]),
    ([p(4), ("rng", [1], [4], {}), ("rng", [1], [4], {}), ("add", [2, 3], [4], {})],
     [("parameter", [], [4]), ("rng", [0], [4]), ("rng", [0], [4]), ("add", [1, 2], [4])]),
    # what nobody uses, parameters apart
    ([p(4), p(5, parameter_number=1), ("exponential", [1], [4], {}), ("tanh", [1], [4], {})],
     [("parameter", [], [5]), ("parameter", [], [4]), ("tanh", [1], [4])]),
    ([p(4), ("tuple", [1, 1], [], {"type": 13}), ("get-tuple-element", [2], [4], {"tuple_index": 1}),
      ("tanh", [3], [4], {})],
     [("parameter", [], [4]), ("tanh", [0], [4])]),
])
def test_rule(nodes, expected):
    assert tidied(*nodes) == expected


def test_broadcasts_into_another_place_are_kept_apart():
    found = tidied(p(4), ("reshape", [1], [1, 4], {}), ("broadcast", [2], [6, 1, 4], {"dimensions": [1, 2]}))
    assert found == [("parameter", [], [4]), ("broadcast", [0], [6, 1, 4])]
    made = tidy(module(p(4), ("reshape", [1], [1, 4], {}), ("broadcast", [2], [6, 1, 4], {"dimensions": [1, 2]})))
    assert list(made.computations[0].instructions[1].dimensions) == [2]


def _dot(lhs, rhs, batch=()):
    return {"dot_dimension_numbers": message("DotDimensionNumbers")(
        lhs_contracting_dimensions=[lhs], rhs_contracting_dimensions=[rhs], lhs_batch_dimensions=batch,
        rhs_batch_dimensions=batch)}


def test_transposes_are_folded_into_dots():
    made = tidy(module(p(8, 4), p(8, 6, parameter_number=1), ("transpose", [1], [4, 8], {"dimensions": [1, 0]}),
                       ("dot", [3, 2], [4, 6], _dot(1, 0))))
    dot = made.computations[0].instructions[-1]
    assert len(made.computations[0].instructions) == 3
    assert list(dot.dot_dimension_numbers.lhs_contracting_dimensions) == [0]


def test_transposes_that_change_the_output_stay():
    found = tidied(p(8, 4, 5), p(8, 6, parameter_number=1), ("transpose", [1], [5, 4, 8], {"dimensions": [2, 1, 0]}),
                   ("dot", [3, 2], [5, 4, 6], _dot(2, 0)))
    assert [line[0] for line in found] == ["parameter", "transpose", "parameter", "dot"]


def test_reversed_kernels_become_windows_read_backwards():
    window = message("Window")()
    window.dimensions.add(size=3)
    numbers = message("ConvolutionDimensionNumbers")(kernel_spatial_dimensions=[0], kernel_input_feature_dimension=1,
                                                     kernel_output_feature_dimension=2)
    made = tidy(module(p(2, 9, 4), p(3, 4, 5, parameter_number=1), ("reverse", [2], [3, 4, 5], {"dimensions": [0]}),
                       ("convolution", [1, 3], [2, 9, 5],
                        {"window": window, "convolution_dimension_numbers": numbers})))
    assert [n.opcode for n in made.computations[0].instructions] == [b"parameter", b"parameter", b"convolution"]
    assert made.computations[0].instructions[-1].window.dimensions[0].window_reversal


def test_many_arguments_become_a_tuple():
    nodes = [p(4, parameter_number=i) for i in range(101)]
    nodes += [("add", [1, 2], [4], {}), ("add", [102, 3], [4], {})]
    found = tidied(*nodes)
    assert [line[0] for line in found].count("parameter") == 1
    assert found == [("parameter", [], []), ("get-tuple-element", [0], [4]), ("get-tuple-element", [0], [4]),
                     ("add", [1, 2], [4]), ("get-tuple-element", [0], [4]), ("add", [3, 4], [4])]


def test_traced_program_is_inlined_and_its_loop_named():
    made = tidy(message("HloModuleProto").FromString(LOOP.read_bytes()))
    found = hlo.build(made)
    codes = [OPCODES[o] for o in found.node_opcode]
    assert "call" not in codes
    assert codes.count("while") == 1
    assert [c.name.split(b".")[0] for c in made.computations][-3:] == [b"while_body", b"while_cond", b"main"]
    assert found.node_splits.shape == (1, 4)
    assert codes.count("dot") == 1
    assert codes.count("reshape") == 2  # on either side of a conversion in a softmax over bfloat16
    assert codes.count("reduce") == 2
