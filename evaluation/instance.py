"""A graph to be split into pipeline stages: the `Instance`, its checks and its JSON."""

import json
import re
from dataclasses import dataclass, field

import numpy as np

from evaluation.errors import InputError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*")


@dataclass(frozen=True, eq=False)
class Instance:
    """A computation graph and the machine it is to be split for; checked when it is made.

    Parameters
    ----------
    name : str
        Letters, digits and ``._+-``: it becomes part of submission IDs.
    source : str
        Where graph and costs come from.
    simulated : bool
        Whether the costs were modelled, not measured.
    bandwidth : float
        Bytes a second between a stage and the rest; positive, finite.
    fast_memory : float or None
        Bytes of fast memory of a stage; None where it is unlimited.
    activation_reserve : float
        Bytes of fast memory that every stage in use sets aside for its activations. The true working set depends
        on the order inside the stage; an instance states one constant.
    k : sequence of int
        Numbers of stages that are asked for, each at least 1.
    nodes : sequence of str
        Names, one a node, all different.
    work : float64 array (n,)
        Seconds of computation a node takes.
    parameter_bytes, output_bytes : float64 array (n,)
        Bytes of a node's parameters and of its one output tensor.
    edges : int64 array (m, 2)
        Rows [producer, consumer]. Kept sorted; an edge given twice counts once, because the tensor is the same.

    Raises
    ------
    InputError
        Naming the node or edge: NaN, negative or infinite costs, no nodes, unknown ends of an edge, a self-loop,
        a cycle (spelled out).
    """

    name: str
    source: str
    simulated: bool
    bandwidth: float
    fast_memory: float | None
    activation_reserve: float
    k: tuple
    nodes: tuple
    work: np.ndarray
    parameter_bytes: np.ndarray
    output_bytes: np.ndarray
    edges: np.ndarray
    topological_order: np.ndarray = field(init=False, repr=False)

    def __post_init__(self):
        put = lambda name, value: object.__setattr__(self, name, value)  # noqa: E731  the class is frozen
        _check_name(self.name)
        put("nodes", _node_names(self.nodes, self.name))
        for column in ("work", "parameter_bytes", "output_bytes"):
            put(column, _costs(getattr(self, column), column, self))
        put("bandwidth", _quantity(self.bandwidth, "bandwidth", self.name))
        put("activation_reserve", _quantity(self.activation_reserve, "activation_reserve", self.name))
        if self.bandwidth == 0:
            raise InputError(f"{self.name}: bandwidth is 0; give the bytes a second that a stage can send")
        if self.fast_memory is not None:
            put("fast_memory", _quantity(self.fast_memory, "fast_memory", self.name))
        put("k", _stage_counts(self.k, self.name))
        put("edges", _edges(self.edges, self))
        put("topological_order", topological_order(len(self.nodes), self.edges))
        if len(self.topological_order) < len(self.nodes):
            cycle = " -> ".join(self.nodes[node] for node in find_cycle(len(self.nodes), self.edges))
            raise InputError(f"{self.name}: the graph has a cycle: {cycle}; a pipeline needs an acyclic graph, "
                             "remove one of these edges or merge these nodes into one")
        for array in (self.work, self.parameter_bytes, self.output_bytes, self.edges, self.topological_order):
            array.setflags(write=False)

    def __len__(self):
        """Number of nodes."""
        return len(self.nodes)

    def to_json(self):
        """The instance as a dictionary that `json.dump` takes; `from_json` reads it back."""
        columns = zip(self.nodes, self.work.tolist(), _plain(self.parameter_bytes), _plain(self.output_bytes),
                      strict=True)
        return {
            "name": self.name, "source": self.source, "simulated": bool(self.simulated),
            "bandwidth": _whole(self.bandwidth),
            "fast_memory": None if self.fast_memory is None else _whole(self.fast_memory),
            "activation_reserve": _whole(self.activation_reserve), "k": list(self.k),
            "nodes": [{"name": name, "work": work, "parameter_bytes": parameters, "output_bytes": output}
                      for name, work, parameters, output in columns],
            "edges": self.edges.tolist(),
        }

    @classmethod
    def from_json(cls, data):
        """An instance from the dictionary of `to_json`.

        Raises
        ------
        InputError
            Naming the key that is missing or of the wrong type, besides what `Instance` refuses.
        """
        try:
            nodes = data["nodes"]
            columns = {key: [node[key] for node in nodes] for key in ("name", "work", "parameter_bytes",
                                                                      "output_bytes")}
            return cls(data["name"], str(data["source"]), bool(data["simulated"]), data["bandwidth"],
                       data["fast_memory"], data["activation_reserve"], data["k"], columns["name"],
                       columns["work"], columns["parameter_bytes"], columns["output_bytes"], data["edges"])
        except KeyError as error:
            raise InputError(f"not a partition instance: the key {error} is missing; the keys are name, source, "
                             "simulated, bandwidth, fast_memory, activation_reserve, k, nodes (name, work, "
                             "parameter_bytes, output_bytes) and edges") from error
        except TypeError as error:
            raise InputError(f"not a partition instance: {error}; a JSON object with nodes and edges is "
                             "expected") from error


