"""Check a submission, upload it to Kaggle, wait for the score; or list past submissions."""


def arguments(parser):
    """Declare the verb's options."""
    parser.add_argument("entry", nargs="?", metavar="submissions/NAME", help="the entry's folder, or a CSV")
    parser.add_argument("--message", metavar="TEXT", help="description on Kaggle (default: the entry's name)")
    parser.add_argument("--list", action="store_true", help="show past submissions and what is left of the allowance")
    parser.add_argument("--data", metavar="DIR", help="the competition's data, to check against (data/kaggle if there)")
    parser.add_argument("--tolerant", action="store_true", help="accept what Kaggle accepts, incomplete lists included")
    parser.add_argument("--again", action="store_true", help="submit a file that was scored already once more")
    parser.add_argument("--wait", type=float, default=900.0, metavar="SECONDS", help="for the score (%(default)s)")
    parser.add_argument("--competition", default="predict-ai-model-runtime", metavar="NAME",
                        help="name of the competition (%(default)s)")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS", help="patience with a silent server")
    parser.add_argument("--retries", type=int, default=4, help="attempts after a failed one (%(default)s)")


def run(args):
    """Run the verb."""
    from evaluation.errors import InputError
    from kit.submit import list_submissions, submit

    if args.list:
        list_submissions(args.competition, timeout=args.timeout, retries=args.retries)
    elif args.entry is None:
        raise InputError("nothing to submit: give an entry's folder, submissions/NAME, or --list")
    else:
        submit(args.entry, message=args.message, data=args.data, slug=args.competition, tolerant=args.tolerant,
               again=args.again, wait=args.wait, timeout=args.timeout, retries=args.retries)
