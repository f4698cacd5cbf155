"""Losses against slow, obvious versions, and where they are likely to give NaN."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evaluation.errors import InputError
from kit.models.losses import LOSSES, named


def slow_mse(scores, runtimes):
    logs = np.log(runtimes)
    target = (logs - logs.mean()) / logs.std()
    return np.mean((scores - target) ** 2)


def slow_listmle(scores, runtimes):
    total = 0.0
    for i in range(len(scores)):
        rest = [math.exp(-scores[j]) for j in range(len(scores)) if runtimes[j] >= runtimes[i]]
        total += scores[i] + math.log(sum(rest))
    return total / len(scores)


def slow_pairs(price):
    def loss(scores, runtimes):
        count = range(len(scores))
        pairs = [(i, j) for i in count for j in count if runtimes[i] > runtimes[j]]
        return np.mean([price(scores[i] - scores[j]) for i, j in pairs])

    return loss


SLOW = {"mse": slow_mse, "listmle": slow_listmle, "hinge": slow_pairs(lambda gap: max(0.0, 1 - gap)),
        "logistic": slow_pairs(lambda gap: math.log1p(math.exp(-gap)))}


def lists(graphs, rows, seed=0, levels=4):
    """Scores, runtimes with ties, and a mask that leaves each graph another number of rows."""
    rng = np.random.default_rng(seed)
    scores = torch.from_numpy(rng.normal(size=(graphs, rows)))
    runtimes = torch.from_numpy(rng.integers(1, levels + 1, (graphs, rows)) * 1000.0)
    mask = torch.from_numpy(np.arange(rows) < rng.integers(2, rows + 1, (graphs, 1)))
    runtimes[:, 0], runtimes[:, 1] = 1000, 3000
    return scores, runtimes, mask


@pytest.mark.parametrize("name", LOSSES)
@settings(deadline=None, max_examples=30)
@given(graphs=st.integers(1, 4), rows=st.integers(2, 12), seed=st.integers(0, 999))
def test_agrees_with_the_slow_version(name, graphs, rows, seed):
    scores, runtimes, mask = lists(graphs, rows, seed)
    expected = np.mean([SLOW[name](s[m].numpy(), r[m].numpy()) for s, r, m in zip(scores, runtimes, mask, strict=True)])
    assert float(LOSSES[name](scores, runtimes, mask)) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_gradients(name):
    scores, runtimes, mask = lists(3, 7)
    assert torch.autograd.gradcheck(lambda s: LOSSES[name](s, runtimes, mask), scores.requires_grad_())


@pytest.mark.parametrize("name", LOSSES)
def test_more_rows_than_a_block(name, monkeypatch):
    scores, runtimes, mask = lists(2, 9)
    scores.requires_grad_()
    whole = torch.autograd.grad(LOSSES[name](scores, runtimes, mask), scores)[0]
    monkeypatch.setattr("kit.models.losses.BLOCK", 4)
    blocks = LOSSES[name](scores, runtimes, mask)
    torch.testing.assert_close(torch.autograd.grad(blocks, scores)[0], whole)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("runtimes", [[5.0], [5.0, 5.0, 5.0]], ids=["one item", "equal runtimes"])
def test_nothing_to_rank(name, runtimes):
    """Only ListMLE has a gradient for equal runtimes: it pulls their scores together."""
    runtimes = torch.tensor([runtimes], dtype=torch.float64)
    scores = torch.zeros_like(runtimes).requires_grad_()
    loss = LOSSES[name](scores, runtimes, torch.ones_like(runtimes, dtype=torch.bool))
    loss.backward()
    assert torch.isfinite(loss)
    torch.testing.assert_close(scores.grad, torch.zeros_like(scores))


@pytest.mark.parametrize("name", LOSSES)
def test_a_graph_with_nothing_to_rank_changes_nothing(name):
    scores, runtimes, mask = lists(1, 6)
    more = torch.cat([mask, torch.zeros_like(mask)])
    alone = LOSSES[name](scores, runtimes, mask)
    torch.testing.assert_close(LOSSES[name](scores.repeat(2, 1), runtimes.repeat(2, 1), more), alone)


@pytest.mark.parametrize("name", LOSSES)
def test_the_order_of_rows_does_not_matter(name):
    scores, runtimes, mask = lists(2, 8)
    order = torch.from_numpy(np.random.default_rng(1).permutation(8))
    torch.testing.assert_close(LOSSES[name](scores[:, order], runtimes[:, order], mask[:, order]),
                               LOSSES[name](scores, runtimes, mask))


@pytest.mark.parametrize("name", LOSSES)
def test_ten_thousand_items_and_half_precision(name):
    rng = np.random.default_rng(0)
    scores = (1e4 * torch.from_numpy(rng.normal(size=(1, 10_000)))).half().requires_grad_()
    runtimes = torch.from_numpy(rng.permutation(10_000)[None] + 1.0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = LOSSES[name](scores, runtimes, torch.ones(1, 10_000, dtype=torch.bool))
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(scores.grad).all()


def test_an_unknown_loss():
    with pytest.raises(InputError, match="'magic' is no loss"):
        named("magic")
