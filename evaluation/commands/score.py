"""Score a submission against a split whose runtimes are known."""


def arguments(parser):
    """Declare what the command takes."""
    parser.add_argument("file", help="submission CSV")
    parser.add_argument("--data", help="data set (not needed with --answers)")
    parser.add_argument("--split", help="split to score (valid; partition: all)")
    parser.add_argument("--answers", help="Parquet with id, config, runtime, normalizer")
    parser.add_argument("--tile-target", choices=("normalized", "raw"), default="normalized",
                        help="what tiles are compared by: runtime / normalizer, or the runtime itself")
    parser.add_argument("--eval-indices", metavar="DIR",
                        help="folder with xla_default.json and so on: judge layouts on these configurations only")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args):
    """Print the scores."""
    import json

    from evaluation.dataset import label
    from evaluation.errors import InputError
    from evaluation.report import score_report
    from evaluation.scoring import score_submission
    from evaluation.tracks import Options, read_submission

    if not (args.data or args.answers):
        raise InputError("nothing to score against: add --data DIR, or --answers FILE")
    options, loaded = Options(args.tile_target, args.eval_indices), {}

    def truth(track):
        loaded["split"] = args.split or ("answers" if args.answers else track.default_split)
        loaded["truth"] = track.load(args.data, loaded["split"], args.answers, options)
        return loaded["truth"]

    submission = read_submission(args.file, truth, args.split or "this split")
    submission.problems.refuse(args.file)
    result = score_submission(submission, **loaded)
    if args.json:
        print(json.dumps(result, allow_nan=False))
    else:
        print(score_report(result, label(args.data) if args.data else None))
