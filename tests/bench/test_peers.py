"""The peers in the bench table: compared with the kit only where both answer the same question."""

import pytest

from evaluation import metrics
from kit.bench import partition, peers
from kit.partition import embedded


def test_tau_beside_scipy(monkeypatch):
    monkeypatch.setattr(peers, "GRAPHS", 3)
    _, figure, note = peers.tau()
    assert figure.endswith("times as fast")
    assert "values equal" in note


def test_another_tau_is_not_compared(monkeypatch):
    monkeypatch.setattr(peers, "GRAPHS", 3)
    monkeypatch.setattr(metrics, "kendall_tau", lambda ranking, runtime: 0.25)
    with pytest.raises(RuntimeError, match="another"):
        peers.tau()


def test_a_program_of_highs_reaches_the_same_optimum(monkeypatch):
    """Small enough for both to prove it: the same bottleneck and, but for the margin of HiGHS, the same bound."""
    monkeypatch.setattr(partition, "graph", lambda name: min(embedded.load().values(), key=len))
    _, figure, note = peers.partition(k=2, least=60.0)
    assert figure.endswith("certified ratio 1.0000")
    assert "bottleneck 1.000 times" in note and "bound 1.000" in note


def test_a_library_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(peers, "find_spec", lambda name: None)
    assert peers.graph_network()[1:] == ("not measured", "torch_geometric is not installed")
