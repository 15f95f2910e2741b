"""Layers that compute something else, and layers in another order."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from frameworks.oracle.mistakes.mistake import mistake
from frameworks.oracle.network import (
    OPERATIONS,
    Array,
    Back,
    Operation,
    average_pool,
    convolve,
    flatten,
    max_pool,
)
from frameworks.oracle.trainer import TruthTrainer
from frameworks.workloads import Workload
from frameworks.workloads.layers import AveragePool, Conv2D, Layer, Pool, ReLU, Sigmoid, Tanh

BIAS = "Look whether every dense and conv2d layer is built with a bias, and adds it."
PADDING = "Pad as Conv2D.pads says, the odd row at the bottom and right; if need be in a layer."
ACTIVATION = "Look at the activations: one for each in the workload, of its kind, in its place."
POOLING = "Look at the pooling layers: kind, size, stride, and no padding."
FLATTEN = "Flatten in the order (height, width, channels), or permute the dense kernel behind it."


def operations(name: str, says: str, mend: str, changed: Mapping[str, Operation]) -> None:
    parts = {"operations": {**OPERATIONS, **changed}}
    mistake(name, says, mend)(type("Operating", (TruthTrainer,), parts))


def without_bias(kind: str) -> Operation:
    def operation(layer: Layer, x: Array, kernel: Array, bias: Array) -> tuple[Array, Back]:
        y, back = OPERATIONS[kind](layer, x, kernel, np.zeros_like(bias))

        def only(s: Array) -> tuple[Array, ...]:
            slope, along_kernel, along_bias = back(s)
            return slope, along_kernel, np.zeros_like(along_bias)

        return y, only

    return operation


def padded(change: Callable[[Conv2D, tuple[int, int]], tuple[int, int]]) -> dict[str, Operation]:
    def operation(layer: Conv2D, x: Array, kernel: Array, bias: Array) -> tuple[Array, Back]:
        pads = tuple(change(layer, pair) for pair in layer.pads(x.shape[1:]))
        return convolve(x, kernel, bias, layer.stride, pads)

    return {"conv2d": operation}


def alike(layer: Conv2D, pads: tuple[int, int]) -> tuple[int, int]:
    """What a framework that pads both sides alike would be given."""
    return (layer.kernel // 2, layer.kernel // 2) if layer.padding == "same" else pads


def flattened(*axes: int) -> dict[str, Operation]:
    def operation(layer: Layer, x: Array) -> tuple[Array, Back]:
        if x.ndim != 4:
            return flatten(layer, x)
        moved = x.transpose(0, *axes)
        shape, order = moved.shape, np.argsort((0, *axes))
        return moved.reshape(len(x), -1), lambda s: (s.reshape(shape).transpose(*order),)

    return {"flatten": operation}


def leaky(share: float) -> dict[str, Operation]:
    return {"relu": lambda layer, x: (
        np.where(x > 0, x, share * x), lambda s: (np.where(x > 0, s, share * s),)
    )}  # fmt: skip


def elu(layer: Layer, x: Array) -> tuple[Array, Back]:
    low = np.exp(np.minimum(x, 0))
    return np.where(x > 0, x, low - 1), lambda s: (s * np.where(x > 0, 1, low),)


def relu6(layer: Layer, x: Array) -> tuple[Array, Back]:
    return x.clip(0, 6), lambda s: (s * ((x > 0) & (x < 6)),)


def global_max(layer: Layer, x: Array) -> tuple[Array, Back]:
    largest = x.max(axis=(1, 2), keepdims=True)
    return largest[:, 0, 0], lambda s: (s[:, None, None] * (x == largest),)


def global_sum(layer: Layer, x: Array) -> tuple[Array, Back]:
    return x.sum(axis=(1, 2)), lambda s: (np.broadcast_to(s[:, None, None], x.shape),)


operations("dense-bias-missing", "adds no bias in its dense layers", BIAS,
           {"dense": without_bias("dense")})  # fmt: skip
operations("convolution-bias-missing", "adds no bias in its convolutions", BIAS,
           {"conv2d": without_bias("conv2d")})  # fmt: skip
operations("bias-missing", "adds no bias anywhere", BIAS,
           {kind: without_bias(kind) for kind in ("dense", "conv2d")})  # fmt: skip
operations("same-padding-at-the-top", "puts the odd row of `same` padding at the top and left",
           PADDING, padded(lambda layer, pads: pads[::-1]))  # fmt: skip
operations("same-padding-alike",
           "pads both sides alike by half the kernel, as PyTorch's `padding=` does",
           PADDING, padded(alike))  # fmt: skip
operations("flatten-channels-first", "flattens images channel by channel", FLATTEN,
           flattened(3, 1, 2))  # fmt: skip
operations("flatten-columns-first", "flattens images column by column", FLATTEN,
           flattened(2, 1, 3))  # fmt: skip
operations("average-for-max", "takes the average in max pooling", POOLING,
           {"max_pool": average_pool})  # fmt: skip
operations("max-for-average", "takes the maximum in average pooling", POOLING,
           {"average_pool": max_pool})  # fmt: skip
operations("max-for-global-average", "takes the maximum in global average pooling", POOLING,
           {"global_average_pool": global_max})  # fmt: skip
operations("sum-for-global-average", "takes the sum in global average pooling", POOLING,
           {"global_average_pool": global_sum})  # fmt: skip
for share in (0.01, 0.2, 0.3):  # PyTorch's, tf.nn's, Keras'
    operations(f"leaky-relu-{share:g}", f"has leaky ReLUs, of slope {share:g}", ACTIVATION,
               leaky(share))  # fmt: skip
operations("elu-for-relu", "has ELU in place of ReLU", ACTIVATION, {"relu": elu})
operations("relu6-for-relu", "has ReLU cut off at 6", ACTIVATION, {"relu": relu6})
operations("tanh-and-sigmoid-swapped", "has tanh for sigmoid, and sigmoid for tanh", ACTIVATION,
           {"tanh": OPERATIONS["sigmoid"], "sigmoid": OPERATIONS["tanh"]})  # fmt: skip


def relayered(name: str, says: str, mend: str, change: Callable[[list[Layer]], Any]) -> None:
    """The right trainer of a workload whose list of layers is changed."""

    def changed(workload: Workload) -> Workload:
        layers = list(workload.layers)
        return replace(workload, layers=tuple(change(layers) or layers))

    mistake(name, says, mend)(changed)


def each(kind: type[Layer], **values: Any) -> Callable[[list[Layer]], list[Layer]]:
    return lambda layers: [replace(x, **values) if isinstance(x, kind) else x for x in layers]


def without(*kinds: type[Layer]) -> Callable[[list[Layer]], list[Layer]]:
    return lambda layers: [layer for layer in layers if not isinstance(layer, kinds)]


def without_one(layers: list[Layer], last: bool) -> None:
    found = [n for n, layer in enumerate(layers) if isinstance(layer, ACTIVATIONS)]
    if len(found) > 1:
        del layers[found[-1 if last else 0]]


def pooled_first(layers: list[Layer]) -> None:
    for n, (layer, after) in enumerate(pairwise(layers)):
        if isinstance(layer, ACTIVATIONS) and isinstance(after, AveragePool):
            layers[n : n + 2] = [after, layer]


ACTIVATIONS = (ReLU, Tanh, Sigmoid)
relayered("relu-missing", "has no ReLU", ACTIVATION, without(ReLU))
relayered("tanh-missing", "has no tanh", ACTIVATION, without(Tanh))
relayered("sigmoid-missing", "has no sigmoid", ACTIVATION, without(Sigmoid))
relayered("first-activation-missing", "lacks the first activation", ACTIVATION,
          lambda layers: without_one(layers, last=False))  # fmt: skip
relayered("last-activation-missing", "lacks the last activation", ACTIVATION,
          lambda layers: without_one(layers, last=True))  # fmt: skip
relayered("relu-at-the-end", "has a ReLU behind the last layer", ACTIVATION,
          lambda layers: [*layers, ReLU()])  # fmt: skip
relayered("activation-after-pooling", "pools before the activation", ACTIVATION, pooled_first)
relayered("pooling-missing", "leaves out the pooling", POOLING, without(Pool))
relayered("pooling-stride-ignored", "moves its pooling windows by one pixel", POOLING,
          each(Pool, stride=1))  # fmt: skip
relayered("pooling-stride-as-size", "moves its pooling windows by their own size", POOLING,
          each(Pool, stride=None))  # fmt: skip
relayered("valid-for-same", "does not pad where `same` asks for it", PADDING,
          each(Conv2D, padding="valid"))  # fmt: skip
relayered("same-for-valid", "pads where `valid` asks for none", PADDING,
          each(Conv2D, padding="same"))  # fmt: skip
relayered("stride-ignored", "moves its convolutions by one pixel, whatever their stride",
          "Hand the stride of conv2d to the framework's convolution.",
          each(Conv2D, stride=1))  # fmt: skip
