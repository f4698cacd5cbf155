"""What a full run costs: few files are measured, sums are extrapolated."""

import json
from pathlib import Path

import numpy as np
import pytest

from evaluation import dataset
from evaluation.errors import InputError
from kit import plan as planning
from kit import probe
from kit.plan import Size, extrapolate, few, memory_of, plan, size_of
from tests.builders import layout_arrays, save, save_data_set, tile_arrays


def size(inflated):
    return Size(Path("a.npz"), "tile:xla", "train", 10, 5, 0, inflated)


def test_sizes_are_those_of_the_members(tmp_path):
    found = size_of(save(tmp_path / "a.npz", layout_arrays(configs=7, nodes=6, configurable=2)),
                    "layout:xla:default", "train")
    assert (found.configs, found.nodes, found.configurable, found.is_tile) == (7, 6, 2, False)
    assert found.inflated > 7 * 2 * 18 * 4
    tile = size_of(save(tmp_path / "b.npz", tile_arrays(configs=9)), "tile:xla", "train")
    assert (tile.configs, tile.configurable, tile.is_tile) == (9, 0, True)


def test_few_files_are_measured_and_none_takes_all_of_the_share():
    sizes = [size(n) for n in range(1, 2001)]
    chosen = few(sizes, 0.05)
    assert sum(s.inflated for s in chosen) <= 0.05 * sum(s.inflated for s in sizes)
    assert len(chosen) == planning.MOST
    assert max(s.inflated for s in chosen) > 1900


def test_a_cost_that_follows_its_terms_is_found_exactly():
    terms = np.array([[1, 10], [1, 20], [1, 40], [1, 80]])
    total, error = extrapolate(terms, terms @ [2, 0.5], [[1, 1000], [1, 500]])
    assert total == pytest.approx(4 + 750)
    assert error < 1e-6


def test_noise_shows_in_the_error():
    rng = np.random.default_rng(0)
    terms = np.stack([np.ones(20), np.arange(1, 21)], axis=1)
    total, error = extrapolate(terms, terms @ [1, 1] * rng.uniform(0.7, 1.3, 20), terms * 10)
    assert 0 < error < 0.2 * total


def test_memory_follows_what_was_measured_where_that_is_much():
    wide = [0, 10**9]
    assert memory_of("packing", [10**8, 10**8 + 7 * 10**9], wide, 2 * 10**9) == pytest.approx(1.41e10, rel=0.01)
    assert memory_of("packing", [10**8, 10**8 + 7 * 10**9], wide, 10**8) == 10**8 + 7 * 10**9  # no less than was seen


def test_memory_follows_what_is_known_where_little_was_measured():
    rate = planning.GROWTH["packing"][0]
    assert memory_of("packing", [10**8], [100], 10**9) == pytest.approx(10**8 + rate * 10**9, rel=0.01)
    noisy = memory_of("packing", [10**8, 10**8 + 10**6], [0, 100], 10**6)
    assert 10**8 + 10**6 < noisy < 10**8 + 10**7


def test_a_step_grows_with_what_it_reads():
    sizes = [Size(Path("a.npz"), "layout:xla:random", "train", configs, 100, 10, 0) for configs in (32, 6_400)]
    assert planning._step("gru", sizes, 4).tolist() == [1, 4 * (32 * 10 + 64 * 10) / 2]
    assert planning._step("gbdt", sizes, 4).tolist() == [1, 6_432]


def test_groups_go_from_small_to_large():
    sizes = [Size(Path("a.npz"), "layout:xla:random", "train", configs, 100, 10, 0) for configs in range(60, 0, -1)]
    groups = planning._groups(sizes)
    assert [len(group) for group in groups] == [4, 4, 4]
    assert groups[0][-1].configs < groups[1][0].configs < groups[2][0].configs
    assert [len(group) for group in planning._groups(sizes[:2])] == [1, 1]


def prints(text):
    print(text, flush=True)
    return text


def test_what_is_measured_apart_leaves_standard_output_alone(capfd):
    assert probe.apart(prints, "[LightGBM] Saving data") == "[LightGBM] Saving data"
    said = capfd.readouterr()
    assert said.out == "" and "Saving data" in said.err


def test_without_runtimes_there_is_nothing_to_train(tmp_path):
    for number in range(2):
        arrays = layout_arrays(seed=number)
        arrays["config_runtime"][:] = 0
        save(tmp_path / "data/npz/layout/xla/default/test" / f"{number:032x}.npz", arrays)
    costs = plan(tmp_path / "data", models=("gbdt",))
    assert [c.step for c in costs] == ["packing", "features"]
    assert "No training: " in planning.report(costs)


def test_a_directory_that_cannot_be_read_is_a_clear_error(tmp_path):
    file = save(tmp_path / "a.npz", layout_arrays())
    content = bytearray(file.read_bytes())
    content[content.index(b"PK\1\2") + 6] = 255  # the version that unpacking needs
    file.write_bytes(content)
    with pytest.raises(InputError, match="cannot be read"):
        size_of(file, "layout:xla:default", "train")
    with pytest.raises(InputError, match="cannot be read"):
        dataset.checksum(file)


def test_an_object_with_all_steps_comes_out_and_nothing_else(tmp_path, run_module):
    data = save_data_set(tmp_path / "data", train=4)
    found = json.loads(run_module("kit", "plan", "--data", data, "--json", check=0).stdout)["steps"]
    assert [step["step"] for step in found] == ["packing", "features", *(
        f"{model}: {what}" for model in ("gbdt", "gru", "sage") for what in ("training", "ranking the test split"))]
    assert all(step["seconds"] > 0 and step["error"] >= 0 and step["memory"] > 50e6 for step in found)
    assert not list(tmp_path.rglob(".store"))
