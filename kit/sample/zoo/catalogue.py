"""Which programs are traced: architecture, family, sizes, batch sizes, types, inference or training."""

from dataclasses import dataclass, field
from itertools import product

import jax
import jax.numpy as jnp

from kit.sample.zoo import language, sequence, vision


@dataclass(frozen=True)
class Architecture:
    """One architecture and its sizes.

    Attributes
    ----------
    function : callable (parameters, *inputs)
    source : {"xla", "nlp"}
        The family of collections that its programs go to.
    inputs : callable (batch, side)
        Shapes of the inputs; `side` is pixels, tokens or features.
    sizes : list of (str, int, dict)
        Name, side, options of the function.
    batches : tuple of int
    optimizer : {"momentum", "adam", "lamb"}
    loss : {"classes", "values"}
        Cross entropy over the last dimension, or squared differences.
    looped : bool
        Whether training steps stand in a loop on the device.
    """

    function: object
    source: str
    inputs: object
    sizes: list
    batches: tuple
    optimizer: str = "momentum"
    loss: str = "classes"
    looped: bool = False
    types: tuple = field(default=("f32", "bf16"))


def _images(batch, side):
    return (jax.ShapeDtypeStruct((batch, side, side, 3), jnp.float32),)


def _volumes(batch, side):
    return (jax.ShapeDtypeStruct((batch, side, side, side, 1), jnp.float32),)


def _waves(batch, side):
    return (jax.ShapeDtypeStruct((batch, side, 64), jnp.float32),)


def _vectors(batch, side):
    return (jax.ShapeDtypeStruct((batch, side), jnp.float32),)


def _tokens(batch, side):
    return (jax.ShapeDtypeStruct((batch, side), jnp.int32),)


def _pairs(batch, side):
    return _tokens(batch, side) * 2


def _mixed(batch, side):
    return (*_vectors(batch, 13), *_tokens(batch, side))


def _ids(batch, _):
    return (jax.ShapeDtypeStruct((batch,), jnp.int32),) * 2


def _blocks(*counts, **rest):
    return {"blocks": counts, **rest}


XLA = {
    "alexnet": Architecture(vision.alexnet, "xla", _images, [("base", 224, {}), ("small", 160, {"width": 48})],
                            (32, 128)),
    "vgg": Architecture(vision.vgg, "xla", _images, [("11", 160, {"convs": (1, 1, 2, 2, 2)}), ("16", 224, {})],
                        (16, 64)),
    "resnet": Architecture(vision.resnet, "xla", _images, [
        ("18", 224, _blocks(2, 2, 2, 2, bottleneck=False)), ("50", 224, {}), ("34", 128, {"bottleneck": False}),
        ("101", 224, _blocks(3, 4, 23, 3))], (32, 128), looped=True),
    "resnext": Architecture(vision.resnext, "xla", _images, [("26", 160, _blocks(2, 2, 2, 2)), ("50", 224, {})],
                            (16, 64)),
    "inception": Architecture(vision.inception, "xla", _images, [("base", 299, {}), ("small", 224, _blocks(2, 3, 1))],
                              (16, 64), looped=True),
    "mobilenet": Architecture(vision.mobilenet, "xla", _images, [("100", 224, {}), ("50", 192, {"width": 16})],
                              (32, 128), looped=True),
    "efficientnet": Architecture(vision.efficientnet, "xla", _images, [
        ("b0", 224, {}), ("b2", 260, {"depths": (2, 3, 3, 4, 4, 5, 2)})], (16, 64)),
    "densenet": Architecture(vision.densenet, "xla", _images, [
        ("small", 160, _blocks(4, 6, 8, 6, growth=24)), ("121", 224, {})], (16, 64)),
    "squeezenet": Architecture(vision.squeezenet, "xla", _images, [("base", 224, {}), ("large", 256, {"width": 32})],
                               (32, 128), "adam"),
    "unet": Architecture(vision.unet, "xla", _images, [("base", 256, {}), ("small", 128, {"width": 32, "depth": 3}),
                                                       ("deep", 320, {"width": 24, "depth": 5})],
                         (4, 16), "adam"),
    "unet3d": Architecture(vision.unet, "xla", _volumes, [
        ("base", 96, {"width": 32, "depth": 4, "classes": 3}), ("small", 64, {"width": 16, "depth": 3, "classes": 3}),
        ("wide", 64, {"width": 48, "depth": 3, "classes": 4})], (2, 4), "adam", looped=True),
    "retinanet": Architecture(vision.retinanet, "xla", _images, [
        ("18", 256, _blocks(2, 2, 2, 2, bottleneck=False, width=128)), ("50", 512, {})], (4, 16), loss="values"),
    "ssd": Architecture(vision.ssd, "xla", _images, [("base", 320, {}), ("small", 256, {"width": 16})], (8, 32),
                        loss="values"),
    "dcgan": Architecture(vision.dcgan, "xla", _vectors, [("base", 100, {}), ("wide", 128, {"width": 128})], (32, 128),
                          "adam"),
    "deeplab": Architecture(vision.deeplab, "xla", _images, [
        ("base", 256, {}), ("small", 128, _blocks(2, 2, 2, 2, width=128))], (4, 16)),
    "wavenet": Architecture(vision.wavenet, "xla", _waves, [
        ("base", 4096, {}), ("small", 2048, {"width": 64, "layers": 8})], (2, 8), "adam"),
    "lstm": Architecture(sequence.lstm, "xla", _tokens, [
        ("base", 35, {}), ("large", 64, {"width": 1024}), ("unrolled", 20, {"width": 650, "unrolled": 20})],
        (16, 64), "adam", looped=True),
    "gru": Architecture(sequence.gru, "xla", _tokens, [("base", 100, {}), ("deep", 64, {"width": 256, "layers": 4})],
                        (32, 128), "adam"),
    "seq2seq": Architecture(sequence.seq2seq, "xla", _pairs, [
        ("base", 50, {}), ("gnmt", 40, {"width": 1024, "layers": 4, "vocabulary": 32000})], (16, 64), "adam"),
    "dlrm": Architecture(sequence.dlrm, "xla", _mixed, [
        ("base", 26, {}), ("small", 8, {"width": 64, "bottom": (256,), "top": (512, 256)})], (512, 2048)),
    "ncf": Architecture(sequence.ncf, "xla", _ids, [("base", 0, {}), ("large", 0, {"width": 256})], (1024, 8192),
                        "adam"),
    "autoencoder": Architecture(sequence.autoencoder, "xla", _vectors, [
        ("base", 784, {}), ("wide", 2048, {"widths": (2048, 1024, 512, 64)})], (128, 1024), "adam", "values", True),
    "vit": Architecture(sequence.vit, "xla", _images, [
        ("small", 224, {}), ("tiny", 160, {"width": 192, "heads": 3, "layers": 8}),
        ("base", 224, {"width": 768, "heads": 12})], (16, 64), "adam"),
    "mixer": Architecture(sequence.mixer, "xla", _images, [
        ("base", 224, {}), ("small", 160, {"width": 192, "layers": 4})], (16, 64), "adam"),
}

