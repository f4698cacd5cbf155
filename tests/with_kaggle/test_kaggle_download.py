"""Downloads: whole, cut, killed, in part, repaired; from Kaggle and from what is there already."""

import json
import random
import re
import tarfile

import numpy as np
import pytest
from archives import TOKEN, npz, tar_of, tree_of, zipped
from kaggle_server import Competition, Fault

import kit.download
from evaluation.collections import COLLECTIONS, SPLITS
from kit.download import missing

POINTS = 20


def range_starts(log):
    """First byte of each ranged request to storage, in order."""
    return [int(re.match(r"bytes=(\d+)-", entry["range"])[1]) for entry in log
            if entry["kind"] == "blob" and entry["range"]]


def served(log):
    """Bytes that storage sent in answer to ranged requests."""
    return sum(entry["sent"] for entry in log if entry["kind"] == "blob" and entry["range"])


def steps_for(names, tmp_path, **more):
    """One download a competition, each into a folder of its own."""
    return [{"argv": ["download", "--data", str(tmp_path / name), "--competition", name], **more} for name in names]


def test_whole_archive_lands_byte_identical_and_is_on_record(kit, kaggle, files, tmp_path):
    data = tmp_path / "data"
    done = kit("download", "--data", data, "--competition", "small", check=0)
    assert tree_of(data) == files
    assert "free on the disk" in done.stdout
    before = len(kaggle.log)
    again = kit("download", "--data", data, "--competition", "small", check=0)
    assert "complete already" in again.stdout
    assert len(kaggle.log) == before


def test_cut_at_random_positions_resumes_and_ends_byte_identical(kit, kaggle, archive, files, tmp_path):
    generator = random.Random(20)
    positions = sorted(generator.randrange(1, len(archive)) for _ in range(POINTS))
    for i, position in enumerate(positions):
        kaggle.competitions[f"cut-{i}"] = Competition(archive, faults=[Fault("cut", cut=position)])
    results = kit.steps(steps_for([f"cut-{i}" for i in range(POINTS)], tmp_path))
    for i, result in enumerate(results):
        competition = kaggle.competitions[f"cut-{i}"]
        assert result["status"] == 0, result["output"]
        assert competition.faults[0].times == 0, "the cut was not reached"
        assert tree_of(tmp_path / f"cut-{i}") == files
        assert (tmp_path / f"cut-{i}" / ".download" / f"cut-{i}.zip").read_bytes() == archive
        assert served(competition.log) < 2 * len(archive), "a cut download began anew"


def test_killed_while_fetching_goes_on_from_the_bytes_that_are_there(kit, kaggle, archive, files, tmp_path):
    generator = random.Random(21)
    limits = sorted(generator.randrange(1, len(archive)) for _ in range(POINTS))
    steps, names = [], [f"kill-{i}" for i in range(POINTS)]
    for name, limit in zip(names, limits, strict=True):
        kaggle.competitions[name] = Competition(archive)
        steps += steps_for([name], tmp_path, kill=["download", limit]) + steps_for([name], tmp_path)
    results = kit.steps(steps)
    for i, name in enumerate(names):
        killed, ended = results[2 * i:2 * i + 2]
        assert killed["status"] == -9
        assert ended["status"] == 0, ended["output"]
        assert tree_of(tmp_path / name) == files
        starts = range_starts(kaggle.competitions[name].log)
        last_fetch = [s for s in starts if s < limits[i] or s == starts[-1]][-1]
        assert last_fetch >= limits[i], "bytes that were on disk were fetched again"


