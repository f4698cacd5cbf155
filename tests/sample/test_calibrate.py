"""The calibration finds the constants that runtimes were made with, and forgets the graph that is left out."""

from dataclasses import replace

import pytest

from evaluation.collections import find_root
from kit import sample
from kit.sample import calibrate, constants, plan

# Nothing drawn per node or kernel, no noise to speak of: what remains are the constants that are looked for
QUIET = replace(constants.UNCALIBRATED, kernel_spread=0.0, node_spread=0.0, indifferent=0.0, unusual=0.0,
                transposed=0.0, quietest=1e-9, noisiest=1e-9)
TILES = {"bandwidth": 2.5e11, "step": 5.1e-7, "run": 2.2e-8}


@pytest.fixture
def made(tmp_path, monkeypatch):
    """Make a data set of labelled graphs of one program with given constants; returns its root."""

    def make(program, collection, values, kernels=0):
        only = lambda split: [program] if split == "train" else []  # noqa: E731
        monkeypatch.setattr(plan, "layout_programs", lambda source, split, scale, seed: only(split))
        monkeypatch.setattr(plan, "kernel_programs", lambda split, scale, seed: only(split))
        scale = replace(plan.SCALES["small"], kernels=(kernels, 0, 0), configurations=(200, 201), tiles=(40, 200))
        monkeypatch.setitem(plan.SCALES, "small", scale)
        sample.write(tmp_path / "made", constants=replace(QUIET, **values), collections=[collection], workers=1)
        return find_root(tmp_path / "made")

    return make


def test_constants_of_the_tile_model_are_recovered(made):
    """All but the arithmetic rate, of which these kernels, bound by memory, tell nothing."""
    values = {**TILES, "kernel_macs": 6.2e13}
    kernels = calibrate.tile_kernels(made("resnet_18.infer.b32.f32", "tile:xla", values, kernels=6))
    assert len(kernels) == 6
    found = calibrate.fit_tiles(list(kernels.values()))
    assert {name: found[name] for name in TILES} == {n: pytest.approx(value, rel=0.05) for n, value in TILES.items()}


@pytest.mark.parametrize("program, slack, weight", [
    ("lstm_base.train.b16.f32", 1e-3, None),  # dots alone: nothing of a single channel
    ("unet3d_small.train.b2.f32", 0.1, pytest.approx(50.0, rel=0.1)),  # features do not tell what windows skip at edges
])
def test_rate_and_single_channel_weight_of_a_layout_graph_are_recovered(made, program, slack, weight):
    values = {"slowest_macs": 3e12, "fastest_macs": 3e12, "bandwidth": 1e30, "single_channel": 50.0}
    rates = calibrate.layout_rates(made(program, "layout:xla:random", values))
    assert rates == {f"layout:xla:random:{program}": (pytest.approx(3e12, rel=slack), weight)}


def test_range_of_rates_is_widened_by_two():
    found = calibrate.fit_layouts([(1e12, None), (4e12, 100.0), (2e12, 300.0)])
    assert found == {"slowest_macs": 5e11, "fastest_macs": 8e12, "single_channel": 200.0}
    assert calibrate.fit_layouts([(1e12, None)]) == {"slowest_macs": 5e11, "fastest_macs": 2e12}
    assert calibrate.fit_layouts([]) == {}


def test_a_set_without_a_graph_owes_nothing_to_it(monkeypatch):
    monkeypatch.setattr(calibrate, "tile_kernels", lambda root: {"k": "first", "l": "second"})
    monkeypatch.setattr(calibrate, "layout_rates", lambda root: {"a": (1e12, 100.0), "b": (4e12, None)})
    monkeypatch.setattr(calibrate, "fit_tiles", lambda kernels: {"fitted on": kernels})
    tiles, layouts = calibrate.tables("anywhere")
    assert tiles == {"": {"fitted on": ["first", "second"]}, "k": {"fitted on": ["second"]},
                     "l": {"fitted on": ["first"]}}
    assert layouts == {"": {"slowest_macs": 5e11, "fastest_macs": 8e12, "single_channel": 100.0},
                       "a": {"slowest_macs": 2e12, "fastest_macs": 8e12},
                       "b": {"slowest_macs": 5e11, "fastest_macs": 2e12, "single_channel": 100.0}}


def test_the_committed_sets_are_what_the_real_files_give(real_data):
    """Within 10 %: two digits are kept, and minimisers differ a little between versions of SciPy."""
    tables = calibrate.tables(find_root(real_data))
    for table in tables:
        for left, found in table.items():
            held = constants.SETS[f"without {left}" if left else "calibrated"]
            assert found == {name: pytest.approx(getattr(held, name), rel=0.1) for name in found}, left
    left_out = {name.removeprefix("without ") for name in constants.SETS if name.startswith("without ")}
    assert left_out == {left for table in tables for left in table if left}
