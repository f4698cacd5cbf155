"""Make the store of a data set: packed configurations and feature tables, once, for all that trains and predicts."""

from evaluation.engine import add_cluster
from kit.commands import common


def arguments(parser):
    """Declare the verb's arguments."""
    parser.add_argument("--data", required=True, metavar="DIR")
    parser.add_argument("--workers", type=common.positive, default=common.cores(), metavar="N", help="processes")
    parser.add_argument("--max-memory", type=common.memory, metavar="8GB", help="of all processes together")
    add_cluster(parser)
    parser.add_argument("--features", action="append", choices=["physical", "wide"],
                        help="tables to make, repeatable (default: physical)")


def run(args):
    """Make it."""
    from kit.features.store.build import build

    build(args.data, workers=args.workers, memory=args.max_memory, cluster=args.cluster,
          features=args.features or ["physical"])
