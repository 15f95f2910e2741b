"""Batch normalisation, residual blocks and their shortcuts that compute something else."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from frameworks.oracle.mistakes.mistake import mistake
from frameworks.oracle.mistakes.network import each, operations, relayered
from frameworks.oracle.network import OPERATIONS
from frameworks.oracle.residual import (
    RUNNING,
    Array,
    Back,
    Running,
    axes,
    batch_norm,
    moved,
    normalise,
    running,
)
from frameworks.oracle.trainer import Backward, OracleTrainer
from frameworks.workloads import Stage, Weights
from frameworks.workloads.layers import Layer, ReLU
from frameworks.workloads.residual import BatchNorm, Residual, Subsample

NORMALISING = "Normalise by the mini-batch's mean and biased variance, of all axes but the last."
ROOT = "Add epsilon inside the root of batch normalisation: sqrt(var + epsilon)."
GIVEN = "Hand the workload's {} to batch normalisation: the framework's own default is another."
AVERAGES = "Look at the running averages: mean, then unbiased variance, in every training step."
BACKWARD = "Let the gradient of batch normalisation go through mean and variance, too."
TRAINED = "Let the optimiser have gamma and beta (arguments like scale, center and affine)."
ADDED = "Add the shortcut's output to the body's, and let the ReLU come after the sum."
SUBSAMPLE = "Take every pixel from the first on, and put the zeros behind the channels there are."


def normalising(
    name: str, says: str, mend: str, scale: Callable[[BatchNorm, Array], tuple[Array, Array]]
) -> None:
    """Add a batch normalisation with another scale; `scale` also gives its `bend`."""

    def operation(layer: BatchNorm, x: Array, gamma: Array, beta: Array) -> tuple[Array, Back]:
        return normalise(x, gamma, beta, *scale(layer, x))

    operations(name, says, mend, {"batch_norm": operation})


def constant(layer: BatchNorm, x: Array, gamma: Array, beta: Array) -> tuple[Array, Back]:
    scale = 1 / np.sqrt(x.var(axes(x)) + layer.epsilon)
    y, back = normalise(x, gamma, beta, scale)
    return y, lambda s: (gamma * scale * s, *back(s)[1:])


def by_sample(layer: BatchNorm, x: Array, gamma: Array, beta: Array) -> tuple[Array, Back]:
    """Statistics over the pixels of one image, as in instance normalisation."""
    over = tuple(range(1, x.ndim - 1))
    if not over:
        raise ValueError("a vector has no pixels")
    scale = 1 / np.sqrt(x.var(over, keepdims=True) + layer.epsilon)
    normal = (x - x.mean(over, keepdims=True)) * scale

    def back(s: Array) -> tuple[Array, ...]:
        means = s.mean(over, keepdims=True), (s * normal).mean(over, keepdims=True)
        slope = gamma * scale * (s - means[0] - normal * means[1])
        return slope, (s * normal).sum(axes(x)), s.sum(axes(x))

    return gamma * normal + beta, back


def halved(x: Array) -> tuple[Array, Array]:
    """The shares of two workers."""
    middle = (len(x) + 1) // 2
    return x[:middle], x[middle:]


def by_half(layer: BatchNorm, x: Array, gamma: Array, beta: Array) -> tuple[Array, Back]:
    outputs, backs = zip(*(batch_norm(layer, half, gamma, beta) for half in halved(x)), strict=True)

    def back(s: Array) -> tuple[Array, ...]:
        pairs = zip(backs, halved(s), strict=True)
        slopes, gammas, betas = zip(*(own(half) for own, half in pairs), strict=True)
        return np.concatenate(slopes), sum(gammas), sum(betas)

    return np.concatenate(outputs), back


def of_the_first(layer: BatchNorm, x: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
    return running(layer, halved(x)[0], mean, variance)


def unbiased(layer: BatchNorm, x: Array) -> tuple[Array, Array]:
    biased, variance = x.var(axes(x)), x.var(axes(x), ddof=1)
    return 1 / np.sqrt(variance + layer.epsilon), variance / biased


def outside(layer: BatchNorm, x: Array) -> tuple[Array, Array]:
    root = x.std(axes(x))
    return 1 / (root + layer.epsilon), (root + layer.epsilon) / root


normalising(
    "batch-norm-unbiased",
    "divides by the unbiased variance in batch normalisation",
    NORMALISING,
    unbiased,
)
normalising(
    "batch-norm-epsilon-outside",
    "adds epsilon outside the root of batch normalisation",
    ROOT,
    outside,
)
operations(
    "batch-norm-by-sample",
    "normalises each image by its own statistics",
    NORMALISING,
    {"batch_norm": by_sample},
)
operations(
    "batch-norm-statistics-constant",
    "takes mean and variance for constants in the gradient of batch normalisation",
    BACKWARD,
    {"batch_norm": constant},
)
mistake(
    "batch-norm-by-half",
    "normalises each half of a mini-batch by its own statistics, as two workers do, and keeps "
    "those of the first",
    NORMALISING,
)(
    type(
        "ByHalf",
        (OracleTrainer,),
        {
            "operations": {**OPERATIONS, "batch_norm": by_half},
            "running": {**RUNNING, "batch_norm": of_the_first},
        },
    )
)
for epsilon in (1e-3, 1e-5):
    relayered(
        f"batch-norm-epsilon-{epsilon:g}",
        f"has an epsilon of {epsilon:g} in batch normalisation",
        GIVEN.format("epsilon"),
        each(BatchNorm, epsilon=epsilon),
    )
for momentum in (0.01, 0.9, 0.99):
    relayered(
        f"batch-norm-momentum-{momentum:g}",
        f"moves its running averages by {momentum:g}",
        GIVEN.format("momentum") + " Some frameworks count what stays, not what moves.",
        each(BatchNorm, momentum=momentum),
    )


@mistake("batch-norm-inference", "normalises by its running averages", NORMALISING)
class Inference(OracleTrainer):
    def operate(
        self, layer: Layer, x: Array, own: list[Array], kept: list[str]
    ) -> tuple[Array, Back]:
        if not isinstance(layer, BatchNorm):
            return super().operate(layer, x, own, kept)
        (gamma, beta), (mean, variance) = own, (self.statistics[name] for name in kept)
        scale = 1 / np.sqrt(variance + layer.epsilon)
        normal, over = (x - mean) * scale, axes(x)
        return gamma * normal + beta, lambda s: (
            gamma * scale * s, (s * normal).sum(over), s.sum(over)
        )  # fmt: skip


def averaging(name: str, says: str, change: Running) -> None:
    """Add a trainer whose running averages become something else."""
    parts = {"running": {**RUNNING, "batch_norm": change}}
    mistake(name, says, AVERAGES)(type("Averaging", (OracleTrainer,), parts))


def biased(layer: BatchNorm, x: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
    return moved(layer, mean, x.mean(axes(x))), moved(layer, variance, x.var(axes(x)))


def still(layer: BatchNorm, x: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
    return mean, variance


averaging(
    "batch-norm-running-variance-biased",
    "keeps a running average of the biased variance, as Keras does",
    biased,
)
averaging("batch-norm-averages-still", "never moves its running averages", still)


def frozen(short: str) -> type[OracleTrainer]:
    class Frozen(OracleTrainer):
        def apply(self, gradients: Weights) -> None:
            super().apply({n: g for n, g in gradients.items() if not n.endswith(f".{short}")})

    return Frozen


for short in ("gamma", "beta"):
    mistake(f"batch-norm-{short}-frozen", f"does not train {short}", TRAINED)(frozen(short))


@mistake("residual-without-shortcut", "adds no shortcut to the bodies of residual blocks", ADDED)
class BodyAlone(OracleTrainer):
    def added(self, stage: Stage, x: Array, name: str) -> tuple[Array, Backward]:
        (y, back), (_, beside) = (self.chain(path, x, name) for path in stage.paths)

        def alone(s: Array) -> tuple[Array, Weights]:
            (slope, gradients), (_, none) = back(s), beside(np.zeros_like(s))
            return slope, gradients | none

        return y, alone


relayered(
    "residual-relu-before-the-sum",
    "takes a ReLU of the body before the addition",
    ADDED,
    lambda layer: (
        replace(layer, body=(*layer.body, ReLU())) if isinstance(layer, Residual) else layer
    ),
)


@mistake(
    "residual-shortcut-not-normalised",
    "has no batch normalisation in its shortcuts",
    "Build all layers of the shortcut: batch normalisation stands behind its convolution, too.",
)
class ShortcutBare(OracleTrainer):
    def single(self, stage: Stage, x: Array, name: str) -> tuple[Array, Backward]:
        y, back = super().single(stage, x, name)
        if not (isinstance(stage.layer, BatchNorm) and stage.name.startswith("shortcut.")):
            return y, back

        def through(s: Array) -> tuple[Array, Weights]:
            return s, {n: np.zeros_like(g) for n, g in back(s)[1].items()}

        return x, through


def shifted(layer: Subsample, x: Array, first: int, before: int) -> tuple[Array, Back]:
    """From this pixel on, and with this many channels of zeros in front."""
    step, channels = layer.stride, x.shape[-1]
    behind = layer.channels - channels - before
    y = np.pad(x[:, first::step, first::step], ((0, 0), (0, 0), (0, 0), (before, behind)))

    def back(s: Array) -> tuple[Array, ...]:
        slope = np.zeros_like(x)
        slope[:, first::step, first::step] = s[..., before : before + channels]
        return (slope,)

    return y, back


operations(
    "subsample-zeros-in-front",
    "puts a shortcut's channels of zeros in front",
    SUBSAMPLE,
    {"subsample": lambda layer, x: shifted(layer, x, 0, layer.channels - x.shape[-1])},
)
operations(
    "subsample-zeros-around",
    "puts a shortcut's channels of zeros on both sides",
    SUBSAMPLE,
    {"subsample": lambda layer, x: shifted(layer, x, 0, (layer.channels - x.shape[-1]) // 2)},
)
operations(
    "subsample-second-pixel",
    "begins a shortcut at the second pixel",
    SUBSAMPLE,
    {"subsample": lambda layer, x: shifted(layer, x, min(1, layer.stride - 1), 0)},
)
