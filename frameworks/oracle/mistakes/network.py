"""Layers that compute something else, kernels in another layout, and products of fewer digits."""

from collections.abc import Callable, Mapping
from dataclasses import replace

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
)
from frameworks.oracle.trainer import Backward, OracleTrainer
from frameworks.workloads import Weights
from frameworks.workloads.layers import Activation, Chain, Conv2D, Layer, Pads, both_sides

BIAS = "Look whether every dense and conv2d layer is built with a bias, and adds it."
PADDING = "Pad as Conv2D.pads says, the odd row at the bottom and right; if need be in a layer."
PADS = "Pad as Conv2D.pads says: ((top, bottom), (left, right)). Some paddings count columns first."
POOLING = "Look at the pooling layers: kind, size, stride and padding."
LAYOUT = "Look at how weights are loaded and read back: canonical is {}."
DENSE = LAYOUT.format("(in, out)")
CONVOLUTION = LAYOUT.format("(height, width, in, out), correlated and not flipped")


def operations(name: str, says: str, mend: str, changed: Mapping[str, Operation]) -> None:
    """Add a trainer with other operations for some kinds of layers."""
    parts = {"operations": {**OPERATIONS, **changed}}
    mistake(name, says, mend)(type("Operating", (OracleTrainer,), parts))


def without_bias(kind: str) -> Operation:
    def operation(layer: Layer, x: Array, kernel: Array, *bias: Array) -> tuple[Array, Back]:
        y, back = OPERATIONS[kind](layer, x, kernel, *map(np.zeros_like, bias))

        def unbiased(s: Array) -> tuple[Array, ...]:
            slope, along_kernel, *along_bias = back(s)
            return slope, along_kernel, *map(np.zeros_like, along_bias)

        return y, unbiased

    return operation


def padded(change: Callable[[Conv2D, Pads], Pads]) -> dict[str, Operation]:
    def operation(layer: Conv2D, x: Array, kernel: Array, *bias: Array) -> tuple[Array, Back]:
        pads = change(layer, layer.pads(x.shape[1:]))
        return convolve(x, kernel, bias, layer.stride, pads)

    return {"conv2d": operation}


def where_same(change: Callable[[Conv2D, Pads], Pads]) -> dict[str, Operation]:
    return padded(lambda layer, pads: change(layer, pads) if layer.padding == "same" else pads)


def turned(pads: Pads) -> Pads:
    (top, bottom), (left, right) = pads
    return (bottom, top), (right, left)


def channels_first(layer: Layer, x: Array) -> tuple[Array, Back]:
    """Flatten in the order (channels, height, width)."""
    if x.ndim != 4:
        return flatten(layer, x)
    moved = x.transpose(0, 3, 1, 2)
    shape = moved.shape
    return moved.reshape(len(x), -1), lambda s: (s.reshape(shape).transpose(0, 2, 3, 1),)


