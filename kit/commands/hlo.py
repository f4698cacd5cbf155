"""Turn XLA modules (or the tuning files of TpuGraphs) into npz files that every command of the kit reads."""


def arguments(parser):
    """Declare the command line."""
    parser.add_argument("files", nargs="+", metavar="FILE", help="serialized HLO module, or a tuning file (.pb)")
    parser.add_argument("--out", required=True, metavar="DIR", help="folder for the npz files")
    parser.add_argument("--force", action="store_true", help="replace files that are there")


def run(args):
    """Convert and say what was written."""
    from kit import hlo

    for path, module in hlo.convert(args.files, args.out, args.force):
        measured = len(module.runs.config_runtime) if module.runs else 0
        what = f"{measured} measured configurations" if measured else "no runs: the default configuration, unmeasured"
        print(f"{path}: {len(module.node_opcode)} nodes, {len(module.edge_index)} edges, "
              f"{len(module.node_config_ids)} configurable nodes, {what}")
