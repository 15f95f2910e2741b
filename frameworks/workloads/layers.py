"""The layer vocabulary that every framework builds from, and chains of layers.

Shapes leave out the batch dimension: `(features,)` for vectors, `(height, width, channels)` for
images and `(time, features)` for sequences. Kernels are canonical: dense `(in, out)`, convolution
`(height, width, in, out)`. residual.py has the layers of residual networks, sequences.py those of
sequences.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from math import inf, prod
from typing import Any, ClassVar, NamedTuple

Shape = tuple[int, ...]
Pads = tuple[tuple[int, int], tuple[int, int]]  # ((top, bottom), (left, right))


class WorkloadError(ValueError):
    """A workload that cannot be built; the message names the layer and the shapes."""


@dataclass(frozen=True)
class Layer:
    """One step of a network: a function of its input shape. A class with a `kind` is part of the
    vocabulary of workloads."""

    kind: ClassVar[str]

    def __init_subclass__(cls) -> None:
        if "kind" in vars(cls):
            VOCABULARY[cls.kind] = cls

    def output_shape(self, shape: Shape) -> Shape:
        """The shape of the output: that of the input unless a layer overrides this."""
        return shape

    def parameter_shapes(self, shape: Shape) -> dict[str, Shape]:
        """Canonical shapes of the parameters, by their short names."""
        return {}

    def state_shapes(self, shape: Shape) -> dict[str, Shape]:
        """The same of its state: tensors without a gradient, which steps may move."""
        return {}

    def multiply_adds(self, shape: Shape) -> int:
        """Multiply-adds of one sample's forward pass, in matrix work only."""
        return 0

    def paths(self, shape: Shape) -> tuple[tuple["Stage", ...], ...]:
        """The chains of layers inside it, which all begin at its input. Their sum is its output."""
        return ()

    def with_chains(self, change: Callable[["Chain"], "Chain"]) -> "Layer":
        """The same layer with each chain inside it changed."""
        return self

    @property
    def options(self) -> dict[str, Any]:
        """Its sizes, for people. A bias, no padding and a stride by default are not mentioned."""
        return {k: v for k, v in vars(self).items() if v is False or (v and v is not True)}


VOCABULARY: dict[str, type[Layer]] = {}  # by kind
Chain = tuple[Layer, ...]


class Stage(NamedTuple):
    """A layer in its place."""

    name: str
    layer: Layer
    input_shape: Shape
    output_shape: Shape

    @property
    def parameter_shapes(self) -> dict[str, Shape]:
        """The shapes of its parameters, by name (`dense1.kernel`)."""
        found = self.layer.parameter_shapes(self.input_shape)
        return {f"{self.name}.{short}": shape for short, shape in found.items()}

    @property
    def state_shapes(self) -> dict[str, Shape]:
        found = self.layer.state_shapes(self.input_shape)
        return {f"{self.name}.{short}": shape for short, shape in found.items()}

    @property
    def multiply_adds(self) -> int:
        return self.layer.multiply_adds(self.input_shape)

    @property
    def paths(self) -> tuple[tuple["Stage", ...], ...]:
        return self.layer.paths(self.input_shape)


def walk(layers: Chain, shape: Shape) -> Iterator[Stage]:
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


def leaves(stages: Iterable[Stage]) -> Iterator[Stage]:
    """The layers that hold no others, in the order of their tensors. Their names begin with those
    of the layers that hold them: `residual3.conv2d1`."""
    for stage in stages:
        inside = [one._replace(name=f"{stage.name}.{one.name}") for p in stage.paths for one in p]
        yield from leaves(inside) if inside else (stage,)


def first_trained(stages: Iterable[Stage]) -> list[Stage]:
    """The trained layers with none before them. No gradient of their input is needed."""
    for stage in stages:
        if stage.parameter_shapes:
            return [one for path in stage.paths for one in first_trained(path)] or [stage]
    return []


@dataclass(frozen=True)
class Dense(Layer):
    """A dense layer of a vector, or of every step of a sequence with the same kernel."""

    units: int
    kind: ClassVar[str] = "dense"

    def output_shape(self, shape: Shape) -> Shape:
        require(len(shape) in (1, 2), f"needs a vector, got shape {shape}: put a flatten before it")
        return (*shape[:-1], self.units)

    def parameter_shapes(self, shape: Shape) -> dict[str, Shape]:
        return {"kernel": (shape[-1], self.units), "bias": (self.units,)}

    def multiply_adds(self, shape: Shape) -> int:
        return prod(shape) * self.units


