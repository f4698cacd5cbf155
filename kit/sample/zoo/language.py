"""Transformers over tokens: functions of (parameters, tokens) that return logits."""

import jax
import jax.numpy as jnp
from jax import lax

from kit.sample.zoo.layers import dense, dropout, embed, gelu, layer_norm, rms_norm, rows, softmax

relu = jax.nn.relu


def _heads(p, x, heads, size, bias=True):
    """(batch, time, heads, size)."""
    y = jnp.einsum("btw,whs->bths", x, p(x.shape[-1], heads, size))
    return y + p(heads, size) if bias else y


def _joined(p, y, width, bias=True):
    out = jnp.einsum("bths,hsw->btw", y, p(y.shape[2], y.shape[3], width))
    return out + p(width) if bias else out


def attention(p, x, memory, heads, mask=None, offset=None, bias=True, width=None):
    """Attention of `x` to `memory`, both (batch, time, width)."""
    size = (width or x.shape[-1]) // heads
    q, k, v = (_heads(p, s, heads, size, bias) for s in (x, memory, memory))
    scores = jnp.einsum("bths,buhs->bhtu", q * size**-0.5, k)
    scores = scores if offset is None else scores + offset
    scores = scores if mask is None else scores + mask
    weights = dropout(p, softmax(scores))
    return _joined(p, jnp.einsum("bhtu,buhs->bths", weights, v), x.shape[-1], bias)


def feed_forward(p, x, width, activation=gelu, bias=True):
    """Two dense layers."""
    return dense(p, activation(dense(p, x, width, bias)), x.shape[-1], bias)


def gated(p, x, width):
    """Shazeer, 2020: one of two dense layers gates the other."""
    return dense(p, gelu(dense(p, x, width, False)) * dense(p, x, width, False), x.shape[-1], False)


def _causal(time):
    ahead = lax.broadcasted_iota(jnp.int32, (time, time), 0) < lax.broadcasted_iota(jnp.int32, (time, time), 1)
    return jnp.where(ahead, -1e9, 0.0)


def _padding(p, tokens):
    return ((tokens == 0).astype(p.dtype) * -1e4)[:, None, None, :]


def _positions(p, x):
    return x + p(x.shape[1], x.shape[2])


def _logits(p, x, vocabulary):
    return jnp.dot(x, p(vocabulary, x.shape[-1]).T) + p(vocabulary)


def _post(p, x, heads, mask=None, factor=4, width=None):
    """A layer that normalises after adding, as BERT does."""
    x = layer_norm(p, x + dropout(p, attention(p, x, x, heads, mask, width=width)))
    return layer_norm(p, x + dropout(p, feed_forward(p, x, x.shape[-1] * factor)))


def bert(p, tokens, width=768, layers=12, heads=12, vocabulary=30522):
    """Devlin et al., 2018."""
    x = embed(p, tokens, vocabulary, width) + embed(p, tokens % 2, 2, width)
    x = dropout(p, layer_norm(p, _positions(p, x)))
    mask = _padding(p, tokens)
    for _ in range(layers):
        x = _post(p, x, heads, mask)
    return _logits(p, layer_norm(p, gelu(dense(p, x, width))), vocabulary)


def albert(p, tokens, width=768, layers=12, heads=12, vocabulary=30000, table=128):
    """Lan et al., 2019: one set of weights for all layers, a narrow table."""
    x = dense(p, layer_norm(p, _positions(p, embed(p, tokens, vocabulary, table))), width)
    mask = _padding(p, tokens)
    start = len(p.shapes)
    for _ in range(layers):
        kept, p.shapes = p.shapes, p.shapes[:start]  # the next parameters are those of the first layer again
        x = _post(p, x, heads, mask)
        p.shapes = max(kept, p.shapes, key=len)
    return _logits(p, layer_norm(p, gelu(dense(p, x, table))), vocabulary)