def test_killed_while_unpacking_ends_complete_without_the_network(kit, kaggle, archive, files, tmp_path):
    generator = random.Random(22)
    total = sum(map(len, files.values()))
    limits = sorted(generator.randrange(1, total) for _ in range(POINTS))
    steps, names = [], [f"kill-{i}" for i in range(POINTS)]
    for name, limit in zip(names, limits, strict=True):
        kaggle.competitions[name] = Competition(archive)
        steps += steps_for([name], tmp_path, kill=["unpack", limit]) + steps_for([name], tmp_path)
    results = kit.steps(steps)
    for i, name in enumerate(names):
        killed, ended = results[2 * i:2 * i + 2]
        assert killed["status"] == -9
        assert ended["status"] == 0, ended["output"]
        assert tree_of(tmp_path / name) == files
        whole = [entry for entry in kaggle.competitions[name].log if entry["range"] and "bytes=0-" in entry["range"]]
        assert len(whole) == 1, "an archive that was here was fetched again"


@pytest.mark.parametrize("phase", ["download", "unpack"])
def test_killed_run_is_reported_as_incomplete_and_no_file_is_half(kit, kaggle, files, tmp_path, phase):
    data = tmp_path / "small"
    limit = sum(map(len, files.values())) // 2
    kit.steps(steps_for(["small"], tmp_path, kill=[phase, limit]))
    found = missing(data)
    assert found.status == "incomplete"
    assert "run python -m kit download" in found.text
    present = {name: data_ for name, data_ in tree_of(data).items() if not name.rpartition("/")[2].startswith(".")}
    assert all(files[name] == content for name, content in present.items())
    assert sorted(found.missing) == sorted(set(files) - set(present))
    assert not (data / "download.json").exists()


