"""Everything on the embedded sample, or on DIR: baselines, submissions, scores."""

from kit.commands import common


def arguments(parser):
    """Declare the verb's arguments."""
    parser.add_argument("--data", metavar="DIR", help="a data set of your own (default: the embedded sample)")
    parser.add_argument("--threads", type=common.positive, default=1, metavar="N",
                        help="the sample is too small for more than one to help (1)")


def run(args):
    """Run the demo."""
    from kit.demo import demo

    demo(args.data, threads=args.threads)
    if args.data is None:
        from kit.partition.demo import demo as partition_demo

        print()
        partition_demo()
