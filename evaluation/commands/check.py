"""Check a submission file: every problem with its place and a fix."""


def arguments(parser):
    """Declare what the command takes."""
    parser.add_argument("file", help="submission CSV")
    parser.add_argument("--data", help="data set to compare its rows with")
    parser.add_argument("--split", help="split of the data set (test; partition: all)")
    parser.add_argument("--answers", help="Parquet with id, config, runtime, normalizer, in place of the split's files")
    parser.add_argument("--strict", action="store_true",
                        help="refuse what Kaggle tolerates: incomplete, repeated or impossible entries")


def run(args):
    """Print the verdict; exit status 1 where the file is refused."""
    from evaluation.report import check_report
    from evaluation.tracks import Options, read_submission

    def truth(track):
        return track.load(args.data, args.split or track.check_split, args.answers, Options())

    compare = truth if args.data or args.answers else None
    submission = read_submission(args.file, compare, args.split or "this split")
    if compare is None and args.strict:
        submission.problems.add("not_compared", "without --data nobody can tell whether lists are complete",
                                "add --data DIR", "harmless")
    print(check_report(submission, args.strict))
    return 1 if submission.problems.refusals(args.strict) else 0
