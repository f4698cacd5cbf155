"""Convolutional networks: functions of (parameters, inputs) that return outputs, channels last."""

import jax
import jax.numpy as jnp

from kit.sample.zoo.layers import conv, dense, depthwise, dropout, flat, norm, pool, relu6, swish, upconv, upsample

relu = jax.nn.relu


def _cbr(p, x, features, size=3, stride=1, activation=relu, **options):
    return activation(norm(p, conv(p, x, features, size, stride, **options)))


def _classes(p, x, classes=1000):
    return dense(p, x.mean((1, 2)), classes)


def alexnet(p, x, width=64):
    """Krizhevsky et al., 2012."""
    x = pool(relu(conv(p, x, width, 11, 4, bias=True)), "max", 3, 2)
    x = pool(relu(conv(p, x, width * 3, 5, bias=True)), "max", 3, 2)
    for factor in (6, 4, 4):
        x = relu(conv(p, x, width * factor, bias=True))
    x = flat(pool(x, "max", 3, 2))
    for _ in range(2):
        x = dropout(p, relu(dense(p, x, width * 64)), 0.5)
    return dense(p, x, 1000)


def vgg(p, x, convs=(2, 2, 3, 3, 3), width=64):
    """Simonyan and Zisserman, 2014."""
    for stage, count in enumerate(convs):
        for _ in range(count):
            x = relu(conv(p, x, min(width << stage, 512), bias=True))
        x = pool(x, "max", 2)
    x = flat(x)
    for _ in range(2):
        x = dropout(p, relu(dense(p, x, 4096)), 0.5)
    return dense(p, x, 1000)


def _bottleneck(p, x, width, stride, expansion, groups=1):
    y = _cbr(p, x, width, 1)
    y = _cbr(p, y, width, 3, stride, groups=groups)
    y = norm(p, conv(p, y, width * expansion, 1))
    if stride > 1 or x.shape[-1] != y.shape[-1]:
        x = norm(p, conv(p, x, width * expansion, 1, stride))
    return relu(x + y)


def _basic(p, x, width, stride):
    y = norm(p, conv(p, _cbr(p, x, width, 3, stride), width))
    if stride > 1 or x.shape[-1] != width:
        x = norm(p, conv(p, x, width, 1, stride))
    return relu(x + y)


def _resnet_stages(p, x, blocks, bottleneck, width=64, groups=1):
    x = pool(_cbr(p, x, width, 7, 2), "max", 3, 2)
    for stage, count in enumerate(blocks):
        for i in range(count):
            stride = 2 if stage and not i else 1
            x = (_bottleneck(p, x, width << stage, stride, 4 if groups == 1 else 2, groups) if bottleneck
                 else _basic(p, x, width << stage, stride))
        yield x


def resnet(p, x, blocks=(3, 4, 6, 3), bottleneck=True, width=64):
    """He et al., 2015."""
    *_, x = _resnet_stages(p, x, blocks, bottleneck, width)
    return _classes(p, x)


def resnext(p, x, blocks=(3, 4, 6, 3), width=128, groups=32):
    """Xie et al., 2016: grouped convolutions."""
    *_, x = _resnet_stages(p, x, blocks, True, width, groups)
    return _classes(p, x)


