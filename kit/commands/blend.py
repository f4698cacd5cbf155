"""Average the min-max scaled scores of several submissions into a new one."""


def arguments(parser):
    """Declare the verb's arguments."""
    parser.add_argument("entries", nargs="+", metavar="submissions/A")
    parser.add_argument("--out", required=True, metavar="submissions/AB")
    parser.add_argument("--force", action="store_true", help="replace an entry that the kit did not make")


def run(args):
    """Blend."""
    from evaluation.errors import InputError
    from kit.predict import blend

    if len(args.entries) < 2:
        raise InputError("a blend needs two entries or more: python -m kit blend submissions/A submissions/B --out ...")
    blend(args.entries, args.out, force=args.force)
    print(f"entry written: {args.out}")