def dumps(instance):
    """JSON text of an instance: short, sorted edges, the same bytes for the same instance."""
    return json.dumps(instance.to_json(), separators=(",", ":"), allow_nan=False)


def topological_order(n, edges):
    """A topological order (Kahn); shorter than `n` where the graph has a cycle.

    Parameters
    ----------
    n : int
        Number of nodes.
    edges : int array (m, 2)
        Rows [producer, consumer].

    Returns
    -------
    int64 array
        Nodes that can be ordered. O(n + m).
    """
    consumers, waiting = [[] for _ in range(n)], [0] * n
    for producer, consumer in np.asarray(edges).reshape(-1, 2).tolist():
        consumers[producer].append(consumer)
        waiting[consumer] += 1
    order = [node for node in range(n) if not waiting[node]]
    for node in order:  # grows while it is read
        for consumer in consumers[node]:
            waiting[consumer] -= 1
            if not waiting[consumer]:
                order.append(consumer)
    return np.array(order, np.int64)


def find_cycle(n, edges):
    """Nodes of one cycle, the first repeated at the end, or None where there is none."""
    edges = np.asarray(edges, np.int64).reshape(-1, 2)
    stuck = np.ones(n, bool)
    stuck[topological_order(n, edges)] = False
    if not stuck.any():
        return None
    producer_of = {consumer: producer for producer, consumer in edges.tolist() if stuck[producer]}
    path, seen = [], {}
    node = int(np.flatnonzero(stuck)[0])
    while node not in seen:  # a node that is stuck waits for a producer that is stuck: backwards must repeat
        seen[node] = len(path)
        path.append(node)
        node = producer_of[node]
    return [node, *reversed(path[seen[node]:])]


def _check_name(name):
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InputError(f"instance name {name!r}: use letters, digits and . _ + - only, starting with a letter or "
                         "digit; it becomes part of submission IDs")


def _node_names(nodes, name):
    nodes = tuple(nodes)
    if not nodes:
        raise InputError(f"{name}: the graph has no nodes; there is nothing to split")
    seen = set()
    for index, node in enumerate(nodes):
        if not isinstance(node, str) or not node:
            raise InputError(f"{name}: node {index} has the name {node!r}; give every node a name that is text")
        if node in seen:
            raise InputError(f"{name}: two nodes are called {node!r}; names must be unique")
        seen.add(node)
    return nodes


def _costs(values, column, instance):
    try:
        values = np.array(values, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{instance.name}: {column} is not numeric: {error}") from error
    if values.shape != (len(instance.nodes),):
        raise InputError(f"{instance.name}: {column} has shape {values.shape}, expected one number for each of "
                         f"{len(instance.nodes)} nodes")
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(bad):
        raise InputError(f"{instance.name}: {column} of node {instance.nodes[bad[0]]!r} is {values[bad[0]]}; "
                         "costs must be finite and not negative")
    return values


def _quantity(value, what, name):
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0 <= value < np.inf:
        raise InputError(f"{name}: {what} is {value!r}; expected a finite number that is not negative")
    return float(value)


def _stage_counts(counts, name):
    counts = tuple(int(count) if isinstance(count, int | np.integer) and not isinstance(count, bool) else 0
                   for count in counts)
    if any(count < 1 for count in counts):
        raise InputError(f"{name}: k must list whole numbers of at least 1, for example [2, 4, 8]")
    return tuple(sorted(set(counts)))


def _edges(edges, instance):
    try:
        given = np.array(edges)
        edges = given.astype(np.int64).reshape(-1, 2)
        whole = given.size == 0 or (given.ndim == 2 and given.shape[1] == 2 and np.array_equal(given, edges))
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise InputError(f"{instance.name}: edges must be pairs [producer, consumer] of node numbers")
    outside = np.flatnonzero(((edges < 0) | (edges >= len(instance.nodes))).any(axis=1))
    if len(outside):
        raise InputError(f"{instance.name}: edge {edges[outside[0]].tolist()} names a node that does not exist; "
                         f"nodes are numbered 0 to {len(instance.nodes) - 1}")
    loops = edges[edges[:, 0] == edges[:, 1]]
    if len(loops):
        node = instance.nodes[loops[0, 0]]
        raise InputError(f"{instance.name}: the graph has a cycle: {node} -> {node} (a self-loop); remove the edge")
    return np.unique(edges, axis=0)


def _whole(value):
    return int(value) if value == int(value) else float(value)


def _plain(values):
    return [_whole(value) for value in values.tolist()]
