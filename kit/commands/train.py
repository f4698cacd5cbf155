"""Fit a ranker for every collection that has something to learn from, and keep them as a run."""

from evaluation.collections import COLLECTIONS
from evaluation.engine import add_cluster
from kit.commands import common


def arguments(parser):
    """Declare the verb's arguments."""
    parser.add_argument("--model", required=True,
                        help="heuristic, analytic, gbdt, gru, sage, or package.module:Class of your own")
    parser.add_argument("--data", required=True, metavar="DIR")
    parser.add_argument("--run", required=True, metavar="runs/NAME",
                        help="folder to write; a finished run is replaced, "
                        "an unfinished one with the same settings continued")
    parser.add_argument("--collection", action="append", choices=list(COLLECTIONS), metavar="C",
                        help="one of the five, repeatable (default: all)")
    parser.add_argument("--seed", type=common.non_negative, default=0, help="of all that is random (0)")
    parser.add_argument("--seeds", type=common.positive, default=1, metavar="N", help="train N times and average")
    parser.add_argument("--folds", type=common.positive, default=1, metavar="N", help="folds by graph, averaged")
    parser.add_argument("--fit", choices=["train", "train+valid"], default="train", help="graphs to learn from")
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--minutes", type=common.positive_number, help="wall time a collection (default: none)")
    budget.add_argument("--steps", type=common.positive,
                        help="most rounds (gbdt: 400) or optimiser steps (gru, sage: 600); reproducible")
    parser.add_argument("--threads", type=common.positive, default=common.cores(), metavar="N",
                        help="default: one for each processor")
    parser.add_argument("--max-memory", type=common.memory, metavar="8GB",
                        help="train from a store, made where there is none, within so much memory (gbdt, gru, sage)")
    add_cluster(parser)
    parser.add_argument("--objective",
                        help="ranks, lambdarank or pairwise (gbdt); mse, listmle, hinge or logistic (gru, sage)")
    parser.add_argument("--features", help="physical or wide (gbdt)")
    parser.add_argument("--join", help="early or late: where the configuration enters (gru, sage)")
    parser.add_argument("--pool", help="attention or meanmax (gru, sage)")
    parser.add_argument("--width", type=common.positive, metavar="N", help="of all embeddings (gru, sage)")
    parser.add_argument("--rows", type=common.positive, metavar="N", help="most configurations of a graph (gbdt), "
                        "of a graph and step (gru, sage)")
    parser.add_argument("--no-cost", dest="cost", action="store_false", default=None,
                        help="leave the estimate of the nodes' costs out, to see what it is worth (gru, sage)")
    parser.add_argument("--across", action="store_true", default=None,
                        help="let configurations attend to each other (gru, sage)")


def run(args):
    """Train."""
    from kit.runs import train

    names = ("objective", "features", "join", "pool", "width", "rows", "cost", "across")
    options = {key: value for key in names if (value := getattr(args, key)) is not None}
    train(args.model, args.data, args.run, collections=args.collection, seed=args.seed, seeds=args.seeds,
          folds=args.folds, fit=args.fit, minutes=args.minutes, steps=args.steps, threads=args.threads,
          memory=args.max_memory, cluster=args.cluster, **options)
    print(f"run written: {args.run}\nnext: python -m kit predict --run {args.run} --data {args.data} "
          f"--split valid --out submissions/{common.last(args.run)}")
