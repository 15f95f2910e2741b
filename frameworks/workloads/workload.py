"""A workload: a frozen description of one training step. Shapes, parameters and FLOPs follow."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import NamedTuple

import numpy as np

from frameworks.workloads.layers import Layer, MaxPool, ReLU, Shape, WorkloadError
from frameworks.workloads.optimisers import Optimiser

LOSSES = ("mean_squared_error", "sparse_cross_entropy")
BYTES = {"float32": 4, "float64": 8}


@dataclass(frozen=True)
class Dataset:
    """The data set.

    `normal` has standard-normal inputs, and targets of zero for a regression or random labels for
    a classification. `mnist` has handwritten digits in [0, 1].
    """

    kind: str
    samples: int
    shape: Shape
    classes: int | None = None


class Stage(NamedTuple):
    """A layer in its place."""

    name: str
    layer: Layer
    input_shape: Shape
    output_shape: Shape


@dataclass(frozen=True)
class Workload:
    """One training step: data set, batch size, layers, loss and optimiser.

    Raises:
        WorkloadError: a layer does not fit what comes before it, or the loss does not fit
            the last layer; the message names the layer and the shapes.
    """

    name: str
    dataset: Dataset
    batch: int
    layers: tuple[Layer, ...]
    loss: str
    optimiser: Optimiser

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise WorkloadError(f"loss {self.loss!r} is not one of {', '.join(LOSSES)}")
        if not self.parameter_shapes:
            raise WorkloadError("no layer has anything to train: add a dense or conv2d layer")
        if len(self.output_shape) != 1:
            raise WorkloadError(
                f"the last layer gives shape {self.output_shape}, and {self.loss} needs a vector"
            )
        classes = self.dataset.classes
        if self.loss == "sparse_cross_entropy" and (classes is None or classes > self.outputs):
            raise WorkloadError(
                f"sparse_cross_entropy needs labels below the {self.outputs} outputs of the last "
                f"layer; data set {self.dataset.kind} has {classes or 'no'} classes"
            )
        if self.batch > self.dataset.samples:
            raise WorkloadError(
                f"batch {self.batch} is larger than the data set's {self.dataset.samples} samples"
            )

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        return tuple(walk(self.layers, self.dataset.shape))

    @property
    def output_shape(self) -> Shape:
        return self.stages[-1].output_shape

    @property
    def outputs(self) -> int:
        return self.output_shape[0]

    @property
    def batches(self) -> int:
        """Full mini-batches in one epoch. No contender gets the short last one."""
        return self.dataset.samples // self.batch

    @cached_property
    def parameter_shapes(self) -> dict[str, Shape]:
        """Canonical shape of every trained tensor, by name (`dense1.kernel`)."""
        return {
            f"{stage.name}.{short}": shape
            for stage in self.stages
            for short, shape in stage.layer.parameter_shapes(stage.input_shape).items()
        }

    @property
    def parameters(self) -> int:
        return sum(prod(shape) for shape in self.parameter_shapes.values())

    def zeros(self) -> tuple[np.ndarray, np.ndarray]:
        """A mini-batch of zeros: inputs and targets for `put`."""
        inputs = np.zeros((self.batch, *self.dataset.shape), np.float32)
        if self.dataset.classes:
            return inputs, np.zeros(self.batch, np.int32)
        return inputs, np.zeros((self.batch, self.outputs), np.float32)

    @property
    def multiply_adds(self) -> int:
        """Of the matrix work in one sample's forward pass."""
        return sum(s.layer.multiply_adds(s.input_shape) for s in self.stages)

    @property
    def flops_per_step(self) -> int:
        """Floating-point operations of the matrix work in one step.

        A multiply-add counts as two. Counted are the forward pass, the gradient of the weights,
        and the gradient of the input except in the first trained layer. Activations, pooling,
        loss and optimiser are left out.
        """
        work = (s.layer.multiply_adds(s.input_shape) for s in self.stages)
        first = next(w for w in work if w)
        return 2 * self.batch * (3 * self.multiply_adds - first)

    def bytes_per_step(self, precision: str = "float32") -> int:
        """The least memory traffic of the weights in one step, if nothing stays in cache.

        Weights are read forward, and backward except in the first layer. The gradient is written.
        The optimiser reads it, and reads and writes the weight and its own state. Activations are
        left out.
        """
        passes = 2 + 1 + 1 + 2 + 2 * self.optimiser.slots
        first = prod(next(iter(self.parameter_shapes.values())))
        return BYTES[precision] * (passes * self.parameters - first)


def walk(layers: tuple[Layer, ...], shape: Shape) -> Iterator[Stage]:
    """Name each layer (`conv2d1`, `dense2`, counted per kind) and follow the shapes."""
    if not layers:
        raise WorkloadError("a network needs at least one layer")
    seen: dict[str, int] = {}
    for layer in layers:
        seen[layer.kind] = seen.get(layer.kind, 0) + 1
        name = f"{layer.kind}{seen[layer.kind]}"
        try:
            output = layer.output_shape(shape)
        except WorkloadError as error:
            raise WorkloadError(f"layer {name}: {error}") from None
        yield Stage(name, layer, shape, output)
        shape = output


def pooled_first(workload: Workload) -> Workload:
    """The same network with each ReLU behind the max-pooling that it stood before.

    The values stay the same, the cost changes, and parameters keep their names.
    """
    layers = list(workload.layers)
    for index in range(1, len(layers)):
        if isinstance(layers[index - 1], ReLU) and isinstance(layers[index], MaxPool):
            layers[index - 1 : index + 1] = [layers[index], layers[index - 1]]
    return replace(workload, layers=tuple(layers))
