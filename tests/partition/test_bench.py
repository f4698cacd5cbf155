"""The benchmark's graphs: what stands in where no real data is at hand."""

import pytest

from kit.bench import partition


def test_without_real_data_other_graphs_stand_in(monkeypatch):
    monkeypatch.delenv("KIT_REAL_DATA", raising=False)
    assert partition.graph("paper").name == "clip" and partition.graph("medium").name == "densenet121"
    assert partition.graph("large").simulated and len(partition.graph("large")) == partition.NODES["large"]


def test_real_graphs_are_used_where_they_are(real_data):
    assert partition.graph("paper").name == "nasnetalarge"


@pytest.mark.parametrize("n", [2, 30])
def test_layers_are_acyclic_and_connected(n):
    instance = partition.layers(n)
    assert (instance.edges[:, 0] < instance.edges[:, 1]).all()
    assert set(instance.edges[:, 1].tolist()) == set(range(1, n))
