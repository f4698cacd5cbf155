"""Foreign formats to instances: units, what is left out and said, and what is refused with its place."""

import json

import numpy as np
import pytest

from evaluation.errors import InputError
from evaluation.instance import dumps
from kit.graphs import read_graph
from kit.partition.drafts import unique_names
from kit.partition.instances import read, with_memory, write
from kit.partition.tpugraphs import CONVOLUTION, DOT, PARAMETER, operations, output_bytes
from kit.partition.units import parse_bandwidth, parse_bytes, parse_memory, show_bytes, show_seconds

GIB = 1024**3
PROFILE = """\
node1 -- Input -- forward_compute_time=600.0, backward_compute_time=0.0, activation_size=100.0, parameter_size=0.0
node2 -- LSTM(2, 3) -- forward_compute_time=2.5, backward_compute_time=9.0, activation_size=[6.0; 1.0; 2.0], \
parameter_size=40.0
node3 -- Linear(in_features=4, out_features=5) -- forward_compute_time=1.5, backward_compute_time=9.0, \
activation_size=8.0, parameter_size=20.0
\tnode1 -- node2
\tnode2 -- node3
\tnode2 -- node3
"""
COST_GRAPH = """\
# made by hand
node { name: "a" output_info { size: 10 } output_info { size: 20 } compute_cost: 3 }
node { name: "b" id: 1 input_info { } output_info { size: 5 } compute_cost: 4 }
node: { name: "c" id: 2 input_info < preceding_node: 1 preceding_port: 0 > control_input: 0 compute_cost: 5 }
node { name: "d" id: 3 control_input: 2 control_input: 1 input_info { preceding_node: 1 } }
"""


def layers(**changes):
    node = {"cpuLatency": 0, "isBackwardNode": 0, "supportedOnFpga": 1}
    graph = {"maxFPGAs": 2, "nodes": [
        {"id": 7, "name": "first", "fpgaLatency": 2.0, "size": 100.0, "colorClass": 1, **node},
        {"id": 3, "name": "second", "fpgaLatency": 4.0, "size": 0, "colorClass": 1, **node}],
        "edges": [{"sourceId": 7, "destId": 3, "cost": 0.001, "size": 2147483.648}]}
    return graph | changes


@pytest.fixture
def file(tmp_path):
    """Write a file and give its path."""

    def put(name, text):
        (tmp_path / name).write_text(text if isinstance(text, str) else json.dumps(text), encoding="utf-8")
        return tmp_path / name

    return put


def test_pipedream_without_its_data_loading(file):
    instance, notes = read(file("lstm.graph.txt", PROFILE))
    assert instance.name == "lstm" and not instance.simulated
    assert instance.nodes == ("node2 LSTM", "node3 Linear")
    assert instance.work.tolist() == [0.0025, 0.0015]
    assert instance.output_bytes.tolist() == [9, 8]  # all outputs of a node summed
    assert instance.parameter_bytes.tolist() == [40, 20]
    assert instance.edges.tolist() == [[0, 1]]
    assert instance.bandwidth == 16 * GIB and instance.fast_memory is None
    assert "Input" in notes[0] and "600 ms" in notes[0] and "--keep-input" in notes[0]
    assert "1 edges were given more than once" in notes[1]


def test_pipedream_with_its_data_loading(file):
    instance, notes = read(file("lstm.graph.txt", PROFILE), keep_input=True, bandwidth=5.0, k=[3])
    assert instance.work.tolist() == [0.6, 0.0025, 0.0015]
    assert instance.edges.tolist() == [[0, 1], [1, 2]]
    assert instance.bandwidth == 5 and instance.k == (3,)
    assert len(notes) == 1


@pytest.mark.parametrize(("old", "new", "message"), [
    ("parameter_size=20.0", "", "line 3: parameter_size= is missing"), ("time=2.5", "time=fast", "line 2: .*'fast'"),
    ("node3 -- Linear", "node2 -- Linear", "line 3: node2 is defined a second time"),
    ("\tnode2 -- node3\n", "\tnode2 -- node9\n", "'node9', which the file does not define"),
    ("time=2.5", "time=nan", "line 2: .*'nan'"),
    ("time=2.5", "time=-2.5", "work of node 'node2 LSTM' is -"),
    ("\tnode2 -- node3\n", "\tnode2 -- node3\n\tnode3 -- node2\n", "cycle: node"),
    ("\tnode2 -- node3\n", "\tnode2 -- node2\n", "self-loop"), ("\tnode1 -- node2", "node1 -- node2", "line 4")])
