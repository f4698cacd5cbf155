"""Which axes of a dot's operands are summed, which are batched: the features tell neither."""

from functools import cache
from itertools import combinations
from math import prod


def _splits(sizes, contracted):
    """Ways to choose axes whose product is `contracted`: (summed, others), later axes summed first."""
    axes = range(len(sizes))
    for count in range(len(sizes) + 1):
        for summed in sorted(combinations(axes, count), reverse=True):
            if prod(sizes[a] for a in summed) == contracted:
                yield summed, tuple(a for a in axes if a not in summed)


@cache
def dot_axes(out, left, right, contracted):
    """The dimension numbers of a dot, from its shapes.

    Parameters
    ----------
    out, left, right : tuple of int
        Sizes of the output and of both operands.
    contracted : int
        Product of the summed axes.

    Returns
    -------
    left_summed, right_summed, left_batch, right_batch : tuple of int
        Where several fit (square matrices) those with the fewest batch axes and of them the first found, summing late
        axes of the left operand and early ones of the right.

    Raises
    ------
    ValueError
        Where none fits: these are no shapes of a dot.
    """
    for batch in range(len(out) + 1):
        found = _with_batch(out, left, right, contracted, batch)
        if found:
            return found
    raise ValueError(f"no dot of {left} and {right} gives {out} by sums over {contracted} elements")


def _with_batch(out, left, right, contracted, batch):
    """The first split with so many batch axes, or None."""
    for left_summed, left_rest in _splits(left, contracted):
        for right_summed, right_rest in reversed(list(_splits(right, contracted))):
            if sorted(left[a] for a in left_summed) != sorted(right[a] for a in right_summed):
                continue
            left_free = len(left_rest) - batch
            if left_free < 0 or len(right_rest) < batch or left_free + len(right_rest) != len(out):
                continue
            for left_batch in combinations(left_rest, batch):
                for right_batch in combinations(right_rest, batch):
                    frees = [s[a] for s, rest, b in ((left, left_rest, left_batch), (right, right_rest, right_batch))
                             for a in rest if a not in b]
                    batches = [tuple(s[a] for a in b) for s, b in ((left, left_batch), (right, right_batch))]
                    if batches[0] == batches[1] == out[:batch] and tuple(frees) == out[batch:]:
                        return left_summed, right_summed, left_batch, right_batch
    return None