def electra(p, tokens, width=768, layers=12, heads=12, vocabulary=30522):
    """Clark et al., 2020: a small generator's tokens judged by a discriminator."""
    small = width // 4
    table = p(vocabulary, small)
    mask = _padding(p, tokens)
    x = layer_norm(p, _positions(p, rows(table, tokens)))
    for _ in range(layers // 3):
        x = _post(p, x, max(heads // 4, 1), mask)
    guess = jnp.argmax(jnp.dot(x, table.T), -1)
    x = dense(p, layer_norm(p, _positions(p, rows(table, guess))), width)
    for _ in range(layers):
        x = _post(p, x, heads, mask)
    return dense(p, gelu(dense(p, x, width)), 2)


def mobilebert(p, tokens, width=512, layers=12, heads=4, vocabulary=30522, inner=128):
    """Sun et al., 2020: bottlenecks and stacked feed-forward layers."""
    x = dense(p, _positions(p, embed(p, tokens, vocabulary, inner)), width)
    mask = _padding(p, tokens)
    for _ in range(layers):
        y = layer_norm(p, dense(p, x, inner))
        y = layer_norm(p, y + attention(p, y, y, heads, mask))
        for _ in range(4):
            y = layer_norm(p, y + feed_forward(p, y, inner * 4, relu))
        x = layer_norm(p, x + dense(p, y, width))
    return _logits(p, dense(p, x, inner), vocabulary)


def gpt(p, tokens, width=768, layers=12, heads=12, vocabulary=50257):
    """Radford et al., 2019: a causal decoder that normalises before."""
    x = dropout(p, _positions(p, embed(p, tokens, vocabulary, width)))
    mask = _causal(tokens.shape[1]).astype(p.dtype)
    for _ in range(layers):
        y = layer_norm(p, x)
        x = x + dropout(p, attention(p, y, y, heads, mask))
        x = x + dropout(p, feed_forward(p, layer_norm(p, x), width * 4))
    return jnp.dot(layer_norm(p, x), p(width, vocabulary))


def _relative(p, time, heads, buckets=32):
    """T5's bias by the distance between tokens, (heads, time, time)."""
    near = jnp.clip(lax.broadcasted_iota(jnp.int32, (time, time), 0)
                    - lax.broadcasted_iota(jnp.int32, (time, time), 1) + buckets // 2, 0, buckets - 1)
    return jnp.transpose(rows(p(buckets, heads), near), (2, 0, 1))


def t5(p, source, target, width=512, layers=6, heads=8, vocabulary=32128, hidden=1024):
    """Raffel et al., 2019, version 1.1: encoder and decoder without biases, gated."""
    table = p(vocabulary, width)
    x, y = (dropout(p, rows(table, t)) for t in (source, target))
    offset = _relative(p, source.shape[1], heads)
    for _ in range(layers):
        z = rms_norm(p, x)
        x = x + dropout(p, attention(p, z, z, heads, None, offset, False))
        x = x + dropout(p, gated(p, rms_norm(p, x), hidden))
    x = rms_norm(p, x)
    offset = _relative(p, target.shape[1], heads)
    mask = _causal(target.shape[1]).astype(p.dtype)
    for _ in range(layers):
        z = rms_norm(p, y)
        y = y + dropout(p, attention(p, z, z, heads, mask, offset, False))
        y = y + dropout(p, attention(p, rms_norm(p, y), x, heads, None, None, False))
        y = y + dropout(p, gated(p, rms_norm(p, y), hidden))
    return jnp.dot(rms_norm(p, y), p(width, vocabulary))


def transformer(p, source, target, width=512, layers=6, heads=8, vocabulary=32000):
    """Vaswani et al., 2017: encoder and decoder."""
    table = p(vocabulary, width)
    x, y = (dropout(p, _positions(p, rows(table, t) * width**0.5)) for t in (source, target))
    padding, mask = _padding(p, source), _causal(target.shape[1]).astype(p.dtype)
    for _ in range(layers):
        x = _post(p, x, heads, padding)
    for _ in range(layers):
        y = layer_norm(p, y + dropout(p, attention(p, y, y, heads, mask)))
        y = layer_norm(p, y + dropout(p, attention(p, y, x, heads, padding)))
        y = layer_norm(p, y + dropout(p, feed_forward(p, y, width * 4, relu)))
    return jnp.dot(y, table.T)


def linformer(p, tokens, width=512, layers=8, heads=8, vocabulary=30522, short=128):
    """Wang et al., 2020: keys and values projected to a short sequence."""
    x = _positions(p, embed(p, tokens, vocabulary, width))
    for _ in range(layers):
        y = layer_norm(p, x)
        memory = jnp.einsum("btw,tu->buw", y, p(tokens.shape[1], short))
        x = x + dropout(p, attention(p, y, memory, heads))
        x = x + dropout(p, feed_forward(p, layer_norm(p, x), width * 4))
    return _logits(p, layer_norm(p, x), vocabulary)


def longformer(p, tokens, width=512, layers=8, heads=8, vocabulary=50265, block=128):
    """Beltagy et al., 2020, in blocks: every block attends to itself and the one before it."""
    x = _positions(p, embed(p, tokens, vocabulary, width))
    batch, time = tokens.shape
    size, blocks = width // heads, time // block
    for _ in range(layers):
        y = layer_norm(p, x)
        q, k, v = (_heads(p, y, heads, size).reshape(batch, blocks, block, heads, size) for _ in range(3))
        before = [jnp.pad(t, ((0, 0), (1, 0), (0, 0), (0, 0), (0, 0)))[:, :-1] for t in (k, v)]
        k, v = (jnp.concatenate([b, t], 2) for b, t in zip(before, (k, v), strict=True))
        weights = dropout(p, softmax(jnp.einsum("bnths,bnuhs->bnhtu", q * size**-0.5, k)))
        mixed = jnp.einsum("bnhtu,bnuhs->bnths", weights, v).reshape(batch, time, heads, size)
        x = x + dropout(p, _joined(p, mixed, width))
        x = x + dropout(p, feed_forward(p, layer_norm(p, x), width * 4))
    return _logits(p, layer_norm(p, x), vocabulary)


def fnet(p, tokens, width=512, layers=8, vocabulary=32000):
    """Lee-Thorp et al., 2021: mixing by fixed Fourier matrices, here as products with cosines and sines."""
    x = layer_norm(p, _positions(p, embed(p, tokens, vocabulary, width)))

    def waves(size):
        rows, columns = (lax.broadcasted_iota(jnp.float32, (size, size), d) for d in (0, 1))
        angle = rows * columns * (6.2831853 / size)
        return jnp.cos(angle).astype(p.dtype), jnp.sin(angle).astype(p.dtype)

    time, features = waves(tokens.shape[1]), waves(width)
    for _ in range(layers):
        parts = [jnp.einsum("tu,buw->btw", t, jnp.dot(x, f)) for t, f in zip(time, features, strict=True)]
        x = layer_norm(p, x + parts[0] - parts[1])
        x = layer_norm(p, x + dropout(p, feed_forward(p, x, width * 4)))
    return _logits(p, x, vocabulary)
