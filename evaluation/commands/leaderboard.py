"""Score all entries that are new or changed, and write the boards."""

from evaluation.engine import add_cluster, jobs, open_engine


def arguments(parser):
    """Declare what the command takes."""
    parser.add_argument("--data", required=True, help="data set that the entries ranked")
    parser.add_argument("--split", help="split to score (valid; partition: all)")
    parser.add_argument("--answers", help="Parquet with id, config, runtime, normalizer, for a split without runtimes")
    parser.add_argument("--submissions", default="submissions", metavar="DIR", help="folder of entries (submissions)")
    parser.add_argument("--html", action="store_true", help="also write leaderboard.html")
    parser.add_argument("--reveal", action="store_true", help="show the private half of the graphs too")
    parser.add_argument("--jobs", type=jobs, default=1, metavar="N", help="processes that score entries (1)")
    add_cluster(parser)
    parser.add_argument("--verify", action="store_true", help="score everything again and name all that does not fit")


def run(args):
    """Print the boards, or what verification finds; exit status 1 where it finds something."""
    from evaluation.leaderboard import MARKDOWN, PAGE, contest, update
    from evaluation.markdown import for_terminal

    judged = contest(args.data, args.split, args.answers)
    if args.verify:
        return _verify(args, judged)
    with open_engine(args.cluster, args.jobs) as engine:
        print(for_terminal(update(args.submissions, judged, args.html, args.reveal, engine)))
    for name in (MARKDOWN, PAGE) if args.html else (MARKDOWN,):
        print(f"written: {args.submissions}/{name}")
    return 0


def _verify(args, judged):
    from evaluation.verify import verify

    problems, notes = verify(args.submissions, judged)
    for line in problems:
        print(f"problem: {line}")
    for line in notes:
        print(f"note: {line}")
    print(f"{len(problems)} problems" if problems else "the board is clean")
    return 1 if problems else 0
