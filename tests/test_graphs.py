"""The reader: what it accepts, and each thing it refuses."""

import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.errors import InputError
from kit import npz
from kit.graphs import Distinct, Graphs, LayoutGraph, TileGraph, distinct_configs, read_graph
from tests.builders import layout_arrays, save, tile_arrays

FOLDERS = {"tile:xla": "tile/xla", "layout:xla:default": "layout/xla/default"}


def test_reads_a_tile_kernel(tmp_path):
    arrays = tile_arrays()
    graph = read_graph(save(tmp_path / "npz/tile/xla/train/fusion.1.npz", arrays))
    assert isinstance(graph, TileGraph)
    assert (graph.id, graph.collection, graph.configs, graph.nodes) == ("tile:xla:fusion.1", "tile:xla", 6, 4)
    for name, value in arrays.items():
        np.testing.assert_array_equal(getattr(graph, name), value)


def test_reads_a_layout_graph(tmp_path):
    arrays = layout_arrays()
    graph = read_graph(save(tmp_path / "npz/layout/xla/default/valid/unet_3d.4x4.bf16.npz", arrays))
    assert isinstance(graph, LayoutGraph)
    assert graph.id == "layout:xla:default:unet_3d.4x4.bf16"
    assert graph.node_config_feat.dtype == np.int8
    np.testing.assert_array_equal(graph.node_config_feat, arrays["node_config_feat"])
    np.testing.assert_array_equal(graph.node_splits, [6])


def test_is_frozen(tmp_path):
    graph = read_graph(save(tmp_path / "a.npz", tile_arrays()))
    with pytest.raises(AttributeError):
        graph.id = "other"
    with pytest.raises(ValueError, match="read-only"):
        graph.config_feat[0, 0] = 1


@pytest.mark.parametrize("change", [
    {"edge_index": np.asfortranarray(np.array([[1, 0], [2, 1], [3, 2]]))},
    {"edge_index": np.array([[1, 0]])},
    {"edge_index": np.array([[1, 0], [2, 1]])},
    {"edge_index": np.zeros((0, 2), np.int64)},
    {"node_opcode": np.full(4, 63, np.int32)},
    {"node_feat": np.asfortranarray(tile_arrays()["node_feat"])},
    {"node_feat": tile_arrays()["node_feat"].astype(np.float64)},
    {"config_runtime": np.full(6, 5, np.uint32)},
], ids=["fortran", "one edge", "two edges", "no edges", "int32 opcodes", "fortran features", "float64", "uint32"])
def test_quirks_are_read_as_they_are(tmp_path, change):
    graph = read_graph(save(tmp_path / "a.npz", {**tile_arrays(), **change}))
    for name, value in change.items():
        np.testing.assert_array_equal(getattr(graph, name), value)


def test_fortran_ordered_configurations(tmp_path):
    arrays = layout_arrays(configs=7)
    graph = read_graph(save(tmp_path / "a.npz", {
        **arrays, "node_config_feat": np.asfortranarray(arrays["node_config_feat"])}))
    np.testing.assert_array_equal(graph.node_config_feat, arrays["node_config_feat"])


def test_flat_node_splits(tmp_path):
    graph = read_graph(save(tmp_path / "a.npz", {**layout_arrays(), "node_splits": np.array([3, 6])}))
    np.testing.assert_array_equal(graph.node_splits, [3, 6])


def test_withheld_runtimes_are_none(tmp_path):
    zero, one = np.zeros(6, np.int64), np.ones(6, np.int64)
    graph = read_graph(save(tmp_path / "a.npz", {
        **tile_arrays(), "config_runtime": zero, "config_runtime_normalizers": one}))
    assert graph.config_runtime is None
    assert graph.config_runtime_normalizers is None


def _broken(kind, **changes):
    arrays = (tile_arrays if kind == "tile" else layout_arrays)()
    for name, change in changes.items():
        if change is None:
            del arrays[name]
        elif callable(change):
            arrays[name] = arrays[name].copy()
            change(arrays[name])
        else:
            arrays[name] = change
    return arrays


