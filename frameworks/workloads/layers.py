"""The layer vocabulary that every framework builds from.

Shapes leave out the batch dimension: `(features,)` for vectors and
`(height, width, channels)` for images. Kernels are canonical: dense `(in, out)`,
convolution `(height, width, in, out)`.
"""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

Shape = tuple[int, ...]


class WorkloadError(ValueError):
    """A workload that cannot be built; the message names the layer and the shapes."""


@dataclass(frozen=True)
class Layer:
    """One step of a network: a function of its input shape."""

    kind: ClassVar[str]

    def output_shape(self, shape: Shape) -> Shape:
        """The shape of the output: that of the input unless a layer overrides this."""
        return shape

    def parameter_shapes(self, shape: Shape) -> dict[str, Shape]:
        """Canonical shapes of the parameters, by their short names."""
        return {}

    def multiply_adds(self, shape: Shape) -> int:
        """Multiply-adds of one sample's forward pass, in matrix work only."""
        return 0


@dataclass(frozen=True)
class Dense(Layer):
    units: int
    kind: ClassVar[str] = "dense"

    def output_shape(self, shape: Shape) -> Shape:
        require(len(shape) == 1, f"needs a vector, got shape {shape}: put a flatten before it")
        return (self.units,)

    def parameter_shapes(self, shape: Shape) -> dict[str, Shape]:
        return {"kernel": (shape[0], self.units), "bias": (self.units,)}

    def multiply_adds(self, shape: Shape) -> int:
        return shape[0] * self.units


@dataclass(frozen=True)
class Conv2D(Layer):
    """Cross-correlation.

    `same` pads like TensorFlow: `ceil(n / stride)` outputs, the odd row of padding at the bottom
    and right.
    """

    filters: int
    kernel: int = 3
    stride: int = 1
    padding: str = "valid"
    kind: ClassVar[str] = "conv2d"

    def output_shape(self, shape: Shape) -> Shape:
        require_image(shape)
        require(self.padding in ("valid", "same"), f"padding {self.padding!r} is not valid or same")
        if self.padding == "same":
            height, width = (-(-n // self.stride) for n in shape[:2])
        else:
            height, width = (windows(n, self.kernel, self.stride, shape) for n in shape[:2])
        return (height, width, self.filters)

    def parameter_shapes(self, shape: Shape) -> dict[str, Shape]:
        kernel = (self.kernel, self.kernel, shape[2], self.filters)
        return {"kernel": kernel, "bias": (self.filters,)}

    def multiply_adds(self, shape: Shape) -> int:
        return prod(self.output_shape(shape)) * self.kernel**2 * shape[2]

    def pads(self, shape: Shape) -> tuple[tuple[int, int], tuple[int, int]]:
        """Zeros to add: `((top, bottom), (left, right))`."""
        if self.padding == "valid":
            return (0, 0), (0, 0)
        pairs = []
        for size in shape[:2]:
            total = max((-(-size // self.stride) - 1) * self.stride + self.kernel - size, 0)
            pairs.append((total // 2, total - total // 2))
        return pairs[0], pairs[1]


@dataclass(frozen=True)
class Pool(Layer):
    """Valid padding only; `stride` is `size` unless given."""

    size: int = 2
    stride: int | None = None

    @property
    def step(self) -> int:
        return self.stride or self.size

    def output_shape(self, shape: Shape) -> Shape:
        require_image(shape)
        height, width = (windows(n, self.size, self.step, shape) for n in shape[:2])
        return (height, width, shape[2])


@dataclass(frozen=True)
class MaxPool(Pool):
    kind: ClassVar[str] = "max_pool"


@dataclass(frozen=True)
class AveragePool(Pool):
    kind: ClassVar[str] = "average_pool"


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


VOCABULARY: dict[str, type[Layer]] = {
    layer.kind: layer
    for layer in (
        Dense, Conv2D, MaxPool, AveragePool, GlobalAveragePool, Flatten, ReLU, Tanh, Sigmoid,
    )
}  # fmt: skip


def require(condition: bool, message: str) -> None:
    if not condition:
        raise WorkloadError(message)


def require_image(shape: Shape) -> None:
    require(len(shape) == 3, f"needs (height, width, channels), got shape {shape}")


def windows(size: int, kernel: int, stride: int, shape: Shape) -> int:
    require(kernel <= size, f"window {kernel}x{kernel} does not fit into shape {shape}")
    return (size - kernel) // stride + 1
