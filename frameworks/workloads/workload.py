"""A workload: a frozen description of one training step. Shapes, parameters and FLOPs follow."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

import numpy as np

from frameworks.workloads.layers import (
    AveragePool,
    Chain,
    Conv2D,
    Dense,
    Elementwise,
    Flatten,
    GlobalAveragePool,
    MaxPool,
    ReLU,
    Shape,
    Stage,
    WorkloadError,
    first_trained,
    leaves,
    walk,
)
from frameworks.workloads.optimisers import Optimiser
from frameworks.workloads.residual import BatchNorm, Subsample, by_mini_batch
from frameworks.workloads.sequences import require_words

DATASETS = ("normal", "mnist", "tokens", "pixels")
LOSSES = ("mean_squared_error", "sparse_cross_entropy")
FLOAT32 = 4  # bytes


@dataclass(frozen=True)
class Dataset:
    """The data set.

    `normal` has standard-normal inputs, and targets of zero for a regression or random labels for
    a classification. `mnist` has handwritten digits in [0, 1]. `tokens` has words, of which there
    are `classes`, and the next word as the label of each. `pixels` has random bytes for `normal`'s
    numbers, cropped, flipped and normalised.
    """

    kind: str
    samples: int
    shape: Shape
    classes: int | None = None

    @property
    def words(self) -> bool:
        """Whether inputs are words, which are whole numbers, and not float32."""
        return self.kind == "tokens"

    @property
    def input_type(self) -> type[np.int32] | type[np.float32]:
        """The type of inputs as they are stored and handed to `put`."""
        return np.int32 if self.words else np.float32


LOOSEST = 1e-6  # the largest error in float64 that a certificate may allow


@dataclass(frozen=True)
class Limits:
    """What a certificate asks of a network that magnifies rounding, instead of what a study asks.

    It takes at most `steps` steps, and `full_steps` at full size. In float64, relative errors may
    reach the `tolerance`. float32 gradients need be no closer to float64's than `rounding`. Smaller
    copies train at this `learning_rate`.
    """

    steps: int | None = None
    full_steps: int | None = None
    tolerance: float | None = None
    rounding: float | None = None
    learning_rate: float | None = None


AS_ASKED = Limits()


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
    layers: Chain
    loss: str
    optimiser: Optimiser
    certificate: Limits = AS_ASKED

    def __post_init__(self) -> None:
        if self.loss not in LOSSES:
            raise WorkloadError(f"loss {self.loss!r} is not one of {', '.join(LOSSES)}")
        if any(isinstance(layer, Elementwise) for layer in self.layers):
            self.require_alone()
        elif not self.parameter_shapes:
            raise WorkloadError("no layer has anything to train: add a dense or conv2d layer")
        if len(self.output_shape) > 2:
            raise WorkloadError(
                f"the last layer gives shape {self.output_shape}, and {self.loss} needs a vector, "
                "or one for each step"
            )
        layers = tuple(stage.layer for stage in leaves(self.stages))
        require_words(self.dataset.words, self.dataset.classes, layers)
        classes = self.dataset.classes
        if self.loss == "sparse_cross_entropy" and self.outputs < 2:
            raise WorkloadError("sparse_cross_entropy of a single output is always 0")
        if self.loss == "sparse_cross_entropy" and (classes is None or classes > self.outputs):
            raise WorkloadError(
                f"sparse_cross_entropy needs labels below the {self.outputs} outputs of the last "
                f"layer; data set {self.dataset.kind} has {classes or 'no'} classes"
            )
        if self.dataset.words and self.target_shape != self.dataset.shape:
            raise WorkloadError(
                f"the data set tokens has a label for each word, {self.dataset.shape}, and the "
                f"network's targets have shape {self.target_shape}"
            )
        if self.batch > self.dataset.samples:
            raise WorkloadError(
                f"batch {self.batch} is larger than the data set's {self.dataset.samples} samples"
            )
        for stage in leaves(self.stages):
            values = self.batch * prod(stage.input_shape[:-1])
            if by_mini_batch(stage.layer) and values < 2:
                raise WorkloadError(f"layer {stage.name}: the variance of one value is 0")

    def require_alone(self) -> None:
        """Raise a WorkloadError unless an operation has two vectors and no layers beside it."""
        squares = self.loss == LOSSES[0]  # targets have then the shape of the result
        if not squares or (len(self.layers), self.batch, len(self.dataset.shape)) != (1, 1, 1):
            raise WorkloadError(
                "a single operation is the only layer of its workload, on "
                f"vectors, with a batch of 1 and the loss {LOSSES[0]}, which is not computed"
            )

    @property
    def elementwise(self) -> Elementwise | None:
        """The single operation that this workload is; None for a network. Its loss is the mean of
        the result, and its optimiser has nothing to do."""
        layer = self.layers[0]
        return layer if isinstance(layer, Elementwise) else None

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        return tuple(walk(self.layers, self.dataset.shape))

    @property
    def output_shape(self) -> Shape:
        return self.stages[-1].output_shape

    @property
    def outputs(self) -> int:
        """The number of outputs, of the network or of each step of a sequence."""
        return self.output_shape[-1]

    @property
    def target_shape(self) -> Shape:
        """The shape of one sample's targets. A cross-entropy has one label, or one for each step
        of a sequence. A squared error has a number for each output."""
        if self.loss == "sparse_cross_entropy":
            return self.output_shape[:-1]
        return self.output_shape

    @property
    def batches(self) -> int:
        """Full mini-batches in one epoch. No contender gets the short last one."""
        return self.dataset.samples // self.batch

    @cached_property
    def parameter_shapes(self) -> dict[str, Shape]:
        """Canonical shape of every trained tensor, by name (`dense1.kernel`)."""
        stages = self.stages
        return {name: shape for one in stages for name, shape in one.parameter_shapes.items()}

    @cached_property
    def state_shapes(self) -> dict[str, Shape]:
        """The same of every tensor without a gradient (`batch_norm1.mean`)."""
        return {name: shape for one in self.stages for name, shape in one.state_shapes.items()}

    @cached_property
    def tensor_shapes(self) -> dict[str, Shape]:
        """The shapes of all tensors that a trainer takes and gives back: parameters, then state."""
        return self.parameter_shapes | self.state_shapes

    @cached_property
    def idle(self) -> frozenset[str]:
        """Biases that a later batch normalisation takes out again, because all between them leaves
        the same constant in each channel. No loss depends on them, and their gradients are nothing
        but rounding."""
        return frozenset(idle_biases(self.stages)[0])

    @property
    def without_gradient(self) -> frozenset[str]:
        """State, and parameters whose gradient is nothing but rounding."""
        return self.idle | {*self.state_shapes}

    @property
    def parameters(self) -> int:
        return sum(prod(shape) for shape in self.parameter_shapes.values())

    def zeros(self) -> tuple[np.ndarray, np.ndarray]:
        """A mini-batch of zeros: inputs and targets for `put`."""
        inputs = np.zeros((self.batch, *self.dataset.shape), self.dataset.input_type)
        kind = np.int32 if self.loss == "sparse_cross_entropy" else np.float32
        return inputs, np.zeros((self.batch, *self.target_shape), kind)

    @property
    def multiply_adds(self) -> int:
        """Multiply-adds of the matrix work in one sample's forward pass."""
        return sum(stage.multiply_adds for stage in self.stages)

    @property
    def flops_per_step(self) -> int:
        """Floating-point operations of the matrix work in one step.

        A multiply-add counts as two. Counted are the forward pass, the gradient of the weights,
        and the gradient of the input except in the first trained layer. Activations, pooling,
        loss and optimiser are left out. So is an embedding, which looks rows up and adds to them;
        the layer after it needs the gradient of its input. A single operation counts once for
        each number.
        """
        if self.elementwise:
            return self.batch * self.outputs * self.elementwise.repeat
        first = sum(stage.multiply_adds for stage in first_trained(self.stages))
        return 2 * self.batch * (3 * self.multiply_adds - first)

    def bytes_per_step(self) -> int:
        """The least traffic of the weights in one step, in float32, if nothing stays in cache.

        Weights are read forward, and backward except in the first layer. The gradient is written.
        The optimiser reads it, and reads and writes the weight and its own state. A step reads the
        state of layers, which has no gradient, and writes it unless it stays. Activations are left
        out. An embedding counts as if every row were looked up, and its gradient as dense; with
        plain SGD a framework may do with the rows of the mini-batch. A single operation reads and
        writes its vectors.
        """
        if self.elementwise:
            return FLOAT32 * self.elementwise.arrays * self.flops_per_step
        passes = 2 + 1 + 1 + 2 + 2 * self.optimiser.slots
        first = prod(next(iter(self.parameter_shapes.values())))
        state = sum(
            (1 + by_mini_batch(stage.layer)) * prod(shape)
            for stage in leaves(self.stages)
            for shape in stage.state_shapes.values()
        )
        return FLOAT32 * (passes * self.parameters - first + state)


