"""Train on the simulated sample alone and rank the labelled graphs of a data set."""

import json

from kit.commands import common


def arguments(parser):
    """Declare the verb's arguments."""
    parser.add_argument("--data", required=True, metavar="DIR", help="labelled graphs to rank; none is learnt from")
    parser.add_argument("--model", action="append", metavar="M",
                        help="analytic, gbdt, gbdt-pairwise, gbdt-wide (default: all) or package.module:Class")
    parser.add_argument("--constants", metavar="SET",
                        help="set of the cost model (default: for every graph the one calibrated without it)")
    parser.add_argument("--seed", type=common.non_negative, default=0)
    parser.add_argument("--threads", type=common.positive, default=common.cores(), metavar="N")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")


def run(args):
    """Measure the transfer."""
    from kit.transfer import means, report, transfer

    judged = transfer(args.data, models=args.model, constants=args.constants, seed=args.seed, threads=args.threads)
    if args.json:
        print(json.dumps({"graphs": [j.as_json() for j in judged], "means": means(judged)}, indent=1))
    else:
        print(report(judged))