def _set(index, value):
    return lambda array: array.__setitem__(index, value)


BROKEN = {
    "missing key": (_broken("tile", config_feat=None), r"config_feat: missing, the file holds config_runtime"),
    "wrong width": (_broken("tile", config_feat=np.ones((6, 23), np.float32)), r"shape \(6, 23\), not \(any, 24\)"),
    "wrong length": (_broken("tile", config_runtime=np.arange(1, 6)), r"config_runtime: shape \(5,\), not \(6\)"),
    "transposed edges": (_broken("tile", edge_index=np.array([[1, 2, 3], [0, 1, 2]])), r"edge_index: shape \(2, 3\)"),
    "node features": (_broken("tile", node_feat=np.ones((4, 139), np.float32)), r"\(4, 139\), not \(4, 140\)"),
    "object array": (_broken("tile", config_feat=np.array([[object()] * 24], object)), "would have to be unpickled"),
    "text": (_broken("tile", node_opcode=np.array(["a"] * 4)), "type <U1, not integer"),
    "NaN features": (_broken("tile", node_feat=_set((2, 7), np.nan)), r"node_feat: nan at \[2, 7\]"),
    "infinite tile": (_broken("tile", config_feat=_set((1, 3), np.inf)), r"config_feat: inf at \[1, 3\]"),
    "edge too large": (_broken("tile", edge_index=_set((0, 0), 4)), r"edge_index: 4 at \[0, 0\], outside 0 .. 3"),
    "edge negative": (_broken("tile", edge_index=_set((2, 1), -1)), r"edge_index: -1 at \[2, 1\]"),
    "no nodes": (_broken("tile", node_opcode=np.zeros(0, np.uint8)), "no nodes"),
    "no tiles": (_broken("tile", config_feat=np.zeros((0, 24), np.float32)), "zero configurations"),
    "one zero runtime": (_broken("tile", config_runtime=_set(3, 0)), r"config_runtime: 0 at \[3\] among positive"),
    "negative runtime": (_broken("tile", config_runtime=_set(1, -5)), r"config_runtime: -5 at \[1\]"),
    "no layouts": (_broken("layout", node_config_feat=np.zeros((0, 2, 18), np.float32)), "zero configurations"),
    "digit too large": (_broken("layout", node_config_feat=_set((1, 0, 2), 6)), "6.0 at element 38, where a layout"),
    "digit too small": (_broken("layout", node_config_feat=_set((0, 0, 0), -2)), "-2.0 at element 0"),
    "digit not whole": (_broken("layout", node_config_feat=_set((0, 1, 0), 0.5)), "0.5 at element 18"),
    "digit NaN": (_broken("layout", node_config_feat=_set((0, 0, 1), np.nan)), "nan at element 1"),
    "wrong slots": (_broken("layout", node_config_feat=np.zeros((5, 2, 17), np.float32)), r"not \(any, 2, 18\)"),
    "ids beyond n": (_broken("layout", node_config_ids=np.array([0, 6])), r"node_config_ids: 6 at \[1\]"),
    "ids twice": (_broken("layout", node_config_ids=np.array([1, 1])), "a node is listed twice"),
    "split beyond n": (_broken("layout", node_splits=np.array([[7]])), r"node_splits: 7 at \[0, 0\]"),
}


@pytest.mark.parametrize(("arrays", "message"), BROKEN.values(), ids=BROKEN)
def test_refuses(tmp_path, arrays, message):
    path = save(tmp_path / "broken.npz", arrays)
    with pytest.raises(InputError, match=message) as error:
        read_graph(path)
    assert str(path) in str(error.value)


