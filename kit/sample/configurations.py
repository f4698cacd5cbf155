"""Layout configurations: which layouts a node may take, which nodes choose together, and the two searches.

What is offered follows the files of TpuGraphs (arXiv 2308.13490): a convolution lists the two non-spatial axes
of each operand in one of their two orders, a dot the last free and the last contracted axis, a reshape those
layouts under which it moves no data; nodes that are offered the same digits and have the same default choose
together, so that a file has some twenty free choices; -1 throughout leaves the choice to the compiler.
"""

from dataclasses import dataclass, field
from functools import cache
from itertools import permutations, product
from math import prod

import numpy as np

from kit.features.physics import CONVOLUTION, DOT, element_bytes, padded_elements
from kit.sample.dots import dot_axes
from kit.sample.draws import Draws

SLOTS, SLOT = 18, 6  # digits of a node, of an operand: output, input, kernel
MOST_ORDERS = 4  # factor groups of a reshape that are permuted: 24 layouts; the more major ones stay in order
MOST_BYTES = 4 << 30  # a padded convolution output above a quarter of a core's 16 GiB is never compiled
DEFAULT_REPEATS = 40  # copies of the default in a random collection, as in the files
ROWS_AT_ONCE = 512


@dataclass(frozen=True, eq=False)
class Choice:
    """Nodes that take their layouts together.

    Attributes
    ----------
    members : tuple of int
        Positions in `node_config_ids`.
    options : int8 array, shape (k, 18)
        The layouts to choose from; the same digits for every member.
    default : int
        The compiler's option.
    """

    members: tuple
    options: np.ndarray = field(repr=False)
    default: int


def axis_orders(axes):
    """The orders of one operand's listed axes, row-major (the last axis most minor) first."""
    distinct = sorted(set(axes), reverse=True)
    return [tuple(order) for order in permutations(distinct)]


def _operand_axes(program, node, shapes):
    """Listed axes of output, input and kernel of a convolution or dot, or None for a dot without its axes."""
    if program.node_opcode[node] == CONVOLUTION:
        f = program.node_feat[node].astype(int).tolist()
        return (f[105], f[106]), (f[93], f[94]), (f[99], f[100])
    left, right = (shapes[p] for p in program.operands[node][:2])
    contracted = round(program.macs[node] / max(1, prod(shapes[node])))
    left_sum, right_sum, left_batch, right_batch = dot_axes(shapes[node], left, right, contracted)
    left_free = [a for a in range(len(left)) if a not in (*left_sum, *left_batch)]
    right_free = [a for a in range(len(right)) if a not in (*right_sum, *right_batch)]
    first = len(left_batch) + len(left_free)  # a dot's output: batch axes, then left's free ones, then right's
    out = [first - 1] * bool(left_free) + [first + len(right_free) - 1] * bool(right_free)
    return tuple(out), (*left_free[-1:], *left_sum[-1:]), (*right_sum[-1:], *right_free[-1:])


def _least_padded(sizes, orders):
    """The order that takes the fewest padded elements; row-major where several do."""
    return min(orders, key=lambda order: padded_elements(sizes, order, skip_ones=True))


def _digits(out=(), first=(), second=()):
    row = np.full(SLOTS, -1, dtype=np.int8)
    for slot, order in enumerate((out, first, second)):
        row[slot * SLOT:slot * SLOT + len(order)] = order
    return row


@cache
def _arithmetic_options(opcode, axes, operands, size_of):
    """Options, int8 (k, 18), and default of a convolution or dot; most of a program's are alike."""
    orders = [axis_orders(a) for a in axes]
    default = tuple(_least_padded(s, o) for s, o in zip(operands, orders, strict=True))
    if opcode == CONVOLUTION:
        least = padded_elements(operands[0], default[0]) * size_of
        orders[0] = [o for o in orders[0] if padded_elements(operands[0], o) * size_of <= max(least, MOST_BYTES)]
    options = [_digits(*combination) for combination in product(*orders)]
    plain = opcode == DOT and [len(s) for s in operands] == [2, 2, 2]
    if plain:  # the compiler fixes the output of a plain matrix product alone
        options.append(_digits(default[0]))
        return np.array(options), len(options) - 1
    return np.array(options), list(product(*orders)).index(default)


def factor_groups(left, right):
    """Split two shapes of equal volume into the finest runs of axes of equal product.

    Parameters
    ----------
    left, right : tuple of int

    Returns
    -------
    list of (list of int, list of int)
        Axes of `left` and of `right`, from major to minor; axes of size 1 are in no group.
    """
    groups, i, j = [], 0, 0
    left_axes, right_axes = ([a for a, size in enumerate(s) if size != 1] for s in (left, right))
    while i < len(left_axes) and j < len(right_axes):
        ours, theirs = [left_axes[i]], [right_axes[j]]
        i, j = i + 1, j + 1
        a, b = left[ours[0]], right[theirs[0]]
        while a != b:
            if a < b:
                ours.append(left_axes[i])
                a, i = a * left[left_axes[i]], i + 1
            else:
                theirs.append(right_axes[j])
                b, j = b * right[right_axes[j]], j + 1
        groups.append((ours, theirs))
    return groups