_TINY = {"width": 128, "layers": 2, "heads": 2}
_SMALL = {"width": 512, "layers": 4, "heads": 8}

NLP = {
    "bert": Architecture(language.bert, "nlp", _tokens, [
        ("tiny", 128, _TINY), ("small", 256, _SMALL), ("base", 384, {}),
        ("large", 128, {"width": 1024, "layers": 24, "heads": 16})], (8, 32), "lamb"),
    "albert": Architecture(language.albert, "nlp", _tokens, [("base", 128, {}), ("small", 256, _SMALL)], (8, 32),
                           "lamb"),
    "electra": Architecture(language.electra, "nlp", _tokens, [
        ("small", 128, {"width": 256, "layers": 6, "heads": 4}), ("base", 256, {})], (8, 32), "adam"),
    "mobilebert": Architecture(language.mobilebert, "nlp", _tokens, [("base", 128, {}), ("small", 256, {"layers": 4})],
                               (8, 32), "lamb"),
    "gpt": Architecture(language.gpt, "nlp", _tokens, [
        ("tiny", 128, _TINY), ("small", 512, {}), ("medium", 256, {"width": 1024, "layers": 24, "heads": 16})],
        (4, 16), "adam"),
    "t5": Architecture(language.t5, "nlp", _pairs, [
        ("small", 128, {}), ("mini", 64, {"width": 256, "layers": 3, "heads": 4, "hidden": 512}),
        ("base", 256, {"width": 768, "layers": 12, "heads": 12, "hidden": 2048})], (8, 32), "adam"),
    "transformer": Architecture(language.transformer, "nlp", _pairs, [
        ("base", 64, {}), ("mini", 128, {"width": 256, "layers": 2, "heads": 4})], (16, 64), "adam"),
    "linformer": Architecture(language.linformer, "nlp", _tokens, [
        ("base", 512, {}), ("small", 1024, {"width": 256, "layers": 3, "heads": 4})], (4, 16), "adam"),
    "longformer": Architecture(language.longformer, "nlp", _tokens, [
        ("base", 1024, {}), ("small", 512, {"width": 256, "layers": 3, "heads": 4})], (2, 8), "adam"),
    "fnet": Architecture(language.fnet, "nlp", _tokens, [
        ("base", 512, {}), ("small", 256, {"width": 256, "layers": 3})], (8, 32), "lamb"),
}

ARCHITECTURES = {**XLA, **NLP}

# One program of the data set's largest size, for scale tests.
LARGEST = ("gpt", "xl", 256, {"width": 1280, "layers": 64, "heads": 20}, 4, "bf16", True)


@dataclass(frozen=True)
class Program:
    """One program to trace."""

    architecture: str
    size: str
    side: int
    options: dict
    batch: int
    type: str
    training: bool

    @property
    def name(self):
        """``resnet_50.train.b32.bf16``."""
        mode = "train" if self.training else "infer"
        return f"{self.architecture}_{self.size}.{mode}.b{self.batch}.{self.type}"


def programs():
    """Every program: all sizes, training and inference, with batch and type in turn."""
    for name, a in ARCHITECTURES.items():
        for (size, side, options), (batch, kind) in product(a.sizes, zip(a.batches, a.types, strict=True)):
            for training in (False, True):
                yield Program(name, size, side, options, batch, kind, training)
    yield Program(*LARGEST)