def test_refuses_what_is_no_zip(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(b"ID,TopConfigs\nx")
    with pytest.raises(InputError, match=r"not an npz file, it begins with b'ID,Top"):
        read_graph(path)


@pytest.mark.parametrize("packed", [False, True])
def test_refuses_a_header_that_does_not_end(tmp_path, packed):
    path = save(tmp_path / "a.npz", layout_arrays())
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members["node_opcode.npy"] = members["node_opcode.npy"].replace(b"(6,)", b"(6, ").replace(b"}", b" ")
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(InputError, match="node_opcode: not a NumPy array"):
        read_graph(path, packed=packed)


@pytest.mark.parametrize(("arrays", "collection", "message"), [
    (tile_arrays(), "layout:xla:default", "missing, so that it is no layout graph"),
    (layout_arrays(), "tile:xla", "there, so that it is no tile graph")])
def test_refuses_a_file_of_the_other_kind(tmp_path, arrays, collection, message):
    path = save(tmp_path / FOLDERS[collection] / "train" / "a.npz", arrays)
    with pytest.raises(InputError, match=message):
        read_graph(path)


@pytest.mark.parametrize("keep", [0.3, 0.9, 0.999])
def test_refuses_a_truncated_zip(tmp_path, keep):
    path = save(tmp_path / "a.npz", layout_arrays())
    path.write_bytes(path.read_bytes()[:int(keep * path.stat().st_size)])
    with pytest.raises(InputError, match="truncated or damaged"):
        read_graph(path)


def test_refuses_a_flipped_bit(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, **layout_arrays())  # stored, so that the flip reaches the data and not the deflate stream
    data = bytearray(path.read_bytes())
    at = data.find(np.float32(-1).tobytes() * 18)
    data[at + 3] ^= 0x80
    path.write_bytes(data)
    with pytest.raises(InputError, match="CRC|digit"):
        read_graph(path)


def stored(path, arrays):
    """Write an npz file without deflating."""
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dtype", ["<f4", ">f4", "i1", "f8"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("write", [save, stored])
def test_layouts_of_any_type_and_order(tmp_path, packed, dtype, order, write):
    arrays = layout_arrays(configs=40)
    wanted = arrays["node_config_feat"]
    path = write(tmp_path / "a.npz", {**arrays, "node_config_feat": wanted.astype(dtype, order=order)})
    np.testing.assert_array_equal(read_graph(path, packed=packed).node_config_feat, wanted)


@pytest.mark.parametrize("packed", [False, True])
def test_minus_zeros_are_zeros(tmp_path, packed):
    """They are other bytes than those of zero, so the checksum of what is packed is another one."""
    arrays = layout_arrays(configs=40)
    wanted = arrays["node_config_feat"]
    wanted[:, 0, 0] = -0.0
    path = save(tmp_path / "a.npz", arrays)
    np.testing.assert_array_equal(read_graph(path, packed=packed).node_config_feat, wanted)


@pytest.mark.parametrize("packed", [False, True])
def test_refuses_good_digits_with_a_wrong_checksum(tmp_path, packed):
    path = save(tmp_path / "a.npz", layout_arrays(configs=40))
    with zipfile.ZipFile(path) as archive:
        stated = archive.getinfo("node_config_feat.npy").CRC.to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(stated, b"\1\2\3\4"))
    with pytest.raises(InputError, match="CRC"):
        read_graph(path, packed=packed)


@pytest.mark.parametrize("name", ["digit too large", "digit too small", "digit not whole", "digit NaN"])
def test_refuses_a_digit_while_packing(tmp_path, name):
    arrays, message = BROKEN[name]
    with pytest.raises(InputError, match=message):
        read_graph(save(tmp_path / "a.npz", arrays), packed=True)


