"""``python -m kit``: everything a competitor does, one verb each."""

import sys

from evaluation.cli import main

VERBS = {
    "demo": ("kit.commands.demo", "everything on the embedded sample: data, baselines, submissions, scores"),
    "sample": ("kit.commands.sample", "write the embedded, simulated data set"),
    "download": ("kit.commands.download", "fetch the real data from Kaggle, resumable and verified"),
    "inspect": ("kit.commands.inspect", "what a data set, an npz file, a run or an instance holds"),
    "store": ("kit.commands.store", "pack a data set once, for training and prediction in little memory"),
    "train": ("kit.commands.train", "fit a ranker per collection and keep it as a run"),
    "predict": ("kit.commands.predict", "rank a split with a run and write a submission"),
    "blend": ("kit.commands.blend", "average the scores of several submissions"),
    "submit": ("kit.commands.submit", "check a submission, upload it to Kaggle, wait for the score"),
    "bundle": ("kit.commands.bundle", "pack the kit as a data set for offline Kaggle notebooks"),
    "hlo": ("kit.commands.hlo", "turn XLA modules into npz files"),
    "transfer": ("kit.commands.transfer", "train on the sample, rank real graphs"),
    "plan": ("kit.commands.plan", "what a full run costs on this machine"),
    "partition": ("kit.commands.partition", "split a network into pipeline stages, with a bound"),
}

if __name__ == "__main__":
    sys.exit(main("python -m kit", VERBS, "Starter kit: rank compiler configurations, partition networks."))
