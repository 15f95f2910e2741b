"""Smaller workloads with the same layers, loss and optimiser.

`narrowed` limits the width of a costly workload, for long certificates. `miniature` makes the
smallest workload that still shows what every layer does; it trains in milliseconds.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from math import prod

import numpy as np

from frameworks.workloads.layers import (
    Chain,
    Conv2D,
    Dense,
    Layer,
    Pool,
    Shape,
    WorkloadError,
    leaves,
    walk,
)
from frameworks.workloads.residual import Subsample
from frameworks.workloads.sequences import LSTM, Embedding
from frameworks.workloads.workload import Workload

# More than this, and hundreds of steps in float64 take minutes.
COSTLY_PARAMETERS = 1_000_000
COSTLY_FLOPS = 100_000_000  # a step
MOST_INPUTS, MOST_UNITS, MOST_FILTERS, MOST_SAMPLES = 512, 128, 16, 16
MOST_WORDS, MOST_STEPS = 512, 8  # of sequences

LARGE = 5_000  # numbers of a tensor

BATCH = 5
STEPS = 4  # of sequences in a miniature: another number than its batch
LEAST = 5  # smaller sizes stay as they are
SCALE = 3  # of inputs and targets: gradients whose norm a clip at 1 would cut
ROWS, COLUMNS = 2, 3  # of the last images, at least: a single pixel has no order


def large(workload: Workload) -> frozenset[str]:
    """The tensors of `LARGE` or more numbers in the copy that is certified. A sample whose ReLU is
    undecided moves most of their numbers only if a later layer has few units."""
    shapes = narrowed(workload).tensor_shapes
    return frozenset(name for name, shape in shapes.items() if prod(shape) >= LARGE)


@cache
def narrowed(workload: Workload) -> Workload:
    """The workload itself, or a narrow copy if it is costly.

    The copy limits the input vector, the batch, and hidden dense, convolution and LSTM layers.
    Random images are as small as they can be if every window has to pad and leave over as many rows
    as before. Sequences are short, and of few words, so that the last layer is narrow, too. A
    workload keeps its size if paths that are added would no longer have one width. The copy trains
    at the learning rate that the workload has for certificates, if any.
    """
    cheap = workload.parameters <= COSTLY_PARAMETERS and workload.flops_per_step <= COSTLY_FLOPS
    if cheap or workload.elementwise:
        return gentle(workload)
    shape, classes = narrow_shape(workload), workload.dataset.classes
    *hidden, last = workload.layers
    if workload.dataset.words and classes:
        classes = min(classes, MOST_WORDS)
        last = Dense(min(last.units, MOST_WORDS)) if isinstance(last, Dense) else last
    dataset = replace(workload.dataset, shape=shape, classes=classes)
    batch = min(workload.batch, MOST_SAMPLES)
    workload = gentle(workload)
    with suppress(WorkloadError):
        return replace(workload, dataset=dataset, batch=batch, layers=(*map(capped, hidden), last))
    return workload


def gentle(workload: Workload) -> Workload:
    rate = workload.certificate.learning_rate
    if not rate:
        return workload
    return replace(workload, optimiser=replace(workload.optimiser, learning_rate=rate))


def narrow_shape(workload: Workload) -> Shape:
    """The shape of a narrow copy's inputs."""
    shape = workload.dataset.shape
    match workload.dataset.kind, len(shape):
        case "tokens", _:
            return (min(shape[0], MOST_STEPS),)
        case "normal" | "pixels", 3:
            return (*image(workload.layers, shape), shape[2])
        case "normal", 2:
            return (min(shape[0], MOST_STEPS), min(shape[1], MOST_INPUTS))
        case "normal", _:
            return (min(prod(shape), MOST_INPUTS),)
    return shape


def capped(layer: Layer) -> Layer:
    match layer:
        case Dense(units):
            return Dense(min(units, MOST_UNITS))
        case LSTM(units):
            return LSTM(min(units, MOST_UNITS))
        case Embedding(words, features):
            return Embedding(min(words, MOST_WORDS), min(features, MOST_UNITS))
        case Conv2D(filters):
            return replace(layer, filters=min(filters, MOST_FILTERS))
        case Subsample(channels=channels):
            return replace(layer, channels=min(channels, MOST_FILTERS))
    return layer.with_chains(lambda chain: tuple(map(capped, chain)))