def _mixed(p, x, widths):
    """Four branches side by side."""
    a, b, c, d = widths
    one = _cbr(p, x, a, 1)
    two = _cbr(p, _cbr(p, x, b // 2, 1), b)
    three = _cbr(p, _cbr(p, _cbr(p, x, c // 2, 1), c, (1, 3)), c, (3, 1))
    four = _cbr(p, pool(x, "sum", 3, 1), d, 1)
    return jnp.concatenate([one, two, three, four], -1)


def inception(p, x, blocks=(3, 5, 2), width=32):
    """Szegedy et al., 2015, shortened: factorised branches."""
    x = _cbr(p, _cbr(p, _cbr(p, x, width, 3, 2), width), width * 2)
    x = _cbr(p, pool(x, "max", 3, 2), width * 6)
    for stage, count in enumerate(blocks):
        x = pool(x, "max", 3, 2)
        for _ in range(count):
            scale = width << stage
            x = _mixed(p, x, (scale * 2, scale * 2, scale * 3, scale))
    return _classes(p, x)


def mobilenet(p, x, width=32, depths=(1, 2, 2, 6, 2)):
    """Howard et al., 2017: depthwise separable convolutions."""
    x = _cbr(p, x, width, 3, 2, relu6)
    for stage, count in enumerate(depths):
        for i in range(count):
            x = relu6(norm(p, depthwise(p, x, 3, 2 if stage and not i else 1)))
            x = _cbr(p, x, width << (stage + 1), 1, 1, relu6)
    return _classes(p, x)


def _squeezed(p, x, width):
    """Channels weighted by what their means tell (squeeze and excitation)."""
    s = swish(conv(p, x.mean((1, 2), keepdims=True), max(width // 4, 8), 1, bias=True))
    return x * jax.nn.sigmoid(conv(p, s, x.shape[-1], 1, bias=True))


def efficientnet(p, x, width=16, depths=(1, 2, 2, 3, 3, 4, 1)):
    """Tan and Le, 2019: inverted bottlenecks."""
    x = _cbr(p, x, width * 2, 3, 2, swish)
    widths = (1, 1.5, 2.5, 5, 7, 12, 20)
    strides = (1, 2, 2, 2, 1, 2, 1)
    for factor, count, stride in zip(widths, depths, strides, strict=True):
        features = int(width * factor) // 8 * 8
        for i in range(count):
            y = _cbr(p, x, x.shape[-1] * 6, 1, 1, swish)
            y = swish(norm(p, depthwise(p, y, 3, 1 if i else stride)))
            y = norm(p, conv(p, _squeezed(p, y, x.shape[-1]), features, 1))
            x = x + y if x.shape == y.shape else y
    return _classes(p, _cbr(p, x, width * 80, 1, 1, swish))


def densenet(p, x, blocks=(6, 12, 24, 16), growth=32):
    """Huang et al., 2016: every layer sees all before it."""
    x = pool(_cbr(p, x, growth * 2, 7, 2), "max", 3, 2)
    for stage, count in enumerate(blocks):
        for _ in range(count):
            y = conv(p, relu(norm(p, x)), growth * 4, 1)
            x = jnp.concatenate([x, conv(p, relu(norm(p, y)), growth)], -1)
        if stage < len(blocks) - 1:
            x = pool(conv(p, relu(norm(p, x)), x.shape[-1] // 2, 1), "sum", 2)
    return _classes(p, x)


def squeezenet(p, x, width=16):
    """Iandola et al., 2016."""
    x = pool(relu(conv(p, x, width * 4, 3, 2, bias=True)), "max", 3, 2)
    for i, factor in enumerate((1, 1, 2, 2, 3, 3, 4, 4)):
        if i in (2, 4):
            x = pool(x, "max", 3, 2)
        s = relu(conv(p, x, width * factor, 1, bias=True))
        sides = [relu(conv(p, s, width * factor * 4, k, bias=True)) for k in (1, 3)]
        x = jnp.concatenate(sides, -1)
    return conv(p, x, 1000, 1, bias=True).mean((1, 2))


def _double(p, x, width):
    return _cbr(p, _cbr(p, x, width), width)


def unet(p, x, width=64, depth=4, classes=2):
    """Ronneberger et al., 2015 (two dimensions) and Cicek et al., 2016 (three)."""
    skips = []
    for level in range(depth):
        x = _double(p, x, width << level)
        skips.append(x)
        x = pool(x, "max", 2)
    x = _double(p, x, width << depth)
    for level in reversed(range(depth)):
        x = jnp.concatenate([upconv(p, x, width << level), skips[level]], -1)
        x = _double(p, x, width << level)
    return conv(p, x, classes, 1, bias=True)


def retinanet(p, x, blocks=(3, 4, 6, 3), width=256, classes=90, bottleneck=True):
    """Lin et al., 2017: a pyramid of features, and two heads shared by its levels."""
    features = list(_resnet_stages(p, x, blocks, bottleneck))[1:]
    levels = [conv(p, f, width, 1, bias=True) for f in features]
    for i in (1, 0):
        levels[i] = levels[i] + upsample(levels[i + 1])
    levels = [conv(p, level, width, bias=True) for level in levels]
    levels.append(conv(p, levels[-1], width, 3, 2, bias=True))
    outputs = []
    for level in levels:
        for features in (classes * 9, 36):
            y = level
            for _ in range(4):
                y = relu(conv(p, y, width, bias=True))
            outputs.append(conv(p, y, features, bias=True).reshape(y.shape[0], -1))
    return jnp.concatenate(outputs, -1)


def ssd(p, x, width=32, classes=81):
    """Liu et al., 2015: boxes from several depths of a small backbone."""
    outputs = []
    x = _cbr(p, x, width, 3, 2, relu6)
    for stage, count in enumerate((1, 2, 3, 2, 2)):
        for i in range(count):
            x = relu6(norm(p, depthwise(p, x, 3, 1 if i else 2)))
            x = _cbr(p, x, min(width << (stage + 1), 512), 1, 1, relu6)
        if stage > 1:
            outputs.append(flat(conv(p, x, 6 * (classes + 4), bias=True)))
    return jnp.concatenate(outputs, -1)


def dcgan(p, x, width=64):
    """Radford et al., 2015: a generator, then the discriminator's judgement of what it makes."""
    x = dense(p, x, 4 * 4 * width * 8).reshape(x.shape[0], 4, 4, width * 8)
    for factor in (4, 2, 1):
        x = relu(norm(p, upconv(p, x, width * factor, 5)))
    x = jnp.tanh(upconv(p, x, 3, 5))
    for factor in (1, 2, 4, 8):
        x = jax.nn.leaky_relu(norm(p, conv(p, x, width * factor, 5, 2)), 0.2)
    return dense(p, flat(x), 2)


def deeplab(p, x, blocks=(3, 4, 6, 3), width=256, classes=21):
    """Chen et al., 2017: dilated convolutions side by side."""
    features = list(_resnet_stages(p, x, blocks, True))
    x = features[2]
    branches = [_cbr(p, x, width, 1)] + [_cbr(p, x, width, dilation=d) for d in (6, 12, 18)]
    x = _cbr(p, jnp.concatenate(branches, -1), width, 1)
    x = jnp.concatenate([upsample(x, 4), _cbr(p, features[0], 48, 1)], -1)
    return conv(p, _cbr(p, x, width), classes, 1, bias=True)


def wavenet(p, x, width=128, layers=10, stacks=2):
    """van den Oord et al., 2016: dilated convolutions over time with gates."""
    x = conv(p, x, width, 1, bias=True)
    skip = 0
    for layer in range(layers * stacks):
        dilation = 1 << (layer % layers)
        gate, signal = (conv(p, x, width, 2, dilation=dilation, padding=[(dilation, 0)], bias=True) for _ in range(2))
        y = jax.nn.sigmoid(gate) * jnp.tanh(signal)
        skip = skip + conv(p, y, width, 1, bias=True)
        x = x + conv(p, y, width, 1, bias=True)
    return conv(p, relu(conv(p, relu(skip), width, 1, bias=True)), 256, 1, bias=True).mean(1)
