"""Say what packing, features, training and prediction cost on this machine: measured on a few files, extrapolated."""

import json


def arguments(parser):
    """Declare the verb's arguments."""
    parser.add_argument("--data", required=True, metavar="DIR")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of the table")


def run(args):
    """Measure and say."""
    from kit.plan import as_json, plan, report

    costs = plan(args.data)
    print(json.dumps(as_json(costs), indent=1) if args.json else report(costs))