def miniature(workload: Workload) -> Workload:
    """The same layers on few features, filters, units and pixels.

    Sizes that differed still differ, and equal sizes stay equal, so a square kernel stays
    square. Every convolution pads, and every window leaves over, as many rows as before.
    """
    small = sizes(workload)
    layers = tuple(shrunk(small, layer) for layer in workload.layers)
    shape = workload.dataset.shape
    if len(shape) == 3:
        shape = (*image(workload.layers, shape), small[shape[2]])
    else:
        steps: Shape = () if vectors(workload) else (min(shape[0], STEPS),)
        shape = (*steps, *(small[size] for size in shape[len(steps) :]))
    classes = workload.dataset.classes
    dataset = replace(
        workload.dataset,
        kind="tokens" if workload.dataset.words else "normal",
        samples=BATCH,
        shape=shape,
        classes=classes and small[classes],
    )
    return replace(gentle(workload), dataset=dataset, batch=BATCH, layers=layers)


def vectors(workload: Workload) -> bool:
    """Whether inputs are vectors, and no sequences or images."""
    return len(workload.dataset.shape) == 1 and not workload.dataset.words


def sizes(workload: Workload) -> dict[int, int]:
    """The small number for each number of units, filters, channels, features, words and classes."""
    large = {workload.dataset.classes or 1}
    if not workload.dataset.words:
        large.add(workload.dataset.shape[-1])
    for stage in leaves(workload.stages):
        match stage.layer:
            case Dense(count) | Conv2D(count) | Subsample(channels=count) | LSTM(count):
                large.add(count)
            case Embedding(words, features):
                large |= {words, features}
    small: dict[int, int] = {}
    for size in sorted(large):
        small[size] = min(size, max([LEAST - 1, *small.values()]) + 1)
    return small


def shrunk(small: dict[int, int], layer: Layer) -> Layer:
    match layer:
        case Dense(units):
            return Dense(small[units])
        case LSTM(units):
            return LSTM(small[units])
        case Embedding(words, features):
            return Embedding(small[words], small[features])
        case Conv2D(filters):
            return replace(layer, filters=small[filters])
        case Subsample(channels=channels):
            return replace(layer, channels=small[channels])
    return layer.with_chains(lambda chain: tuple(map(partial(shrunk, small), chain)))


@cache
def image(layers: Chain, shape: Shape) -> tuple[int, int]:
    """The least height, and the least width that differs from it.

    A side for which no smaller size will do keeps its size.
    """
    height = side(layers, shape, 0, ROWS)
    return height, side(layers, shape, 1, COLUMNS, other=height)


def side(layers: Chain, shape: Shape, axis: int, least: int, other: int = 0) -> int:
    size, channels = shape[axis], shape[2]
    wanted, *_ = windows(layers, size, channels, axis)
    for n in range(1, size + 1):
        try:
            found, last, roomy = windows(layers, n, channels, axis)
        except WorkloadError:
            continue
        if found == wanted and last >= least and roomy and n != other:
            return n
    return size


def windows(layers: Chain, size: int, channels: int, axis: int) -> tuple[list[Shape], int, bool]:
    """What the windows do along this axis of images whose sides have this size.

    Returns what every window pads and leaves over, the side's length in the last images, and
    whether all convolutions would fit without their padding, which an adapter could forget.

    Raises:
        WorkloadError: a window does not fit.
    """
    found: list[Shape] = []
    last, roomy = size, True
    for stage in leaves(walk(layers, (size, size, channels))):
        if len(stage.input_shape) == 3:
            last = stage.input_shape[axis]
        match stage.layer:
            case Conv2D(_, kernel, stride):
                roomy = roomy and kernel <= last
                before, after = stage.layer.pads(stage.input_shape)[axis]
                found.append((before, after, (last + before + after - kernel) % stride))
            case Pool(window, padding=padding):
                found.append(((last + 2 * padding - window) % stage.layer.step,))
            case Subsample(stride):
                found.append(((last - 1) % stride,))
    return found, last, roomy


def batches(workload: Workload, seed: int, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Mini-batches for a trainer's `put`.

    Inputs, and the targets of a mean squared error, are normal with standard deviation `SCALE`.
    Words and labels are uniform over the classes, but each mini-batch leaves out one of the words,
    the next one in turn.
    """
    random = np.random.default_rng([seed, 4])  # 0 to 3 draw weights and data sets
    labelled, words = workload.loss == "sparse_cross_entropy", workload.dataset.words
    for number in range(count):
        inputs = drawn(random, workload, workload.dataset.shape, words)
        if words:
            classes = workload.dataset.classes or 1
            inputs[inputs == number % classes] = (number + 1) % classes
        targets = drawn(random, workload, workload.target_shape, labelled)
        yield inputs, targets


def drawn(random: np.random.Generator, workload: Workload, shape: Shape, whole: bool) -> np.ndarray:
    """A mini-batch of this shape: whole numbers below the number of classes, or normal ones."""
    size = (workload.batch, *shape)
    if whole:
        assert workload.dataset.classes
        return random.integers(workload.dataset.classes, size=size, dtype=np.int32)
    return (SCALE * random.standard_normal(size)).astype(np.float32)