@cache
def _reshape_options(out, source):
    """The layouts of a reshape's output and input under which the bytes stay where they are."""
    groups = factor_groups(out, source)
    fixed, moving = groups[:-MOST_ORDERS], groups[-MOST_ORDERS:]
    rows = []
    for order in permutations(range(len(moving))):
        layout = [moving[g] for g in reversed(order)] + fixed[::-1]
        minor = [[axis for group in layout for axis in reversed(group[side])] for side in (0, 1)]
        rest = [[a for a in reversed(range(len(s))) if s[a] == 1] for s in (out, source)]
        rows.append(_digits(minor[0] + rest[0], minor[1] + rest[1]))
    return np.array(rows)


def choices(program, shapes):
    """The free choices of a program.

    Parameters
    ----------
    program : Program
    shapes : list of tuple of int
        Sizes of every node's output.

    Returns
    -------
    list of Choice
        In the order of their first members.
    """
    size = element_bytes(program.node_feat).tolist()
    offers, with_the_compilers = {}, cache(lambda digits: _with_the_compilers(program, digits))
    for position, node in enumerate(program.node_config_ids.tolist()):
        opcode, operands = int(program.node_opcode[node]), tuple(shapes[p] for p in program.operands[node][:2])
        if opcode in (CONVOLUTION, DOT):
            axes = _operand_axes(program, node, shapes)
            rows, default = _arithmetic_options(opcode, axes, (shapes[node], *operands), size[node])
        else:
            rows, default = with_the_compilers(_reshape_options(shapes[node], operands[0]).tobytes()), 0
        offers.setdefault((opcode, rows.tobytes(), default), (rows, default, []))[2].append(position)
    return [Choice(tuple(members), rows, default) for rows, default, members in offers.values()]


def _with_the_compilers(program, digits):
    """A reshape's options, with all -1 in front where its digits' kind is among the half that offers it."""
    rows = np.frombuffer(digits, np.int8).reshape(-1, SLOTS)
    offered = Draws("reshape", program.name, digits.hex()).uniform() < 0.5
    return np.concatenate([_digits()[None], rows]) if offered or len(rows) == 1 else rows


def spread_search(choices, count, draws):
    """A random collection: every choice uniform over its options, the default about 40 times.

    Parameters
    ----------
    choices : list of Choice
    count : int
        Configurations.
    draws : Draws

    Returns
    -------
    uint8 array, shape (count, len(choices))
        Option taken in each choice.
    """
    limits = np.array([len(c.options) for c in choices])
    picks = draws.below(limits, (count, len(choices))).astype(np.uint8)
    repeats = min(DEFAULT_REPEATS, count // 4)
    picks[:repeats] = [c.default for c in choices]
    return picks


def genetic_search(choices, count, draws, measure, population=32):
    """A default collection: everything that a short genetic search from the default has measured.

    Parameters
    ----------
    choices : list of Choice
    count : int
        Measurements; what is found again is measured again, hence many duplicates.
    draws : Draws
    measure : callable
        Seconds, float64 (rows,), of picks, uint8 (rows, choices); with noise.
    population : int
        Configurations a generation.

    Returns
    -------
    picks : uint8 array, shape (count, len(choices))
    seconds : float64 array, shape (count,)
    """
    limits = np.array([len(c.options) for c in choices])
    default = np.array([c.default for c in choices], dtype=np.uint8)
    pool, cost = default[None], measure(default[None])
    found, seconds = [pool], [cost]
    while sum(map(len, found)) < count:
        children = _children(pool, limits, min(population, count - sum(map(len, found))), draws)
        found.append(children)
        seconds.append(measure(children))
        pool, cost = np.concatenate([pool, children]), np.concatenate([cost, seconds[-1]])
        best = np.argsort(cost, kind="stable")[:population]
        pool, cost = pool[best], cost[best]
    return np.concatenate(found), np.concatenate(seconds)


def _children(pool, limits, size, draws):
    """Uniform crossover of two of the pool, then about one mutation; a tenth of the children are plain copies."""
    parents = pool[draws.below(len(pool), (2, size))]
    shape = (size, len(limits))
    children = np.where(draws.uniform(shape) < 0.5, parents[0], parents[1])
    mutate = draws.uniform(shape) < 1.0 / max(2, len(limits)) * (draws.uniform((size, 1)) < 0.9) * 2.0
    return np.where(mutate, draws.below(limits, shape), children).astype(np.uint8)


def digit_rows(choices, picks):
    """Stream the digits of configurations.

    Parameters
    ----------
    choices : list of Choice
    picks : uint8 array, shape (c, len(choices))

    Yields
    ------
    int8 array, shape (rows, nc, 18)
        At most 512 configurations at a time.
    """
    nodes = sum(len(c.members) for c in choices)
    for start in range(0, len(picks), ROWS_AT_ONCE):
        rows = picks[start:start + ROWS_AT_ONCE]
        block = np.empty((len(rows), nodes, SLOTS), dtype=np.int8)
        for column, choice in enumerate(choices):
            block[:, list(choice.members)] = choice.options[rows[:, column]][:, None]
        yield block
