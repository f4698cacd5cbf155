"""Recurrent networks, recommenders and vision transformers: the other programs of the vision-like family."""

import jax
import jax.numpy as jnp
from jax import lax

from kit.sample.zoo.language import attention, feed_forward
from kit.sample.zoo.layers import conv, dense, dropout, embed, flat, gelu, layer_norm, softmax

relu = jax.nn.relu


def _lstm_step(weights, bias, state, x):
    hidden, cell = state
    gates = jnp.dot(jnp.concatenate([x, hidden], -1), weights) + bias
    i, f, g, o = jnp.split(gates, 4, -1)
    cell = jax.nn.sigmoid(f + 1) * cell + jax.nn.sigmoid(i) * jnp.tanh(g)
    return jax.nn.sigmoid(o) * jnp.tanh(cell), cell


def _lstm(p, sequence, width, unrolled=0):
    """Outputs of one layer, (time, batch, width); a loop, or written out for that many steps."""
    weights, bias = p(sequence.shape[-1] + width, 4 * width), p(4 * width)
    state = (jnp.zeros((sequence.shape[1], width), p.dtype),) * 2
    if unrolled:
        outputs = []
        for t in range(sequence.shape[0]):
            state = _lstm_step(weights, bias, state, sequence[t])
            outputs.append(state[0])
        return jnp.stack(outputs)

    def step(state, x):
        state = _lstm_step(weights, bias, state, x)
        return state, state[0]

    return lax.scan(step, state, sequence)[1]


def lstm(p, tokens, width=512, layers=2, vocabulary=10000, unrolled=0):
    """A language model of LSTM layers (Zaremba et al., 2014)."""
    x = jnp.swapaxes(embed(p, tokens, vocabulary, width), 0, 1)
    for _ in range(layers):
        x = dropout(p, _lstm(p, x, width, unrolled), 0.3)
    return dense(p, jnp.swapaxes(x, 0, 1), vocabulary)


def gru(p, tokens, width=512, layers=1, vocabulary=8000):
    """A classifier over gated recurrent units (Cho et al., 2014)."""
    x = jnp.swapaxes(embed(p, tokens, vocabulary, width), 0, 1)
    for _ in range(layers):
        gates, candidate = p(2 * width, 2 * width), p(2 * width, width)
        biases = p(2 * width), p(width)

        def step(h, x, gates=gates, candidate=candidate, biases=biases):
            z, r = jnp.split(jax.nn.sigmoid(jnp.dot(jnp.concatenate([x, h], -1), gates) + biases[0]), 2, -1)
            new = jnp.tanh(jnp.dot(jnp.concatenate([x, r * h], -1), candidate) + biases[1])
            h = z * h + (1 - z) * new
            return h, h

        _, x = lax.scan(step, jnp.zeros((x.shape[1], width), p.dtype), x)
    return dense(p, x[-1], 128)


def seq2seq(p, source, target, width=512, layers=2, vocabulary=16000):
    """An LSTM encoder and a decoder that attends to it (Luong et al., 2015)."""
    x = jnp.swapaxes(embed(p, source, vocabulary, width), 0, 1)
    for _ in range(layers):
        x = x + _lstm(p, x, width)
    y = jnp.swapaxes(embed(p, target, vocabulary, width), 0, 1)
    for _ in range(layers):
        y = y + _lstm(p, y, width)
    scores = jnp.einsum("tbw,sbw->bts", dense(p, y, width, bias=False), x)
    context = jnp.einsum("bts,sbw->tbw", softmax(scores), x)
    y = jnp.tanh(dense(p, jnp.concatenate([y, context], -1), width))
    return dense(p, jnp.swapaxes(y, 0, 1), vocabulary)


def dlrm(p, numbers, categories, width=128, rows=20000, bottom=(512, 256), top=(1024, 1024, 512, 256)):
    """Naumov et al., 2019: a recommender with pairwise interactions."""
    x = numbers
    for size in (*bottom, width):
        x = relu(dense(p, x, size))
    tables = [embed(p, categories[:, i], rows, width) for i in range(categories.shape[1])]
    stacked = jnp.stack([x, *tables], 1)
    pairs = jnp.einsum("bnd,bmd->bnm", stacked, stacked)
    x = jnp.concatenate([x, flat(pairs)], -1)
    for size in top:
        x = relu(dense(p, x, size))
    return dense(p, x, 2)


def ncf(p, users, items, width=64, rows=30000):
    """He et al., 2017: matrix factorisation beside a small network."""
    product = embed(p, users, rows, width) * embed(p, items, rows, width)
    x = jnp.concatenate([embed(p, users, rows, width * 2), embed(p, items, rows, width * 2)], -1)
    for factor in (4, 2, 1):
        x = relu(dense(p, x, width * factor))
    return dense(p, jnp.concatenate([product, x], -1), 2)


def autoencoder(p, x, widths=(1024, 512, 128, 32)):
    """Dense layers down to a code and back."""
    size = x.shape[-1]
    for width in (*widths, *widths[-2::-1]):
        x = relu(dense(p, x, width))
    return dense(p, x, size)


def _patches(p, x, patch, width):
    x = conv(p, x, width, patch, patch, padding="VALID", bias=True)
    return x.reshape(x.shape[0], -1, width)


def vit(p, x, patch=16, width=384, layers=12, heads=6, classes=1000):
    """Dosovitskiy et al., 2020: a transformer over patches."""
    x = _patches(p, x, patch, width)
    first = jnp.broadcast_to(p(1, 1, width), (x.shape[0], 1, width))
    x = jnp.concatenate([first, x], 1)
    x = dropout(p, x + p(x.shape[1], width))
    for _ in range(layers):
        y = layer_norm(p, x)
        x = x + dropout(p, attention(p, y, y, heads))
        x = x + dropout(p, feed_forward(p, layer_norm(p, x), width * 4))
    return dense(p, layer_norm(p, x)[:, 0], classes)


def mixer(p, x, patch=16, width=256, layers=8, classes=1000):
    """Tolstikhin et al., 2021: dense layers across patches, then across channels."""
    x = _patches(p, x, patch, width)
    for _ in range(layers):
        y = jnp.swapaxes(layer_norm(p, x), 1, 2)
        y = dense(p, gelu(dense(p, y, width)), y.shape[-1])
        x = x + jnp.swapaxes(y, 1, 2)
        x = x + dense(p, gelu(dense(p, layer_norm(p, x), width * 4)), width)
    return dense(p, layer_norm(p, x).mean(1), classes)
