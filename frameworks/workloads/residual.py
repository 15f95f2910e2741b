"""Layers of residual networks: batch normalisation, two paths that are added, and the shortcut
without parameters of He et al. 2015 (their option A)."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar

from frameworks.workloads.layers import Chain, Layer, Shape, Stage, require, require_image, walk


@dataclass(frozen=True)
class BatchNorm(Layer):
    """`gamma (x - mu) / sqrt(var + epsilon) + beta`, over all axes but the last (Ioffe and Szegedy
    2015).

    `mu` and the biased `var` are those of the mini-batch. Every step also moves the running `mean`
    and `variance` by `momentum` towards `mu` and the unbiased variance, `var n / (n - 1)` for `n`
    values a channel. Training does not use them. Without `batch_statistics`, `mean` and `variance`
    are `mu` and `var`, and stay as they are given; `gamma` and `beta` are trained all the same.
    """

    epsilon: float = 1e-5
    momentum: float = 0.1
    batch_statistics: bool = True
    kind: ClassVar[str] = "batch_norm"

    def output_shape(self, shape: Shape) -> Shape:
        require(len(shape) != 2, f"needs a vector or an image, got shape {shape}")
        return shape

    def parameter_shapes(self, shape: Shape) -> dict[str, Shape]:
        return {"gamma": shape[-1:], "beta": shape[-1:]}

    def state_shapes(self, shape: Shape) -> dict[str, Shape]:
        return {"mean": shape[-1:], "variance": shape[-1:]}


def by_mini_batch(layer: Layer) -> bool:
    """Whether it normalises by the mini-batch, and moves its running averages."""
    return isinstance(layer, BatchNorm) and layer.batch_statistics


@dataclass(frozen=True)
class Subsample(Layer):
    """Every `stride`-th pixel from the first on, and channels of zeros after the input's."""

    stride: int
    channels: int
    kind: ClassVar[str] = "subsample"

    def output_shape(self, shape: Shape) -> Shape:
        require_image(shape)
        require(self.channels >= shape[2], f"has {shape[2]} channels, more than {self.channels}")
        height, width = (-(-n // self.stride) for n in shape[:2])
        return (height, width, self.channels)


@dataclass(frozen=True)
class Residual(Layer):
    """`body(x) + shortcut(x)`. An empty shortcut is `x` itself."""

    body: Chain
    shortcut: Chain = ()
    kind: ClassVar[str] = "residual"

    def paths(self, shape: Shape) -> tuple[tuple[Stage, ...], ...]:
        """The body and the shortcut, whose stages have names like `shortcut.conv2d1`."""
        beside = walk(self.shortcut, shape) if self.shortcut else ()
        return (
            tuple(walk(self.body, shape)),
            tuple(stage._replace(name=f"shortcut.{stage.name}") for stage in beside),
        )

    def output_shape(self, shape: Shape) -> Shape:
        body, shortcut = (path[-1].output_shape if path else shape for path in self.paths(shape))
        require(
            body == shortcut,
            f"adds shape {body} of its body and shape {shortcut} of its shortcut, which must be "
            "the same",
        )
        return body

    def parameter_shapes(self, shape: Shape) -> dict[str, Shape]:
        stages = chain(*self.paths(shape))
        return {name: own for stage in stages for name, own in stage.parameter_shapes.items()}

    def state_shapes(self, shape: Shape) -> dict[str, Shape]:
        stages = chain(*self.paths(shape))
        return {name: own for stage in stages for name, own in stage.state_shapes.items()}

    def multiply_adds(self, shape: Shape) -> int:
        return sum(stage.multiply_adds for stage in chain(*self.paths(shape)))

    def with_chains(self, change: Callable[[Chain], Chain]) -> "Residual":
        return replace(self, body=change(self.body), shortcut=change(self.shortcut))

    @property
    def options(self) -> dict[str, Any]:
        """The kinds of layers in its body and its shortcut."""
        chains = {"body": self.body, "shortcut": self.shortcut}
        return {name: ", ".join(x.kind for x in own) for name, own in chains.items() if own}
