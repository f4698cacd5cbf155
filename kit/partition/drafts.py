"""What every converter shares: a graph with names for nodes, on its way to an `Instance`."""

import math
from dataclasses import dataclass, field

import numpy as np

from evaluation.errors import InputError
from evaluation.instance import NAME, Instance

GIB = 1024**3
STAGES = (2, 4, 8, 16)


@dataclass
class Draft:
    """A graph read from a foreign format: seconds, bytes, edges between node keys, and notes for the reader.

    Attributes
    ----------
    nodes : dict
        Key -> (name, work in seconds, parameter bytes, output bytes).
    edges : list of (key, key)
        Producer, consumer.
    notes : list of str
        What was left out, merged or assumed.
    """

    name: str
    source: str
    simulated: bool
    nodes: dict = field(default_factory=dict)
    edges: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    def drop(self, keys):
        """Remove nodes and the edges that touch them."""
        keys = set(keys)
        self.nodes = {key: node for key, node in self.nodes.items() if key not in keys}
        self.edges = [edge for edge in self.edges if not keys.intersection(edge)]

    def instance(self, bandwidth, k=STAGES):
        """The finished `Instance`; unknown ends of an edge are refused, repeated edges merged with a note."""
        index = {key: number for number, key in enumerate(self.nodes)}
        for edge in self.edges:
            missing = [key for key in edge if key not in index]
            if missing:
                raise InputError(f"{self.name}: an edge names the node {missing[0]!r}, which the file does not define")
        edges = np.array([(index[a], index[b]) for a, b in self.edges], np.int64).reshape(-1, 2)
        work, parameters, output = (np.array([node[column] for node in self.nodes.values()], np.float64)
                                    for column in (1, 2, 3))
        instance = Instance(self.name, self.source, self.simulated, bandwidth, None, 0, k,
                            unique_names([node[0] for node in self.nodes.values()]), work, parameters, output, edges)
        repeated = len(edges) - len(instance.edges)
        if repeated:
            self.notes.append(f"{repeated} edges were given more than once and count once")
        return instance


def unique_names(names):
    """Names with ``#2``, ``#3``... appended where one repeats."""
    seen, unique, taken = {}, [], set(names)
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        candidate = name
        while seen[name] > 1 and candidate in taken:
            candidate = f"{name}#{seen[name]}"
            seen[name] += candidate in taken
        taken.add(candidate)
        unique.append(candidate)
    return unique


def instance_name(path, *suffixes):
    """A file's name as an instance's name: suffixes cut off, other characters replaced by ``-``."""
    stem = path.name
    for suffix in suffixes:
        stem = stem.removesuffix(suffix)
    letters = "".join(letter if NAME.fullmatch("a" + letter) else "-" for letter in stem).lstrip("._+-")
    if not letters:
        raise InputError(f"{path}: no instance can be named after this file; give it a name of letters and digits")
    return letters


def number(text, what, where):
    """A finite float, or an `InputError` that says what was expected where."""
    try:
        value = float(text)
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{where}: {what} is {text!r}, expected a finite number")
    return value
