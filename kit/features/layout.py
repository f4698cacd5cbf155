"""Feature tables of layout graphs: one row a configuration."""

import numpy as np
import polars as pl
from scipy.stats import rankdata

from kit.features.program import KINDS, OPERAND_NAMES, Program, rarity, unusual

# +1: larger means slower, -1: larger means faster. What holds on a TPU whatever the program.
PHYSICAL = {
    "arithmetic_padding": 1, "arithmetic_padding_rank": 1, "idle_lanes": 1, "unusual_arithmetic": 1,
    "rare_arithmetic": 1, "rare_choices": 1, "transposed": 1,
}
PROGRAM = ("nodes", "configurable", "arithmetic", "convolution_share", "dot_share", "reshape_share")
WIDE = (
    *PHYSICAL, "output_padding", "output_padding_rank",
    *(f"{kind}_{operand}_padding" for kind in KINDS for operand in OPERAND_NAMES),
    *(f"{kind}_{operand}_minor_size" for kind in KINDS for operand in OPERAND_NAMES),
    *(f"{kind}_{operand}_usual" for kind in KINDS for operand in OPERAND_NAMES),
    *(f"{kind}_default" for kind in KINDS),
    *(f"arithmetic_{operand}_padding" for operand in OPERAND_NAMES[1:]),
    "copies", "copied_bytes", "chained_copies", "chained_copied_bytes", "occurrences", *PROGRAM,
)
MONOTONE = {"physical": PHYSICAL, "wide": {"arithmetic_padding": 1, "arithmetic_padding_rank": 1}}
_COLUMNS = {"physical": tuple(PHYSICAL), "wide": WIDE}


def columns(feature_set="physical"):
    """Names of the feature columns, in order; `KeyError` for an unknown set."""
    return list(_COLUMNS[feature_set])


def table(graph, feature_set="physical"):
    """Features of every configuration of a layout graph.

    Parameters
    ----------
    graph : LayoutGraph
    feature_set : {"physical", "wide"}
        A few columns whose direction is known, for what must hold on programs of another kind; or
        everything that helped the competition's entrants, for training on real data.

    Returns
    -------
    polars.DataFrame
        ``graph_id``, ``config`` (the index), then the float32 columns of `columns`.

    Notes
    -----
    Everything is computed for the few layouts that a free choice takes and looked up for the configurations
    (`kit.features.choices`). Ranks, usual layouts and counts are over the graph's configurations: they need
    no runtime, but they need all the configurations at once.
    """
    packed = graph.packed
    return _table(graph, packed, feature_set)[packed.inverse].with_columns(config=np.arange(graph.configs))


def distinct_table(graph, feature_set="physical"):
    """The rows of `table` for the distinct configurations; ``config`` is where each occurs first."""
    return _table(graph, graph.packed, feature_set)


def _table(graph, packed, feature_set):
    program, choices = Program(graph), packed.choices()
    found = _physical(program, choices)
    if feature_set == "wide":
        found |= _wide(program, choices, packed.distinct)
    first = packed.distinct.first
    return pl.DataFrame({"graph_id": np.full(len(first), graph.id), "config": first,
                         **{name: found[name].astype(np.float32) for name in columns(feature_set)}})


def padded_output_bytes(graph):
    """Bytes of the configurable nodes' outputs in tiles of 8 x 128: float64, shape (c,), whole numbers."""
    program, packed = Program(graph), graph.packed
    return program.summed(packed.choices(), 0, program.output_bytes)[packed.inverse]


def padded_arithmetic(graph):
    """Multiply-accumulates of the configurable nodes times the padding of their outputs: float64, shape (c,)."""
    program, packed = Program(graph), graph.packed
    return program.summed(packed.choices(), 0, program.padded_work)[packed.inverse]


def excess(amount):
    """Logarithm of an amount over its minimum: 0 for the best configuration, comparable between graphs."""
    low = amount.min()
    return np.log(amount / low) if low > 0 else np.zeros(len(amount))


def scaled_rank(amount):
    """Dense ranks scaled to 0..1: the order of the levels, whatever their distances and multiplicities."""
    ranks = rankdata(amount, method="dense") - 1
    return ranks / max(1, ranks.max())


def _physical(program, choices):
    arithmetic = program.summed(choices, 0, program.padded_work)
    total = max(1.0, program.work.sum())
    return {
        "arithmetic_padding": excess(arithmetic), "arithmetic_padding_rank": scaled_rank(arithmetic),
        "idle_lanes": program.paired(choices, program.idle_lanes()) / total,
        "unusual_arithmetic": program.by_count(choices, 0, program.work, unusual) / total,
        "rare_arithmetic": program.by_count(choices, 0, program.work, rarity) / total,
        "rare_choices": program.rare_choices(choices),
        "transposed": program.summed(choices, 0, program.transposed_bytes) / max(1.0, program.computed_bytes.sum()),
    }


def _wide(program, choices, distinct):
    output = program.summed(choices, 0, program.output_bytes)
    found = {"output_padding": excess(output), "output_padding_rank": scaled_rank(output)}
    for k, kind in enumerate(KINDS):
        mine = program.kind == k
        for o, operand in enumerate(OPERAND_NAMES):
            found[f"{kind}_{operand}_padding"] = excess(program.summed(choices, o, program.padded(o), mine))
            found[f"{kind}_{operand}_minor_size"] = program.mean(choices, o, program.minor_size(o), mine)
            found[f"{kind}_{operand}_usual"] = 1 - program.by_count(choices, o, mine, unusual) / max(1, mine.sum())
        found[f"{kind}_default"] = program.mean(choices, 0, lambda node, layout: 1.0 * (not layout), mine)
    for o, operand in enumerate(OPERAND_NAMES[1:], 1):
        found[f"arithmetic_{operand}_padding"] = excess(program.summed(choices, o, program.weighted_padding(o)))
    for prefix, chained in (("", False), ("chained_", True)):
        count, size = program.copies(chained)
        found[f"{prefix}copies"] = program.paired(choices, count)
        found[f"{prefix}copied_bytes"] = np.log1p(program.paired(choices, size))
    found["occurrences"] = np.log(distinct.count)
    constants = zip(PROGRAM, program.aggregates(), strict=True)
    return found | {name: np.full(len(distinct.count), value) for name, value in constants}
