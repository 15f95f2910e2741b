"""Fewer digits than asked for, where their loss can be repeated exactly. Sums in another order
round otherwise: what float32 arithmetic does is told by its size instead."""

from collections.abc import Callable, Mapping

import numpy as np

from frameworks.oracle.mistakes.mistake import mistake
from frameworks.oracle.network import OPERATIONS, Array, Back, Operation
from frameworks.oracle.trainer import Batch, TruthTrainer
from frameworks.workloads import Weights
from frameworks.workloads.layers import Layer

WEIGHTS = "Keep and return weights in the precision asked for (float64 here)."

FORMATS = {"float32": 23, "TF32 or float16": 10, "bfloat16": 7}  # bits after the point


def rounded(x: Array, bits: int) -> Array:
    """To so many binary digits after the first; exponents are not limited."""
    fraction, exponent = np.frexp(x)
    result: Array = np.ldexp(np.round(np.ldexp(fraction, bits + 1)), exponent - bits - 1)
    return result.astype(x.dtype)


@mistake(
    "float32",
    "computes in float32",
    "Look for tensors, constants and casts that are float32 where float64 was asked for.",
)
class Single(TruthTrainer):
    precision = np.float32


@mistake("weights-kept-in-float32", "rounds its weights to float32 after each update", WEIGHTS)
class Stored(TruthTrainer):
    def apply(self, gradients: Weights) -> None:
        super().apply(gradients)
        self.parameters = {n: rounded(w, 23) for n, w in self.parameters.items()}


@mistake("weights-read-in-float32", "trains right, but whose weights() are float32", WEIGHTS)
class Read(TruthTrainer):
    def weights(self) -> Weights:
        return {n: w.astype(np.float32) for n, w in self.parameters.items()}


@mistake(
    "gradients-in-float32",
    "rounds its gradients to float32",
    "Look for a cast between the gradient and the optimiser.",
)
class Gradients(TruthTrainer):
    def apply(self, gradients: Weights) -> None:
        super().apply({n: rounded(g, 23) for n, g in gradients.items()})


def products(kind: str, bits: int) -> Operation:
    def operation(layer: Layer, x: Array, kernel: Array, bias: Array) -> tuple[Array, Back]:
        y, back = OPERATIONS[kind](layer, rounded(x, bits), rounded(kernel, bits), bias)

        def less(s: Array) -> tuple[Array, ...]:
            slope, along_kernel, _ = back(rounded(s, bits))
            return slope, along_kernel, s.sum(axis=tuple(range(s.ndim - 1)))

        return y, less

    return operation


for title, bits in FORMATS.items():
    for kinds, where in (
        (("dense", "conv2d"), "its matrix products and convolutions"),
        (("dense",), "its matrix products"),
        (("conv2d",), "its convolutions"),
    ):
        changed: Mapping[str, Operation] = {kind: products(kind, bits) for kind in kinds}
        parts = {"operations": {**OPERATIONS, **changed}}
        mistake(
            f"{title.split()[0].lower()}-in-{'-and-'.join(kinds)}",
            f"computes {where} from operands of {title}",
            "Switch reduced precision off: allow_tf32, enable_tensor_float_32_execution, autocast.",
        )(type("Reducing", (TruthTrainer,), parts))


def inputs(title: str, bits: int) -> Callable[[TruthTrainer, Array, Array], Batch]:
    def put(self: TruthTrainer, x: Array, y: Array) -> Batch:
        inputs, targets = TruthTrainer.put(self, x, y)
        return rounded(inputs, bits), targets

    return put


for title, bits in list(FORMATS.items())[1:]:  # inputs are float32 as they come
    mistake(
        f"inputs-in-{title.split()[-1]}",
        f"rounds its inputs to {title.split()[-1]}",
        "Let put() change the inputs' type to the precision asked for, and no other.",
    )(type("Inputting", (TruthTrainer,), {"put": inputs(title, bits)}))
