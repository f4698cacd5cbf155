"""The verbs `store` and `plan` from the command line."""

from argparse import ArgumentTypeError

import pytest

from kit.commands.common import memory
from tests.builders import save_data_set


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return save_data_set(tmp_path_factory.mktemp("command") / "data", train=1)


def made(folder):
    """{relative path: bytes} of the graphs and tables of the one store below a folder."""
    root, = folder.iterdir()
    return {f.relative_to(root).as_posix(): f.read_bytes() for f in sorted(root.rglob("*")) if f.is_file()}


def test_processes_and_dask_workers_make_the_same_store(run_module, data, tmp_path):
    pytest.importorskip("distributed")
    for name, options in (("alone", ("--workers", 1)), ("processes", ("--workers", 2)), ("dask", ("--cluster", "2"))):
        done = run_module("kit", "store", "--data", data, *options, check=0, env={"KIT_STORE": str(tmp_path / name)})
        assert "store of 6 graphs: " in done.stdout
    assert made(tmp_path / "alone") == made(tmp_path / "processes") == made(tmp_path / "dask")


@pytest.mark.parametrize("verb", ["store", "plan"])
def test_a_wrong_folder_is_a_clear_error(run_module, tmp_path, verb):
    done = run_module("kit", verb, "--data", tmp_path / "none", check=1)
    assert done.stderr.startswith("error: ") and str(tmp_path / "none") in done.stderr
    assert "Traceback" not in done.stderr and not done.stdout


def test_a_damaged_file_is_named(run_module, tmp_path):
    data = save_data_set(tmp_path / "data")
    file = next(data.glob("npz_all/npz/layout/xla/default/valid/*.npz"))
    file.write_bytes(file.read_bytes()[:200])
    done = run_module("kit", "store", "--data", data, "--workers", 1, check=1)
    assert file.name in done.stderr and "Traceback" not in done.stderr


def test_a_data_set_without_files_is_a_clear_error(run_module, tmp_path):
    (tmp_path / "npz" / "tile" / "xla" / "train").mkdir(parents=True)
    done = run_module("kit", "store", "--data", tmp_path, "--workers", 1, check=1)
    assert "no files" in done.stderr and not (tmp_path / ".store").exists()


@pytest.mark.parametrize("amount", ["banana", "-1GB", "10MB"])
def test_memory_that_is_none_or_too_little_is_refused(amount):
    with pytest.raises(ArgumentTypeError, match="500MB|8GB"):
        memory(amount)


def test_what_is_no_cluster_is_wrong_usage(run_module, data):
    assert "--cluster" in run_module("kit", "store", "--data", data, "--cluster", "x", check=2).stderr
