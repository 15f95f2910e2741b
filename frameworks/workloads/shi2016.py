"""Networks of Shi, Wang, Xu and Chu, "Benchmarking State-of-the-Art Deep Learning Software Tools",
2016 (https://arxiv.org/abs/1608.07249).

Each is the definition that most of the tools in their repository share (commit 78d8a41 of
github.com/hclhkbu/dlbench), without dropout, weight decay and local response normalisation. The
batch sizes are theirs, too.
"""

from dataclasses import replace
from typing import Any

from frameworks.workloads.layers import (
    AveragePool,
    Conv2D,
    Dense,
    Flatten,
    Layer,
    MaxPool,
    ReLU,
    Sigmoid,
    WorkloadError,
)
from frameworks.workloads.parsing import parse_optimiser
from frameworks.workloads.sequences import LSTM, Embedding
from frameworks.workloads.workload import Dataset, Limits, Workload

SGD = {"sgd": {"learning_rate": 0.01}}
STEEP = {"sgd": {"learning_rate": 0.1}}
FAST = {"momentum": {"learning_rate": 0.05, "momentum": 0.9}}
SLOW = {"momentum": {"learning_rate": 0.001, "momentum": 0.9}}

# The gradient of the last bias adds up 4,096 rows. TensorFlow adds one after another in float32,
# and is off by 3e-5.
LONG_SUMS = Limits(rounding=1e-4)
# One sample whose ReLU or max-pooling float32 decides differently moves the gradient of a kernel by
# 1e-3 in AlexNet-S and 4e-4 in AlexNet-R.
UNDECIDED = Limits(rounding=3e-4)


def fcn_s(
    name: str = "fcn-s",
    features: int = 26_752,
    hidden: tuple[int, ...] = (2048, 2048, 2048),
    classes: int = 26_752,
    samples: int = 1024,
    batch: int = 64,
    optimiser: Any = SGD,
) -> Workload:
    """FCN-S: sigmoids between wide dense layers, synthetic data, as many classes as features."""
    dataset = Dataset("normal", samples, (features,), classes)
    return classifier(name, dataset, batch, perceptron(hidden, classes), optimiser)


def fcn_r(
    name: str = "fcn-r",
    hidden: tuple[int, ...] = (2048, 4096, 1024),
    samples: int = 60_000,
    batch: int = 1024,
    optimiser: Any = FAST,
) -> Workload:
    """FCN-R: sigmoids between wide dense layers, handwritten digits."""
    dataset = Dataset("mnist", samples, (28, 28, 1), 10)
    return classifier(name, dataset, batch, [Flatten(), *perceptron(hidden, 10)], optimiser)


def alexnet_s(
    name: str = "alexnet-s",
    side: int = 224,
    filters: tuple[int, ...] = (96, 256, 384, 384, 256),
    units: int = 4096,
    classes: int = 1000,
    samples: int = 512,
    batch: int = 16,
    optimiser: Any = SGD,
) -> Workload:
    """AlexNet-S: AlexNet in one piece, synthetic images in ImageNet's size."""
    one, two, three, four, five = counted(filters, 5)
    layers = [
        Conv2D(one, 11, 4, 2), ReLU(), MaxPool(3, 2),
        Conv2D(two, 5, padding=2), ReLU(), MaxPool(3, 2),
        Conv2D(three, 3, padding=1), ReLU(),
        Conv2D(four, 3, padding=1), ReLU(),
        Conv2D(five, 3, padding=1), ReLU(), MaxPool(3, 2),
        Flatten(), Dense(units), ReLU(), Dense(units), ReLU(), Dense(classes),
    ]  # fmt: skip
    dataset = Dataset("normal", samples, (side, side, 3), classes)
    return replace(classifier(name, dataset, batch, layers, optimiser), certificate=UNDECIDED)


def alexnet_r(
    name: str = "alexnet-r",
    filters: tuple[int, ...] = (32, 32, 64),
    samples: int = 4096,
    batch: int = 1024,
    optimiser: Any = SLOW,
) -> Workload:
    """AlexNet-R: a small convolutional network, random images in the shape of CIFAR-10."""
    one, two, three = counted(filters, 3)
    layers = [
        Conv2D(one, 5, padding=2), MaxPool(3, 2), ReLU(),
        Conv2D(two, 5, padding=2), ReLU(), MaxPool(3, 2),
        Conv2D(three, 5, padding=2), ReLU(), AveragePool(3, 2),
        Flatten(), Dense(10),
    ]  # fmt: skip
    dataset = Dataset("normal", samples, (32, 32, 3), 10)
    return replace(classifier(name, dataset, batch, layers, optimiser), certificate=UNDECIDED)


def lstm(
    name: str = "lstm",
    words: int = 10_000,
    units: int = 256,
    time: int = 32,
    samples: int = 4096,
    batch: int = 128,
    optimiser: Any = STEEP,
) -> Workload:
    """LSTM: the next word after each, by two layers over an embedding with as many features. The
    words are random ones that stand in for the Penn Treebank.

    `samples` and `batch` count sequences.
    """
    layers = [Embedding(words, units), LSTM(units), LSTM(units), Dense(words)]
    dataset = Dataset("tokens", samples, (time,), words)
    built = classifier(name, dataset, batch, layers, optimiser)
    return replace(built, certificate=LONG_SUMS)


def perceptron(hidden: tuple[int, ...], classes: int) -> list[Layer]:
    layers: list[Layer] = []
    for units in hidden:
        layers += [Dense(units), Sigmoid()]
    return [*layers, Dense(classes)]


def counted(filters: tuple[int, ...], count: int) -> tuple[int, ...]:
    if len(filters) != count:
        raise WorkloadError(f"filters: {count} numbers are wanted, got {list(filters)}")
    return filters


def classifier(
    name: str, dataset: Dataset, batch: int, layers: list[Layer], optimiser: Any
) -> Workload:
    return Workload(
        name=name,
        dataset=dataset,
        batch=batch,
        layers=tuple(layers),
        loss="sparse_cross_entropy",
        optimiser=parse_optimiser(optimiser),
    )
