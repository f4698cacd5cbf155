"""Run many commands of the kit in one process tree: imported once, each command in a forked child.

Reads a JSON list of steps from standard input and writes one of results. A step has ``argv`` (after
``python -m kit``) and may have ``kill``: ``[PHASE, BYTES]`` sends SIGKILL to the child as soon as the progress bar
of that phase has counted so many bytes.
"""

import json
import os
import signal
import sys
import tempfile
import traceback

from tqdm import tqdm

from evaluation.cli import main
from kit.__main__ import VERBS


def armed(phase, limit):
    """Make every progress bar kill this process once it has counted `limit` bytes in `phase`."""
    update = tqdm.update

    def counting(bar, count=1):
        bar.counted = getattr(bar, "counted", bar.n) + count
        if bar.desc.startswith(phase) and bar.counted >= limit:
            os.kill(os.getpid(), signal.SIGKILL)
        return update(bar, count)

    tqdm.update = counting


def child(step, output):
    """The forked child: everything it prints goes to `output`."""
    os.dup2(output, 1)
    os.dup2(output, 2)
    if step.get("kill"):
        armed(*step["kill"])
    status = main("python -m kit", VERBS, "", step["argv"])
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def run(step):
    """One step: exit status (negative for a signal) and what was printed."""
    with tempfile.TemporaryFile() as output:
        if (pid := os.fork()) == 0:
            try:
                child(step, output.fileno())
            except BaseException:
                traceback.print_exc()
            sys.stderr.flush()
            os._exit(70)
        _, status = os.waitpid(pid, 0)
        output.seek(0)
        text = output.read().decode()
    return {"status": os.waitstatus_to_exitcode(status), "output": text}


if __name__ == "__main__":
    import kit.download
    import kit.kaggle_client

    kit.kaggle_client.load_package()
    json.dump([run(step) for step in json.load(sys.stdin)], sys.stdout)
