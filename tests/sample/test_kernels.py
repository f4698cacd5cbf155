"""Tile kernels cut from programs: small programs whose kernels are obvious, and the look of the real ones."""

from pathlib import Path

import numpy as np
import pytest

from kit import hlo
from kit.hlo.schema import COLUMN, OPCODES, message
from kit.sample import programs
from kit.sample.cuts import cuts
from kit.sample.kernels import copy, kernel, layout

DIMS = slice(COLUMN["shape_dimensions_0"], COLUMN["shape_dimensions_0"] + 6)
LAYOUT = slice(COLUMN["layout_minor_to_major_0"], COLUMN["layout_minor_to_major_0"] + 6)


def program(*nodes):
    """A module of instructions (opcode, operands, dims, contracted dimension of a dot), with a sum for reductions."""
    module = message("HloModuleProto")(name=b"made")
    if any(node[0] == "reduce" for node in nodes):
        add = module.computations.add(name=b"sum", id=1, root_id=3)
        for i, (opcode, operands) in enumerate(((b"parameter", []), (b"parameter", []), (b"add", [1, 2])), start=1):
            node = add.instructions.add(opcode=opcode, id=i, operand_ids=operands)
            node.shape.element_type = 11
    main = module.computations.add(name=b"main", id=2, root_id=len(nodes))
    for i, (opcode, operands, dims, *rest) in enumerate(nodes, start=1):
        node = main.instructions.add(opcode=opcode.encode(), id=i, operand_ids=operands)
        node.shape.element_type = 11
        node.shape.dimensions[:] = dims
        node.called_computation_ids[:] = [1] if opcode == "reduce" else []
        for contracted in rest:
            node.dot_dimension_numbers.lhs_contracting_dimensions.append(contracted)
    return hlo.build(module)


def made(module):
    """All kernels of a program, as lists of opcodes, with the kernels themselves."""
    found = [kernel(module, cut) for cut in cuts(module)]
    return [[OPCODES[o] for o in k.node_opcode] for k in found], found


def edges(k):
    """Edges as a set."""
    return set(map(tuple, k.edge_index.tolist()))


@pytest.mark.parametrize(("dims", "order"), [
    ((), []), ((1000,), [0]),
    # Seen on the data set's kernels:
    ((32, 4096), [1, 0]), ((4096, 1000), [0, 1]), ((32, 12, 256), [2, 0, 1]), ((32, 12, 12, 256), [3, 0, 2, 1]),
    ((2, 300, 300, 64), [2, 3, 1, 0]), ((2, 19, 19, 2304), [3, 0, 2, 1]), ((32, 5, 5, 256), [3, 0, 2, 1]),
])
def test_layout_pads_least(dims, order):
    assert layout(dims) == order


@pytest.mark.real
def test_layouts_inside_real_fusions_pad_least(real_data):
    found = {}
    for path in sorted((real_data / "npz/tile/xla").glob("*/*.npz")):
        with np.load(path) as file:
            if len(file["node_opcode"]) == 2:
                continue  # copies and reshapes: their layouts are what they change
            for row in file["node_feat"]:
                dims = tuple(int(d) for d in row[DIMS] if d)
                if len(dims) > 1:
                    found[dims] = row[LAYOUT.start:LAYOUT.start + len(dims)].tolist() == layout(dims)
    assert len(found) >= 8
    assert all(found.values())


def test_chain_is_one_fusion_with_renumbered_parameters():
    codes, (k,) = made(program(("parameter", [], [8, 128]), ("parameter", [], [8, 128]), ("tanh", [2], [8, 128]),
                               ("add", [3, 1], [8, 128])))
    assert codes == [["parameter", "tanh", "parameter", "add", "parameter", "parameter", "fusion"]]
    assert edges(k) == {(1, 0), (3, 1), (3, 2), (6, 3), (6, 4), (6, 5)}
    assert k.node_feat[:, COLUMN["parameter_number"]].tolist() == [0, 0, 1, 0, 0, 1, 0]
    assert np.flatnonzero(k.node_feat[:, 0]).tolist() == [3, 6]
    assert k.root == 3
    assert k.product is None
    assert (k.node_feat[:, DIMS.start:DIMS.start + 2] == [8, 128]).all()


def test_single_instruction_has_no_fusion():
    codes, (k,) = made(program(("parameter", [], [8, 64]), ("reshape", [1], [512])))
    assert codes == [["parameter", "reshape"]]
    assert edges(k) == {(1, 0)}
    assert k.node_feat[1, 0] == 1


def test_reduction_brings_its_computation():
    codes, (k,) = made(program(("parameter", [], [8, 128]), ("constant", [], []), ("multiply", [1, 1], [8, 128]),
                               ("reduce", [3, 2], [8])))
    assert codes == [["parameter", "parameter", "add", "parameter", "multiply", "constant", "reduce", "parameter",
                      "fusion"]]
    assert edges(k) == {(2, 0), (2, 1), (4, 3), (6, 2), (6, 4), (6, 5), (8, 6), (8, 7)}
    assert np.flatnonzero(k.node_feat[:, 0]).tolist() == [2, 6, 8]


def test_value_that_is_used_elsewhere_becomes_a_second_output():
    codes, kernels = made(program(
        ("parameter", [], [64, 128]), ("constant", [], []), ("tanh", [1], [64, 128]), ("reduce", [3, 2], [64]),
        ("custom-call", [3], [64, 128]), ("tuple", [4, 5], [])))
    assert codes[0] == ["parameter", "parameter", "add", "parameter", "tanh", "constant", "reduce", "tuple",
                        "parameter", "fusion"]
    assert kernels[0].node_feat[[7, 9], COLUMN["shape_tuple_shapes_size"]].tolist() == [2, 2]
    assert {(7, 4), (7, 6)} <= edges(kernels[0])
    assert kernels[0].root == 6


