"""Pack the kit as a data set for offline notebooks on Kaggle, with the notebook that uses it."""


def arguments(parser):
    """Declare the verb's options."""
    parser.add_argument("--out", required=True, metavar="DIR", help="folder to write; an earlier bundle is replaced")
    parser.add_argument("--user", metavar="NAME", help="Kaggle user name (default: that of the credentials)")
    parser.add_argument("--no-wheels", action="store_true", help="bring no wheels; needs no network")


def run(args):
    """Run the verb."""
    from kit.bundle import WHEELS, bundle

    bundle(args.out, user=args.user, wheels=() if args.no_wheels else WHEELS)
