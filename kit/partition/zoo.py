"""Public convolutional architectures, written compactly, for the embedded instances; built on the meta device."""

import torch
from torch import nn
from torch.nn import functional

IMAGES = (32, 3, 224, 224)


def conv(cin, cout, size=3, stride=1, groups=1, act=nn.ReLU, dilation=1):
    """Convolution, batch normalisation and activation with "same" padding."""
    layers = [nn.Conv2d(cin, cout, size, stride, dilation * (size // 2), dilation, groups, bias=False),
              nn.BatchNorm2d(cout)]
    return nn.Sequential(*layers, act()) if act else nn.Sequential(*layers)


def head(channels, classes=1000):
    """Global average pooling and a linear classifier."""
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, classes))


class Residual(nn.Module):
    """``x + body(x)``, with a projection where shapes differ, and an activation after it."""

    def __init__(self, body, shortcut=None, act=True):
        super().__init__()
        self.body, self.shortcut, self.act = body, shortcut or nn.Identity(), nn.ReLU() if act else nn.Identity()

    def forward(self, x):
        return self.act(self.body(x) + self.shortcut(x))


class Concat(nn.Module):
    """Branches side by side, joined along the channels."""

    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


class SqueezeExcite(nn.Module):
    """Channel weights from a global average (Hu et al., 2018)."""

    def __init__(self, channels, inner):
        super().__init__()
        self.weights = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, inner, 1), nn.ReLU(),
                                     nn.Conv2d(inner, channels, 1), nn.Sigmoid())

    def forward(self, x):
        return x * self.weights(x)


def vgg(plan):
    """VGG (Simonyan and Zisserman, 2015): a list of widths for each of five resolutions."""
    layers, cin = [], 3
    for widths in plan:
        for width in widths:
            layers += [nn.Conv2d(cin, width, 3, padding=1), nn.ReLU()]
            cin = width
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(cin * 49, 4096), nn.ReLU(), nn.Linear(4096, 4096),
                         nn.ReLU(), nn.Linear(4096, 1000))


def alexnet():
    """AlexNet (Krizhevsky et al., 2012)."""
    return nn.Sequential(
        nn.Conv2d(3, 64, 11, 4, 2), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Conv2d(64, 192, 5, padding=2), nn.ReLU(),
        nn.MaxPool2d(3, 2), nn.Conv2d(192, 384, 3, padding=1), nn.ReLU(), nn.Conv2d(384, 256, 3, padding=1), nn.ReLU(),
        nn.Conv2d(256, 256, 3, padding=1), nn.ReLU(), nn.MaxPool2d(3, 2), nn.Flatten(), nn.Linear(9216, 4096),
        nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 1000))