def idle_biases(
    stages: Sequence[Stage], taken_out: bool = False, inside: str = ""
) -> tuple[list[str], bool]:
    """The idle biases of a chain, and whether a constant in each channel of its input is taken out.

    `taken_out`: whether one in each channel of its output is. `inside`: how names begin.
    """
    found: list[str] = []
    for stage in reversed(stages):
        name = f"{inside}{stage.name}."
        if taken_out:
            shifts = {f"{stage.name}.bias", f"{stage.name}.beta"} & {*stage.parameter_shapes}
            found += [f"{inside}{shift}" for shift in shifts if not stage.paths]
        if stage.paths:
            paths = [idle_biases(path, taken_out, name) for path in stage.paths]
            found += [shift for own, _ in paths for shift in own]
            taken_out = all(before for _, before in paths)
        else:
            taken_out = by_mini_batch(stage.layer) or (taken_out and constant(stage))
    return found, taken_out


def constant(stage: Stage) -> bool:
    """Whether a layer turns a constant in each channel of its input into such a constant in its
    output. Padding with zeros does not."""
    layer = stage.layer
    if isinstance(layer, Conv2D):
        return not any(n for pair in layer.pads(stage.input_shape) for n in pair)
    if isinstance(layer, AveragePool):
        return not layer.padding
    return isinstance(layer, (Dense, MaxPool, GlobalAveragePool, Flatten, Subsample, BatchNorm))


def pooled_first(workload: Workload) -> Workload:
    """The same network with each ReLU behind the max-pooling that it stood before.

    The values stay the same, the cost changes, and parameters keep their names.
    """
    return replace(workload, layers=pooling_first(workload.layers))


def pooling_first(layers: Chain) -> Chain:
    found = [layer.with_chains(pooling_first) for layer in layers]
    for index in range(1, len(found)):
        if isinstance(found[index - 1], ReLU) and isinstance(found[index], MaxPool):
            found[index - 1 : index + 1] = [found[index], found[index - 1]]
    return tuple(found)
