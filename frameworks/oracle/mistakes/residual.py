"""Batch normalisation that computes something else."""

from dataclasses import replace

import numpy as np

from frameworks.oracle.mistakes.mistake import mistake
from frameworks.oracle.mistakes.network import relayered
from frameworks.oracle.network import (
    OPERATIONS,
    RUNNING,
    Array,
    Back,
    axes,
    batch_norm,
    moved,
    running,
)
from frameworks.oracle.trainer import OracleTrainer
from frameworks.workloads.layers import Layer
from frameworks.workloads.residual import BatchNorm

NORMALISING = "Normalise by the mini-batch's mean and biased variance, of all axes but the last."


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
relayered(
    "batch-norm-epsilon-0.001",
    "has an epsilon of 0.001 in batch normalisation",
    "Hand the workload's epsilon to batch normalisation: the framework's own default is another.",
    lambda layer: replace(layer, epsilon=1e-3) if isinstance(layer, BatchNorm) else layer,
)
relayered(
    "batch-norm-momentum-of-what-stays",
    "moves its running averages by 1 - momentum",
    "Hand over 1 - momentum if the framework counts what stays, as Keras does, not what moves.",
    lambda layer: (
        replace(layer, momentum=1 - layer.momentum) if isinstance(layer, BatchNorm) else layer
    ),
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


def biased(layer: BatchNorm, x: Array, mean: Array, variance: Array) -> tuple[Array, Array]:
    return moved(layer, mean, x.mean(axes(x))), moved(layer, variance, x.var(axes(x)))


mistake(
    "batch-norm-running-variance-biased",
    "keeps a running average of the biased variance, as Keras does",
    "Look at the running averages: mean, then unbiased variance, in every training step.",
)(type("Averaging", (OracleTrainer,), {"running": {**RUNNING, "batch_norm": biased}}))
