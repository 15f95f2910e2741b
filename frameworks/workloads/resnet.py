"""ResNet-56 and ResNet-50 (He et al. 2015), as Shi et al. compared them in 2016 (shi2016.py).

Batch normalisation stands behind every convolution and a ReLU behind every addition. Convolutions
are without bias. Strides are in the 3x3 convolutions. Torch and CNTK put them there, too. In 2016
some tools trained different networks under these names. The last parameters select these networks.
`batch_statistics`: batch normalisation by the mini-batch, not by what is stored (`BatchNorm`).
"""

from dataclasses import replace
from functools import partial
from typing import Any

from frameworks.workloads.layers import (
    Chain,
    Conv2D,
    Dense,
    GlobalAveragePool,
    Layer,
    MaxPool,
    ReLU,
    WorkloadError,
)
from frameworks.workloads.residual import BatchNorm, Residual, Subsample
from frameworks.workloads.shi2016 import classifier
from frameworks.workloads.workload import Dataset, Limits, Workload

MOST_BLOCKS = 1000
MOMENTUM = {"momentum": {"learning_rate": 0.01, "momentum": 0.9}}
# float32 decides hundreds of a hundred million ReLUs differently, which moves gradients by 2 %. At
# the networks' own learning rate this error and float64's rounding grow from step to step, tenfold
# in ResNet-50, whose first step changes the first kernel by three quarters. Hence lower rates.
LIMITS = Limits(steps=20, rounding=0.05, learning_rate=2.0**-13)
# ResNet-50's last stage normalises few values at small batch sizes, which magnifies float64's
# rounding to 1.1e-12.
DEEPER = Limits(steps=20, full_steps=1, tolerance=1e-11, rounding=0.05, learning_rate=2.0**-18)


def resnet_56(
    name: str = "resnet-56",
    blocks: tuple[int, ...] = (9, 9, 9),
    width: int = 16,
    side: int = 32,
    classes: int = 10,
    samples: int = 4096,
    batch: int = 128,
    optimiser: Any = MOMENTUM,
    relu_after_addition: bool = True,
    shortcut_convolutions: bool = False,
    batch_statistics: bool = True,
) -> Workload:
    """ResNet-56: shortcuts without parameters, random images in the shape of CIFAR-10. `blocks` has
    each stage's number of blocks, and each stage is twice as wide as the stage before.

    `shortcut_convolutions`: a 1x1 convolution where the shape changes, as in ResNet-50.
    """
    normalised = partial(convolution, BatchNorm(batch_statistics=batch_statistics))
    after = [ReLU()] if relu_after_addition else []
    layers: list[Layer] = [*normalised(width, 3, 1, 1), ReLU()]
    for first, stride, filters in places(blocks, width):
        body = (*normalised(filters, 3, stride, 1), ReLU(), *normalised(filters, 3, 1, 1))
        shortcut: Chain = ()
        if first and stride > 1:
            convolved = normalised(filters, 1, stride, 0)
            shortcut = convolved if shortcut_convolutions else (Subsample(stride, filters),)
        layers += [Residual(body, shortcut), *after]
    built = classified(name, layers, side, classes, samples, batch, optimiser)
    return replace(built, certificate=LIMITS)


def resnet_50(
    name: str = "resnet-50",
    blocks: tuple[int, ...] = (3, 4, 6, 3),
    width: int = 64,
    side: int = 224,
    classes: int = 1000,
    samples: int = 512,
    batch: int = 16,
    optimiser: Any = MOMENTUM,
    strides_first: bool = False,
    padded_start: bool = True,
    batch_statistics: bool = True,
) -> Workload:
    """ResNet-50: bottlenecks, a convolution as the first shortcut of each stage, synthetic images
    in ImageNet's size. `blocks` and `width` as in ResNet-56.

    `strides_first`: strides are in the first 1x1 convolutions, as in the publication.
    `padded_start`: the first convolution and the pooling after it are padded.
    """
    normalised = partial(convolution, BatchNorm(batch_statistics=batch_statistics))
    around, beside = (3, 1) if padded_start else (0, 0)
    layers: list[Layer] = [*normalised(width, 7, 2, around), ReLU(), MaxPool(3, 2, beside)]
    for first, stride, filters in places(blocks, width):
        wide = 4 * filters
        one, three = (stride, 1) if strides_first else (1, stride)
        body = (
            *normalised(filters, 1, one, 0), ReLU(),
            *normalised(filters, 3, three, 1), ReLU(),
            *normalised(wide, 1, 1, 0),
        )  # fmt: skip
        shortcut = normalised(wide, 1, stride, 0) if first else ()
        layers += [Residual(body, shortcut), ReLU()]
    built = classified(name, layers, side, classes, samples, batch, optimiser)
    return replace(built, certificate=DEEPER)


def convolution(norm: BatchNorm, filters: int, kernel: int, stride: int, padding: int) -> Chain:
    return Conv2D(filters, kernel, stride, padding, bias=False), norm


def places(blocks: tuple[int, ...], width: int) -> list[tuple[bool, int, int]]:
    """For each block: whether a stage begins with it, its stride, and its filters."""
    if (number := sum(blocks)) > MOST_BLOCKS:
        raise WorkloadError(f"blocks: {number:,} in all, at most {MOST_BLOCKS:,} are possible")
    return [
        (block == 0, 2 if stage and block == 0 else 1, width * 2**stage)
        for stage, count in enumerate(blocks)
        for block in range(count)
    ]


def classified(
    name: str,
    layers: list[Layer],
    side: int,
    classes: int,
    samples: int,
    batch: int,
    optimiser: Any,
) -> Workload:
    dataset = Dataset("normal", samples, (side, side, 3), classes)
    layers = [*layers, GlobalAveragePool(), Dense(classes)]
    return classifier(name, dataset, batch, layers, optimiser)
