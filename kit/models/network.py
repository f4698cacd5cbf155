"""What the networks share: embeddings of nodes and configurations, pooling over nodes, and the head.

Shapes: n kept nodes, b configurations, k nodes that are pooled, u node layouts, d the width of all embeddings.
"""

from typing import NamedTuple

import numpy as np
import torch
from scipy.optimize import nnls
from torch import nn

from kit.models.encoding import NODE_COLUMNS, OPCODES, OPERAND_COLUMNS, SLOT_COLUMNS, TILE_COLUMNS

DIGIT_VALUES, DIGIT_WIDTH, OPCODE_WIDTH, CHANNELS = 7, 4, 16, 16
FURTHEST = 5.0  # standard deviations at which unusual node features are cut off
RIDGE = 1e-3  # keeps the fit of costs from resting on a single graph


class Moments:
    """Mean and sum of squared deviations of columns, float64, gathered part by part.

    Notes
    -----
    Chan, Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances", 1979.
    """

    def __init__(self, columns):
        self.count = 0
        self.mean, self.squares = torch.zeros(columns, dtype=torch.float64), torch.zeros(columns, dtype=torch.float64)

    def add(self, values):
        """Add rows: tensor, shape (r, columns)."""
        values = values.double()
        if not len(values):
            return
        mean, count = values.mean(dim=0), len(values)
        total, apart = self.count + count, mean - self.mean
        self.squares += (values - mean).square().sum(dim=0) + apart.square() * (self.count * count / total)
        self.mean += apart * (count / total)
        self.count = total


class Standard(nn.Module):
    """Standardise columns by the training split; columns that are constant there become 0."""

    def __init__(self, columns):
        super().__init__()
        self.register_buffer("mean", torch.zeros(columns))
        self.register_buffer("scale", torch.zeros(columns))

    def fit(self, moments):
        """Take mean and standard deviation from `Moments`."""
        deviation = (moments.squares / max(1, moments.count)).sqrt()
        self.mean.copy_(moments.mean)
        self.scale.copy_(torch.where(deviation > 1e-6, 1 / deviation.clamp(min=1e-6), 0))

    def forward(self, values):
        """Standardised values, cut off at five standard deviations."""
        return ((values - self.mean) * self.scale).clamp(-FURTHEST, FURTHEST)


class NodeCost(nn.Module):
    """Seconds, up to a factor, that a node takes by its opcode: the estimate that the sequence starts from.

    A non-negative fit of the training graphs' median runtimes on the bytes and the multiply-accumulates of
    their nodes by opcode, relative errors counting alike, with a small ridge.
    """

    def __init__(self):
        super().__init__()
        self.register_buffer("rates", torch.zeros(OPCODES, 2, dtype=torch.float64))

    def fit(self, totals, runtimes):
        """Fit to amounts by opcode, float64 (g, 256, 2), and median runtimes, float64 (g,)."""
        amounts = np.asarray(totals).reshape(len(totals), -1) / np.asarray(runtimes)[:, None]
        size = amounts.max(axis=0)
        used = np.flatnonzero(size)
        ridge = np.sqrt(RIDGE * len(amounts)) * np.eye(len(used))
        found, _ = nnls(np.concatenate([amounts[:, used] / size[used], ridge]),
                        np.concatenate([np.ones(len(amounts)), np.zeros(len(used))]))
        rates = np.zeros(amounts.shape[1])
        rates[used] = found / size[used]
        self.rates.copy_(torch.from_numpy(rates.reshape(OPCODES, 2)))

    def forward(self, graph):
        """Cost of every kept node: float64, shape (n,)."""
        return (graph.amounts * self.rates[graph.opcode]).sum(dim=1)


class Nodes(nn.Module):
    """Embed the kept nodes and what feeds and consumes them, once a graph.

    Parameters
    ----------
    width : int
    """

    def __init__(self, width):
        super().__init__()
        self.standard = Standard(NODE_COLUMNS)
        self.opcode = nn.Embedding(OPCODES, OPCODE_WIDTH)
        self.own = nn.Linear(NODE_COLUMNS + OPCODE_WIDTH + 2, width)
        self.operands, self.consumers = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)

    def forward(self, graph, cost):
        """Embeddings, float32 (n, d), from the graph and its nodes' costs, float64 (n,)."""
        share = torch.log(cost / cost.sum().clamp(min=1e-30) + 1e-6) / 4 + 1
        columns = [self.standard(graph.nodes), self.opcode(graph.opcode), torch.stack([share, share.exp()], dim=1)]
        own = self.own(torch.cat([c.float() for c in columns], dim=1))
        fed = torch.relu(own)
        operand, consumer = graph.edges
        return own + self.operands(neighbour_mean(fed, operand, consumer)) + self.consumers(
            neighbour_mean(fed, consumer, operand))


