"""The command line shared by ``python -m kit`` and ``python -m evaluation``: verbs in, exit status out."""

import argparse
import importlib
import os
import sys

from evaluation.errors import InputError

DONE, WRONG_INPUT, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130


def main(program, verbs, description, argv=None):
    """Run one verb and turn its outcome into an exit status.

    Only the module of the chosen verb is imported, so that help and cheap verbs start at once.

    Parameters
    ----------
    program : str
        How the user started it, for usage lines: ``"python -m kit"``.
    verbs : dict of str to (str, str)
        Verb -> (module with ``arguments(parser)`` and ``run(args)``, one line of help).
    description : str
        What the program is for.
    argv : list of str, optional
        Arguments after the program's name; those of the process by default.

    Returns
    -------
    int
        0 done, 1 the user's input is wrong, 2 wrong usage, 130 interrupted.
    """
    argv = sys.argv[1:] if argv is None else list(argv)
    overview = argparse.ArgumentParser(prog=program, description=description)
    sub = overview.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, (_, text) in verbs.items():
        sub.add_parser(name, help=text, add_help=False)
    if not argv or argv[0] not in verbs:
        overview.parse_args(argv)
        return WRONG_USAGE
    module = importlib.import_module(verbs[argv[0]][0])
    parser = argparse.ArgumentParser(prog=f"{program} {argv[0]}", description=module.__doc__)
    module.arguments(parser)
    return guarded(module.run, parser.parse_args(argv[1:]))


def guarded(run, args):
    """Call ``run(args)``; print an `InputError` without a traceback and map it to an exit status."""
    try:
        return run(args) or DONE
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return WRONG_INPUT
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
