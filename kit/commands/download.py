"""Fetch the real data from Kaggle or elsewhere: resumable, verified, into place."""

from evaluation.collections import COLLECTIONS


def arguments(parser):
    """Declare the verb's options."""
    parser.add_argument("--data", default="data/kaggle", metavar="DIR", help="folder for the data set "
                                                                             "(%(default)s)")
    parser.add_argument("--collection", action="append", default=[], metavar="C",
                        help=f"only this one; may be repeated: {', '.join(COLLECTIONS)}")
    parser.add_argument("--source", default="kaggle", metavar="kaggle|tar|PATH|URL",
                        help="kaggle (the default), tar (the authors' files), or a zip, a tar, a folder or a URL")
    parser.add_argument("--from", dest="origin", metavar="DIR|URL", help="with --source tar: where the files are")
    parser.add_argument("--competition", default="predict-ai-model-runtime", metavar="NAME",
                        help="name of the competition (%(default)s)")
    parser.add_argument("--delete-archive", action="store_true",
                        help="give the archive's space back while it is unpacked")
    parser.add_argument("--verify", action="store_true", help="read every file again and fetch the damaged ones")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS", help="patience with a silent "
                                                                                       "server")
    parser.add_argument("--retries", type=int, default=4, help="attempts after a failed one (%(default)s)")


def run(args):
    """Run the verb."""
    from kit.download import download

    download(args.data, source=args.source, origin=args.origin, collections=args.collection, verify=args.verify,
             slug=args.competition, delete_archive=args.delete_archive, timeout=args.timeout, retries=args.retries)