def resnet(depths, bottleneck=True, groups=1, base=64, attention=False):
    """ResNet (He et al., 2016), ResNeXt (groups; Xie et al., 2017), SE-ResNet (attention), wide ResNet (base)."""
    def block(cin, width, stride):
        cout, inner = (4 * width, width * base // 64) if bottleneck else (width, width)
        body = [conv(cin, inner, 1), conv(inner, inner, 3, stride, groups), conv(inner, cout, 1, act=None)] \
            if bottleneck else [conv(cin, inner, 3, stride), conv(inner, cout, act=None)]
        body += [SqueezeExcite(cout, cout // 16)] if attention else []
        shortcut = conv(cin, cout, 1, stride, act=None) if stride > 1 or cin != cout else None
        return Residual(nn.Sequential(*body), shortcut), cout

    layers, cin = [conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for level, depth in enumerate(depths):
        for index in range(depth):
            layer, cin = block(cin, 64 << level, 2 if level and not index else 1)
            layers.append(layer)
    return nn.Sequential(*layers, head(cin))


class DenseLayer(nn.Module):
    """One layer of DenseNet: its output is appended to all before it."""

    def __init__(self, cin, growth):
        super().__init__()
        self.body = nn.Sequential(nn.BatchNorm2d(cin), nn.ReLU(), nn.Conv2d(cin, 4 * growth, 1, bias=False),
                                  nn.BatchNorm2d(4 * growth), nn.ReLU(),
                                  nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False))

    def forward(self, x):
        return torch.cat([x, self.body(x)], 1)


def densenet(depths=(6, 12, 24, 16), growth=32):
    """DenseNet-121 (Huang et al., 2017)."""
    layers, width = [conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1)], 64
    for level, depth in enumerate(depths):
        if level:
            width //= 2
            layers += [nn.BatchNorm2d(2 * width), nn.ReLU(), nn.Conv2d(2 * width, width, 1, bias=False),
                       nn.AvgPool2d(2)]
        for _ in range(depth):
            layers.append(DenseLayer(width, growth))
            width += growth
    return nn.Sequential(*layers, nn.BatchNorm2d(width), nn.ReLU(), head(width))


def squeezenet():
    """SqueezeNet 1.0 (Iandola et al., 2016)."""
    def fire(cin, squeeze, expand):
        return nn.Sequential(nn.Conv2d(cin, squeeze, 1), nn.ReLU(), Concat(
            nn.Sequential(nn.Conv2d(squeeze, expand, 1), nn.ReLU()),
            nn.Sequential(nn.Conv2d(squeeze, expand, 3, padding=1), nn.ReLU())))

    return nn.Sequential(
        nn.Conv2d(3, 96, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2), fire(96, 16, 64), fire(128, 16, 64), fire(128, 32, 128),
        nn.MaxPool2d(3, 2), fire(256, 32, 128), fire(256, 48, 192), fire(384, 48, 192), fire(384, 64, 256),
        nn.MaxPool2d(3, 2), fire(512, 64, 256), nn.Conv2d(512, 1000, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten())


def googlenet():
    """GoogLeNet (Szegedy et al., 2015): widths of each inception module's four branches."""
    def inception(cin, a, b, c, d, e, pooled):
        return Concat(conv(cin, a, 1), nn.Sequential(conv(cin, b, 1), conv(b, c)),
                      nn.Sequential(conv(cin, d, 1), conv(d, e, 5)),
                      nn.Sequential(nn.MaxPool2d(3, 1, 1), conv(cin, pooled, 1)))

    rows = [(192, 64, 96, 128, 16, 32, 32), (256, 128, 128, 192, 32, 96, 64), None,
            (480, 192, 96, 208, 16, 48, 64), (512, 160, 112, 224, 24, 64, 64), (512, 128, 128, 256, 24, 64, 64),
            (512, 112, 144, 288, 32, 64, 64), (528, 256, 160, 320, 32, 128, 128), None,
            (832, 256, 160, 320, 32, 128, 128), (832, 384, 192, 384, 48, 128, 128)]
    return nn.Sequential(conv(3, 64, 7, 2), nn.MaxPool2d(3, 2, 1), conv(64, 64, 1), conv(64, 192),
                         nn.MaxPool2d(3, 2, 1), *(inception(*row) if row else nn.MaxPool2d(3, 2, 1) for row in rows),
                         head(1024))


def inverted(cin, cout, expand, size=3, stride=1, attention=False):
    """Inverted residual with a depthwise convolution (Sandler et al., 2018)."""
    inner = cin * expand
    body = [conv(cin, inner, 1, act=nn.ReLU6)] if expand > 1 else []
    body.append(conv(inner, inner, size, stride, inner, nn.ReLU6))
    body += [SqueezeExcite(inner, max(1, cin // 4))] if attention else []
    body = nn.Sequential(*body, conv(inner, cout, 1, act=None))
    return Residual(body, act=False) if stride == 1 and cin == cout else body


def mobilenet(rows, stem, last, attention=False):
    """MobileNetV2 and relatives: rows of (expand, width, repeats, stride, kernel size)."""
    layers, cin = [conv(3, stem, 3, 2)], stem
    for expand, width, repeats, stride, size in rows:
        for index in range(repeats):
            layers.append(inverted(cin, width, expand, size, 1 if index else stride, attention))
            cin = width
    return nn.Sequential(*layers, conv(cin, last, 1), head(last))


def mobilenet_v1():
    """MobileNet (Howard et al., 2017): depthwise separable convolutions."""
    rows = [(32, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2),
            *[(512, 512, 1)] * 5, (512, 1024, 2), (1024, 1024, 1)]
    return nn.Sequential(conv(3, 32, 3, 2), *(nn.Sequential(conv(a, a, 3, s, a), conv(a, b, 1)) for a, b, s in rows),
                         head(1024))


class Shuffle(nn.Module):
    """A unit of ShuffleNet V2: half of the channels passes, the halves are interleaved."""

    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(conv(width // 2, width // 2, 1), conv(width // 2, width // 2, 3, 1, width // 2, None),
                                  conv(width // 2, width // 2, 1))

    def forward(self, x):
        left, right = torch.chunk(x, 2, 1)
        return torch.cat([left, self.body(right)], 1).unflatten(1, (2, -1)).transpose(1, 2).flatten(1, 2)


def shufflenet():
    """ShuffleNet V2 (Ma et al., 2018)."""
    layers, cin = [conv(3, 24, 3, 2), nn.MaxPool2d(3, 2, 1)], 24
    for width, repeats in ((116, 4), (232, 8), (464, 4)):
        half = width // 2
        layers.append(Concat(nn.Sequential(conv(cin, cin, 3, 2, cin, None), conv(cin, half, 1)), nn.Sequential(
            conv(cin, half, 1), conv(half, half, 3, 2, half, None), conv(half, half, 1))))
        layers += [Shuffle(width) for _ in range(repeats - 1)]
        cin = width
    return nn.Sequential(*layers, conv(464, 1024, 1), head(1024))


class UNet(nn.Module):
    """U-Net (Ronneberger et al., 2015): long skips from the way down to the way up."""

    def __init__(self, cin=3, widths=(64, 128, 256, 512), classes=2, volume=False):
        super().__init__()
        layer, norm, up = (nn.Conv3d, nn.BatchNorm3d, nn.ConvTranspose3d) if volume else \
            (nn.Conv2d, nn.BatchNorm2d, nn.ConvTranspose2d)

        def double(a, b):
            return nn.Sequential(layer(a, b, 3, padding=1), norm(b), nn.ReLU(), layer(b, b, 3, padding=1), norm(b),
                                 nn.ReLU())

        self.down = nn.ModuleList(double(a, b) for a, b in zip((cin, *widths[:-1]), widths, strict=True))
        self.pool = nn.MaxPool3d(2) if volume else nn.MaxPool2d(2)
        self.bottom = double(widths[-1], 2 * widths[-1])
        self.ups = nn.ModuleList(up(2 * width, width, 2, 2) for width in reversed(widths))
        self.merges = nn.ModuleList(double(2 * width, width) for width in reversed(widths))
        self.last = layer(widths[0], classes, 1)

    def forward(self, x):
        skips = []
        for block in self.down:
            skips.append(block(x))
            x = self.pool(skips[-1])
        x = self.bottom(x)
        for up, merge, skip in zip(self.ups, self.merges, reversed(skips), strict=True):
            x = merge(torch.cat([skip, up(x)], 1))
        return self.last(x)


class FeaturePyramid(nn.Module):
    """RetinaNet's head on a ResNet-like trunk (Lin et al., 2017): five levels, shared weights left apart."""

    def __init__(self, width=256, classes=80, anchors=9):
        super().__init__()
        trunk = resnet((3, 4, 6, 3))
        layers = list(trunk.children())[:-1]
        self.trunk = nn.ModuleList([nn.Sequential(*layers[:9]), nn.Sequential(*layers[9:15]),
                                    nn.Sequential(*layers[15:])])
        self.lateral = nn.ModuleList(nn.Conv2d(channels, width, 1) for channels in (512, 1024, 2048))
        self.smooth = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(3))
        self.extra = nn.ModuleList([nn.Conv2d(2048, width, 3, 2, 1), nn.Conv2d(width, width, 3, 2, 1)])
        self.heads = nn.ModuleList(nn.ModuleList(nn.Sequential(
            *[conv(width, width) for _ in range(4)], nn.Conv2d(width, anchors * outputs, 3, padding=1))
            for outputs in (classes, 4)) for _ in range(5))

    def forward(self, x):
        c3 = self.trunk[0](x)
        c4 = self.trunk[1](c3)
        c5 = self.trunk[2](c4)
        p5 = self.lateral[2](c5)
        p4 = self.lateral[1](c4) + functional.interpolate(p5, scale_factor=2.0)
        p3 = self.lateral[0](c3) + functional.interpolate(p4, scale_factor=2.0)
        p6 = self.extra[0](c5)
        levels = [*(smooth(p) for smooth, p in zip(self.smooth, (p3, p4, p5), strict=True)), p6,
                  self.extra[1](torch.relu(p6))]
        return [branch(level).flatten(2) for heads, level in zip(self.heads, levels, strict=True) for branch in heads]


def dcgan(width=64):
    """The generator of DCGAN (Radford et al., 2016)."""
    layers = []
    for a, b in ((100, 8 * width), (8 * width, 4 * width), (4 * width, 2 * width), (2 * width, width)):
        layers += [nn.ConvTranspose2d(a, b, 4, 1 if a == 100 else 2, 0 if a == 100 else 1, bias=False),
                   nn.BatchNorm2d(b), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False), nn.Tanh())
