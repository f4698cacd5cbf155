"""The HLO reader: bit-exact on the published files, agrees with XLA's own text, refuses what is no module."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evaluation.errors import InputError
from kit import hlo
from kit.bench import hlo as bench_hlo
from kit.graphs import LayoutGraph, TileGraph, read_graph
from kit.hlo.schema import COLUMN, FEATURES, OPCODE_IDS, OPCODES, message
from tests.hlo_text import expected, parsed_text

DATA = Path(__file__).parent / "data" / "hlo"
MODULES = ("loop", "windows", "grouped", "compiled")


def small(nodes, name=b"main", module=None, **fields):
    """A module with one more computation; nodes are (opcode, operand ids, instruction fields)."""
    module = module or message("HloModuleProto")(name=b"small")
    number = len(module.computations) + 1
    computation = module.computations.add(name=name, id=number, root_id=len(nodes), **fields)
    for i, (opcode, operands, rest) in enumerate(nodes, start=1):
        computation.instructions.add(name=f"{opcode}.{i}".encode(), opcode=opcode.encode(), id=i,
                                     operand_ids=operands, **rest)
    module.entry_computation_id, module.entry_computation_name = number, name
    return module


def save(tmp_path, module, name="m.pb"):
    """Write a module or bytes; returns the path."""
    path = tmp_path / name
    path.write_bytes(module if isinstance(module, bytes) else module.SerializeToString())
    return path


def shape(*dims, kind=11):
    """A shape in the default layout."""
    return message("ShapeProto")(element_type=kind, dimensions=dims, layout=message("LayoutProto")(
        minor_to_major=range(len(dims) - 1, -1, -1)))


def row(module, node=0):
    """The features of one node by name, where not at rest."""
    features = module.node_feat[node]
    return {FEATURES[i]: features[i] for i in range(140) if features[i] != FEATURES[i].endswith("_product")}


# ---------------------------------------------------------------- the published files

@pytest.mark.real
def test_unet_is_bit_exact(real_data):
    module, = hlo.read(real_data / "pb/module_tuning_data_layout.pb")
    with np.load(real_data / "npz/layout/xla/default/valid/unet_3d.4x4.bf16.npz") as published:
        for member in ("node_feat", "node_opcode", "edge_index", "node_config_ids", "node_splits"):
            assert getattr(module, member).dtype == published[member].dtype
            np.testing.assert_array_equal(getattr(module, member), published[member], err_msg=member)
        ours = module.arrays()
        known = {(c.tobytes(), r) for c, r in zip(published["node_config_feat"], published["config_runtime"].tolist(),
                                                  strict=True)}
    assert len(ours["config_runtime"]) == 112
    assert all((c.tobytes(), r) in known for c, r in zip(ours["node_config_feat"], ours["config_runtime"].tolist(),
                                                         strict=True))


@pytest.mark.real
def test_kernels_are_bit_exact(real_data):
    modules = hlo.read(real_data / "pb/op_tuning_data.pb")
    assert len(modules) == 12
    for module in modules:
        path, = (real_data / "npz/tile/xla").glob(f"*/{module.name}.npz")
        with np.load(path) as published:
            for member, ours in module.arrays().items():
                assert ours.dtype == published[member].dtype
                np.testing.assert_array_equal(ours, published[member], err_msg=f"{module.name} {member}")


@pytest.mark.real
def test_converted_tuning_files_are_read_as_graphs(real_data, tmp_path):
    written = hlo.convert([real_data / "pb/op_tuning_data.pb", real_data / "pb/module_tuning_data_layout.pb"], tmp_path)
    graphs = [read_graph(path) for path, _ in written]
    assert [type(g) for g in graphs] == [TileGraph] * 12 + [LayoutGraph]
    assert graphs[-1].configs == 112


# ---------------------------------------------------------------- XLA's text as an independent reference

@pytest.mark.parametrize("name", MODULES)
def test_features_agree_with_the_text(name):
    module, = hlo.read(DATA / f"{name}.pb")
    lines = parsed_text(DATA, name)
    assert [OPCODES[o] for o in module.node_opcode] == [line[4] for line in lines]
    for node, (_, root, label, kind, opcode, operands, attributes) in enumerate(lines):
        wanted = dict(zip(FEATURES, [float(f.endswith("_product")) for f in FEATURES], strict=True))
        wanted |= {"is_root": float(root)} | expected(kind, opcode, operands, attributes)
        ours = dict(zip(FEATURES, module.node_feat[node].tolist(), strict=True))
        # XLA writes group counts of 1 where its text has none, for some instructions other than convolutions too.
        free = {"feature_group_count", "batch_group_count"} if opcode != "convolution" else set()
        assert {k: v for k, v in ours.items() if k not in free} == {
            k: v for k, v in wanted.items() if k not in free}, label


@pytest.mark.parametrize("name", MODULES)
def test_edges_agree_with_the_text(name):
    module, = hlo.read(DATA / f"{name}.pb")
    lines = parsed_text(DATA, name)
    number = {(line[0], line[2]): i for i, line in enumerate(lines)}
    roots = {line[0]: i for i, line in enumerate(lines) if line[1]}
    wanted = set()
    for node, (computation, _, _, _, _, operands, attributes) in enumerate(lines):
        wanted |= {(node, number[computation, o]) for o in operands if (computation, o) in number}
        called = re.findall(r"(?:to_apply|condition|body|calls)=%?([\w.-]+)", attributes)
        wanted |= {(node, roots[c]) for c in called}
    assert [tuple(e) for e in module.edge_index.tolist()] == sorted(wanted)


@pytest.mark.parametrize("name", MODULES)
def test_converted_modules_are_read_as_graphs(name, tmp_path):
    (path, module), = hlo.convert([DATA / f"{name}.pb"], tmp_path)
    graph = read_graph(path)
    assert path.name == f"{name}.npz"
    assert graph.config_runtime is None
    assert (graph.node_config_feat == -1).all()
    assert graph.node_config_feat.shape == (1, len(module.node_config_ids), 18)
    np.testing.assert_array_equal(graph.node_feat, module.node_feat)


# ---------------------------------------------------------------- by hand

def test_lists_are_cut_and_padded_but_summed_whole(tmp_path):
    dims = [2, 3, 5, 7, 11, 13, 17]
    node = ("reduce", [], {"shape": shape(*dims), "dimensions": dims})
    module, = hlo.read(save(tmp_path, small([node, ("add", [1], {})])))
    found = row(module)
    assert [found[f"shape_dimensions_{i}"] for i in range(6)] == dims[:6]
    assert found["shape_dimensions_sum"] == 58
    assert found["shape_dimensions_product"] == 510510
    assert [found[f"dimensions_{i}"] for i in range(6)] == dims[:6]


def test_products_wrap_in_64_bits(tmp_path):
    big = shape(2**32, 2**31)  # 2**63 wraps to its negative
    module, = hlo.read(save(tmp_path, small([("parameter", [], {"shape": big}), ("add", [1], {"shape": big})])))
    assert module.node_feat[0, COLUMN["shape_dimensions_product"]] == np.float32(-(2**63))
    assert module.node_feat[0, COLUMN["shape_dimensions_sum"]] == np.float32(2**32 + 2**31)


def test_products_of_no_list_are_one(tmp_path):
    module, = hlo.read(save(tmp_path, small([("parameter", [], {"shape": shape()}), ("add", [1, 1], {})])))
    products = [i for i, f in enumerate(FEATURES) if f.endswith("_product")]
    assert products == [28, 44, 52, 60, 68, 76, 84, 112, 116, 120, 124, 128, 132]
    assert (module.node_feat[:, products] == 1).all()


def test_repeated_operands_give_one_edge_and_stay_in_operands(tmp_path):
    module, = hlo.read(save(tmp_path, small([("parameter", [], {}), ("multiply", [1, 1], {})])))
    assert module.edge_index.tolist() == [[1, 0]]
    assert module.operands == [[], [0, 0]]


def test_window_reversal_is_counted(tmp_path):
    window = message("Window")()
    for reversal in (True, False, True):
        window.dimensions.add(size=2, window_reversal=reversal)
    module, = hlo.read(save(tmp_path, small([("parameter", [], {}), ("reduce-window", [1], {"window": window})])))
    found = row(module, 1)
    assert (found["window_window_reversal_0"], found["window_window_reversal_2"]) == (1, 1)
    assert found["window_window_reversal_true_count"] == 2
    assert found["window_window_reversal_false_count"] == 1


def test_unknown_opcodes_and_types_have_no_column(tmp_path):
    node = ("erf", [], {"shape": shape(8, kind=20)})
    module, = hlo.read(save(tmp_path, small([("parameter", [], {}), node])))
    assert module.node_opcode.tolist() == [OPCODE_IDS["parameter"], 0]
    assert not module.node_feat[1, 2:21].any()


def test_cuts_follow_loops_conditions_and_clusters(tmp_path):
    module = small([("parameter", [], {}), ("add", [1, 1], {})], name=b"while_body.3")
    small([("parameter", [], {})], name=b"sum", module=module)
    small([("parameter", [], {})], name=b"region_cond", module=module)
    small([("parameter", [], {}), ("while", [1], {"called_computation_ids": [3, 1]})], module=module)
    found, = hlo.read(save(tmp_path, module))
    assert found.node_splits.tolist() == [[0, 2, 4, 6]]
    assert [5, 1] in found.edge_index.tolist()
    assert [5, 3] in found.edge_index.tolist()


def test_reshapes_inside_fusions_are_not_configurable(tmp_path):
    module = small([("parameter", [], {}), ("reshape", [1], {})], name=b"fused")
    small([("parameter", [], {}), ("fusion", [1], {"called_computation_ids": [1]}), ("reshape", [2], {})],
          module=module)
    found, = hlo.read(save(tmp_path, module))
    assert found.node_config_ids.tolist() == [4]


def test_multiply_accumulates(tmp_path):
    dot = message("DotDimensionNumbers")(lhs_contracting_dimensions=[2], rhs_contracting_dimensions=[1],
                                         lhs_batch_dimensions=[0], rhs_batch_dimensions=[0])
    module, = hlo.read(save(tmp_path, small([
        ("parameter", [], {"shape": shape(3, 4, 5)}), ("parameter", [], {"shape": shape(3, 5, 6)}),
        ("dot", [1, 2], {"shape": shape(3, 4, 6), "dot_dimension_numbers": dot})])))
    assert module.macs.tolist() == [0, 0, 3 * 4 * 5 * 6]


def test_convolutions_do_not_count_padding():
    module, = hlo.read(DATA / "windows.pb")
    found = dict(zip([line[2] for line in parsed_text(DATA, "windows")], module.macs.tolist(), strict=True))
    # Rows of x.1 within reach of a 3 x 3 window: (2 + 7 x 3 + 2) of 27, times (2 + 6 x 3 + 2) columns; 1 input channel.
    assert found["conv_general_dilated.4"] == 25 * 22 * 2 * 4
    # Stride 2 over 9 rows, 1 and 2 rows of padding: 2, 3, 3, 3, 2; columns two apart over 8, one of padding: 4 x 3 + 2.
    assert found["conv_general_dilated.3"] == 13 * 14 * 2 * 6 * 4


# ---------------------------------------------------------------- tuning files

def _tuned(runs, nodes=()):
    tuned = message("ModuleTuningData")(module=small([("parameter", [], {}), ("reshape", [1], {})]), fingerprint=7,
                                        config_index_to_node=nodes)
    tuned.runs.extend(runs)
    return tuned


def _tile_run(time, output=(), default=False, error=b""):
    run = message("ConfigProfile")(is_default=default, error=error)
    run.profile.compute_time_ns = time
    run.op_config.tile_size_config.output_bounds[:] = output
    return run


def test_failed_and_empty_runs_are_dropped_and_the_default_normalizes(tmp_path):
    runs = [_tile_run(50, [4, 2]), _tile_run(1), _tile_run(0), _tile_run(99, error=b"out of memory"),
            _tile_run(40, [8], default=True)]
    module, = hlo.read(save(tmp_path, _tuned(runs)))
    assert module.runs.config_runtime.tolist() == [50, 40]
    assert module.runs.config_runtime_normalizers.tolist() == [40, 40]
    assert module.runs.config_feat[0, 8:16].tolist() == [4, 2, 0, 0, 0, 0, 6, 8]
    assert not module.runs.config_feat[0, :8].any()  # no kernel bounds: their product is 0, not 1


def test_layout_runs_are_padded_with_minus_one(tmp_path):
    run = message("ConfigProfile")()
    run.profile.compute_time_ns = 30
    node = run.module_config.layout_config.nodes.add()
    node.tensors.add(dims=[1, 0])
    module, = hlo.read(save(tmp_path, _tuned([run], nodes=[1])))
    assert module.runs.node_config_feat.tolist() == [[[1, 0] + [-1] * 16]]
    assert module.runs.node_config_ids.tolist() == [1]


def test_layout_run_of_another_module_is_refused(tmp_path):
    run = message("ConfigProfile")()
    run.profile.compute_time_ns = 30
    with pytest.raises(InputError, match="another number of nodes than the 1 listed"):
        hlo.read(save(tmp_path, _tuned([run], nodes=[1])))


@pytest.mark.parametrize("wrap", ["HloProto", "TuningData"])
def test_modules_are_found_inside_other_messages(tmp_path, wrap):
    if wrap == "HloProto":
        data = message(wrap)(hlo_module=small([("parameter", [], {})])).SerializeToString()
        data += b"\x1a\x04\x0a\x02\x08\x01"  # field 3, the buffer assignment, which no tuning file is
    else:
        data = message(wrap)(modules=[_tuned([_tile_run(9)]), _tuned([_tile_run(9)])]).SerializeToString()
    assert len(hlo.read(save(tmp_path, data))) == (1 if wrap == "HloProto" else 2)


# ---------------------------------------------------------------- what is refused

@pytest.mark.parametrize(("data", "found"), [
    (b"HloModule jit_f, entry_computation_layout={()->f32[]}\n", "HLO as text"),
    (b"\n  module @jit_f attributes {} {\n", "an MLIR module .StableHLO. as text"),
    (b"PK\x03\x04....", "a zip archive"),
    (b"", "an empty file"),
    (b"\x1f\x8b\x08\x00", "a gzip file"),
    (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "no protobuf"),
    (b"\x0a\x03abc", "no HLO module"),
])
def test_other_files_are_refused(tmp_path, data, found):
    with pytest.raises(InputError, match=found) as error:
        hlo.read(save(tmp_path, data, "f.pb"))
    for framework in ("JAX", "TensorFlow", "PyTorch/XLA", "f.pb"):
        assert framework in str(error.value)


def test_stablehlo_bytecode_is_refused():
    with pytest.raises(InputError, match="StableHLO. as bytecode.*"):
        hlo.read(DATA / "loop.mlirbc")


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, (DATA / "loop.pb").stat().st_size - 1))
def test_truncated_files_are_refused_or_lack_nothing(tmp_path, length):
    data = (DATA / "loop.pb").read_bytes()
    whole, = hlo.read(DATA / "loop.pb")
    try:
        cut, = hlo.read(save(tmp_path, data[:length], f"{length}.pb"))
    except InputError:
        return
    np.testing.assert_array_equal(cut.node_feat, whole.node_feat)  # only what follows the last computation is gone
    np.testing.assert_array_equal(cut.edge_index, whole.edge_index)


def test_truncated_file_says_so(tmp_path):
    data = (DATA / "loop.pb").read_bytes()
    with pytest.raises(InputError, match=r"truncated.*the file ends at byte 3000"):
        hlo.read(save(tmp_path, data[:3000]))


@pytest.mark.parametrize(("nodes", "found"), [
    ([("add", [2, 3], {}), ("negate", [3], {}), ("exp", [1], {})], "form a circle"),
    ([("add", [1], {})], "form a circle"),
    ([("parameter", [], {}), ("add", [9], {})], r"instruction 'add.2' has an operand \(id 9\)"),
    ([("parameter", [], {}), ("call", [1], {"called_computation_ids": [5]})], r"calls a missing computation \(id 5\)"),
    ([("parameter", [], {}), ("call", [1], {"called_computation_ids": [1]})],
     "calls between computations form a circle"),
])
def test_modules_that_do_not_hang_together_are_refused(tmp_path, nodes, found):
    with pytest.raises(InputError, match=found):
        hlo.read(save(tmp_path, small(nodes)))


def test_missing_root_and_entry_are_refused(tmp_path):
    module = small([("parameter", [], {})])
    module.computations[0].root_id = 4
    with pytest.raises(InputError, match="lacks its root"):
        hlo.read(save(tmp_path, module))
    module = small([("parameter", [], {})])
    module.entry_computation_id = 8
    with pytest.raises(InputError, match="entry computation 'main'"):
        hlo.read(save(tmp_path, module))


def test_operands_that_stand_later_are_fine_without_a_circle(tmp_path):
    module, = hlo.read(save(tmp_path, small([("negate", [2], {}), ("parameter", [], {}), ("add", [1, 2], {})])))
    assert module.edge_index.tolist() == [[0, 1], [2, 0], [2, 1]]


# ---------------------------------------------------------------- the command, and size

def test_command(run_module, tmp_path):
    done = run_module("kit", "hlo", DATA / "loop.pb", DATA / "grouped.pb", "--out", tmp_path, check=0)
    assert "no runs: the default configuration" in done.stdout
    assert sorted(p.name for p in tmp_path.iterdir()) == ["grouped.npz", "loop.npz"]
    done = run_module("kit", "hlo", DATA / "loop.pb", "--out", tmp_path, check=1)
    assert "--force" in done.stderr
    run_module("kit", "hlo", DATA / "loop.pb", "--out", tmp_path, "--force", check=0)
    done = run_module("kit", "hlo", DATA / "loop.txt", "--out", tmp_path / "other", check=1)
    assert "HLO as text" in done.stderr
    assert "Traceback" not in done.stderr


def test_two_modules_of_one_name_are_refused(tmp_path):
    tuned = [_tuned([_tile_run(9)]), _tuned([_tile_run(9)])]
    file = save(tmp_path, message("TuningData")(modules=tuned))
    with pytest.raises(InputError, match="two modules would be written"):
        hlo.convert([file], tmp_path / "out")


def test_large_module_is_read_whole(tmp_path):
    module, = hlo.read(save(tmp_path, bench_hlo.chain(5000)))
    assert len(module.node_opcode) == 5000
    assert len(module.node_config_ids) == 250  # every 20th instruction is a dot
