"""Residual blocks and batch normalisation that compute something else."""

from dataclasses import replace
from functools import partial

import numpy as np

from frameworks.oracle.mistakes.mistake import mistake
from frameworks.oracle.mistakes.network import operations, relayered
from frameworks.oracle.network import (
    OPERATIONS,
    RUNNING,
    Array,
    Back,
    batch_norm,
    running,
    subsample,
)
from frameworks.oracle.trainer import Backward, OracleTrainer
from frameworks.workloads import Stage, Weights
from frameworks.workloads.layers import Chain, Layer, ReLU
from frameworks.workloads.residual import BatchNorm, Residual, Subsample

NORMALISING = "Normalise by the mini-batch's mean and biased variance, of all axes but the last."
STORED = "Without batch_statistics, normalise by mean and variance as given; train gamma and beta."
ADDITION = "Add body and shortcut first, and then apply the ReLU to their sum."
SHORTCUT = "Begin with the first pixel, and put all channels of zeros behind the input's."


def relu_first(layers: Chain) -> Chain:
    """Each ReLU behind a residual block becomes the end of its body."""
    found: list[Layer] = []
    for layer in layers:
        before = found[-1] if found else None
        if isinstance(layer, ReLU) and isinstance(before, Residual):
            found[-1] = replace(before, body=(*before.body, layer))
        else:
            found.append(layer)
    return tuple(found)


mistake(
    "residual-relu-before-addition",
    "applies the ReLU before the addition of its residual blocks",
    ADDITION,
)(lambda workload: replace(workload, layers=relu_first(workload.layers)))


@mistake("residual-without-shortcut", "leaves the shortcuts out", ADDITION)
class WithoutShortcut(OracleTrainer):
    def added(self, stage: Stage, x: Array, name: str) -> tuple[Array, Backward]:
        (y, back), (_, beside) = (self.chain(path, x, name) for path in stage.paths)

        def body_alone(s: Array) -> tuple[Array, Weights]:
            (slope, gradients), (_, unused) = back(s), beside(np.zeros_like(s))
            return slope, gradients | unused

        return y, body_alone


def half_in_front(layer: Subsample, x: Array) -> tuple[Array, Back]:
    y, back = subsample(layer, x)
    half = (layer.channels - x.shape[-1]) // 2
    return np.roll(y, half, axis=-1), lambda s: back(np.roll(s, -half, axis=-1))


def from_second(layer: Subsample, x: Array) -> tuple[Array, Back]:
    y, back = subsample(layer, np.roll(x, (-1, -1), axis=(1, 2)))
    return y, lambda s: (np.roll(back(s)[0], (1, 1), axis=(1, 2)),)


operations(
    "shortcut-zeros-on-both-sides",
    "puts half of a shortcut's zeros in front of its channels",
    SHORTCUT,
    {"subsample": half_in_front},
)
operations(
    "shortcut-from-the-second-pixel",
    "takes a shortcut's pixels from the second one on",
    SHORTCUT,
    {"subsample": from_second},
)


def halved(x: Array) -> tuple[Array, Array]:
    """The shares of two workers."""
    middle = (len(x) + 1) // 2
    return x[:middle], x[middle:]


def by_half(layer: BatchNorm, x: Array, *own: Array) -> tuple[Array, Back]:
    outputs, backs = zip(*(batch_norm(layer, half, *own) for half in halved(x)), strict=True)

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


def frozen(layer: BatchNorm, x: Array, *own: Array) -> tuple[Array, Back]:
    y, back = batch_norm(layer, x, *own)
    if layer.batch_statistics:
        return y, back

    def still(s: Array) -> tuple[Array, ...]:
        slope, *others = back(s)
        return slope, *map(np.zeros_like, others)

    return y, still


operations(
    "batch-norm-inference",
    "normalises by its running averages",
    NORMALISING,
    {"batch_norm": lambda layer, *own: batch_norm(replace(layer, batch_statistics=False), *own)},
)
relayered(
    "batch-norm-of-the-mini-batch",
    "normalises by the mini-batch, and moves running averages, where stored ones are asked for",
    STORED,
    lambda layer: replace(layer, batch_statistics=True) if isinstance(layer, BatchNorm) else layer,
)
operations(
    "batch-norm-frozen",
    "trains neither scale nor shift where it normalises by stored statistics, like a Keras layer "
    "that is not trainable",
    STORED,
    {"batch_norm": frozen},
)
mistake(
    "batch-norm-running-variance-biased",
    "keeps a running average of the biased variance, as Keras does",
    "Look at the running averages: mean, then unbiased variance, in every training step.",
)(
    type(
        "Averaging",
        (OracleTrainer,),
        {"running": {**RUNNING, "batch_norm": partial(running, spared=0)}},
    )
)