def test_pipedream_refused_with_the_place(file, old, new, message):
    with pytest.raises(InputError, match=message):
        read(file("bad.graph.txt", PROFILE.replace(old, new, 1)))


def test_dnn_partitioning_takes_size_for_the_transfer_not_cost(file):
    instance, notes = read(file("layers.json", layers()))
    assert instance.nodes == ("first", "second")
    assert instance.work.tolist() == [0.002, 0.004]
    assert instance.parameter_bytes.tolist() == [100, 0]
    assert instance.bandwidth == 2 * GIB
    assert instance.output_bytes[0] / instance.bandwidth == pytest.approx(1e-3)  # a cost of 1 ms, said to be 0.001
    assert instance.output_bytes[1] == 0
    assert len(notes) == 1 and "colour classes are left out (1 nodes" in notes[0]


def test_dnn_partitioning_without_sizes_takes_cost_as_milliseconds(file):
    instance, _ = read(file("layers.json", layers(edges=[{"sourceId": 7, "destId": 3, "cost": 2.0}])))
    assert instance.output_bytes[0] / instance.bandwidth == pytest.approx(2e-3)


@pytest.mark.parametrize(("graph", "message"), [
    ({"edges": [{"sourceId": 7, "destId": 4, "size": 1}]}, "names the node 4"),
    ({"edges": [{"sourceId": 7, "destId": 3, "size": "big"}]}, "edge 7 -> 3: size is 'big'"),
    ({"edges": 5}, "lists 'nodes' and 'edges'"), ({"nodes": [], "edges": []}, "no nodes"),
    ({"nodes": [3]}, "lists 'nodes' and 'edges'"), ({"edges": [{"size": 1}]}, "names the node None"),
    ({"edges": [{"sourceId": 7, "destId": 3, "size": 1}, {"sourceId": 3, "destId": 7, "size": 1}]}, "cycle")])
def test_dnn_partitioning_refused(file, graph, message):
    with pytest.raises(InputError, match=message):
        read(file("layers.json", layers(**graph)))


def test_a_split_by_hand_is_no_graph(file):
    with pytest.raises(InputError, match="split by hand"):
        read(file("x_expert.json", {"fpgas": [], "cpus": [], "maxLoad": -1}))


def test_cost_graph(file):
    instance, notes = read(file("graph.pbtxt", COST_GRAPH))
    assert instance.nodes == ("a", "b", "c", "d", "a:control")
    assert instance.work.tolist() == pytest.approx([3e-6, 4e-6, 5e-6, 0, 0])
    assert instance.output_bytes.tolist() == [30, 5, 0, 0, 0]  # outputs summed
    # a -> b and b -> c, b -> d by tensors; c -> d and a -> c by control, the latter without a's tensor
    assert instance.edges.tolist() == [[0, 1], [0, 4], [1, 2], [1, 3], [2, 3], [4, 2]]
    assert instance.output_bytes.mean() / instance.bandwidth == pytest.approx(0.5 * instance.work.mean())
    assert any("3 control edges" in note for note in notes) and any("bandwidth" in note for note in notes)


@pytest.mark.parametrize(("text", "message"), [
    ("node { name: 'a'", "closed"), ("node { name: ", "not understood at 'name'"), ("nothing here", "not understood"),
    ("node { id: x }", "id is 'x'"), ("node { id: 1.5 }", "whole number"), ("}", "not understood"),
    ("node { id: 1 } node { id: 1 }", "two nodes have this id"),
    ("node { input_info { preceding_node: 4 } }", "the node 4")])
def test_cost_graph_refused(file, text, message):
    with pytest.raises(InputError, match=message):
        read(file("graph.pbtxt", text))


def test_own_format_round_trip(file, tmp_path):
    instance, _ = read(file("lstm.graph.txt", PROFILE))
    path = write(with_memory(instance, "50%", 2), tmp_path / "instances")
    again, notes = read(path)
    assert dumps(again) == dumps(with_memory(instance, "50%", 2)) and not notes
    assert again.fast_memory == 15
    assert read(path, bandwidth=3.0, k=[5])[0].bandwidth == 3


def own(**changes):
    """The kit's own JSON, as somebody writes it by hand."""
    return {"name": "mine", "source": "a test", "simulated": True, "bandwidth": 10, "fast_memory": None,
            "activation_reserve": 0, "k": [2], "edges": [],
            "nodes": [{"name": "a", "work": 1, "parameter_bytes": 0, "output_bytes": 0}]} | changes


