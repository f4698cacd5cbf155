"""Rank a split with a run and write a submission: submission.csv, card.json, scores.parquet."""



def arguments(parser):
    """Declare the verb's arguments."""
    parser.add_argument("--run", required=True, metavar="runs/NAME")
    parser.add_argument("--data", required=True, metavar="DIR")
    parser.add_argument("--split", required=True, choices=["train", "valid", "test"])
    parser.add_argument("--out", required=True, metavar="submissions/NAME")
    parser.add_argument("--force", action="store_true", help="replace an entry that the kit did not make")


def run(args):
    """Predict."""
    from kit.predict import predict

    predict(args.run, args.data, args.split, args.out, force=args.force)
    verb = "check" if args.split == "test" else "score"
    print(f"entry written: {args.out}\nnext: python -m evaluation {verb} {args.out}/submission.csv "
          f"--data {args.data} --split {args.split}")
