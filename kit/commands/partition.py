"""Split a network into pipeline stages so that the slowest is fastest, with a certified lower bound."""

import argparse
import sys

from evaluation.engine import add_cluster
from kit.commands import common


def arguments(parser):
    """Declare the subverbs and what they take."""
    subverbs = parser.add_subparsers(dest="subverb", metavar="SUBVERB", required=True)
    add = lambda name, text: subverbs.add_parser(name, help=text, description=text)  # noqa: E731
    part = add("instances", "write a data set: converted files, random graphs, or the embedded instances")
    part.add_argument("files", nargs="*", metavar="FILE", help="profiles, JSON, cost graphs, npz files")
    part.add_argument("--out", required=True, metavar="DIR")
    part.add_argument("--random", type=common.positive, default=0, metavar="N", help="this many random graphs")
    part.add_argument("--seed", type=common.non_negative, default=0, help="of the random graphs (0)")
    _reading(part)
    _memory(part)
    part = add("solve", "find good partitions, with a lower bound")
    _solving(part)
    part.add_argument("--out", metavar="submissions/NAME", help="write an entry; FILE must be a data set's")
    part.add_argument("--force", action="store_true", help="replace an entry that the kit did not make")
    part.add_argument("--pictures", metavar="DIR", help="write a picture of each partition")
    part.add_argument("--json", action="store_true", help="print one JSON object")
    part = add("bound", "find lower bounds and write what they can be proved again from")
    _solving(part)
    part.add_argument("--out", default=".", metavar="DIR", help="folder of the NAME.kK.bound.json files (.)")
    part.add_argument("--check", action="store_true", help="prove the bounds written there again instead")
    part = add("show", "costs of every stage of a solution")
    part.add_argument("file", metavar="FILE")
    part.add_argument("solution", metavar="SOLUTION", help="submission CSV or folder of an entry")
    part.add_argument("-k", type=common.positive, nargs="+", metavar="K", help="numbers of stages (all in SOLUTION)")
    part.add_argument("--pictures", metavar="DIR", help="write a picture of each partition")
    _reading(part, k=False)
    _memory(part)


