"""The bundle, and the notebook that runs on Kaggle with it: offline, from read-only input, in another folder."""

import json
import os
import zipfile

import nbformat
import pytest
from nbclient import NotebookClient

from evaluation.collections import graph_files
from evaluation.errors import InputError
from kit.bundle import NOTEBOOK, OWNER, bundle
from tests.builders import save_data_set
from tests.with_kaggle.archives import KEY

QUIET = {"wheels": (), "say": lambda text: None}
NOTEBOOK_FILE = "fast_or_slow_gbdt.ipynb"


def everything(folder):
    """Relative path -> bytes."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_bundle_holds_the_kit_and_nothing_that_is_not_source(tmp_path):
    bundle(tmp_path / "b", user="somebody", **QUIET)
    names = set(everything(tmp_path / "b" / "dataset"))
    assert {"kit/__main__.py", "evaluation/tracks.py", "requirements.txt", "LICENSE"} <= names
    assert not [name for name in names if "__pycache__" in name or name.endswith(".pyc") or "/." in name]
    assert set(os.listdir(tmp_path)) == {"b"}


def test_user_name_goes_into_both_metadata_files(tmp_path):
    bundle(tmp_path / "b", user="somebody", **QUIET)
    dataset = json.loads((tmp_path / "b" / "dataset" / "dataset-metadata.json").read_text(encoding="utf-8"))
    kernel = json.loads((tmp_path / "b" / "notebook" / "kernel-metadata.json").read_text(encoding="utf-8"))
    assert dataset["id"] == "somebody/fast-or-slow-kit"
    assert kernel["dataset_sources"] == [dataset["id"]]
    assert kernel["id"].partition("/")[0] == "somebody"


def test_user_name_comes_from_the_credentials_or_is_asked_for(kit, home, tmp_path):
    done = kit("bundle", "--out", tmp_path / "b", "--no-wheels", check=1)
    assert "give --user NAME" in done.stderr
    env = {"KAGGLE_USERNAME": "tester", "KAGGLE_KEY": KEY}
    (home / ".kaggle" / "access_token").unlink()
    kit("bundle", "--out", tmp_path / "b", "--no-wheels", env=env, check=0)
    assert '"tester/fast-or-slow-kit"' in (tmp_path / "b" / "dataset" / "dataset-metadata.json").read_text()


def test_earlier_bundle_is_replaced_and_anything_else_kept(tmp_path):
    for name in ("one", "two"):
        bundle(tmp_path / "b", user=name, **QUIET)
    assert '"two/' in (tmp_path / "b" / "dataset" / "dataset-metadata.json").read_text(encoding="utf-8")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(InputError, match="is no bundle"):
        bundle(tmp_path / "mine", user="two", **QUIET)
    assert os.listdir(tmp_path / "mine") == ["thesis.tex"]


def wheel(folder, name="highspy", version="1.0"):
    """A wheel that pip takes for a real one."""
    folder.mkdir()
    path, info = folder / f"{name}-{version}-py3-none-any.whl", f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}.py", "")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return path


def test_wheels_come_along(tmp_path, monkeypatch):
    path = wheel(tmp_path / "index")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(path.parent))
    bundle(tmp_path / "b", user="somebody", pythons=("3.11",), say=lambda text: None)
    assert (tmp_path / "b" / "dataset" / "wheels" / path.name).read_bytes() == path.read_bytes()


def test_wheels_that_cannot_be_had_leave_no_half_bundle(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(InputError, match="--no-wheels"):
        bundle(tmp_path / "b", user="somebody", say=lambda text: None)
    assert not list(tmp_path.iterdir())


def test_notebook_is_committed_without_outputs_or_names():
    text = (NOTEBOOK / NOTEBOOK_FILE).read_text(encoding="utf-8")
    for cell in json.loads(text)["cells"]:
        assert not cell.get("outputs") and cell.get("execution_count") is None
    kernel = json.loads((NOTEBOOK / "kernel-metadata.json").read_text(encoding="utf-8"))
    assert kernel["id"].startswith(OWNER)
    assert kernel["code_file"] == NOTEBOOK_FILE
    assert kernel["enable_internet"] is False
    assert kernel["competition_sources"] == ["predict-ai-model-runtime"]


@pytest.mark.slow
@pytest.mark.parametrize("depth", ["", "datasets/somebody"])
def test_notebook_runs_offline_from_attached_input(tmp_path, monkeypatch, depth):
    attached, work = tmp_path / "input", tmp_path / "working"
    data = attached / ("competitions" if depth else "") / "predict-ai-model-runtime"
    save_data_set(data, layouts=("layout:xla:default", "layout:nlp:random"))
    bundle(tmp_path / "b", user="somebody", **QUIET)
    kit = attached / ("datasets/somebody" if depth.startswith("datasets") else "") / "fast-or-slow-kit"
    kit.parent.mkdir(parents=True, exist_ok=True)
    os.replace(tmp_path / "b" / "dataset", kit)
    work.mkdir()
    for folder in [attached, *(path for path in attached.rglob("*") if path.is_dir())]:
        folder.chmod(0o555)
    before = everything(attached)
    dead = "http://127.0.0.1:9"
    monkeypatch.delenv("PYTHONPATH", raising=False)
    for name, value in {"KIT_INPUT": attached, "KIT_WORK": work, "KIT_STEPS": 5, "KAGGLE_KERNEL_RUN_TYPE": "Batch",
                        "HTTP_PROXY": dead, "HTTPS_PROXY": dead, "PYTHONDONTWRITEBYTECODE": 1,
                        "XDG_CACHE_HOME": tmp_path / "cache", "NUMBA_CACHE_DIR": tmp_path / "numba",
                        "IPYTHONDIR": tmp_path / "ipython"}.items():
        monkeypatch.setenv(name, str(value))
    notebook = nbformat.read(tmp_path / "b" / "notebook" / NOTEBOOK_FILE, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(work)}}).execute()
    assert f"kit from {kit}" in notebook.cells[1].outputs[0].text
    rows = (work / "submission.csv").read_text(encoding="utf-8").splitlines()
    root = data / "npz_all" / "npz"
    assert len(rows) == 1 + sum(len(graph_files(root, name, "test")) for name in
                                ("tile:xla", "layout:xla:default", "layout:nlp:random"))
    assert everything(attached) == before, "input on Kaggle is read-only"