@dataclass(frozen=True)
class Conv2D(Layer):
    """Cross-correlation of images that are padded with zeros.

    `same` pads like TensorFlow: `ceil(n / stride)` outputs, the odd row of padding at the bottom
    and right. A number pads all sides alike. At a stride of 2 the two differ.
    """

    filters: int
    kernel: int = 3
    stride: int = 1
    padding: str | int | Pads = "valid"
    bias: bool = True
    kind: ClassVar[str] = "conv2d"

    def output_shape(self, shape: Shape) -> Shape:
        require_image(shape)
        require(
            known_padding(self.padding),
            f"padding {self.padding!r} is not valid, same, a whole number from 0, or such numbers "
            "in the form [[top, bottom], [left, right]]",
        )
        if self.padding == "same":
            height, width = (-(-n // self.stride) for n in shape[:2])
        else:
            padded = (n + sum(pair) for n, pair in zip(shape, self.pads(shape), strict=False))
            height, width = (windows(n, self.kernel, self.stride, shape) for n in padded)
        return (height, width, self.filters)

    def parameter_shapes(self, shape: Shape) -> dict[str, Shape]:
        kernel = (self.kernel, self.kernel, shape[2], self.filters)
        return {"kernel": kernel} | ({"bias": (self.filters,)} if self.bias else {})

    def multiply_adds(self, shape: Shape) -> int:
        return prod(self.output_shape(shape)) * self.kernel**2 * shape[2]

    def padding_name(self, shape: Shape) -> str | None:
        """`valid` or `same` if that pads images of this shape in the same way, else None."""
        if isinstance(self.padding, str):
            return self.padding
        names = ("valid", "same")
        alike = [n for n in names if replace(self, padding=n).pads(shape) == self.pads(shape)]
        return alike[0] if alike else None

    def pads(self, shape: Shape) -> Pads:
        """Zeros to add: `((top, bottom), (left, right))`."""
        if not isinstance(self.padding, str):
            return both_sides(self.padding) if isinstance(self.padding, int) else self.padding
        if self.padding == "valid":
            return both_sides(0)
        pairs = []
        for size in shape[:2]:
            total = max((-(-size // self.stride) - 1) * self.stride + self.kernel - size, 0)
            pairs.append((total // 2, total - total // 2))
        return pairs[0], pairs[1]


@dataclass(frozen=True)
class Pool(Layer):
    """`stride` is `size` unless given. `padding` pads all sides alike, with `fill`."""

    size: int = 2
    stride: int | None = None
    padding: int = 0
    fill: ClassVar[float]

    @property
    def step(self) -> int:
        return self.stride or self.size

    def output_shape(self, shape: Shape) -> Shape:
        require_image(shape)
        # PyTorch refuses more. So no window holds only padding, which has no maximum.
        require(
            is_count(self.padding) and 2 * self.padding <= self.size,
            f"padding {self.padding!r} is not a whole number from 0 to half the size {self.size}",
        )
        padded = (n + 2 * self.padding for n in shape[:2])
        height, width = (windows(n, self.size, self.step, shape) for n in padded)
        return (height, width, shape[2])


@dataclass(frozen=True)
class MaxPool(Pool):
    """Padding is never the largest."""

    kind: ClassVar[str] = "max_pool"
    fill: ClassVar[float] = -inf


@dataclass(frozen=True)
class AveragePool(Pool):
    """Padding counts: each sum is divided by the size of the window."""

    kind: ClassVar[str] = "average_pool"
    fill: ClassVar[float] = 0.0


@dataclass(frozen=True)
class GlobalAveragePool(Layer):
    kind: ClassVar[str] = "global_average_pool"

    def output_shape(self, shape: Shape) -> Shape:
        require_image(shape)
        return (shape[2],)


@dataclass(frozen=True)
class Flatten(Layer):
    """Row-major over `(height, width, channels)`."""

    kind: ClassVar[str] = "flatten"

    def output_shape(self, shape: Shape) -> Shape:
        return (prod(shape),)


class Activation(Layer):
    """Element by element, without parameters."""


@dataclass(frozen=True)
class ReLU(Activation):
    kind: ClassVar[str] = "relu"


@dataclass(frozen=True)
class Tanh(Activation):
    kind: ClassVar[str] = "tanh"


@dataclass(frozen=True)
class Sigmoid(Activation):
    kind: ClassVar[str] = "sigmoid"


@dataclass(frozen=True)
class Elementwise(Layer):
    """A single operation on two vectors x and y, the inputs and targets of a mini-batch of one. It
    is done `repeat` times, and trains nothing. Its result is its state. A workload has it as its
    only layer.

    `arrays` counts the vectors that it reads and writes. `ulps` is how many units in the last place
    a GPU may be off; no processor may.
    """

    repeat: int = 1
    arrays: ClassVar[int]
    ulps: ClassVar[int] = 0

    def state_shapes(self, shape: Shape) -> dict[str, Shape]:
        return {"result": shape}


@dataclass(frozen=True)
class Divide(Elementwise):
    """`x / y`"""

    kind: ClassVar[str] = "divide"
    arrays: ClassVar[int] = 3
    ulps: ClassVar[int] = 2


@dataclass(frozen=True)
class Copy(Elementwise):
    """`x`, in memory of its own."""

    kind: ClassVar[str] = "copy"
    arrays: ClassVar[int] = 2


@dataclass(frozen=True)
class Fill(Elementwise):
    """As many numbers as x has, all of them `value`."""

    kind: ClassVar[str] = "fill"
    arrays: ClassVar[int] = 1
    value: ClassVar[float] = 1.5


def require(condition: bool, message: str) -> None:
    if not condition:
        raise WorkloadError(message)


def require_image(shape: Shape) -> None:
    require(len(shape) == 3, f"needs (height, width, channels), got shape {shape}")


def known_padding(padding: object) -> bool:
    """Whether it is a name, a number or `((top, bottom), (left, right))`."""
    if isinstance(padding, tuple):
        pairs = [pair for pair in padding if isinstance(pair, tuple) and len(pair) == 2]
        return len(pairs) == len(padding) == 2 and all(is_count(n) for pair in pairs for n in pair)
    return padding in ("valid", "same") or is_count(padding)


def is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def both_sides(count: int) -> Pads:
    return (count, count), (count, count)


def windows(size: int, kernel: int, stride: int, shape: Shape) -> int:
    require(kernel <= size, f"window {kernel}x{kernel} does not fit into shape {shape}")
    return (size - kernel) // stride + 1
