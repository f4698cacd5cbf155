"""The list of architectures in the embedded set: a builder and an example input each."""

import torch
from torch import nn

from kit.partition import zoo, zoo_sequences
from kit.partition.torch_trace import trace
from kit.partition.zoo import IMAGES

V2_ROWS = [(1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 32, 3, 2, 3), (6, 64, 4, 2, 3), (6, 96, 3, 1, 3), (6, 160, 3, 2, 3),
           (6, 320, 1, 1, 3)]
B0_ROWS = [(1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5),
           (6, 320, 1, 1, 3)]
VGG16 = [(64,) * 2, (128,) * 2, (256,) * 3, (512,) * 3, (512,) * 3]


def images(*shape):
    """An example of a batch of images, values left out."""
    return torch.empty(shape, device="meta")


def ids(*shape):
    """An example of token numbers, values left out."""
    return torch.empty(shape, dtype=torch.long, device="meta")


def _gated(width):
    return zoo_sequences.Gated(width, 11 * width // 4)


def _experts(width):
    return zoo_sequences.Experts(width, 4 * width, 4)


ARCHITECTURES = {
    "alexnet": (zoo.alexnet, (images(*IMAGES),)),
    "vgg16": (lambda: zoo.vgg(VGG16), (images(*IMAGES),)),
    "resnet18": (lambda: zoo.resnet((2, 2, 2, 2), bottleneck=False), (images(*IMAGES),)),
    "resnet50": (lambda: zoo.resnet((3, 4, 6, 3)), (images(*IMAGES),)),
    "resnet101": (lambda: zoo.resnet((3, 4, 23, 3)), (images(*IMAGES),)),
    "resnext50": (lambda: zoo.resnet((3, 4, 6, 3), groups=32, base=128), (images(*IMAGES),)),
    "se-resnet50": (lambda: zoo.resnet((3, 4, 6, 3), attention=True), (images(*IMAGES),)),
    "densenet121": (zoo.densenet, (images(*IMAGES),)),
    "squeezenet": (zoo.squeezenet, (images(*IMAGES),)),
    "googlenet": (zoo.googlenet, (images(*IMAGES),)),
    "mobilenet-v1": (zoo.mobilenet_v1, (images(*IMAGES),)),
    "mobilenet-v2": (lambda: zoo.mobilenet(V2_ROWS, 32, 1280), (images(*IMAGES),)),
    "efficientnet-b0": (lambda: zoo.mobilenet(B0_ROWS, 32, 1280, attention=True), (images(*IMAGES),)),
    "shufflenet-v2": (zoo.shufflenet, (images(*IMAGES),)),
    "unet": (zoo.UNet, (images(8, 3, 256, 256),)),
    "unet3d": (lambda: zoo.UNet(1, (32, 64, 128), 3, volume=True), (images(2, 1, 96, 96, 96),)),
    "retinanet": (zoo.FeaturePyramid, (images(8, 3, 512, 512),)),
    "dcgan": (zoo.dcgan, (images(64, 100, 1, 1),)),
    "bert-base": (lambda: zoo_sequences.Transformer(12, 768, 12, 30522, 128), (ids(32, 128),)),
    "bert-large": (lambda: zoo_sequences.Transformer(24, 1024, 16, 30522, 128), (ids(32, 128),)),
    "gpt2": (lambda: zoo_sequences.Transformer(12, 768, 12, 50257, 1024, causal=True), (ids(4, 1024),)),
    "llama-like": (lambda: zoo_sequences.Transformer(16, 2048, 32, 32000, 512, True, _gated), (ids(4, 512),)),
    "mixture-of-experts": (lambda: zoo_sequences.Transformer(6, 512, 8, 32000, 128, True, _experts), (ids(16, 128),)),
    "translator": (zoo_sequences.Translator, (ids(32, 64), ids(32, 64))),
    "vit-base": (zoo_sequences.VisionTransformer, (images(*IMAGES),)),
    "mlp-mixer": (zoo_sequences.Mixer, (images(*IMAGES),)),
    "clip": (zoo_sequences.TwoTowers, (images(*IMAGES), ids(32, 77))),
    "lstm-lm": (zoo_sequences.Recurrent, (ids(32, 35),)),
    "gru-lm": (lambda: zoo_sequences.Recurrent(nn.GRU, 4), (ids(32, 35),)),
    "wavenet": (zoo_sequences.WaveNet, (images(4, 256, 4096),)),
    "dlrm": (zoo_sequences.Recommender, (images(2048, 13), ids(2048, 26))),
}


def build(name):
    """The architecture as a module without values, and an example of what it is called with."""
    make, inputs = ARCHITECTURES[name]
    with torch.device("meta"):
        return make().eval(), inputs


def instance(name, k):
    """The architecture as an `Instance`, traced and priced by a roofline."""
    return trace(*build(name), name, k=k).instance
