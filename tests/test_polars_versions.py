"""The kit under polars 1.x, which Kaggle's image may carry: ``make test-polars1`` installs one and runs this.

KIT_POLARS1 is a folder made by ``python -m pip install --target FOLDER 'polars<2'``; without it the tests are skipped.
"""

import os
import subprocess
import sys

import polars as pl
import pytest

from tests.builders import save_data_set
from tests.conftest import REPOSITORY

TABLES = """
import hashlib, sys
import polars as pl
from evaluation.collections import COLLECTIONS
from kit.features import layout, tile
from kit.graphs import Graphs
print(pl.__version__)
for name, collection in COLLECTIONS.items():
    module = tile if collection.kind == "tile" else layout
    for split in ("train", "valid", "test"):
        for graph in Graphs(sys.argv[1], name, split):
            for features in ("physical", "wide"):
                table = module.table(graph, features)
                digest = hashlib.sha256(repr(table.schema).encode())
                for column in table.columns:
                    digest.update(table[column].to_numpy().tobytes() if column != "graph_id" else graph.id.encode())
                print(graph.id, features, digest.hexdigest())
"""


@pytest.fixture
def older():
    """Environment of a process that finds polars 1.x first."""
    folder = os.environ.get("KIT_POLARS1")
    if not folder:
        pytest.skip("KIT_POLARS1 is unset: run make test-polars1")
    path = os.pathsep.join([os.path.abspath(folder), str(REPOSITORY)])
    return {**os.environ, "PYTHONPATH": path, "PYTHONUTF8": "1"}


def run(arguments, environment):
    """Run Python from the repository's root."""
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, encoding="utf-8", check=False,
                          cwd=REPOSITORY, env=environment)


def test_feature_tables_are_the_same_to_the_last_bit(older, tmp_path):
    data = save_data_set(tmp_path / "set", layouts=("layout:xla:default", "layout:nlp:random"))
    ours = {**older, "PYTHONPATH": str(REPOSITORY)}
    outputs = [run(["-c", TABLES, str(data)], environment) for environment in (ours, older)]
    assert not any(done.returncode for done in outputs), outputs
    (version, *now), (version1, *then) = [done.stdout.splitlines() for done in outputs]
    assert version == pl.__version__ and version1.startswith("1.")
    assert len(now) == 2 * 15 and now == then


def test_feature_training_and_submission_tests_pass(older):
    done = run(["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/features", "tests/models", "tests/test_runs.py",
                "tests/evaluation"], older)
    assert done.returncode == 0, done.stdout[-3000:]
