"""Set up a contest of your own: data for entrants with withheld runtimes, and the answers."""


def arguments(parser):
    """Declare what the command takes."""
    parser.add_argument("action", choices=("new",), help="new: make the contest")
    parser.add_argument("folder", metavar="DIR", help="folder to make")
    parser.add_argument("--from", dest="data", required=True, metavar="DATA", help="data set with runtimes")


def run(args):
    """Make it and say what is where."""
    from evaluation.contest import new

    split, graphs = new(args.folder, args.data)
    print(f"held back: the runtimes of {graphs} graphs ({split})\n"
          f"hand out:  {args.folder}/entrants\nkeep:      {args.folder}/answers.parquet\n"
          f"collect:   {args.folder}/entries\nnext:      read {args.folder}/README.md")
