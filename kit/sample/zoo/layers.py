"""Layers as plain functions over a `Parameters` object; no weights are ever made, shapes are enough."""

import jax
import jax.numpy as jnp
from jax import lax

BATCH_AXIS = "replica"


class Parameters:
    """Hands out parameters in the order of asking: abstract while shapes are collected, traced while lowering.

    Attributes
    ----------
    dtype : dtype
        Of activations; parameters are float32 and converted where they are used, as TPU programs do.
    training : bool
        Whether dropout and batch statistics are on.
    """

    def __init__(self, dtype, training, values=None):
        self.dtype, self.training, self.values = dtype, training, values
        self.shapes, self.statistics = [], []

    def __call__(self, *shape):
        """The next parameter, converted to the activations' type."""
        return self.raw(*shape).astype(self.dtype)

    def raw(self, *shape):
        """The next parameter as it is stored."""
        self.shapes.append(jax.ShapeDtypeStruct(shape, jnp.float32))
        return jnp.zeros(shape) if self.values is None else self.values[len(self.shapes) - 1]


def conv(p, x, features, size=3, stride=1, groups=1, dilation=1, padding="SAME", bias=False):
    """Convolution of any number of spatial dimensions, channels last."""
    spatial = x.ndim - 2
    size = size if isinstance(size, tuple) else (size,) * spatial
    letters = "DHW"[3 - spatial:]
    numbers = (f"N{letters}C", f"{letters}IO", f"N{letters}C")
    y = lax.conv_general_dilated(x, p(*size, x.shape[-1] // groups, features), (stride,) * spatial, padding,
                                 rhs_dilation=(dilation,) * spatial, dimension_numbers=numbers,
                                 feature_group_count=groups)
    return y + p(features) if bias else y


def upconv(p, x, features, size=2, stride=2):
    """Transposed convolution, channels last."""
    spatial = x.ndim - 2
    letters = "DHW"[3 - spatial:]
    numbers = (f"N{letters}C", f"{letters}IO", f"N{letters}C")
    return lax.conv_transpose(x, p(*(size,) * spatial, x.shape[-1], features), (stride,) * spatial, "SAME",
                              dimension_numbers=numbers)


def depthwise(p, x, size=3, stride=1):
    """One filter a channel."""
    return conv(p, x, x.shape[-1], size, stride, groups=x.shape[-1])


def norm(p, x, momentum=0.9, epsilon=1e-3):
    """Batch normalisation over all but the channels; in training the moving averages are updated."""
    scale, offset, mean, variance = (p.raw(x.shape[-1]) for _ in range(4))
    wide = x.astype(jnp.float32)
    if p.training:
        axes = tuple(range(x.ndim - 1))
        batch_mean = wide.mean(axes)
        batch_variance = (wide * wide).mean(axes) - batch_mean * batch_mean
        for moving, batch in ((mean, batch_mean), (variance, batch_variance)):
            p.statistics.append(moving - (moving - lax.stop_gradient(batch)) * (1 - momentum))
        mean, variance = batch_mean, batch_variance
    factor = lax.rsqrt(variance + epsilon) * scale
    return (wide * factor + (offset - mean * factor)).astype(p.dtype)


def layer_norm(p, x, epsilon=1e-6):
    """Normalisation over the last dimension."""
    scale, offset = p(x.shape[-1]), p(x.shape[-1])
    centred = x - x.mean(-1)[..., None]
    factor = lax.rsqrt((centred * centred).mean(-1) + epsilon)
    return centred * (factor[..., None] * scale) + offset


def rms_norm(p, x, epsilon=1e-6):
    """Division by the root mean square, as in T5."""
    return x * lax.rsqrt((x * x).mean(-1) + epsilon)[..., None] * p(x.shape[-1])


def dense(p, x, features, bias=True):
    """Product with a matrix over the last dimension."""
    y = jnp.dot(x, p(x.shape[-1], features))
    return y + p(features) if bias else y


def dropout(p, x, rate=0.1):
    """Elements set to zero while training, drawn by the hardware's generator."""
    if not p.training:
        return x
    kept = lax.rng_uniform(0.0, 1.0, x.shape) >= rate
    return jnp.where(kept, x / (1 - rate), 0).astype(x.dtype)


def gelu(x):
    """The usual approximation by tanh."""
    return 0.5 * x * (1 + jnp.tanh(0.7978846 * (x + 0.044715 * x * x * x)))


def swish(x):
    """x times its logistic function."""
    return x * lax.logistic(x)


def relu6(x):
    """Between 0 and 6."""
    return jnp.clip(x, 0, 6)


def pool(x, kind, size, stride=None, padding="SAME"):
    """Largest element or sum of each window, channels last."""
    spatial = x.ndim - 2
    window = (1, *(size,) * spatial, 1)
    strides = (1, *(stride or size,) * spatial, 1)
    if kind == "max":
        return lax.reduce_window(x, -jnp.inf, lax.max, window, strides, padding)
    return lax.reduce_window(x, 0.0, lax.add, window, strides, padding) / size**spatial


def upsample(x, factor=2):
    """Nearest neighbours over two spatial dimensions, by broadcasting."""
    n, h, w, c = x.shape
    return jnp.broadcast_to(x[:, :, None, :, None], (n, h, factor, w, factor, c)).reshape(n, h * factor, w * factor, c)


def flat(x):
    """All but the batch as one dimension."""
    return x.reshape(x.shape[0], -1)


def embed(p, tokens, vocabulary, width):
    """Rows of a new table."""
    return rows(p(vocabulary, width), tokens)


def rows(table, index):
    """Rows of a table by numbers that are known to be in range."""
    return table.at[index].get(mode="promise_in_bounds")


def softmax(x):
    """Over the last dimension; the reductions keep no dimension of size 1, as in programs of the data set."""
    powers = jnp.exp(x - lax.stop_gradient(x).max(-1)[..., None])
    return powers / powers.sum(-1)[..., None]


def cross_entropy(logits, labels):
    """Mean negative log-likelihood."""
    logits = logits.astype(jnp.float32)
    shifted = logits - lax.stop_gradient(logits).max(-1)[..., None]
    chosen = jax.nn.one_hot(labels, logits.shape[-1])
    return (jnp.log(jnp.exp(shifted).sum(-1)) - (chosen * shifted).sum(-1)).mean()
