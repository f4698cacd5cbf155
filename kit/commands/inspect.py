"""Say what a data set, an npz file, a run, an entry or a partition instance holds."""


def arguments(parser):
    """Declare the verb's arguments."""
    parser.add_argument("path", metavar="PATH")


def run(args):
    """Inspect."""
    from kit.inspect import inspect

    print(inspect(args.path))
