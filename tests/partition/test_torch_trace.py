"""Modules to instances and back: costs by hand, tied parameters, stages that run one after another."""

import pytest
import torch
from torch import nn

from evaluation.errors import InputError, InvalidSubmission
from kit.partition.roofline import Roofline
from kit.partition.torch_trace import trace

UNIT = Roofline(flops=1e9, memory=1e30)  # a second is a thousand million operations, memory is free


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)
        self.scale = nn.Parameter(torch.ones(8))

    def forward(self, x):
        y = torch.relu(self.first(x))
        return self.second(y) * self.scale + y


class Tied(nn.Module):
    """Two layers next to each other share their weights; a third comes after."""

    def __init__(self, between=0, after=3):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)
        self.b.weight = self.a.weight
        self.between = nn.ModuleList(nn.Linear(8, 8) for _ in range(between))
        self.after = nn.ModuleList(nn.Linear(8, 8) for _ in range(after))

    def forward(self, x):
        x = self.a(x)
        for layer in self.between:
            x = layer(x)
        x = self.b(x)
        for layer in self.after:
            x = layer(x)
        return x


class Counting(nn.Module):
    """Control flow on a shape, which symbolic tracing cannot follow."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        for layer in self.layers[:x.shape[0]]:
            x = torch.tanh(layer(x)) if x.shape[0] > 1 else x
        return x


class Deciding(nn.Module):
    def forward(self, x):
        return x + 1 if x.sum() > 0 else x


X = torch.randn(4, 8, generator=torch.Generator().manual_seed(0))


def test_costs_by_hand():
    instance = trace(Residual(), (X,), "residual", machine=UNIT).instance
    assert instance.nodes == ("first", "relu", "second", "mul", "add")
    assert instance.work.tolist() == pytest.approx([2 * 4 * 8 * 8 / 1e9, 0, 2 * 4 * 8 * 8 / 1e9, 0, 0])
    assert instance.parameter_bytes.tolist() == [288, 0, 288, 32, 0]  # the scale lives with the product
    assert instance.output_bytes.tolist() == [128] * 5
    assert instance.edges.tolist() == [[0, 1], [1, 2], [1, 4], [2, 3], [3, 4]]
    assert instance.simulated


def test_memory_traffic_where_it_is_the_longer():
    instance = trace(Residual(), (X,), "residual", machine=Roofline(flops=1e30, memory=1.0)).instance
    assert instance.work.tolist() == pytest.approx([128 + 288 + 128, 256, 128 + 288 + 128, 128 + 32 + 128, 384])


def test_views_and_elements_of_tuples_are_free():
    class Views(nn.Module):
        def forward(self, x):
            first, second = torch.chunk(x.reshape(8, 4).transpose(0, 1), 2)
            return torch.relu(first + second)

    instance = trace(Views(), (X,), "views", machine=Roofline(1e30, 1.0)).instance
    assert [name for name, work in zip(instance.nodes, instance.work, strict=True) if work] == ["add", "relu"]


def test_an_operation_in_place_is_not_free():
    class InPlace(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.act = nn.Linear(8, 8), nn.ReLU(inplace=True)

        def forward(self, x):
            return self.act(self.layer(x))

    instance = trace(InPlace(), (X,), "in-place", machine=Roofline(1e30, 1.0)).instance
    assert instance.work[1] == 256


@pytest.mark.parametrize("stages", [[0, 0, 1, 1, 1], [0, 1, 2, 3, 4], [4, 3, 2, 1, 0], [0, 0, 0, 0, 0],
                                    [2, 2, 7, 7, 7]])
def test_stages_run_one_after_another_with_the_same_output(stages):
    module = Residual()
    split = trace(module, (X,), "residual").split(stages)
    children = [name for name, _ in split.named_children()]
    assert children == [f"submod_{number}" for number in range(len(set(stages)))]
    torch.testing.assert_close(split(X), module(X), rtol=0, atol=0)


def test_every_parameter_is_in_one_stage():
    module = Residual()
    split = trace(module, (X,), "residual").split([0, 0, 1, 1, 1])
    held = [{id(p) for p in stage.parameters()} for stage in split.children()]
    assert sum(map(len, held)) == len(list(module.parameters()))
    assert not held[0] & held[1]


def test_a_cyclic_split_is_refused():
    with pytest.raises(InvalidSubmission, match="circle"):
        trace(Residual(), (X,), "residual").split([0, 1, 0, 1, 1])


def test_tied_neighbours_become_one_node():
    traced = trace(Tied(), (X,), "tied", machine=UNIT)
    assert traced.groups == [["a", "b"], ["after_0"], ["after_1"], ["after_2"]]
    assert traced.instance.nodes[0] == "a..b"
    assert traced.instance.work[0] == pytest.approx(4 * 4 * 8 * 8 / 1e9)
    assert traced.instance.parameter_bytes[0] == 256 + 2 * 32  # the shared weight once, two biases
    assert "share a parameter" in traced.notes[0]


def test_all_between_tied_layers_goes_with_them_so_that_no_cycle_arises():
    traced = trace(Tied(between=2, after=5), (X,), "tied")
    assert traced.groups[0] == ["a", "between_0", "between_1", "b"]
    assert traced.instance.edges.tolist() == [[i, i + 1] for i in range(5)]


@pytest.mark.parametrize(("module", "tied"), [(Tied(between=6), "keep"), (Tied(), "refuse")])
def test_tied_parameters_refused_by_name(module, tied):
    with pytest.raises(InputError, match="a and b share a parameter"):
        trace(module, (X,), "tied", tied=tied)


def test_a_layer_used_twice_is_tied_to_itself():
    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.after = nn.Linear(8, 8), nn.Sequential(*(nn.Linear(8, 8) for _ in range(4)))

        def forward(self, x):
            return self.after(self.layer(self.layer(x)))

    assert trace(Twice(), (X,), "twice").groups[0] == ["layer", "layer_1"]


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_control_flow_on_shapes_is_exported():
    module = Counting().eval()
    traced = trace(module, (X,), "counting")
    assert sum("linear" in name for name in traced.instance.nodes) == 3
    split = traced.split([0] * (len(traced.groups) - 2) + [1, 1])
    torch.testing.assert_close(split(X), module(X))


def test_control_flow_on_data_is_refused():
    with pytest.raises(InputError, match="Deciding cannot be traced"):
        trace(Deciding(), (X,), "deciding")


def test_inputs_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="does not run on these inputs"):
        trace(Residual(), (torch.zeros(4, 9),), "residual")


def test_the_module_is_left_as_it_was():
    module = Residual()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    trace(module, (X,), "residual")
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert module.first.weight.device.type == "cpu"
