"""Ranking losses on one list of configurations a graph, many graphs at once.

All take ``scores`` and ``runtimes`` of shape (g, r), lower = faster in both, and a mask of the same shape that is False
where a graph has fewer than r rows; the loss is the mean over the graphs that have something to rank (0 where none
has). Half precision is raised to float32 first. Values depend on the order of runtimes and, for ``mse``, on their
logarithms; not on the order of rows.
"""

import torch
from torch.nn.functional import softplus
from torch.utils.checkpoint import checkpoint

from evaluation.errors import InputError

MARGIN = 1.0
BLOCK = 1024  # rows whose pairs with all others stand in memory at once


def _single(values):
    return values.float() if values.dtype in (torch.float16, torch.bfloat16) else values


def _mean_over_graphs(values, counts):
    """Mean of the graphs' values where they count, 0 where none does."""
    counts = counts.to(values.dtype)
    return (values * counts).sum() / counts.sum().clamp(min=1)


def mse(scores, runtimes, mask):
    """Mean squared error against log runtimes, standardised within the graph.

    Graphs whose runtimes are all equal have nothing to rank and do not count.
    """
    scores, keep = _single(scores), mask.to(_single(scores).dtype)
    target = torch.where(mask, runtimes, 1).log()
    rows = keep.sum(dim=1, keepdim=True).clamp(min=1)
    centred = (target - (target * keep).sum(dim=1, keepdim=True) / rows) * mask
    spread = (centred.square().sum(dim=1, keepdim=True) / rows).sqrt()
    scaled = (centred / spread.clamp(min=torch.finfo(torch.float32).tiny)).to(scores.dtype)
    error = ((scores - scaled).square() * keep).sum(dim=1) / rows[:, 0]
    return _mean_over_graphs(error, spread[:, 0] > 1e-12)


def listmle(scores, runtimes, mask):
    """Negative log likelihood of the true order under Plackett-Luce, over the number of rows.

    Notes
    -----
    Xia et al., "Listwise approach to learning to rank", ICML 2008. Of rows with equal runtimes each is compared
    with all that are not faster, so that their order does not matter.
    """
    scores = _single(scores)
    runtimes = torch.where(mask, runtimes, torch.inf)
    order = runtimes.argsort(dim=1, stable=True)
    runtimes, mask = runtimes.gather(1, order), mask.gather(1, order)
    merit = torch.where(mask, -scores.gather(1, order), torch.finfo(scores.dtype).min / 2)
    behind = merit.flip(1).logcumsumexp(dim=1).flip(1)  # of a row and all after it
    first = torch.searchsorted(runtimes.contiguous(), runtimes.contiguous())  # of the rows with this runtime
    loss = torch.where(mask, behind.gather(1, first.clamp(max=merit.shape[1] - 1)) - merit, 0)
    rows = mask.sum(dim=1)
    return _mean_over_graphs(loss.sum(dim=1) / rows.clamp(min=1), rows > 1)


def pairwise_hinge(scores, runtimes, mask):
    """Mean over the pairs with different runtimes of max(0, 1 - (score of the slower - score of the faster))."""
    return _pairwise(lambda gap: (MARGIN - gap).clamp(min=0), scores, runtimes, mask)


def pairwise_logistic(scores, runtimes, mask):
    """Mean over the pairs with different runtimes of log(1 + exp(score of the faster - score of the slower)).

    Notes
    -----
    Burges et al., "Learning to rank using gradient descent", ICML 2005.
    """
    return _pairwise(lambda gap: softplus(-gap), scores, runtimes, mask)


def _pairwise(price, scores, runtimes, mask):
    """Mean price of the gap between the slower and the faster of a pair; pairs are looked at in blocks of rows."""
    scores = _single(scores)

    def block(start):
        mine = slice(start, start + BLOCK)
        slower = (runtimes[:, mine, None] > runtimes[:, None]) & mask[:, mine, None] & mask[:, None]
        priced = torch.where(slower, price(scores[:, mine, None] - scores[:, None]), 0)
        return priced.sum(dim=(1, 2)), slower.sum(dim=(1, 2))

    total, pairs = torch.zeros_like(scores[:, 0]), torch.zeros_like(mask[:, 0], dtype=torch.long)
    for start in range(0, scores.shape[1], BLOCK):  # recomputed in the backward pass where there are several
        found = block(start) if scores.shape[1] <= BLOCK else checkpoint(block, start, use_reentrant=False)
        total, pairs = total + found[0], pairs + found[1]
    return _mean_over_graphs(total / pairs.clamp(min=1), pairs > 0)


LOSSES = {"mse": mse, "listmle": listmle, "hinge": pairwise_hinge, "logistic": pairwise_logistic}


def named(name):
    """The loss of a name; `InputError` where there is none."""
    if name not in LOSSES:
        raise InputError(f"{name!r} is no loss of the networks; there are {', '.join(LOSSES)}")
    return LOSSES[name]
