"""A stand-in Kaggle, an archive to fetch from it, and runners that let no fake token pass."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kaggle_server import Competition, StandIn
from tests.with_kaggle.archives import KEY, REFRESH, SECRETS, TOKEN, make_archive, zipped

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


@pytest.fixture(scope="session")
def driver():
    """A process that runs commands of the kit in forked children: see ``driver.py``."""
    process = subprocess.Popen([sys.executable, DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               encoding="utf-8", cwd=REPOSITORY, env={**os.environ, "PYTHONPATH": str(REPOSITORY)})
    yield process
    process.stdin.close()
    process.wait(20)


class Runner:
    """Runs the kit against the stand-in, and keeps everything it prints for the search for tokens."""

    def __init__(self, server, home, driver):
        self.server, self.home, self.driver, self.outputs = server, home, driver, []

    def environment(self, extra=None):
        """The environment of the command, with nothing of the developer's own Kaggle settings."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith("KAGGLE_") and "proxy" not in k.lower()}
        found = {**clean, "PYTHONPATH": str(REPOSITORY), "PYTHONUTF8": "1", "OMP_NUM_THREADS": "1",
                 **self.server.environment(self.home), **(extra or {})}
        return {k: v for k, v in found.items() if v is not None}

    def _kept(self, command, done, check):
        self.outputs.append(done.stdout + done.stderr)
        assert "Traceback" not in done.stderr, done.stderr
        if check is not None:
            assert done.returncode == check, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def __call__(self, *arguments, env=None, check=None, kill=None):
        """``python -m kit ARGUMENTS`` in a forked child of the driver; `kill` is a phase and a count of bytes."""
        argv = [str(one) for one in arguments]
        step = {"argv": argv, "env": self.environment(env), "kill": kill}
        print(json.dumps(step), file=self.driver.stdin, flush=True)
        result = json.loads(self.driver.stdout.readline())
        done = subprocess.CompletedProcess(argv, result["status"], result["stdout"], result["stderr"])
        return self._kept(argv, done, -9 if kill and check is None else check)

    def process(self, *arguments, env=None, check=None):
        """The same in a fresh interpreter, as a user starts it."""
        done = subprocess.run([sys.executable, "-m", "kit", *map(str, arguments)], check=False,
                              capture_output=True, text=True, encoding="utf-8", timeout=120, cwd=REPOSITORY,
                              env=self.environment(env))
        return self._kept(arguments, done, check)


@pytest.fixture
def kit(kaggle, home, driver, tmp_path):
    """A `Runner`; when the test is over, no fake token may be in anything that was printed or written."""
    runner = Runner(kaggle, home, driver)
    yield runner
    own = home.resolve()
    written = [path.read_bytes() for path in tmp_path.rglob("*")
               if path.is_file() and own not in path.resolve().parents and path.stat().st_size < 1 << 20]
    for secret in SECRETS:
        assert not any(secret in text for text in runner.outputs), f"{secret[:8]}... was printed"
        assert not any(secret.encode() in data for data in written), f"{secret[:8]}... was written to a file"
    assert not [r for r in kaggle.log if r["host"] != "localhost" and r["authorization"]], "token sent to storage"
