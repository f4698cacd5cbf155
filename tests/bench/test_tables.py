"""The tables of trained models: which cells they hold, and that they come out of a small data set."""

import numpy as np
import pytest

from kit.bench import ablations, baselines
from kit.graphs import read_graph
from tests.builders import layout_arrays, save, save_data_set, tile_arrays


def test_options_are_combined_for_the_models_that_take_them():
    found = list(baselines.variants(["heuristic", "sage"], {"objective": ["mse", "hinge"], "join": ["late"]},
                                    {"cost": False}))
    assert found == [("heuristic", {}), ("sage", {"objective": "mse", "join": "late", "cost": False}),
                     ("sage", {"objective": "hinge", "join": "late", "cost": False})]


def test_mean_and_spread():
    assert baselines.cell([0.1, 0.3], 100, 1) == "20.0 ± 14.1"
    assert baselines.cell([0.25, None]) == "0.250"
    assert baselines.cell([None]) == "-"


def test_a_table_of_losses(tmp_path, capsys):
    data = save_data_set(tmp_path, train=2)
    arguments = f"--data {data} --model heuristic sage --objective mse hinge --steps 1 --seeds 1 --threads 1".split()
    arguments += f"--collection layout:xla:default --keep {tmp_path / 'kept'}".split()
    assert baselines.main(arguments) == 0
    first = capsys.readouterr().out
    rows = [line.strip("| ").split(" | ") for line in first.splitlines() if line.startswith("| ")]
    assert rows[0] == ["model", "loss", "tile top-1 error, %", "tile tau", "mean layout tau", "training, s"]
    assert [row[:2] for row in rows[2:]] == [["heuristic", "-"], ["sage", "mse"], ["sage", "hinge"]]
    assert all(row[2:4] == ["-", "-"] and -1 <= float(row[4]) <= 1 for row in rows[2:])  # tiles were not asked for
    assert baselines.main(arguments) == 0
    assert capsys.readouterr().out == first  # the seconds too: nothing was trained again


def test_an_unknown_loss_is_an_error_without_a_traceback(tmp_path, capsys):
    data = save_data_set(tmp_path, train=1)
    assert baselines.main(["--data", str(data), "--model", "gru", "--objective", "magic", "--steps", "1"]) == 1
    assert "'magic' is unknown" in capsys.readouterr().err


@pytest.fixture
def graph(tmp_path):
    return read_graph(save(tmp_path / "a.npz", layout_arrays(configs=4)))


def test_rows_of_the_ablations(graph):
    right = np.argsort(np.argsort(graph.config_runtime)).astype(float)
    rows = ablations.rows_of(graph, [right, -right, right], [-right], [10 * right])
    np.testing.assert_allclose(rows[:, 0], [1, -1, 0, 1, 1])


def test_the_merit_of_a_tile_ranking(tmp_path):
    arrays = tile_arrays(configs=7) | {"config_runtime": np.array([10, 20, 30, 40, 50, 60, 70])}
    tile = read_graph(save(tmp_path / "tile.npz", arrays))
    assert ablations.merit(tile, -np.arange(7.0)) == (2 - 30 / 10, -1)  # the five slowest first


def test_the_ablations_come_out(tmp_path, capsys):
    data = save_data_set(tmp_path, train=2)
    assert ablations.main(["--data", str(data), "--steps", "1", "--seeds", "1", "--threads", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[0].strip("| ") for line in lines[-5:]] == list(ablations.ROWS)
    assert all(line.count("|") == lines[-7].count("|") == 6 for line in lines[-5:])
