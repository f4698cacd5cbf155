"""Downloads: whole, cut, killed, in part, repaired; from Kaggle and from what is there already."""

import json
import random
import re
import shutil
import tarfile

import numpy as np
import pytest

import kit.download
from evaluation.collections import COLLECTIONS, SPLITS
from kit.download import missing
from kit.inspect import inspect
from tests.builders import save_data_set
from tests.kaggle_server import Competition, Fault
from tests.with_kaggle.archives import TOKEN, npz, tar_of, tree_of, zipped

POINTS = 20


def range_starts(log):
    """First byte of each ranged request to storage, in order."""
    return [int(re.match(r"bytes=(\d+)-", entry["range"])[1]) for entry in log
            if entry["kind"] == "blob" and entry["range"]]


def served(log):
    """Bytes that storage sent in answer to ranged requests."""
    return sum(entry["sent"] for entry in log if entry["kind"] == "blob" and entry["range"])


@pytest.fixture
def fetch(kit, tmp_path):
    """Download a competition of the stand-in into a folder of the same name."""
    def run(name="small", *more, **options):
        return kit("download", "--data", tmp_path / name, "--competition", name, *more, **options)

    return run


def test_whole_archive_lands_byte_identical_and_is_on_record(kit, kaggle, files, tmp_path):
    data = tmp_path / "data"
    done = kit.process("download", "--data", data, "--competition", "small", check=0)
    assert tree_of(data) == files
    assert "free on the disk" in done.stdout
    before = len(kaggle.log)
    again = kit("download", "--data", data, "--competition", "small", check=0)
    assert "complete already" in again.stdout
    assert len(kaggle.log) == before


def test_cut_at_random_positions_resumes_and_ends_byte_identical(fetch, kaggle, archive, files, tmp_path):
    generator = random.Random(20)
    for i in range(POINTS):
        competition = Competition(archive, faults=[Fault("cut", cut=generator.randrange(1, len(archive)))])
        kaggle.competitions["cut"] = competition
        fetch("cut", check=0)
        assert competition.faults[0].times == 0, "the cut was not reached"
        assert tree_of(tmp_path / "cut") == files
        assert (tmp_path / "cut" / ".download" / "cut.zip").read_bytes() == archive
        assert served(competition.log) < 2 * len(archive), "a cut download began anew"
        shutil.move(tmp_path / "cut", tmp_path / f"done-{i}")


def test_killed_while_fetching_goes_on_from_the_bytes_that_are_there(fetch, kaggle, archive, files, tmp_path):
    generator = random.Random(21)
    for i in range(POINTS):
        limit = generator.randrange(1, len(archive))
        kaggle.competitions["kill"] = competition = Competition(archive)
        fetch("kill", kill=["download", limit])
        here = (tmp_path / "kill" / ".download" / "kill.zip.partial").stat().st_size
        assert here >= limit
        competition.log.clear()
        fetch("kill", check=0)
        assert tree_of(tmp_path / "kill") == files
        assert min(range_starts(competition.log)) >= here, "bytes that were on disk were fetched again"
        shutil.move(tmp_path / "kill", tmp_path / f"done-{i}")


def test_killed_while_unpacking_ends_complete_without_the_network(fetch, kaggle, files, tmp_path):
    generator = random.Random(22)
    total = sum(map(len, files.values()))
    for i in range(POINTS):
        fetch(kill=["unpack", generator.randrange(1, total)])
        before = len(kaggle.log)
        fetch(check=0)
        assert len(kaggle.log) == before, "an archive that was here was asked for again"
        assert tree_of(tmp_path / "small") == files
        shutil.move(tmp_path / "small", tmp_path / f"done-{i}")


def test_killed_while_unpacking_from_afar_fetches_no_finished_file_again(fetch, kaggle, files, tmp_path):
    generator = random.Random(23)
    wanted = {name: data for name, data in files.items() if "/layout/" not in name}
    total = sum(map(len, wanted.values()))
    for i in range(3):
        fetch("small", "--collection", "tile:xla", kill=["unpack", generator.randrange(1, total)])
        there = list((tmp_path / "small").rglob("*.npz"))
        log = kaggle.competitions["small"].log
        log.clear()
        fetch("small", "--collection", "tile:xla", check=0)
        assert tree_of(tmp_path / "small") == wanted
        assert min(range_starts(log)) >= sum(path.stat().st_size for path in there)
        shutil.move(tmp_path / "small", tmp_path / f"done-{i}")


@pytest.mark.parametrize("phase", ["download", "unpack"])
def test_killed_run_is_reported_as_incomplete_and_no_file_is_half(fetch, files, tmp_path, phase):
    fetch(kill=[phase, sum(map(len, files.values())) // 2])
    found = missing(tmp_path / "small")
    assert found.status == "incomplete"
    assert "run python -m kit download" in found.text
    present = {name: data for name, data in tree_of(tmp_path / "small").items() if not name.endswith(".part")}
    assert all(files[name] == content for name, content in present.items())
    assert sorted(found.missing) == sorted(set(files) - set(present))
    assert not (tmp_path / "small" / "download.json").exists()
    assert inspect(tmp_path / "small") == found.text


def test_archive_that_is_deleted_on_the_go_shrinks_and_survives_kills(fetch, archive, files, tmp_path):
    total = sum(map(len, files.values()))
    for part in (0.3, 0.6):
        fetch("small", "--delete-archive", kill=["unpack", int(part * total)])
        size = (tmp_path / "small" / ".download" / "small.zip").stat().st_size
        assert size < (1.1 - part) * len(archive) + 2_000_000, "the largest member is 2 MB"
    fetch("small", "--delete-archive", check=0)
    assert tree_of(tmp_path / "small") == files
    assert not (tmp_path / "small" / ".download").exists()


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


def test_member_damaged_on_its_way_is_fetched_again_alone(fetch, archive, files, tmp_path):
    fetch(kill=["download", len(archive)])
    partial = tmp_path / "small" / ".download" / "small.zip.partial"
    broken = bytearray(partial.read_bytes())
    broken[len(broken) // 2] ^= 0xFF
    partial.write_bytes(broken[:len(archive) - 1000])
    assert "damaged on its way" in fetch(check=0).stdout
    assert tree_of(tmp_path / "small") == files


def test_archive_replaced_on_the_server_is_not_mixed_with_the_old_one(fetch, kaggle, archive, tmp_path):
    fetch(kill=["download", len(archive) // 2])
    other = {"npz_all/npz/tile/xla/train/new.npz": npz_of(3)}
    kaggle.competitions["small"].archive, kaggle.competitions["small"].etag = zipped(other), '"two"'
    assert "older archive" in fetch(check=0).stdout
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


def test_inspect_names_the_files_that_are_missing(kit, tmp_path):
    source = tmp_path / "mine.zip"
    data = save_data_set(tmp_path / "set")
    source.write_bytes(zipped(tree_of(data)))
    kit("download", "--data", tmp_path / "d", "--source", source, check=0)
    assert "complete: 10 files from" in inspect(tmp_path / "d")
    gone = "npz_all/npz/tile/xla/train/graph.train.1.npz"
    (tmp_path / "d" / gone).unlink()
    assert f"1 of 10 files from {source} are missing or have another size: {gone}; run" in inspect(tmp_path / "d")
