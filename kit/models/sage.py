"""The graph network that the data set's authors publish: GraphSAGE, by plain sparse operations."""

import torch
from torch import nn

from kit.models.network import neighbour_mean
from kit.models.neural import Neural

LAYERS = 2


class SageLayer(nn.Module):
    """A node, the mean of its operands and the mean of its consumers; then added to what came in.

    Notes
    -----
    Hamilton et al., "Inductive representation learning on large graphs", NeurIPS 2017, with the two directions of
    the edges told apart.
    """

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.own = nn.Linear(width, width)
        self.operands, self.consumers = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)

    def forward(self, values, edges):
        """Values (n, b, d) to (n, b, d)."""
        operand, consumer = edges
        normed = self.norm(values)
        fed = self.operands(neighbour_mean(normed, operand, consumer))
        used = self.consumers(neighbour_mean(normed, consumer, operand))
        return values + torch.relu(self.own(normed) + fed + used)


class SageBody(nn.Module):
    """Two GraphSAGE layers over the kept nodes."""

    nodes = "kept"

    def __init__(self, width):
        super().__init__()
        self.layers = nn.ModuleList(SageLayer(width) for _ in range(LAYERS))

    def forward(self, values, graph):
        """Values (n, b, d) to (n, b, d)."""
        for layer in self.layers:
            values = layer(values, graph.edges)
        return values


class Sage(Neural):
    """Ranks tiles and layouts with GraphSAGE."""

    body = SageBody