def neighbour_mean(values, source, target):
    """Mean over the sources of each target: (n, ...) to (n, ...), 0 where there are none."""
    count = torch.bincount(target, minlength=len(values)).clamp(min=1).to(values.dtype)
    total = torch.zeros_like(values).index_add(0, target, values[source])
    return total / count.reshape(-1, *[1] * (values.ndim - 1))


class TileConfig(nn.Module):
    """Embed the bounds of a tile: (b, 36) to (b, d)."""

    def __init__(self, width):
        super().__init__()
        self.standard = Standard(TILE_COLUMNS)
        self.layers = nn.Sequential(nn.Linear(TILE_COLUMNS, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, configs):
        """Embeddings, shape (b, d)."""
        return self.layers(self.standard(configs.values))


class LayoutConfig(nn.Module):
    """Embed node layouts: a small convolution over the digits of each operand, then the three together."""

    def __init__(self, width):
        super().__init__()
        self.digit = nn.Embedding(DIGIT_VALUES, DIGIT_WIDTH)
        self.convolution = nn.Sequential(nn.Conv1d(DIGIT_WIDTH + SLOT_COLUMNS, CHANNELS, 3, padding=1), nn.ReLU())
        self.operand = nn.Linear(CHANNELS * 6 + OPERAND_COLUMNS, width)
        self.together = nn.Linear(3 * width, width)

    def forward(self, configs, used):
        """Embeddings of the node layouts `used` (int64): shape (used, d)."""
        columns = torch.cat([self.digit(configs.digits), configs.slots], dim=2)  # (a, 6, channels)
        slots = self.convolution(columns.transpose(1, 2)).flatten(1)
        operands = torch.relu(self.operand(torch.cat([slots, configs.operands], dim=1)))  # (a, d)
        return self.together(operands[configs.combination[used]].flatten(1))


class Pool(nn.Module):
    """Pool nodes: attention whose prior is the nodes' estimated cost, or mean and maximum.

    Parameters
    ----------
    width : int
    kind : {"attention", "meanmax"}
    """

    def __init__(self, width, kind):
        super().__init__()
        self.kind = kind
        self.logit = nn.Linear(width, 1, bias=False)
        nn.init.zeros_(self.logit.weight)

    def weights(self, values, prior):
        """Attention of each configuration to each node, (k, b), from values (k, b, d) and log prior (k,)."""
        return torch.softmax(self.logit(values)[..., 0] + prior[:, None], dim=0)

    def forward(self, values, prior):
        """Pooled values: (k, b, d) to (b, 2 d)."""
        if self.kind == "meanmax":
            return torch.cat([values.mean(dim=0), values.amax(dim=0)], dim=1)
        weights = self.weights(values, prior)
        return torch.cat([torch.einsum("kb,kbd->bd", weights, values), values.amax(dim=0)], dim=1)


class Prepared(NamedTuple):
    """What depends on a graph alone.

    Attributes
    ----------
    embedded : float32 tensor, shape (n, d)
    prior : float32 tensor, shape (k,)
        Logarithm of the share of each pooled node in the estimated cost of those whose layouts vary.
    table : float32 tensor, shape (u, d), or None
        Embeddings of all node layouts.
    """

    embedded: torch.Tensor
    prior: torch.Tensor
    table: torch.Tensor | None


class Network(nn.Module):
    """Score configurations: node embeddings, a body over the nodes, a pool, a head.

    Parameters
    ----------
    kind : {"tile", "layout"}
    body : nn.Module
        Takes values (n, b, d) and the graph, gives (n, b, d); its attribute `nodes` says whether it wants all
        kept nodes or only the configurable ones.
    join : {"early", "late"}
        Whether configurations enter before the body, or after it, which then runs once a graph.
    cost : bool
        Use the estimate of the nodes' costs; False for the ablation.
    across : bool
        Let the configurations that are scored together attend to each other: scores then depend on them.
    """

    def __init__(self, kind, body, *, width, join="early", pool="attention", cost=True, across=False):
        super().__init__()
        self.kind, self.join, self.use_cost = kind, join, cost
        self.cost, self.nodes, self.body = NodeCost(), Nodes(width), body
        self.config = TileConfig(width) if kind == "tile" else LayoutConfig(width)
        self.pool = Pool(width, pool)
        self.late = nn.Linear(2 * width, width) if kind == "layout" else nn.Linear(3 * width, 2 * width)
        self.across = nn.MultiheadAttention(2 * width, 4, batch_first=True) if across else None
        self.head = nn.Sequential(nn.LayerNorm(2 * width), nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, 1))

    def fit_statistics(self, graphs, runtimes):
        """Set means, deviations and costs from the training graphs' encodings, any iterable, and median runtimes.

        Each graph is looked at once, so that not all need stand in memory.
        """
        nodes, configs, totals = Moments(NODE_COLUMNS), Moments(TILE_COLUMNS), []
        for graph in graphs:
            nodes.add(graph.nodes)
            totals.append(graph.totals)
            if self.kind == "tile":
                configs.add(graph.configs.values)
        self.nodes.standard.fit(nodes)
        if self.kind == "tile":
            self.config.standard.fit(configs)
        if self.use_cost:
            self.cost.fit(totals, runtimes)

    def prepare(self, graph, whole=False):
        """What depends on the graph alone.

        Parameters
        ----------
        graph : Encoding
        whole : bool
            Embed all node layouts of the file, for looking many configurations up; else only those of the
            configurations in `graph` are, when they are scored.

        Returns
        -------
        Prepared
        """
        cost = self.cost(graph)
        embedded = self.nodes(graph, cost)
        if self.kind == "tile":
            return Prepared(embedded, _log_share(cost), None)
        matters = graph.configs.varies if graph.configs.varies.any() else ~graph.configs.varies
        prior = _log_share(torch.where(matters, cost[graph.configs.place] + 1e-30, 0))
        table = self._table(graph, embedded, torch.arange(len(graph.configs.node))) if whole else None
        return Prepared(embedded, prior, table)

    def forward(self, graph, prepared=None):
        """Score all configurations of an encoding: shape (b,), lower = faster."""
        return self.head(self.pooled(graph, prepared or self.prepare(graph)))[:, 0]

    def pooled(self, graph, prepared):
        """What the head sees of each configuration: shape (b, 2 d)."""
        pooled = self.pool(self.values(graph, prepared), prepared.prior)
        if self.kind == "tile" and self.join == "late":
            config = self.config(graph.configs)
            pooled = torch.relu(self.late(torch.cat([pooled.expand(len(config), -1), config], dim=1)))
        if self.across is not None:
            pooled = pooled + self.across(pooled[None], pooled[None], pooled[None], need_weights=False)[0][0]
        return pooled

    def values(self, graph, prepared):
        """What is pooled: (k, b, d), or (k, 1, d) where it does not depend on the configuration."""
        if self.kind == "tile":
            early = self.config(graph.configs) if self.join == "early" else 0
            return self.body(torch.relu(prepared.embedded[:, None] + early), graph)
        rows, table = graph.configs.lookup(), prepared.table  # rows (k, b)
        if table is None:
            used, rows = torch.unique(rows, return_inverse=True)
            table = self._table(graph, prepared.embedded, used)
        if self.join == "late":
            return table[rows]
        if self.body.nodes == "configurable":
            return self.body(table[rows], graph)
        kept = torch.relu(prepared.embedded)[:, None].expand(-1, rows.shape[1], -1)
        return self.body(kept.index_copy(0, graph.configs.place, table[rows]), graph)[graph.configs.place]

    def _table(self, graph, embedded, used):
        """Embeddings of node layouts together with their nodes': (used, d); late: after the body."""
        configs, layouts = graph.configs, self.config(graph.configs, used)
        node = configs.node[used]
        if self.join == "early":
            return torch.relu(embedded[configs.place[node]] + layouts)
        values = torch.relu(embedded)[:, None]
        if self.body.nodes == "configurable":
            values = self.body(values[configs.place], graph)[:, 0]
        else:
            values = self.body(values, graph)[configs.place, 0]
        return torch.relu(self.late(torch.cat([values[node], layouts], dim=1)))


def _log_share(cost):
    """Logarithm of each node's share of the cost, at least that of a millionth; uniform without costs."""
    if not cost.any():
        cost = torch.ones_like(cost)
    return torch.log(cost / cost.sum() + 1e-6).float()
