"""The embedded programs: complete, consistent, small, and like the real ones in opcodes, sizes and edges."""

import json
from pathlib import Path

import numpy as np
import pytest

from evaluation.errors import InputError
from kit import hlo
from kit.hlo.schema import OPCODES
from kit.sample import programs

HLO = Path(__file__).parents[1] / "data" / "hlo"
NAMES = programs.names()
LARGEST = max(NAMES, key=programs.nodes)
SOME = [n for i, n in enumerate(NAMES) if i % 7 == 0] + [LARGEST]


def mix(opcodes):
    """Share of each opcode."""
    return np.bincount(opcodes, minlength=len(OPCODES)) / len(opcodes)


def apart(a, b):
    """Total variation distance between two mixes: 0 the same, 1 nothing in common."""
    return 0.5 * np.abs(a - b).sum()


def test_many_architectures_of_both_families_in_all_forms():
    assert len({programs.architecture(n) for n in NAMES if programs.source(n) == "xla"}) >= 16
    assert len({programs.architecture(n) for n in NAMES if programs.source(n) == "nlp"}) >= 8
    for architecture in {programs.architecture(n) for n in NAMES}:
        members = [n for n in NAMES if programs.architecture(n) == architecture]
        assert {n.split(".")[1] for n in members} == {"infer", "train"}
        assert {n.split(".")[3] for n in members} == {"f32", "bf16"}
        assert len({n.split(".")[0] for n in members}) >= 2  # sizes
        assert len({n.split(".")[2] for n in members}) >= 2  # batch sizes


def test_sizes_reach_the_largest_of_the_data_set():
    sizes = [programs.nodes(n) for n in NAMES]
    assert min(sizes) < 100
    assert 36_000 < max(sizes) < 50_000


def test_committed_files_are_small():
    assert sum(p.stat().st_size for p in programs.FOLDER.glob("*.npz")) < 3e6


def test_names_can_be_limited():
    assert programs.names("nlp") == [n for n in NAMES if programs.source(n) == "nlp"]
    small = programs.names("xla", max_nodes=500)
    assert small
    assert all(programs.nodes(n) <= 500 for n in small)


def test_unknown_name_is_refused():
    with pytest.raises(InputError, match="no embedded program is called 'resnet'"):
        programs.load("resnet")


@pytest.mark.parametrize("name", SOME)
def test_program_is_consistent(name):
    program = programs.load(name)
    m = program.module
    n = programs.nodes(name)
    assert program.training == (".train." in name)
    assert m.node_feat.shape == (n, 140)
    assert len(m.node_opcode) == len(m.operands) == len(m.calls) == len(m.macs) == n
    assert (m.node_opcode > 0).all()  # all opcodes are of the data set's list
    assert all(o < u and m.computation[o] == m.computation[u] for u, row in enumerate(m.operands) for o in row)
    assert (np.bincount(m.computation, m.node_feat[:, 0]) == 1).all()  # one root a computation
    assert {OPCODES[o] for o in m.node_opcode[m.node_config_ids]} <= {"convolution", "dot", "reshape"}
    assert len(m.node_config_ids)
    assert m.node_splits[0, -1] == n
    products = [OPCODES[o] in ("dot", "convolution") for o in m.node_opcode]
    np.testing.assert_array_equal(m.macs > 0, products)


@pytest.mark.parametrize("name", ["loop", "windows", "grouped", "compiled"])
def test_stored_modules_come_back_as_they_were(name, tmp_path, monkeypatch):
    monkeypatch.setattr(programs, "FOLDER", tmp_path)
    module, = hlo.read(HLO / f"{name}.pb")
    other, = hlo.read(HLO / "loop.pb")
    programs.write("made", "xla", {"first": other, name: module})
    programs.forget()
    try:
        back = programs.load(name)
    finally:
        programs.forget()
    assert (back.architecture, back.source) == ("made", "xla")
    for member in ("node_feat", "node_opcode", "edge_index", "node_config_ids", "node_splits", "computation", "macs"):
        expected, found = getattr(module, member), getattr(back.module, member)
        assert expected.dtype == found.dtype, member
        np.testing.assert_array_equal(expected, found, err_msg=member)
    assert back.module.operands == module.operands
    assert back.module.calls == module.calls


# Real file -> ours that is like it, the largest distance between their mixes of opcodes, and the largest ratios between
# their nodes, edges per node and shares of configurable nodes. Two real files of one family are 0.23 (the U-Nets) to
# 0.45 apart.
LIKE = {
    "xla/default/train/unet3d": ("unet3d_base.train.b4.bf16", 0.25, 2.0, 1.1, 1.5),
    "xla/default/valid/unet_3d.4x4.bf16": ("unet3d_base.train.b4.bf16", 0.25, 2.0, 1.1, 1.5),
    "xla/random/train/openai_v0_rnn_optimized": ("lstm_base.train.b16.f32", 0.25, 2.0, 1.1, 2.5),
    "xla/default/test/cd708819d3f5103afd6460b15e74eaf3": ("dlrm_small.train.b512.f32", 0.4, 2.0, 1.1, 2.0),
    "nlp/random/test/23559853d9702baaaacbb0c83fd32266": ("gpt_tiny.train.b4.f32", 0.4, 2.0, 1.1, 2.0),
    "nlp/default/test/3a0c5517a87df8d82fd637b83298a3ba": ("bert_large.train.b8.f32", 0.15, 2.0, 1.1, 2.0),
}


def _figures(opcodes, edges, configurable):
    n = len(opcodes)
    return n, len(edges) / n, len(configurable) / n


@pytest.mark.real
@pytest.mark.parametrize("path", LIKE)
def test_mix_sizes_and_edges_are_like_the_real_ones(path, real_data):
    name, distance, *ratios = LIKE[path]
    ours = programs.load(name).module
    with np.load(real_data / "npz/layout" / f"{path}.npz") as file:
        real = _figures(file["node_opcode"], file["edge_index"], file["node_config_ids"])
        assert apart(mix(file["node_opcode"]), mix(ours.node_opcode)) < distance
    found = _figures(ours.node_opcode, ours.edge_index, ours.node_config_ids)
    for what, a, b, ratio in zip(("nodes", "edges per node", "configurable share"), real, found, ratios, strict=True):
        assert max(a / b, b / a) < ratio, f"{what}: {a:.4g} real, {b:.4g} ours"


@pytest.mark.real
@pytest.mark.parametrize(("source", "tolerance"), [("xla", 0.25), ("nlp", 0.3)])
def test_family_as_a_whole_is_like_the_real_files(source, tolerance, real_data):
    real = []
    for path in sorted((real_data / "npz/layout" / source).glob("*/*/*.npz")):
        with np.load(path) as file:
            real.append(mix(file["node_opcode"]))
    ours = [mix(programs.load(n).module.node_opcode) for n in programs.names(source, 8000) if ".train." in n]
    assert apart(np.mean(real, axis=0), np.mean(ours, axis=0)) < tolerance, json.dumps(
        {OPCODES[i]: [round(float(np.mean(real, axis=0)[i]), 3), round(float(np.mean(ours, axis=0)[i]), 3)]
         for i in np.argsort(-np.mean(real, axis=0))[:15]})
