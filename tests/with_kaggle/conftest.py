"""A stand-in Kaggle, an archive to fetch from it, and runners that let no fake token pass."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from archives import KEY, REFRESH, SECRETS, TOKEN, make_archive, zipped
from kaggle_server import Competition, StandIn

REPOSITORY = Path(__file__).resolve().parents[2]
DRIVER = Path(__file__).with_name("driver.py")


@pytest.fixture(scope="session")
def files():
    """Name -> bytes of what the archive holds."""
    return make_archive()


@pytest.fixture(scope="session")
def archive(files):
    """The archive itself."""
    return zipped(files)


@pytest.fixture
def kaggle(archive):
    """A stand-in Kaggle with one competition, ``small``, that accepts one token and one key."""
    server = StandIn({TOKEN}, {"tester": KEY})
    server.competitions["small"] = Competition(archive)
    server.refresh_tokens[REFRESH] = TOKEN
    yield server
    server.close()


@pytest.fixture
def home(tmp_path):
    """A home folder with a token in it and nothing else."""
    folder = tmp_path / "home"
    (folder / ".kaggle").mkdir(parents=True)
    (folder / ".kaggle" / "access_token").write_text(TOKEN + "\n", encoding="utf-8")
    (folder / ".kaggle" / "access_token").chmod(0o600)
    return folder


class Runner:
    """Runs the kit against the stand-in, and keeps everything it prints for the search for tokens."""

    def __init__(self, server, home):
        self.server, self.home, self.outputs = server, home, []

    def environment(self, extra):
        """The environment of the process, with nothing of the developer's own Kaggle settings."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith("KAGGLE_") and "proxy" not in k.lower()}
        found = {**clean, "PYTHONPATH": str(REPOSITORY), "PYTHONUTF8": "1", "OMP_NUM_THREADS": "1",
                 **self.server.environment(self.home), **(extra or {})}
        return {k: v for k, v in found.items() if v is not None}

    def __call__(self, *arguments, env=None, check=None, timeout=120):
        """``python -m kit ARGUMENTS`` in a process of its own."""
        done = subprocess.run([sys.executable, "-m", "kit", *map(str, arguments)], check=False,
                              capture_output=True, text=True, encoding="utf-8", timeout=timeout, cwd=REPOSITORY,
                              env=self.environment(env))
        self.outputs.append(done.stdout + done.stderr)
        assert "Traceback" not in done.stderr, done.stderr
        if check is not None:
            assert done.returncode == check, f"exit status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def steps(self, steps, timeout=300):
        """Many commands through ``driver.py``: results with ``status`` and ``output``."""
        done = subprocess.run([sys.executable, DRIVER], input=json.dumps(steps), check=False, capture_output=True,
                              text=True, encoding="utf-8", timeout=timeout, cwd=REPOSITORY,
                              env=self.environment(None))
        assert done.returncode == 0, done.stderr
        results = json.loads(done.stdout)
        self.outputs += [done.stderr, *(one["output"] for one in results)]
        return results


@pytest.fixture
def kit(kaggle, home, tmp_path):
    """A `Runner`; when the test is over, no fake token may be in anything that was printed or written."""
    runner = Runner(kaggle, home)
    yield runner
    own = home.resolve()
    written = [path.read_bytes() for path in tmp_path.rglob("*")
               if path.is_file() and own not in path.resolve().parents and path.stat().st_size < 1 << 20]
    for secret in SECRETS:
        assert not any(secret in text for text in runner.outputs), f"{secret[:8]}... was printed"
        assert not any(secret.encode() in data for data in written), f"{secret[:8]}... was written to a file"
    assert not [r for r in kaggle.log if r["host"] != "localhost" and r["authorization"]], "token sent to storage"
