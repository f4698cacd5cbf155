"""Runs commands of the kit, each in a forked child with an environment of its own: imports are paid once.

Reads one JSON object a line from standard input and answers with one. A step has ``argv`` (after
``python -m kit``), ``env`` (the whole environment), and may have ``kill``: ``[PHASE, BYTES]`` sends SIGKILL to the
child as soon as the progress bar of that phase has counted so many bytes. The ``kaggle`` package itself is
imported in the child, under the child's environment; what it depends on is imported here.
"""

import json
import os
import signal
import sys
import tempfile
import traceback

import bleach
import dotenv
import kagglesdk.kaggle_client
import slugify
from tqdm import tqdm

import kit.download
import kit.submit
from evaluation.cli import main
from kit.__main__ import VERBS

PRELOADED = (bleach, dotenv, kagglesdk, slugify, kit)


def armed(phase, limit):
    """Make every progress bar kill this process once it has counted `limit` bytes in `phase`."""
    update = tqdm.update

    def counting(bar, count=1):
        bar.counted = getattr(bar, "counted", bar.n) + count
        if bar.desc.startswith(phase) and bar.counted >= limit:
            os.kill(os.getpid(), signal.SIGKILL)
        return update(bar, count)

    tqdm.update = counting


def child(step, outputs):
    """The forked child: runs one command, its output going to the two files."""
    for number, file in zip((1, 2), outputs, strict=True):
        os.dup2(file.fileno(), number)
    os.environ.clear()
    os.environ.update(step["env"])
    signal.alarm(step.get("limit", 60))
    if step.get("kill"):
        armed(*step["kill"])
    status = main("python -m kit", VERBS, "", step["argv"])
    sys.stdout.flush()
    return status


def run(step):
    """One step: exit status (negative for a signal) and what was printed to both streams."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        if (pid := os.fork()) == 0:
            status = 70
            try:
                status = child(step, (out, err))
            except SystemExit as end:
                status = end.code
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        _, status = os.waitpid(pid, 0)
        for file in (out, err):
            file.seek(0)
        return {"status": os.waitstatus_to_exitcode(status), "stdout": out.read().decode(),
                "stderr": err.read().decode()}


if __name__ == "__main__":
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), file=channel, flush=True)
