"""``python -m evaluation``: check, score and rank submissions."""

import sys

from evaluation.cli import main

VERBS = {
    "check": ("evaluation.commands.check", "is a submission file valid? every problem with its place and a fix"),
    "score": ("evaluation.commands.score", "score a submission against a split whose runtimes are known"),
    "leaderboard": ("evaluation.commands.leaderboard", "score all entries and write the boards"),
    "contest": ("evaluation.commands.contest", "set up a contest of your own on data with held-back labels"),
}

if __name__ == "__main__":
    sys.exit(main("python -m evaluation", VERBS, "Judge submissions of the runtime and the partition track."))
