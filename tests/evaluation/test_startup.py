"""The judge stands alone and starts at once."""

import ast
import subprocess
import sys

import pytest

from tests.conftest import REPOSITORY

HEAVY = ("torch", "lightgbm", "kaggle", "scipy", "polars", "numba", "sklearn", "matplotlib")


def test_evaluation_imports_nothing_of_kit():
    for path in sorted((REPOSITORY / "evaluation").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else \
                [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(name.split(".")[0] == "kit" for name in names), f"{path}: line {node.lineno}"


@pytest.mark.parametrize("module", ["evaluation", "kit"])
def test_help_starts_without_heavy_packages(module):
    code = (f"import runpy, sys; sys.argv = ['{module}', '--help']\n"
            f"try: runpy.run_module('{module}', run_name='__main__')\n"
            f"except SystemExit as end: assert not end.code\n"
            f"assert not set({HEAVY!r}) & set(sys.modules), set({HEAVY!r}) & set(sys.modules)")
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "usage: python -m" in done.stdout


def test_scoring_loads_no_heavy_package(tiny, submission, perfect):
    path = submission(perfect)
    code = f"import sys; from evaluation.__main__ import VERBS, main\n" \
           f"main('e', VERBS, '', ['score', {str(path)!r}, '--data', {str(tiny)!r}, '--json'])\n" \
           f"assert not set({HEAVY!r}) & set(sys.modules), set({HEAVY!r}) & set(sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
