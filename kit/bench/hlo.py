"""How long the HLO reader takes for the data set's largest programs."""

import statistics
import tempfile
import time
from pathlib import Path

from kit import hlo
from kit.hlo.schema import message

NODES = 40_000
REPEATS = 3
_DIMS = (8, 128, 768)


def chain(nodes):
    """A module of one computation: parameters, then dots and additions of what came before.

    Parameters
    ----------
    nodes : int
        At least 2.

    Returns
    -------
    bytes
        A serialized HloModuleProto.
    """
    module = message("HloModuleProto")(name=b"chain", entry_computation_name=b"main", entry_computation_id=1)
    computation = module.computations.add(name=b"main", id=1, root_id=nodes)
    for i in range(1, nodes + 1):
        opcode = b"parameter" if i < 3 else b"dot" if i % 20 == 0 else b"add"
        node = computation.instructions.add(name=b"node", opcode=opcode, id=i)
        node.shape.element_type = 11
        node.shape.dimensions[:] = _DIMS
        node.shape.layout.minor_to_major[:] = (2, 1, 0)
        if i < 3:
            node.parameter_number = i - 1
        else:
            node.operand_ids[:] = (i - 1, max(i - 17, 1))
        if opcode == b"dot":
            node.dot_dimension_numbers.lhs_contracting_dimensions.append(2)
            node.dot_dimension_numbers.rhs_contracting_dimensions.append(0)
    return module.SerializeToString()


def seconds(nodes=NODES):
    """Seconds to read a module of so many instructions from a file, imports and writing not counted."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chain.pb"
        path.write_bytes(chain(nodes))
        start = time.perf_counter()
        hlo.read(path)
        return time.perf_counter() - start


def rows():
    """One row of the bench table."""
    yield (f"reading an XLA module of {NODES:,} instructions",
           f"{statistics.median(seconds() for _ in range(REPEATS)):.2f} s", f"median of {REPEATS}")
