"""Write the embedded, simulated data set."""

from kit.commands import common


def arguments(parser):
    """Declare the verb's arguments."""
    parser.add_argument("--out", default="data/sample", metavar="DIR", help="folder to make (default: data/sample)")
    parser.add_argument("--scale", choices=("small", "large"), default="small",
                        help="small: seconds and some 20 MB; large: hundreds of graphs, for tests of scale")
    parser.add_argument("--seed", type=common.non_negative, default=0, help="another one gives other graphs (0)")


def run(args):
    """Write it."""
    from kit.sample import write

    write(args.out, scale=args.scale, seed=args.seed)
    print(f"{args.out}: simulated data set, scale {args.scale}, seed {args.seed}")
