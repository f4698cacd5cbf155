"""The recurrent network: nodes in topological order are a sequence that a bidirectional GRU reads.

After the pipeline of Technical Disclosure Commons, dpubs_series/8310 (2025): opcode-based runtime estimates and
embeddings of a node's edges, adjusted by what the configuration says of the node, then a GRU.
"""

import numpy as np
import torch
from torch import nn

from kit.models.neural import Neural


class GruBody(nn.Module):
    """A bidirectional GRU over the nodes, added to what it reads.

    Of a layout graph the configurable nodes are the sequence; their neighbours enter through the embeddings
    of operands and consumers. Sequences stay short, and what the neighbours say is computed once a graph.

    Parameters
    ----------
    width : int
        Of the values; each direction has half of it.

    Attributes
    ----------
    shuffle : int or None
        Seed of a random order in which the nodes are read, for asking what their order tells.
    """

    nodes = "configurable"

    def __init__(self, width):
        super().__init__()
        self.gru = nn.GRU(width, width // 2, bidirectional=True)
        self.shuffle = None

    def forward(self, values, graph):
        """Values (n, b, d) to (n, b, d)."""
        if self.shuffle is None:
            return values + self.gru(values)[0]
        order = torch.from_numpy(np.random.default_rng(self.shuffle).permutation(len(values)))
        return values + self.gru(values[order])[0][order.argsort()]


class Gru(Neural):
    """Ranks tiles and layouts with a GRU."""

    body = GruBody
