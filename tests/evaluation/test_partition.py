"""The judge of the partition track against a reference that follows the definitions set by set."""

import dataclasses
import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.errors import InputError, InvalidSubmission
from evaluation.instance import Instance, dumps, find_cycle, topological_order
from evaluation.partition import bottleneck, certified_ratio, check_stages, simple_bound, stage_costs


def make(edges, work=None, output=None, parameters=None, n=None, **changes):
    """An instance with bandwidth 10 bytes a second and nodes a, b, c, ..."""
    n = n or len(work)
    given = {"name": "small", "source": "a test", "simulated": True, "bandwidth": 10, "fast_memory": None,
             "activation_reserve": 0, "k": [2], "nodes": [chr(97 + i) for i in range(n)],
             "work": work or [1.0] * n, "parameter_bytes": parameters or [0] * n, "output_bytes": output or [10] * n,
             "edges": edges}
    return Instance(**given | changes)


DIAMOND = ([[0, 1], [0, 2], [1, 3], [2, 3]], [1.0, 2.0, 3.0, 4.0])


def reference(instance, stages, k):
    """Total cost of every stage, from the definitions, with sets."""
    totals = []
    for stage in range(k):
        inside = {v for v in range(len(instance)) if stages[v] == stage}
        edges = instance.edges.tolist()
        arriving = {u for u, v in edges if v in inside and u not in inside}
        leaving = {u for u, v in edges if u in inside and v not in inside}
        spill = 0.0
        if inside and instance.fast_memory is not None:
            held = sum(instance.parameter_bytes[v] for v in inside)
            spill = max(0, held + instance.activation_reserve - instance.fast_memory)
        moved = sum(instance.output_bytes[u] for u in arriving) + sum(instance.output_bytes[u] for u in leaving)
        totals.append(sum(instance.work[v] for v in inside) + (moved + spill) / instance.bandwidth)
    return totals


def has_cycle(instance, stages, k):
    """Whether some stage reaches itself through others, by transitive closure."""
    reach = np.zeros((k, k), bool)
    for u, v in instance.edges.tolist():
        reach[stages[u], stages[v]] |= stages[u] != stages[v]
    for middle in range(k):
        reach |= np.outer(reach[:, middle], reach[middle])
    return bool(reach.diagonal().any())


@st.composite
def instances(draw):
    """Small graphs of every shape: isolated nodes, several components, zero costs, with and without fast memory."""
    n = draw(st.integers(1, 7))
    pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
    order = draw(st.permutations(range(n)))
    edges = [[order[u], order[v]] for u, v in draw(st.lists(st.sampled_from(pairs), max_size=12))] if pairs else []
    numbers = st.lists(st.integers(0, 50), min_size=n, max_size=n)
    work, output, parameters = (list(map(float, draw(numbers))) for _ in range(3))
    memory = draw(st.none() | st.integers(0, 100))
    return make(edges, work, output, parameters, fast_memory=memory, activation_reserve=draw(st.integers(0, 20)))


@settings(max_examples=300, deadline=None)
@given(instances(), st.data())
def test_costs_and_feasibility_agree_with_the_reference(instance, data):
    k = data.draw(st.integers(1, 4))
    stages = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=len(instance), max_size=len(instance))))
    assert stage_costs(instance, stages, k).total == pytest.approx(reference(instance, stages, k))
    if has_cycle(instance, stages, k):
        with pytest.raises(InvalidSubmission, match="in a circle"):
            check_stages(instance, stages, k)
    else:
        assert check_stages(instance, stages, k).tolist() == stages.tolist()


def test_costs_by_hand():
    costs = stage_costs(make(*DIAMOND), [0, 0, 0, 1])
    assert costs.work.tolist() == [6, 4]
    assert costs.io_out.tolist() == [2, 0]  # b and c are sent
    assert costs.io_in.tolist() == [0, 2]
    assert costs.total.tolist() == [8, 6]


def test_a_tensor_is_sent_once_and_received_once_by_each_stage():
    star = make([[0, 1], [0, 2], [0, 3]], [0.0] * 4)
    costs = stage_costs(star, [0, 1, 1, 2])
    assert costs.io_out.tolist() == [1, 0, 0]
    assert costs.io_in.tolist() == [0, 1, 1]


def test_a_skip_connection_pays_in_the_stage_it_skips_to_only():
    chain = make([[0, 1], [1, 2], [0, 2]], [0.0] * 3)
    assert stage_costs(chain, [0, 1, 2]).total.tolist() == [1, 2, 2]


def test_overflow_by_hand():
    instance = make([], [1.0, 1.0], parameters=[30, 5], fast_memory=20, activation_reserve=10)
    assert stage_costs(instance, [0, 1], 3).overflow.tolist() == [2, 0, 0]
    assert stage_costs(instance, [0, 0], 3).overflow.tolist() == [2.5, 0, 0]


def test_an_empty_stage_costs_nothing_even_where_the_reserve_exceeds_the_memory():
    instance = make([], [1.0], fast_memory=0, activation_reserve=40)
    assert stage_costs(instance, [2], 4).total.tolist() == [0, 0, 5, 0]


def test_bottleneck_is_the_slowest_stage():
    assert bottleneck(make(*DIAMOND), [0, 0, 0, 1]) == 8


def test_stages_may_be_numbered_against_the_edges():
    assert check_stages(make(*DIAMOND), [1, 1, 1, 0], 2).tolist() == [1, 1, 1, 0]


def test_cheaper_but_cyclic_is_refused_with_the_cycle_spelled_out():
    chain = make([[0, 1], [1, 2]], [5.0, 1.0, 5.0], output=[0, 0, 0])
    with pytest.raises(InvalidSubmission, match=r"stage 0 -> stage 1 \(a -> b\), stage 1 -> stage 0 \(b -> c\)"):
        check_stages(chain, [0, 1, 0], 2)