def _bandwidth(text):
    from evaluation.errors import InputError
    from kit.partition.units import parse_bandwidth

    try:
        return parse_bandwidth(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _memory_text(text):
    from evaluation.errors import InputError
    from kit.partition.units import parse_memory

    try:
        parse_memory(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def _reading(part, k=True):
    if k:
        part.add_argument("-k", type=common.positive, nargs="+", metavar="K", help="numbers of stages (the file's own)")
    part.add_argument("--bandwidth", type=_bandwidth, metavar="16GiB/s", help="between stages (the file's own)")
    part.add_argument("--keep-input", action="store_true", help="keep the data loading of a pipedream profile")


def _memory(part):
    part.add_argument("--memory", type=_memory_text, metavar="64MiB|50%",
                      help="fast memory of a stage; a share is of the parameters divided by k (by the largest k in a "
                           "data set)")


def _solving(part):
    part.add_argument("files", nargs="+", metavar="FILE", help="instances of any format, or a data set's folder")
    _reading(part)
    _memory(part)
    budget = part.add_mutually_exclusive_group()
    budget.add_argument("--seconds", type=common.positive_number, default=60.0, help="for each file and k (60)")
    budget.add_argument("--evaluations", type=common.positive, metavar="N",
                        help="a budget that gives the same partition everywhere")
    part.add_argument("--seed", type=common.non_negative, default=0, help="of the search (0)")
    part.add_argument("--jobs", type=common.positive, default=common.cores(), metavar="N",
                      help="processes (default: one for each processor)")
    add_cluster(part)


def run(args):
    """Run a subverb."""
    args.k = args.k and list(dict.fromkeys(args.k))  # a pair solved twice would stand twice in an entry
    return {"instances": _instances, "solve": _solve, "bound": _bound, "show": _show}[args.subverb](args)


def _say(line):
    print(line, file=sys.stderr)


def _options(args):
    return {"bandwidth": args.bandwidth, "keep_input": args.keep_input}


def _instances(args):
    from kit.partition.workflow import make_instances

    made = make_instances(args.files, args.out, _say, random=args.random, seed=args.seed, memory=args.memory,
                          k=args.k, **_options(args))
    print(f"{made.label} written to {args.out}\nnext: python -m kit partition solve {args.out} --out submissions/NAME")


def _outcomes(args, pairs):
    from kit.partition.jobs import solve_all
    from kit.partition.workflow import tasks

    entry = args.subverb == "solve" and args.out is not None
    outcomes, interrupted = solve_all(tasks(pairs, args.k, args.memory, _budget(args), entry), args.jobs,
                                      cluster=args.cluster)
    if interrupted:
        _say("interrupted: these are the best so far, pairs not begun are left out")
    return outcomes


def _budget(args):
    spent = {"evaluations": args.evaluations} if args.evaluations else {"seconds": args.seconds}
    return {**spent, "seed": args.seed}


def _solve(args):
    import json

    from evaluation.errors import InputError
    from kit.partition.show import table
    from kit.partition.workflow import data_folder, read_all, write_entry
    from kit.submission import check_free

    pairs = read_all(args.files, _say, **_options(args))
    if args.out and (args.bandwidth or args.memory):
        raise InputError("--bandwidth and --memory change the instances: an entry must solve them as they are; "
                         "make a data set of such instances first (partition instances)")
    folder = data_folder(pairs) if args.out else None
    if args.out:
        check_free(args.out, args.force)
    outcomes = _outcomes(args, pairs)
    _draw(args.pictures, outcomes)
    if args.out and outcomes:
        write_entry(args.out, outcomes, folder, _budget(args), args.force)
        _say(f"entry written: {args.out}")
        missing = sum(len(instance.k) for _, instance in pairs) - len(outcomes)
        if missing:
            _say(f"{missing} pairs that the instances ask for are not in it: each scores 0, and so does the mean")
    if args.json:
        print(json.dumps({"results": [outcome.to_json() for outcome in outcomes]}, allow_nan=False))
    elif outcomes:
        print(table(outcomes))


def _draw(folder, outcomes):
    from pathlib import Path

    for outcome in outcomes if folder else ():
        from kit.partition.pictures import draw

        path = Path(folder) / f"{outcome.instance.name}.k{outcome.k}.png"
        draw(path, outcome.instance, outcome.stages, outcome.k, outcome.lower_bound, outcome.history)
        _say(f"written: {path}")


def _bound(args):
    from kit.partition.instances import with_memory
    from kit.partition.show import table
    from kit.partition.units import show_seconds
    from kit.partition.workflow import check_certificate, read_all, write_certificate

    pairs = read_all(args.files, _say, **_options(args))
    if not args.check:
        outcomes = _outcomes(args, pairs)
        print(table(outcomes))
        for outcome in outcomes:
            print(f"written: {write_certificate(args.out, outcome)}")
        return
    for _, instance in pairs:
        for k in args.k or instance.k:
            stated, proved, method = check_certificate(args.out, with_memory(instance, args.memory, k), k)
            verdict = f"proved again ({method})" if proved else f"no certificate: {method} leaves none"
            print(f"{instance.name} k = {k}: {show_seconds(stated)} {verdict}")


def _show(args):
    from pathlib import Path

    from evaluation.partition import bottleneck
    from kit.partition.instances import read, with_memory
    from kit.partition.show import read_solution, stage_table
    from kit.partition.units import show_seconds

    instance, notes = read(args.file, bandwidth=args.bandwidth, keep_input=args.keep_input)
    for note in notes:
        _say(note)
    for k, stages in read_solution(args.solution, instance, args.k).items():
        held = with_memory(instance, args.memory, k)
        print(f"{held.name}, k = {k}: {show_seconds(bottleneck(held, stages))}")
        print(stage_table(held, stages, k))
        if args.pictures:
            from kit.partition.pictures import draw

            draw(Path(args.pictures) / f"{held.name}.k{k}.png", held, stages, k)
