"""A `torch.nn.Module` to a partition instance, and a partition back to modules that run one after another.

Shapes come from a run on the meta device: no weights are needed and nothing is computed. Costs are a roofline, so
such instances are simulated.
"""

import copy
import math
import operator
from dataclasses import dataclass

import numpy as np
import torch
from torch import fx, nn
from torch.fx.passes.split_module import split_module
from torch.utils.flop_counter import FlopCounterMode

from evaluation.errors import InputError
from evaluation.instance import Instance, topological_order
from evaluation.partition import check_stages
from kit.partition.drafts import STAGES, Draft
from kit.partition.roofline import TPU_V3_CORE

CALLS = ("call_module", "call_function", "call_method")


@dataclass(frozen=True, eq=False)
class Traced:
    """A module's graph as an instance.

    Attributes
    ----------
    instance : Instance
    graph_module : torch.fx.GraphModule
    groups : list of list of str
        Names of the graph's nodes that every node of the instance stands for.
    notes : list of str
    """

    instance: Instance
    graph_module: fx.GraphModule
    groups: list
    notes: list

    def split(self, stages):
        """The module cut into its stages.

        Parameters
        ----------
        stages : int array (n,)
            Stage of every node of the instance.

        Returns
        -------
        torch.fx.GraphModule
            Gives the same output as the whole. Its children ``submod_0``, ``submod_1``, ... are the stages that are
            not empty, in the order in which they run.
        """
        return _split(self, check_stages(self.instance, stages, max(stages) + 1))


def trace(module, inputs, name, *, bandwidth=16 * 1024**3, k=STAGES, machine=TPU_V3_CORE, tied="keep"):
    """Trace a module and price its nodes.

    Parameters
    ----------
    module : torch.nn.Module
        Is not changed. Traced symbolically, layer by layer; where its control flow depends on the input, by
        `torch.export`, operation by operation.
    inputs : tuple of tensors
        An example of what the module is called with; only shapes and types matter.
    name : str
    bandwidth, k
        Of the `Instance`.
    machine : Roofline
    tied : {"keep", "refuse"}
        Parameters that several nodes use: merge these nodes and all between them into one, or refuse. Where merging
        would leave a single node, it is refused anyway.

    Returns
    -------
    Traced
        A node's work is the larger of its arithmetic and its memory traffic; its output is all tensors it returns;
        the module's inputs are no nodes: they are there for whichever stage needs them.

    Raises
    ------
    InputError
        Where the module cannot be traced, or tied parameters are in the way.
    """
    graph_module = _with_held(_graph_module(module, inputs))
    costs = _costs(graph_module, inputs, machine)
    groups, notes = _groups(graph_module, costs, tied)
    draft = Draft(name, f"torch module {type(module).__name__}, roofline costs", True, notes=notes)
    group_of = {node: number for number, group in enumerate(groups) for node in group}
    for number, group in enumerate(groups):
        draft.nodes[number] = _merged(graph_module, group, [costs[node] for node in group], group_of)
    draft.edges = sorted({(group_of[source.name], group_of[node.name]) for node in graph_module.graph.nodes
                          for source in node.all_input_nodes
                          if node.name in group_of and group_of.get(source.name, group_of[node.name])
                          != group_of[node.name]})
    return Traced(draft.instance(bandwidth, k), graph_module, groups, draft.notes)


@dataclass(frozen=True)
class _Cost:
    seconds: float
    output_bytes: int
    parameters: dict  # parameter or buffer -> bytes
    made: bool  # whether it returns a tensor; the guards of an exported module return none


def _graph_module(module, inputs):
    try:
        return fx.symbolic_trace(module)
    except Exception as first:  # a tracer raises whatever the traced code raises
        try:
            return torch.export.export(module, inputs).module()
        except Exception as second:
            raise InputError(f"{type(module).__name__} cannot be traced: {first}; nor exported: {second}; remove "
                             "control flow that depends on the data, or trace its parts") from second


class Held(nn.Module):
    """Gives a parameter or constant that the code reads by itself, so that a stage can take it along."""

    def __init__(self, value):
        super().__init__()
        if isinstance(value, nn.Parameter):
            self.value = value
        elif isinstance(value, torch.Tensor):
            self.register_buffer("value", value)
        else:
            self.value = value

    def forward(self):
        """The value."""
        return self.value


def _with_held(graph_module):
    """Replace what reads an attribute by a call of `Held`; in place."""
    for node in list(graph_module.graph.nodes):
        if node.op == "get_attr" and node.users:
            value = operator.attrgetter(node.target)(graph_module)
            if isinstance(value, nn.Module):
                continue  # the body of a higher-order operator
            name = f"held_{node.name}"
            graph_module.add_submodule(name, Held(value))
            with graph_module.graph.inserting_before(node):
                node.replace_all_uses_with(graph_module.graph.call_module(name))
            graph_module.graph.erase_node(node)
    graph_module.recompile()
    return graph_module


def _is_held(graph_module, node):
    return node.op == "call_module" and isinstance(graph_module.get_submodule(node.target), Held)


