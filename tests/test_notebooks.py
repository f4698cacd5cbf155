"""Every notebook runs from start to end on a small budget, and is committed without outputs."""

import json
import os

import nbformat
import pytest
from nbclient import NotebookClient

from tests.conftest import REPOSITORY

NOTEBOOKS = sorted((REPOSITORY / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_has_no_outputs(path):
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_runs(path, tmp_path, monkeypatch, sample_data):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "sample").symlink_to(sample_data, target_is_directory=True)
    for name, value in {"KIT_WORK": tmp_path, "KIT_STEPS": 20, "PYTHONPATH": REPOSITORY, "MPLBACKEND": "agg",
                        "IPYTHONDIR": tmp_path / "ipython"}.items():
        monkeypatch.setitem(os.environ, name, str(value))
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}})
    client.execute()