operations(
    "bias-missing", "adds no bias", BIAS, {kind: without_bias(kind) for kind in ("dense", "conv2d")}
)
operations(
    "same-padding-at-the-top",
    "puts the odd row of `same` padding at the top and left",
    PADDING,
    where_same(lambda layer, pads: turned(pads)),
)
operations(
    "same-padding-alike",
    "pads both sides alike by half the kernel, as PyTorch's `padding=` does",
    PADDING,
    where_same(lambda layer, pads: both_sides(layer.kernel // 2)),
)
operations(
    "padding-at-the-wrong-side",
    "puts the padding of the top at the bottom and that of the left at the right, or vice versa",
    PADS,
    padded(lambda layer, pads: pads if isinstance(layer.padding, str) else turned(pads)),
)
operations(
    "flatten-channels-first",
    "flattens images channel by channel",
    "Flatten in the order (height, width, channels), or permute the dense kernel behind it.",
    {"flatten": channels_first},
)
operations(
    "average-for-max", "takes the average in max pooling", POOLING, {"max_pool": average_pool}
)


def relayered(name: str, says: str, mend: str, change: Callable[[Layer], Layer | None]) -> None:
    """Add the right trainer of a workload whose layers are changed, or left out if None."""

    def chain(layers: Chain) -> Chain:
        found = [change(layer.with_chains(chain)) for layer in layers]
        return tuple(layer for layer in found if layer)

    mistake(name, says, mend)(lambda workload: replace(workload, layers=chain(workload.layers)))


relayered(
    "activation-missing",
    "has no activations",
    "Look at the activations: one for each in the workload, of its kind, in its place.",
    lambda layer: None if isinstance(layer, Activation) else layer,
)
relayered(
    "same-for-a-number",
    "pads as `same` does where the workload has a number",
    "Pad by the number on every side: at a stride of 2, `same` has fewer rows at the top.",
    lambda layer: (
        replace(layer, padding="same")
        if isinstance(layer, Conv2D) and isinstance(layer.padding, int)
        else layer
    ),
)


class Rearranged(OracleTrainer):
    """Kernels of `dimensions` are used in another arrangement of the same shape.

    They are loaded and read back by the same wrong rule. A rule that is wrong one way only
    gives other weights before the first step.
    """

    dimensions: int

    @staticmethod
    def arrange(kernel: Array) -> Array:
        raise NotImplementedError

    def arranged(self, weights: Weights) -> Weights:
        kernels = {n: self.arrange(w) for n, w in weights.items() if w.ndim == self.dimensions}
        return weights | {n: k for n, k in kernels.items() if k.shape == weights[n].shape}

    def forward(self, x: Array) -> tuple[Array, Backward]:
        kept, self.parameters = self.parameters, self.arranged(self.parameters)
        try:
            return super().forward(x)
        finally:
            self.parameters = kept

    def differentiate(self, inputs: Array, targets: Array) -> tuple[float, Weights]:
        loss, gradients = super().differentiate(inputs, targets)
        places = self.arranged(
            {n: np.arange(g.size).reshape(g.shape) for n, g in gradients.items()}
        )
        for name, place in places.items():
            back = np.empty_like(gradients[name])
            back.flat[place.ravel()] = gradients[name].ravel()
            gradients[name] = back
        return loss, gradients


def rearranged(
    name: str, says: str, mend: str, dimensions: int, arrange: Callable[[Array], Array]
) -> None:
    parts = {"dimensions": dimensions, "arrange": staticmethod(arrange)}
    mistake(name, says, mend)(type("Rearranging", (Rearranged,), parts))


rearranged("dense-transposed", "has its square dense kernels transposed", DENSE, 2, lambda k: k.T)
rearranged(
    "convolution-transposed",
    "has height and width of its convolution kernels swapped",
    CONVOLUTION,
    4,
    lambda k: k.transpose(1, 0, 2, 3),
)
rearranged(
    "convolution-flipped",
    "flips its kernels: a true convolution, not a correlation",
    CONVOLUTION,
    4,
    lambda k: k[::-1, ::-1],
)


def rounded(x: Array, bits: int) -> Array:
    """`x` with this many binary digits after the first; exponents are not limited."""
    fraction, exponent = np.frexp(x)
    result: Array = np.ldexp(np.round(np.ldexp(fraction, bits + 1)), exponent - bits - 1)
    return result.astype(x.dtype)


def products(kind: str, bits: int) -> Operation:
    def operation(layer: Layer, x: Array, kernel: Array, *bias: Array) -> tuple[Array, Back]:
        y, back = OPERATIONS[kind](layer, rounded(x, bits), rounded(kernel, bits), *bias)

        def reduced(s: Array) -> tuple[Array, ...]:
            slope, along_kernel, *_ = back(rounded(s, bits))
            return slope, along_kernel, *(s.sum(axis=tuple(range(s.ndim - 1))) for _ in bias)

        return y, reduced

    return operation


# Only the rounding of operands can be repeated exactly. Sums of float32 depend on their order, so
# the size of their errors names them (`workflows.certify.divergence.reduced_precision`).
operations(
    "products-of-tf32",
    "computes its matrix products and convolutions from operands of TF32 or float16",
    "Switch reduced precision off: allow_tf32, enable_tensor_float_32_execution, autocast.",
    {kind: products(kind, bits=10) for kind in ("dense", "conv2d")},
)