@pytest.mark.parametrize(("stages", "message"), [
    ([0, 0, 0], "3 stages for 4 nodes"), ([0] * 5, "5 stages for 4 nodes"), ([], "0 stages for 4 nodes"),
    ([0, 0, 0, 2], "'d' is in stage 2"), ([0, -1, 0, 0], "'b' is in stage -1"),
    ([0.0, 0.5, 1.0, 1.0], "whole numbers"), ([[0, 0], [0, 0]], "every node exactly one stage")])
def test_what_is_no_partition_is_refused(stages, message):
    with pytest.raises(InvalidSubmission, match=message):
        check_stages(make(*DIAMOND), stages, 2)


@pytest.mark.parametrize(("lower", "seconds", "ratio"), [(1, 2, 0.5), (2, 2, 1), (0, 2, 0), (0, 0, 1),
                                                          (2 * (1 + 1e-12), 2, 1)])
def test_certified_ratio(lower, seconds, ratio):
    assert certified_ratio(lower, seconds) == ratio


@pytest.mark.parametrize("lower", [2.1, -0.1, float("nan")])
def test_a_bound_above_a_valid_partition_is_the_organisers_mistake(lower):
    with pytest.raises(InputError, match=r"bounds\.json is wrong"):
        certified_ratio(lower, 2)


def test_simple_bound():
    assert simple_bound(make(*DIAMOND), 2) == 5
    assert simple_bound(make(*DIAMOND), 8) == 4


def test_json_round_trip_is_exact():
    instance = make(*DIAMOND, output=[1.5, 2, 3, 4], fast_memory=7, activation_reserve=2)
    again = Instance.from_json(json.loads(dumps(instance)))
    assert dumps(again) == dumps(instance)
    assert again.work.tolist() == instance.work.tolist()
    assert set(instance.to_json()) == {"name", "source", "simulated", "bandwidth", "fast_memory",
                                       "activation_reserve", "k", "nodes", "edges"}


def test_repeated_edges_count_once():
    assert make([[0, 1], [0, 1]], [1.0, 1.0]).edges.tolist() == [[0, 1]]


def test_arrays_cannot_be_changed():
    with pytest.raises(ValueError, match="read-only"):
        make(*DIAMOND).work[0] = 3


@pytest.mark.parametrize(("change", "message"), [
    ({"edges": [[0, 0]]}, "a -> a .*self-loop"), ({"edges": [[0, 1], [1, 2], [2, 0]]}, "cycle: .* -> .* -> .*"),
    ({"edges": [[0, 9]]}, "does not exist"), ({"edges": [[0, -1]]}, "does not exist"),
    ({"edges": [[0, 1, 2]]}, "pairs"), ({"edges": [[0, 0.5]]}, "pairs"), ({"edges": "ab"}, "pairs"),
    ({"work": [1, float("nan"), 1, 1]}, "work of node 'b' is nan"),
    ({"work": [1, -1, 1, 1]}, r"work of node 'b' is -1"), ({"work": [1, float("inf"), 1, 1]}, "must be finite"),
    ({"work": [1, 1, 1]}, "one number for each of 4"), ({"work": ["x", 1, 1, 1]}, "not numeric"),
    ({"output_bytes": [0, 0, -5, 0]}, "output_bytes of node 'c' is -5"),
    ({"parameter_bytes": [0, 0, 0, float("nan")]}, "parameter_bytes of node 'd'"),
    ({"bandwidth": 0}, "bandwidth is 0"), ({"bandwidth": float("nan")}, "finite number"),
    ({"bandwidth": "fast"}, "finite number"), ({"fast_memory": -1}, "fast_memory is -1"),
    ({"activation_reserve": None}, "activation_reserve"), ({"k": [0]}, "at least 1"), ({"k": [2.5]}, "whole"),
    ({"nodes": ["a", "b", "b", "d"]}, "two nodes are called 'b'"), ({"nodes": []}, "no nodes"),
    ({"nodes": ["a", "", "c", "d"]}, "node 1"), ({"name": "a:b"}, "instance name"), ({"name": "a,b"}, "instance name")])
def test_bad_instances_are_refused_by_name(change, message):
    with pytest.raises(InputError, match=message):
        dataclasses.replace(make(*DIAMOND), **change)


@pytest.mark.parametrize(("broken", "message"), [(lambda d: d.pop("edges"), "'edges' is missing"),
                                                 (lambda d: d["nodes"][1].pop("work"), "'work' is missing"),
                                                 (lambda d: d.update(nodes=3), "JSON object")])
def test_bad_json_is_refused(broken, message):
    data = make(*DIAMOND).to_json()
    broken(data)
    with pytest.raises(InputError, match=message):
        Instance.from_json(data)


def test_huge_sizes_are_exact():
    instance = make([[0, 1]], [1e-9, 1e9], output=[2**52 + 1, 0])
    assert stage_costs(instance, [0, 1]).io_out[0] == (2**52 + 1) / 10
    assert '"output_bytes":4503599627370497' in dumps(instance)


def test_a_cycle_is_found_among_much_else():
    edges = [[0, 1], [1, 2], [2, 3], [3, 1], [3, 4], [5, 3]]
    cycle = find_cycle(6, edges)
    assert cycle[0] == cycle[-1] and sorted(cycle[1:]) == [1, 2, 3]
    assert all([u, v] in edges for u, v in itertools.pairwise(cycle))
    assert find_cycle(6, [[0, 1], [1, 2]]) is None


def test_topological_order():
    assert topological_order(4, [[3, 2], [2, 1], [1, 0]]).tolist() == [3, 2, 1, 0]
