"""Where XLA would cut a program into kernels: groups of instructions that are fused.

A convolution or a dot takes along what follows and precedes it element by element, a reduction what precedes it; cheap
instructions are computed again in each of their users. After XLA's instruction fusion, as far as the data set's kernels
show it.
"""

import heapq
from dataclasses import dataclass

from kit.hlo.schema import COLUMN, OPCODES

LARGEST = 64  # nodes of a fused computation; real kernels have about 40 in all
_ELEMENTWISE = frozenset(
    "abs add and atan2 ceil clamp compare convert cosine divide exponential exponential-minus-one floor is-finite log "
    "log-plus-one logistic maximum minimum multiply negate not or power remainder rsqrt select shift-left "
    "shift-right-arithmetic shift-right-logical sign sine sqrt subtract tanh xor cbrt round-nearest-even".split())
_REPEATED = frozenset(("constant", "iota", "broadcast"))  # cheaper to compute again than to read
_EXPENSIVE = frozenset(
    "atan2 cbrt cosine divide exponential exponential-minus-one log log-plus-one logistic power remainder rsqrt sine "
    "sqrt tanh".split())
_FUSED = _ELEMENTWISE | {"reshape", "slice", "pad", "concatenate", "reverse", "transpose"}
PRODUCTS = frozenset(("convolution", "dot"))
_ROOTS = _ELEMENTWISE | PRODUCTS | {"reduce", "reduce-window", "reshape", "transpose", "copy", "concatenate", "slice",
                                    "pad", "rng", "select-and-scatter", "reverse"}
_COPIES = 3  # users up to which a cheap producer is computed again in each of them
_WIDE = 4096  # elements from which a second output is worth a kernel's write


@dataclass(frozen=True)
class Cut:
    """A group of nodes that make one kernel.

    Attributes
    ----------
    root : int
        The node that the kernel computes.
    nodes : tuple of int
        Nodes of the group, sorted.
    extra : tuple of int
        Nodes of the group that are outputs too.
    """

    root: int
    nodes: tuple
    extra: tuple = ()


class _Plan:
    """What is fused already, and who uses what, in one program."""

    def __init__(self, module):
        self.module = module
        self.opcode = [OPCODES[o] or "" for o in module.node_opcode.tolist()]
        self.users = [[] for _ in self.opcode]
        for node, row in enumerate(module.operands):
            for operand in row:
                self.users[operand].append(node)
        self.elements = module.node_feat[:, COLUMN["shape_dimensions_product"]].tolist()
        self.taken = set()

    def inside(self, node, group):
        """Whether all users of a node are in the group."""
        return all(u in group for u in self.users[node])

    def joins(self, node, group, root, has_product):
        """Whether a producer is fused into a group: "copied", "moved", "output" or nothing."""
        kind = self.opcode[node]
        if kind in _REPEATED:
            return "copied"
        alone = self.inside(node, group) and node not in self.taken
        if kind in PRODUCTS:
            fits = alone and not has_product and self.elements[node] == self.elements[root]
            return "moved" if fits and self.opcode[root] in _ELEMENTWISE else ""
        if kind not in _FUSED:
            return ""
        if alone:
            return "moved"
        if kind in _ELEMENTWISE and self.opcode[root] == "reduce" and node not in self.taken:
            return "output"
        cheap = kind in _ELEMENTWISE and kind not in _EXPENSIVE and len(set(self.users[node])) <= _COPIES
        return "copied" if cheap else ""


def _grown(plan, root):
    """The group that ends in `root`, and those of its nodes that no other kernel computes too."""
    group, moved, extra, seen = {root}, {root}, [], {root}
    product = plan.opcode[root] in PRODUCTS
    heap = [-o for o in set(plan.module.operands[root])]
    heapq.heapify(heap)
    while heap and len(group) < LARGEST:  # producers join from the last to the first: their users are known
        node = -heapq.heappop(heap)
        if node in seen:
            continue
        seen.add(node)
        how = plan.joins(node, group, root, product)
        if not how or (how == "output" and (extra or plan.elements[node] < _WIDE)):
            continue
        group.add(node)
        moved |= set() if how == "copied" else {node}
        extra += [node] if how == "output" else []
        product |= plan.opcode[node] in PRODUCTS
        for operand in plan.module.operands[node]:
            heapq.heappush(heap, -operand)
    return Cut(root, tuple(sorted(group)), tuple(extra)), moved


def _signature(module, cut):
    """Equal for kernels that differ at most in what their results are used for."""
    nodes = list(cut.nodes)
    return module.node_feat[nodes, 1:].tobytes() + module.node_opcode[nodes].tobytes()


def cuts(module, smallest=1):
    """Where a program is cut into kernels.

    Parameters
    ----------
    module : kit.hlo.Module
    smallest : int
        Kernels with fewer elements in their output are left out.

    Returns
    -------
    list of Cut
        Distinct kernels in the order of their roots; those that a program holds many times stand once.
    """
    plan = _Plan(module)
    reductions = {c for node, called in enumerate(module.calls) if plan.opcode[node] != "while" for c in called}
    found, seen = [], set()
    for node in reversed(range(len(plan.opcode))):
        if node in plan.taken or plan.opcode[node] not in _ROOTS or module.computation[node] in reductions:
            continue
        cut, moved = _grown(plan, node)
        plan.taken |= moved
        signature = _signature(module, cut)
        if plan.elements[node] >= smallest and signature not in seen:
            seen.add(signature)
            found.append(cut)
    return found[::-1]