def test_own_format_says_which_keys_it_does_not_read(file):
    node = {"name": "a", "work": 1, "parameter_bytes": 0, "output_bytes": 0, "flops": 3}
    instance, notes = read(file("mine.json", own(colour="red", nodes=[node])))
    assert len(instance) == 1 and notes == ["keys that are left out: colour, nodes.flops"]


@pytest.mark.parametrize(("changes", "message"), [
    ({"nodes": [{"name": "a"}]}, r"mine\.json: not a partition instance: the key 'work' is missing"),
    ({"edges": [[0, 3]]}, r"mine\.json: mine: edge \[0, 3\]"), ({"bandwidth": None}, "bandwidth is None")])
def test_own_format_refused_with_the_file(file, changes, message):
    with pytest.raises(InputError, match=message):
        read(file("mine.json", own(**changes)))


def test_own_format_without_a_bandwidth_is_no_other_format(file):
    graph = own()
    del graph["bandwidth"]
    with pytest.raises(InputError, match="the key 'bandwidth' is missing"):
        read(file("mine.json", graph))


@pytest.mark.parametrize(("text", "message"), [
    ("", "the file is empty"), (" \n", "the file is empty"), ("[1, 2]", "a JSON object with the lists")])
def test_files_without_a_graph(file, text, message):
    with pytest.raises(InputError, match=message):
        read(file("mine.json", text))


def test_a_folder_is_not_an_instance(tmp_path):
    with pytest.raises(InputError, match="is a folder; give one instance of it"):
        read(tmp_path)


@pytest.mark.parametrize(("name", "content"), [("a.txt", b"\xff\xfe\x00"), ("b.json", b"{ nodes"),
                                               ("c.gz", b"no")])
def test_unreadable_files(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=name):
        read(tmp_path / name)


def test_missing_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read(tmp_path / "none.json")


@pytest.mark.parametrize(("text", "value"), [("16GiB/s", 16 * GIB), ("2.5MB", 2.5e6), ("7", 7), ("1e3 KiB/s", 1024e3)])
def test_bandwidth(text, value):
    assert parse_bandwidth(text) == value


@pytest.mark.parametrize("text", ["fast", "16 gigs", "-3GB", "0", "", "nan", "inf"])
def test_bandwidth_refused(text):
    with pytest.raises(InputError, match="bandwidth"):
        parse_bandwidth(text)


def test_memory():
    assert parse_memory("50%")(800, 4) == 100
    assert parse_memory("64MiB")(800, 4) == 64 * 1024**2
    assert parse_memory(None)(800, 4) is None and parse_memory("none")(800, 4) is None
    with pytest.raises(InputError, match="memory"):
        parse_bytes("12 parsecs", "memory")


def test_amounts_for_people():
    assert show_bytes(64 * 1024**2) == "64 MiB" and show_bytes(5) == "5 B"
    assert show_seconds(0.0123) == "12.3 ms" and show_seconds(2) == "2 s" and show_seconds(0) == "0 ns"


def test_names_are_made_unique():
    names = unique_names(["a", "a", "a#2", "a", "b"])
    assert len(set(names)) == 5 and names[0] == "a" and names[2] == "a#2" and names[4] == "b"


def test_a_layout_graph(real_data):
    path = real_data / "npz" / "layout" / "xla" / "default" / "train" / "unet3d.npz"
    instance, notes = read(path)
    assert len(instance) == 2774 and len(instance.edges) == 4730
    assert instance.simulated and "roofline" in notes[0]
    graph = read_graph(path)
    first = np.flatnonzero(graph.node_opcode == CONVOLUTION)[0]
    # 2 x outputs (2, 128, 128, 128, 32) x window 3^3 x one input channel
    assert operations(graph)[first] == 2 * (2 * 128**3 * 32) * 27 * 1
    assert instance.work[first] > 0 and instance.work[graph.node_opcode == PARAMETER].max() == 0
    assert output_bytes(graph)[first] == 2 * 128**3 * 32 * graph_bytes(graph, first)


def graph_bytes(graph, node):
    """Bytes an element by the one-hot columns of bf16 and f32."""
    return 2 if graph.node_feat[node, 15] else 4


def test_a_dot_costs_its_multiplications_and_additions(real_data):
    graph = read_graph(real_data / "npz/layout/xla/default/test/cd708819d3f5103afd6460b15e74eaf3.npz")
    dots = np.flatnonzero(graph.node_opcode == DOT)
    assert operations(graph)[dots[0]] == pytest.approx(2 * 512 * 13 * 512)   # (512, 13) x (13, 512)
    assert operations(graph)[dots[3]] == pytest.approx(2 * 512 * 27 * 128 * 27)  # (512, 27, 128) with itself