def test_dot_becomes_a_convolution_fed_by_a_fusion():
    codes, (k,) = made(program(
        ("parameter", [], [32, 512]), ("parameter", [], [512, 256]), ("negate", [1], [32, 512]),
        ("dot", [3, 2], [32, 256], 1), ("tanh", [4], [32, 256])))
    assert codes == [["parameter", "negate", "parameter", "fusion", "parameter", "convolution", "tanh", "parameter",
                      "parameter", "fusion"]]
    assert edges(k) == {(1, 0), (3, 1), (3, 2), (5, 3), (5, 4), (6, 5), (9, 6), (9, 7), (9, 8)}
    assert k.product == 5
    assert k.operands[5] == [3, 4]
    assert k.macs == 32 * 512 * 256
    found = {name: k.node_feat[5, COLUMN[f"convolution_dim_numbers_{name}_dim"]] for name in (
        "input_batch", "input_feature", "kernel_input_feature", "kernel_output_feature", "output_batch",
        "output_feature")}
    assert list(found.values()) == [0, 1, 0, 1, 0, 1]
    assert k.node_feat[5, COLUMN["feature_group_count"]] == 1


def test_dot_of_more_dimensions_is_flattened_by_bitcasts():
    codes, (k,) = made(program(("parameter", [], [8, 128, 64]), ("parameter", [], [64, 32]),
                               ("dot", [1, 2], [8, 128, 32], 2)))
    assert codes == [["parameter", "parameter", "bitcast", "convolution", "bitcast"]]
    assert k.node_feat[3, DIMS].tolist() == [1024, 32, 0, 0, 0, 0]
    assert k.node_feat[4, DIMS].tolist() == [8, 128, 32, 0, 0, 0]
    assert k.node_feat[4, 0] == 1


def test_equal_kernels_stand_once():
    nodes = [("parameter", [], [8, 128])]
    for i in range(1, 6):
        nodes.append(("custom-call", [2 * i - 1], [8, 128]))
        nodes.append(("tanh", [2 * i], [8, 128]))
    assert len(cuts(program(*nodes))) == 1


def test_small_outputs_can_be_left_out():
    module = program(("parameter", [], [8, 128]), ("tanh", [1], [8, 128]))
    assert len(cuts(module, smallest=1024)) == 1
    assert not cuts(module, smallest=1025)


def test_copy_changes_the_layout_alone():
    module = program(("parameter", [], [32, 5, 5, 256]), ("tanh", [1], [32, 5, 5, 256]))
    k = copy(module.node_feat[-1], [3, 2, 1, 0])
    assert [OPCODES[o] for o in k.node_opcode] == ["parameter", "copy"]
    assert k.node_feat[:, LAYOUT].tolist() == [[3, 2, 1, 0, 0, 0], [3, 0, 2, 1, 0, 0]]
    assert k.node_feat[:, 0].tolist() == [0, 1]


SOME = ["resnet_18.train.b32.f32", "unet3d_small.train.b4.bf16", "bert_tiny.train.b8.f32", "lstm_base.train.b16.f32"]


@pytest.mark.parametrize("name", [*SOME, "mobilenet_50.infer.b32.f32", "t5_mini.infer.b8.f32"])
def test_kernels_of_programs_are_consistent(name):
    module = programs.load(name).module
    for cut in cuts(module, smallest=1024):
        k = kernel(module, cut)
        n = len(k.node_opcode)
        assert (k.edge_index[:, 0] > k.edge_index[:, 1]).all()  # producers first, called computations before callers
        assert k.node_feat[n - 1, 0] == 1
        assert n == 2 or k.edge_index[:, 0].max() == n - 1
        numbers = k.node_feat[[OPCODES[o] == "parameter" for o in k.node_opcode], COLUMN["parameter_number"]]
        assert numbers.max(initial=0) < n
        heavy = [OPCODES[o] for o in k.node_opcode].count("convolution")
        assert heavy == (k.product is not None) and (k.macs > 0) == (k.product is not None)
        assert not {"dot", "while", "get-tuple-element"} & {OPCODES[o] for o in k.node_opcode}


@pytest.mark.real
def test_kernels_look_like_the_real_ones(real_data):
    """Mix of opcodes within 0.3 of the real fusions' (total variation), 25 to 60 nodes, 0.9 to 1.2 edges a node."""
    real, ours = [], []
    for path in sorted((real_data / "npz/tile/xla").glob("*/*.npz")):
        with np.load(path) as file:
            if len(file["node_opcode"]) > 2:
                real.append((file["node_opcode"], file["edge_index"]))
    for name in SOME:
        module = programs.load(name).module
        ours += [(k.node_opcode, k.edge_index) for k in (kernel(module, c) for c in cuts(module, smallest=1024))]
    mixes = [np.bincount(np.concatenate([k[0] for k in side]), minlength=121) for side in (real, ours)]
    assert 0.5 * np.abs(mixes[0] / mixes[0].sum() - mixes[1] / mixes[1].sum()).sum() < 0.3
    assert 25 < np.mean([len(k[0]) for k in ours]) < 60
    ratios = [sum(len(k[1]) for k in side) / sum(len(k[0]) for k in side) for side in (real, ours)]
    assert all(0.9 < r < 1.2 for r in ratios)


def test_kernels_need_no_jax():
    modules = [p for p in Path(programs.FOLDER).parent.glob("**/*.py") if p.parent.name != "zoo" and p.stem != "trace"]
    assert len(modules) > 3
    assert not [p.name for p in modules if "import jax" in p.read_text(encoding="utf-8")]