def test_killed_while_the_archive_is_deleted_on_the_go(kit, kaggle, files, tmp_path):
    total = sum(map(len, files.values()))
    for i in range(3):
        kaggle.competitions[f"kill-{i}"] = Competition(kaggle.competitions["small"].archive)
        argv = ["download", "--data", str(tmp_path / f"kill-{i}"), "--competition", f"kill-{i}", "--delete-archive"]
        killed, ended = kit.steps([{"argv": argv, "kill": ["unpack", total * (i + 1) // 4]}, {"argv": argv}])
        assert (killed["status"], ended["status"]) == (-9, 0), ended["output"]
        assert tree_of(tmp_path / f"kill-{i}") == files
        assert not (tmp_path / f"kill-{i}" / ".download").exists()


def test_archive_shrinks_while_it_is_deleted_on_the_go(kit, kaggle, archive, files, tmp_path):
    argv = ["download", "--data", str(tmp_path / "d"), "--competition", "small", "--delete-archive"]
    kit.steps([{"argv": argv, "kill": ["unpack", sum(map(len, files.values())) // 2]}])
    assert (tmp_path / "d" / ".download" / "small.zip").stat().st_size < 0.7 * len(archive)


def test_chosen_collections_fetch_only_their_part_of_the_archive(kit, kaggle, archive, files, tmp_path):
    kit("download", "--data", tmp_path / "d", "--competition", "small", "--collection", "tile:xla", check=0)
    wanted = {name for name in files if "/tile/xla/" in name or name == "sample_submission.csv"}
    assert tree_of(tmp_path / "d") == {name: files[name] for name in wanted}
    assert not (tmp_path / "d" / ".download").exists()
    kit("download", "--data", tmp_path / "d", "--competition", "small", "--collection", "layout:nlp:random", check=0)
    record = json.loads((tmp_path / "d" / "download.json").read_text(encoding="utf-8"))
    assert record["collections"] == ["layout:nlp:random", "tile:xla"]
    assert len(record["files"]) == len(tree_of(tmp_path / "d"))


def test_unknown_collection_is_refused_with_the_known_ones(kit, tmp_path):
    done = kit("download", "--data", tmp_path / "d", "--collection", "tile:nlp", check=1)
    assert "tile:nlp: no such collection; there are tile:xla, layout:xla:default" in done.stderr


def test_missing_and_damaged_files_are_fetched_alone(kit, kaggle, archive, files, tmp_path):
    data = tmp_path / "d"
    kit("download", "--data", data, "--competition", "small", "--delete-archive", check=0)
    gone, flipped = [name for name in files if "/xla/default/" in name][::6]
    (data / gone).unlink()
    damaged = bytearray(files[flipped])
    damaged[100] ^= 1
    (data / flipped).write_bytes(damaged)
    assert missing(data).missing == [gone]
    kaggle.competitions["small"].log.clear()
    kit("download", "--data", data, "--competition", "small", "--verify", check=0)
    assert tree_of(data) == files
    jumps = [s for s in range_starts(kaggle.competitions["small"].log) if s < len(archive) - 70_000]
    assert len(jumps) == 2, "only the two files should have been read"


def test_member_damaged_on_its_way_is_fetched_again_alone(kit, kaggle, archive, files, tmp_path):
    kill = {"kill": ["download", len(archive)]}
    kit.steps(steps_for(["small"], tmp_path, **kill))
    partial = tmp_path / "small" / ".download" / "small.zip.partial"
    broken = bytearray(partial.read_bytes())
    broken[len(broken) // 2] ^= 0xFF
    partial.write_bytes(broken[:len(archive) - 1000])
    (result,) = kit.steps(steps_for(["small"], tmp_path))
    assert result["status"] == 0, result["output"]
    assert "damaged on its way" in result["output"]
    assert tree_of(tmp_path / "small") == files


def test_archive_replaced_on_the_server_is_not_mixed_with_the_old_one(kit, kaggle, archive, tmp_path):
    kit.steps(steps_for(["small"], tmp_path, kill=["download", len(archive) // 2]))
    other = {"npz_all/npz/tile/xla/train/new.npz": npz_of(3)}
    kaggle.competitions["small"].archive, kaggle.competitions["small"].etag = zipped(other), '"two"'
    (result,) = kit.steps(steps_for(["small"], tmp_path))
    assert result["status"] == 0, result["output"]
    assert "older archive" in result["output"]
    assert tree_of(tmp_path / "small") == other


def npz_of(seed):
    """A small npz file."""
    return npz(np.random.default_rng(seed), 5000)


def test_server_without_ranges_is_served_from_the_start(kit, kaggle, files, tmp_path):
    kaggle.competitions["small"].ranges = False
    kit("download", "--data", tmp_path / "d", "--competition", "small", check=0)
    assert tree_of(tmp_path / "d") == files


def test_expired_address_is_asked_for_anew_and_its_error_body_not_kept(kit, kaggle, archive, files, tmp_path):
    competition, half = kaggle.competitions["small"], len(archive) // 2
    competition.faults = [Fault("cut", cut=half),
                          Fault("blob", status=403, body="<Error>ExpiredToken</Error>", window=(1, half))]
    kit("download", "--data", tmp_path / "d", "--competition", "small", check=0)
    assert tree_of(tmp_path / "d") == files
    assert sum(entry["kind"] == "DownloadDataFiles" for entry in competition.log) == 2


def test_archive_fetched_by_browser_is_unpacked_and_kept(kit, kaggle, archive, files, tmp_path):
    (tmp_path / "Downloads").mkdir()
    zip_file = tmp_path / "Downloads" / "predict-ai-model-runtime.zip"
    zip_file.write_bytes(archive)
    kit("download", "--data", tmp_path / "a", "--source", zip_file, check=0)
    assert tree_of(tmp_path / "a") == files
    kit("download", "--data", tmp_path / "b", "--source", zip_file.parent, check=0)
    assert tree_of(tmp_path / "b") == files
    assert zip_file.read_bytes() == archive
    assert not kaggle.log


def test_browser_download_that_was_cut_short_is_refused(kit, archive, tmp_path):
    zip_file = tmp_path / "half.zip"
    zip_file.write_bytes(archive[:len(archive) // 2])
    done = kit("download", "--data", tmp_path / "d", "--source", zip_file, check=1)
    assert "half.zip: is no complete zip archive" in done.stderr
    assert not tree_of(tmp_path / "d")


def test_unpacked_tree_is_used_where_it_lies(kit, kaggle, files, tmp_path):
    for name, content in files.items():
        path = tmp_path / "input" / "predict-ai-model-runtime" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    done = kit("download", "--data", tmp_path / "d", "--source", tmp_path / "input", check=0)
    assert f"pass it as --data {tmp_path}/input/predict-ai-model-runtime" in done.stdout
    assert "tile:xla train: 4 of 5709 published files" in done.stdout
    assert not (tmp_path / "d").exists() and not kaggle.log


def test_attached_data_in_a_notebook_are_found(files, tmp_path, monkeypatch):
    path = tmp_path / "competitions" / "predict-ai-model-runtime" / next(n for n in files if "tile" in n)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    monkeypatch.setattr(kit.download, "KAGGLE_INPUT", tmp_path)
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Batch")
    said = []
    tree = kit.download.download(tmp_path / "d", say=said.append)
    assert tree == tmp_path / "competitions" / "predict-ai-model-runtime"
    assert any("nothing to fetch" in text for text in said)


@pytest.fixture
def tars(files, tmp_path):
    """The authors' tar files: one a collection and split, members below ``npz/``."""
    folder = tmp_path / "tars"
    folder.mkdir()
    for collection in COLLECTIONS.values():
        for split in SPLITS:
            inside = {name.removeprefix("npz_all/"): content for name, content in files.items()
                      if f"/{collection.folder.as_posix()}/{split}/" in name}
            (folder / f"npz_{collection.name.replace(':', '_')}_{split}.tar").write_bytes(tar_of(inside))
    return folder


def test_tar_files_from_a_folder(kit, kaggle, files, tars, tmp_path):
    expected = {n.removeprefix("npz_all/"): c for n, c in files.items() if n.endswith(".npz")}
    for _ in range(2):
        kit("download", "--data", tmp_path / "d", "--source", "tar", "--from", tars, check=0)
        assert tree_of(tmp_path / "d") == expected
    assert not kaggle.log


def test_tar_files_of_one_collection_from_a_url(kit, kaggle, files, tars, tmp_path):
    for path in tars.glob("npz_tile_xla_*.tar"):
        kaggle.competitions[path.name] = Competition(path.read_bytes(), faults=[Fault("cut", cut=9000)])
    done = kit("download", "--data", tmp_path / "d", "--collection", "tile:xla", "--source", "tar", "--from",
               "http://authors.stand-in.test", check=0)
    assert set(tree_of(tmp_path / "d")) == {n.removeprefix("npz_all/") for n in files if "/tile/" in n}
    assert not (tmp_path / "d" / ".download").exists(), done.stdout


def test_tar_folder_that_lacks_a_file_names_it(kit, tars, tmp_path):
    (tars / "npz_layout_nlp_random_valid.tar").unlink()
    done = kit("download", "--data", tmp_path / "d", "--source", "tar", "--from", tars, check=1)
    assert "holds no npz_layout_nlp_random_valid.tar" in done.stderr


def test_truncated_tar_is_refused(kit, tars, tmp_path):
    path = tars / "npz_tile_xla_test.tar"
    path.write_bytes(path.read_bytes()[:100_000])
    done = kit("download", "--data", tmp_path / "d", "--source", path, check=1)
    assert "npz_tile_xla_test.tar: is no complete tar file" in done.stderr


def test_damaged_npz_in_a_tar_is_refused(kit, tars, tmp_path):
    path = tars / "npz_tile_xla_test.tar"
    with tarfile.open(path) as tar:
        info = next(iter(tar))
        middle = info.offset_data + info.size // 2
    content = bytearray(path.read_bytes())
    content[middle] ^= 0xFF
    path.write_bytes(content)
    done = kit("download", "--data", tmp_path / "d", "--source", path, check=1)
    assert f"member '{info.name}' is damaged" in done.stderr
    assert not tree_of(tmp_path / "d")


def test_network_share_of_token_is_only_with_kaggle(kit, kaggle, tmp_path):
    kit("download", "--data", tmp_path / "d", "--competition", "small", check=0)
    hosts = {entry["host"] for entry in kaggle.log if entry["authorization"]}
    assert hosts == {"localhost"}
    assert TOKEN not in (tmp_path / "d" / "download.json").read_text(encoding="utf-8")
