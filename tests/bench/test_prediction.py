"""The benchmark of prediction: the graph nearest in size, and a row from a process of its own."""

import json

from kit.bench import prediction
from tests.builders import layout_arrays, save, save_data_set


def test_the_nearest_graph(tmp_path):
    data = save_data_set(tmp_path)
    folder = tmp_path / "npz_all" / "npz" / "layout" / "xla" / "default" / "valid"
    save(folder / "large.npz", layout_arrays(nodes=40))
    assert prediction.nearest(data, "layout:xla:default", "valid", 30).name == "large.npz"
    assert prediction.nearest(data, "layout:xla:default", "valid", 8).name != "large.npz"


def test_a_row(tmp_path, monkeypatch):
    found = {"seconds": [9.0, 0.010, 0.020, 0.030], "cpu": [9.0, 0.005, 0.005, 0.005], "memory": 5e8}
    monkeypatch.setattr(prediction, "measure", lambda *arguments: json.loads(json.dumps(found)))
    file = save(tmp_path / "a.npz", layout_arrays(configs=10))
    what, figure, note = prediction.row("gru", tmp_path, file, "layout:xla:default", 2, 4)
    assert what == "gru, 2 threads: layout:xla:default:a (6 nodes, 10 configurations)"
    assert figure == "2.000 ms a configuration"  # the median of all but the first
    assert note == "0.500 ms of CPU, 0.50 GB of memory at most"


def test_a_saved_ranker_is_measured_in_a_process_of_its_own(tmp_path):
    data = save_data_set(tmp_path, train=2)
    prediction.fit("sage", data, tmp_path / "ranker")
    file = prediction.nearest(data, "layout:xla:default", "valid", 6)
    found = prediction.measure("sage", tmp_path / "ranker", file, "layout:xla:default", 2, 2)
    assert len(found["seconds"]) == len(found["cpu"]) == 2
    assert found["memory"] > 1e7