class _Pricing(fx.Interpreter):
    """Runs a graph on the meta device and notes what every node costs."""

    def __init__(self, graph_module, machine):
        super().__init__(graph_module)
        self.machine, self.costs = machine, {}

    def run_node(self, node):
        """Run one node, count its operations and bytes."""
        given = [self.env[source] for source in node.all_input_nodes]
        before = {tensor.untyped_storage()._cdata for value in given for tensor in _tensors(value)}
        with FlopCounterMode(display=False) as counter:
            result = super().run_node(node)
        parameters = self._parameters(node)
        made, moved = _tensors(result), sum(parameters.values()) + _bytes(given)
        is_view = made and all(tensor.untyped_storage()._cdata in before for tensor in made) and not any(
            tensor is old for value in given for old in _tensors(value) for tensor in made)
        taken = node.op not in CALLS or _is_held(self.module, node) or node.target is operator.getitem
        free = taken or is_view or not made
        seconds = 0.0 if free else self.machine.seconds(counter.get_total_flops(), moved + _bytes(result))
        self.costs[node.name] = _Cost(float(seconds), _bytes(result), parameters, bool(made))
        return result

    def _parameters(self, node):
        if node.op == "call_module":
            layer = self.fetch_attr(node.target)
            return {id(value): _bytes(value) for value in (*layer.parameters(), *layer.buffers())}
        return {}


def _costs(graph_module, inputs, machine):
    pricing = _Pricing(_on_meta(graph_module), machine)
    try:
        with torch.no_grad():
            pricing.run(*[value.to("meta") if isinstance(value, torch.Tensor) else value for value in inputs])
    except (RuntimeError, NotImplementedError, TypeError) as error:
        raise InputError(f"the module does not run on these inputs: {error}; give an example of what it is called "
                         "with") from error
    return pricing.costs


def _on_meta(graph_module):
    """A copy whose tensors have shapes and no values; parameters that are shared stay shared."""
    memo = {}
    for value in (*graph_module.parameters(), *graph_module.buffers()):
        memo[id(value)] = value.detach().to("meta").requires_grad_(value.requires_grad)
        if isinstance(value, nn.Parameter):
            memo[id(value)] = nn.Parameter(memo[id(value)], value.requires_grad)
    return copy.deepcopy(graph_module, memo)


def _tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for part in value for tensor in _tensors(part)] if isinstance(value, list | tuple) else []


def _bytes(value):
    return sum(math.prod(tensor.shape) * tensor.element_size() for tensor in _tensors(value))


def _groups(graph_module, costs, tied):
    """Which nodes of the graph become one node of the instance; names in the graph's order."""
    order = [node for node in graph_module.graph.nodes if node.op in CALLS and not _is_held(graph_module, node)
             and (node.users or costs[node.name].made)]
    owner = {node.name: node.name for node in order}

    def find(name):
        while owner[name] != name:
            name = owner[name]
        return name

    users = _parameter_users(graph_module, costs)
    notes = []
    for names in users.values():
        if len(names) > 1:
            between = _between(order, names)
            _refuse_tied(names, between, order, tied)
            notes.append(f"{' and '.join(names)} share a parameter: {len(between)} nodes are kept in one stage")
            for name in between:
                owner[find(name)] = find(names[0])
    groups = {find(node.name): [] for node in order}  # in the order of their first operations
    for node in graph_module.graph.nodes:
        home = next(iter(node.users)) if _is_held(graph_module, node) else node  # a value lives with what uses it
        if home.name in owner:
            groups[find(home.name)].append(node.name)
    return list(groups.values()), sorted(set(notes))


def _parameter_users(graph_module, costs):
    """Nodes that use each parameter, through a layer or by name."""
    users = {}
    for node in graph_module.graph.nodes:
        held = _is_held(graph_module, node)
        names = [user.name for user in node.users if user.op in CALLS] if held else [node.name]
        for parameter in costs[node.name].parameters if node.name in costs else ():
            users.setdefault(parameter, {}).update(dict.fromkeys(names))
    return {parameter: list(names) for parameter, names in users.items()}


def _between(order, names):
    """The nodes named and all on a path from one to another: the smallest part that can be one node."""
    names = set(names)
    below, above = set(names), set(names)
    for node in order:
        if any(source.name in below for source in node.all_input_nodes):
            below.add(node.name)
    for node in reversed(order):
        if any(user.name in above for user in node.users):
            above.add(node.name)
    return [node.name for node in order if node.name in below & above]


def _refuse_tied(names, between, order, tied):
    if tied == "refuse" or len(between) > len(order) / 2:
        raise InputError(f"{' and '.join(names)} share a parameter, and {len(between)} of {len(order)} nodes lie from "
                         "one to the other: to keep it in one stage they would all have to be in it. Give each its "
                         "own copy, or merge small groups with tied='keep'")


def _merged(graph_module, group, costs, group_of):
    """Name, work, parameter bytes and output bytes of a group of nodes."""
    nodes = {node.name: node for node in graph_module.graph.nodes}
    calls = [name for name in group if not _is_held(graph_module, nodes[name])]
    sent = [cost.output_bytes for name, cost in zip(group, costs, strict=True)
            if name in calls and any(group_of.get(user.name) != group_of[name] for user in nodes[name].users)]
    parameters = {key: size for cost in costs for key, size in cost.parameters.items()}
    name = calls[0] if len(calls) == 1 else f"{calls[0]}..{calls[-1]}"
    return name, sum(cost.seconds for cost in costs), float(sum(parameters.values())), float(sum(sent))


def _split(traced, stages):
    """`split_module` with stages numbered in the order in which they can run."""
    ends = stages[traced.instance.edges]
    order = topological_order(int(stages.max()) + 1, np.unique(ends[ends[:, 0] != ends[:, 1]], axis=0))
    order = [stage for stage in order.tolist() if stage in set(stages.tolist())]
    position = {stage: number for number, stage in enumerate(order)}
    part = {name: position[stages[number]] for number, group in enumerate(traced.groups) for name in group}
    split = split_module(traced.graph_module, traced.graph_module, lambda node: part.get(node.name, 0))
    split.graph.set_codegen(traced.graph_module.graph._codegen)  # the signature of an exported module
    split.recompile()
    return split
