"""Fixtures shared by all tests."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def real_data():
    """The folder with real inputs; the test is skipped where KIT_REAL_DATA is unset."""
    folder = os.environ.get("KIT_REAL_DATA")
    if not folder:
        pytest.skip("KIT_REAL_DATA is unset: no real inputs to read")
    return Path(folder).resolve()


@pytest.fixture(scope="session")
def run_module():
    """Run ``python -m MODULE ARGUMENTS`` in a process of its own, from the repository's root."""

    def run(module, *arguments, check=None, timeout=600, env=None, cwd=None):
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "PYTHONUTF8": "1", **(env or {})}
        done = subprocess.run([sys.executable, "-m", module, *map(str, arguments)], check=False, text=True,
                              encoding="utf-8", capture_output=True, timeout=timeout, cwd=cwd or REPOSITORY,
                              env=environment)
        if check is not None:
            assert done.returncode == check, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return run


@pytest.fixture(scope="session")
def sample_data(tmp_path_factory):
    """The small embedded sample, made once for all worker processes; tests only read it."""
    from evaluation.lock import locked
    from kit import sample

    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "sample"
    with locked(folder.with_suffix(".lock")):
        if not (folder / "dataset.json").exists():
            sample.write(folder, workers=1)
    return folder
