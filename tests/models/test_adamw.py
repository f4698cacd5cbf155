"""The optimiser against torch's."""

import copy

import torch

from kit.models.adamw import AdamW

DECAY, EPSILON = 0.01, 1e-6


def network():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 1))


def learn(net, optimizer, set_rate, steps):
    """Steps at a changing rate on fixed numbers."""
    for step in range(steps):
        x = torch.sin(torch.arange(20.0) * (step + 1)).reshape(4, 5)
        set_rate(0.01 / (step + 1))
        optimizer.zero_grad()
        net(x).square().sum().backward()
        optimizer.step()


def of_torch(net):
    optimizer = torch.optim.AdamW(net.parameters(), weight_decay=DECAY, eps=EPSILON)
    return optimizer, lambda rate: optimizer.param_groups[0].update(lr=rate)


def own(net):
    optimizer = AdamW(net.parameters(), decay=DECAY, epsilon=EPSILON)
    return optimizer, lambda rate: setattr(optimizer, "rate", rate)


def assert_same(a, b):
    for x, y in zip(a.parameters(), b.parameters(), strict=True):
        assert torch.equal(x, y)


def test_every_bit_is_that_of_torch():
    theirs, mine = network(), network()
    learn(theirs, *of_torch(theirs), 25)
    learn(mine, *own(mine), 25)
    assert_same(mine, theirs)
    assert not torch.equal(next(mine.parameters()), next(network().parameters()))


def test_a_state_goes_on_where_it_was_taken_also_one_of_torch():
    for kind in (own, of_torch):
        net = network()
        optimizer, set_rate = kind(net)
        learn(net, optimizer, set_rate, 6)
        other = copy.deepcopy(net)
        again, rate_again = own(other)
        again.load_state_dict(copy.deepcopy(optimizer.state_dict()))
        learn(net, optimizer, set_rate, 4)
        learn(other, again, rate_again, 4)
        assert_same(net, other)


def test_a_fixed_parameter_stays():
    net = network()
    net[0].weight.requires_grad_(False)
    before = net[0].weight.clone()
    learn(net, *own(net), 3)
    assert torch.equal(net[0].weight, before)
