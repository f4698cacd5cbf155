"""Public architectures for text, sound and tables, written compactly, for the embedded instances."""

import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    """Multi-head attention (Vaswani et al., 2017); keys and values from `memory` where given."""

    def __init__(self, width, heads, causal=False):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.heads, self.causal = heads, causal

    def forward(self, x, memory=None):
        memory = x if memory is None else memory
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2)
                   for part in (self.q(x), self.k(memory), self.v(memory)))  # (batch, heads, tokens, width / heads)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.o(y.transpose(1, 2).flatten(2))


def feed_forward(width, inner, act=nn.GELU):
    """Two linear layers with an activation between them."""
    return nn.Sequential(nn.Linear(width, inner), act(), nn.Linear(inner, width))


class Gated(nn.Module):
    """Gated feed-forward layer (Shazeer, 2020)."""

    def __init__(self, width, inner):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(width, inner), nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x):
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class Experts(nn.Module):
    """A mixture of experts, all of them run (dense routing), weighted by a gate (Shazeer et al., 2017)."""

    def __init__(self, width, inner, count):
        super().__init__()
        self.gate = nn.Linear(width, count)
        self.experts = nn.ModuleList(feed_forward(width, inner) for _ in range(count))

    def forward(self, x):
        weights = torch.softmax(self.gate(x), -1)
        return sum(expert(x) * weights[..., i:i + 1] for i, expert in enumerate(self.experts))


class Layer(nn.Module):
    """A transformer layer with pre-normalisation, and cross-attention where `cross` is set."""

    def __init__(self, width, heads, causal=False, cross=False, mlp=None):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3 if cross else 2))
        self.attention = Attention(width, heads, causal)
        self.cross = Attention(width, heads) if cross else None
        self.mlp = mlp or feed_forward(width, 4 * width)

    def forward(self, x, memory=None):
        x = x + self.attention(self.norms[0](x))
        if self.cross is not None:
            x = x + self.cross(self.norms[1](x), memory)
        return x + self.mlp(self.norms[-1](x))


class Transformer(nn.Module):
    """A stack of layers over tokens, with an untied head: BERT, GPT-2 and relatives."""

    def __init__(self, layers, width, heads, tokens, length, causal=False, mlp=lambda width: None):
        super().__init__()
        self.tokens, self.places = nn.Embedding(tokens, width), nn.Parameter(torch.empty(length, width))
        self.layers = nn.ModuleList(Layer(width, heads, causal, mlp=mlp(width)) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, tokens)

    def forward(self, ids):
        x = self.tokens(ids) + self.places
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))


class Translator(nn.Module):
    """Encoder and decoder: the encoder's output goes into every layer of the decoder (Vaswani et al., 2017)."""

    def __init__(self, layers=6, width=512, heads=8, tokens=32000):
        super().__init__()
        self.source, self.target = nn.Embedding(tokens, width), nn.Embedding(tokens, width)
        self.encoder = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.decoder = nn.ModuleList(Layer(width, heads, True, True) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, tokens)

    def forward(self, source, target):
        memory, x = self.source(source), self.target(target)
        for layer in self.encoder:
            memory = layer(memory)
        memory = self.norm(memory)
        for layer in self.decoder:
            x = layer(x, memory)
        return self.head(x)


class VisionTransformer(nn.Module):
    """ViT (Dosovitskiy et al., 2021): an image as 16 x 16 patches."""

    def __init__(self, layers=12, width=768, heads=12):
        super().__init__()
        self.patches, self.layers = nn.Conv2d(3, width, 16, 16), nn.ModuleList(Layer(width, heads)
                                                                               for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x).mean(1))


class Mixer(nn.Module):
    """MLP-Mixer (Tolstikhin et al., 2021)."""

    def __init__(self, layers=12, width=768, patches=196):
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.across = nn.ModuleList(feed_forward(patches, 384) for _ in range(layers))
        self.within = nn.ModuleList(feed_forward(width, 3072) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers + 1))
        self.head = nn.Linear(width, 1000)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        for index, (across, within) in enumerate(zip(self.across, self.within, strict=True)):
            x = x + across(self.norms[2 * index](x).transpose(1, 2)).transpose(1, 2)
            x = x + within(self.norms[2 * index + 1](x))
        return self.head(self.norms[-1](x).mean(1))


class Recurrent(nn.Module):
    """Stacked recurrent layers with residuals over an embedding: language models, GNMT's encoder."""

    def __init__(self, cell=nn.LSTM, layers=8, width=1024, tokens=32000):
        super().__init__()
        self.embedding, self.head = nn.Embedding(tokens, width), nn.Linear(width, tokens)
        self.layers = nn.ModuleList(cell(width, width, batch_first=True) for _ in range(layers))

    def forward(self, ids):
        x = self.embedding(ids)
        for layer in self.layers:
            x = x + layer(x)[0]
        return self.head(x)


class WaveNet(nn.Module):
    """WaveNet (van den Oord et al., 2016): gated dilated convolutions, all skips summed at the end."""

    def __init__(self, cycles=2, powers=10, width=128):
        super().__init__()
        self.first = nn.Conv1d(256, width, 1)
        dilations = [2**power for _ in range(cycles) for power in range(powers)]
        self.filters = nn.ModuleList(nn.Conv1d(width, width, 3, padding=d, dilation=d) for d in dilations)
        self.gates = nn.ModuleList(nn.Conv1d(width, width, 3, padding=d, dilation=d) for d in dilations)
        self.mixes = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in dilations)
        self.last = nn.Sequential(nn.ReLU(), nn.Conv1d(width, 256, 1), nn.ReLU(), nn.Conv1d(256, 256, 1))

    def forward(self, x):
        x, skips = self.first(x), []
        for filter_, gate, mix in zip(self.filters, self.gates, self.mixes, strict=True):
            skips.append(mix(torch.tanh(filter_(x)) * torch.sigmoid(gate(x))))
            x = x + skips[-1]
        return self.last(sum(skips[1:], skips[0]))


class Recommender(nn.Module):
    """DLRM (Naumov et al., 2019): large embeddings, pairwise products, small perceptrons."""

    def __init__(self, tables=26, rows=100_000, width=64):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(),
                                    nn.Linear(256, width), nn.ReLU())
        self.top = nn.Sequential(nn.Linear((tables + 1) ** 2 + width, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(),
                                 nn.Linear(512, 1))

    def forward(self, dense, ids):
        x = self.bottom(dense)
        rows = torch.stack([x, *(table(ids[:, i]) for i, table in enumerate(self.tables))], 1)
        return self.top(torch.cat([x, torch.bmm(rows, rows.transpose(1, 2)).flatten(1)], 1))


class TwoTowers(nn.Module):
    """CLIP (Radford et al., 2021): an image and a text side by side, compared at the end."""

    def __init__(self):
        super().__init__()
        self.image, self.text = VisionTransformer(12, 768, 12), Transformer(12, 512, 8, 49408, 77)
        self.text.head, self.image.head = nn.Linear(512, 512), nn.Linear(768, 512)

    def forward(self, image, ids):
        image, text = self.image(image), self.text(ids).mean(1)
        return functional.normalize(image, dim=-1) @ functional.normalize(text, dim=-1).transpose(0, 1)