def test_refuses_a_member_shorter_than_it_declares(tmp_path):
    path = save(tmp_path / "a.npz", tile_arrays())
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(tmp_path / "b.npz", "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name)[:-8] if name == "config_runtime.npy" else old.read(name))
    with pytest.raises(InputError, match="config_runtime: shape .* needs 48 bytes"):
        read_graph(tmp_path / "b.npz")


def test_refuses_a_missing_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_graph(tmp_path / "none.npz")


def test_compiled_and_plain_narrowing_agree(tmp_path, monkeypatch):
    arrays = layout_arrays(configs=50)
    path = save(tmp_path / "a.npz", arrays)
    monkeypatch.setattr(npz, "COMPILED_FROM", 1)
    monkeypatch.setattr(npz, "BLOCK", 1000)
    np.testing.assert_array_equal(read_graph(path).node_config_feat, arrays["node_config_feat"])
    for value, at in ((6, (49, 1, 17)), (np.nan, (3, 0, 0)), (2.5, (20, 1, 1)), (-7, (0, 0, 5))):
        broken = _broken("layout", **{})
        broken["node_config_feat"] = arrays["node_config_feat"].copy()
        broken["node_config_feat"][at] = value
        broken["config_runtime"] = np.ones(50, np.int64)
        place = np.ravel_multi_index(at, (50, 2, 18))
        with pytest.raises(InputError, match=f"at element {place},"):
            read_graph(save(tmp_path / "b.npz", broken))


def test_graphs_are_lazy(tmp_path):
    folder = tmp_path / "npz_all/npz/tile/xla/train"
    save(folder / "b.npz", tile_arrays())
    folder.joinpath("a.1.npz").write_bytes(b"rubbish")
    graphs = Graphs(tmp_path, "tile:xla", "train")
    assert graphs.ids == ["tile:xla:a.1", "tile:xla:b"]
    assert len(graphs) == 2
    assert graphs[1].id == "tile:xla:b"
    assert [g.id for g in graphs[1:]] == ["tile:xla:b"]
    with pytest.raises(InputError):
        graphs[0]


def test_distinct_configurations_by_hand(tmp_path):
    arrays = layout_arrays(configs=4)
    arrays["node_config_feat"][2] = arrays["node_config_feat"][0]
    arrays["node_config_feat"][3] = arrays["node_config_feat"][1]
    found = distinct_configs(read_graph(save(tmp_path / "a.npz", arrays)))
    assert isinstance(found, Distinct)
    np.testing.assert_array_equal(found.first, [0, 1])
    np.testing.assert_array_equal(found.inverse, [0, 1, 0, 1])
    np.testing.assert_array_equal(found.count, [2, 2])


class _Rows:
    def __init__(self, rows):
        self.config_rows = rows


@settings(deadline=None)
@given(st.lists(st.lists(st.integers(-1, 1), min_size=3, max_size=3), min_size=1, max_size=30))
def test_distinct_configurations_against_a_dictionary(rows):
    found = distinct_configs(_Rows(np.array(rows, np.int8)))
    seen = {}
    expected = [seen.setdefault(tuple(row), len(seen)) for row in rows]
    np.testing.assert_array_equal(found.inverse, expected)
    assert [rows[i] for i in found.first] == [list(row) for row in seen]
    np.testing.assert_array_equal(found.count, [expected.count(i) for i in range(len(seen))])


def test_colliding_hashes_are_told_apart(monkeypatch):
    monkeypatch.setattr("kit.distinct._row_hashes", lambda rows: np.zeros(len(rows), np.uint64))
    found = distinct_configs(_Rows(np.array([[1, 2], [3, 4], [1, 2], [0, 0]], np.int8)))
    np.testing.assert_array_equal(found.inverse, [0, 1, 0, 2])


def test_written_files_depend_on_the_arrays_alone(tmp_path):
    arrays = layout_arrays()
    npz.write(tmp_path / "a.npz", arrays)
    streamed = arrays["node_config_feat"]
    npz.write(tmp_path / "b.npz", {**arrays, "node_config_feat": (
        streamed.shape, np.float32, (streamed[i:i + 2] for i in range(0, len(streamed), 2)))})
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    np.testing.assert_array_equal(read_graph(tmp_path / "a.npz").node_config_feat, streamed)


def test_reads_every_real_file(real_data):
    files = sorted((real_data / "npz").rglob("*.npz"))
    assert files
    for file in files:
        graph = read_graph(file)
        assert graph.collection
        assert (graph.config_runtime is None) == (file.parent.name == "test")
