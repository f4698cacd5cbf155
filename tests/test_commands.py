"""Start-up, exit statuses, and what importing costs."""

import subprocess
import sys

import pytest

from kit.__main__ import VERBS
from tests.builders import save_data_set
from tests.conftest import REPOSITORY

HEAVY = ("torch", "lightgbm", "kaggle", "sklearn", "numba", "matplotlib")


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_of_a_verb_imports_nothing_heavy(verb):
    script = (f"import sys; from kit.__main__ import VERBS; from evaluation.cli import main\n"
              f"try: main('kit', VERBS, '', ['{verb}', '--help'])\n"
              f"except SystemExit as end: assert end.code == 0\n"
              f"print('heavy:', *[m for m in {HEAVY!r} if m in sys.modules])")
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=REPOSITORY, check=True)
    assert done.stdout.splitlines()[-1] == "heavy:"


@pytest.mark.parametrize("arguments", [[], ["fly"], ["train"], ["train", "--model", "gbdt", "--data", "x", "--run", "y",
                                                                "--seeds", "0"]])
def test_wrong_usage_ends_with_2(run_module, arguments):
    done = run_module("kit", *arguments, check=2)
    assert "usage: python -m kit" in done.stderr


def test_wrong_input_ends_with_1_and_no_traceback(run_module, tmp_path):
    done = run_module("kit", "inspect", tmp_path / "none", check=1)
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


def test_from_data_to_a_scored_submission(run_module, tmp_path):
    data = save_data_set(tmp_path / "data")
    run_module("kit", "train", "--model", "tests.fake_ranker:SumRanker", "--data", data, "--run", tmp_path / "run",
               check=0)
    done = run_module("kit", "predict", "--run", tmp_path / "run", "--data", data, "--split", "valid",
                      "--out", tmp_path / "entries/a", check=0)
    assert "next: python -m evaluation score" in done.stdout
    done = run_module("evaluation", "score", tmp_path / "entries/a/submission.csv", "--data", data, "--split", "valid",
                      check=0)
    assert "tile:xla" in done.stdout
