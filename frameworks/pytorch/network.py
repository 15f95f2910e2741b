"""The layer vocabulary as PyTorch modules, and weights between the two layouts."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from frameworks.workloads import Stage, Weights, Workload, layers, sequences
from frameworks.workloads.residual import BatchNorm, Residual, Subsample

# Layers whose gradients do not need their output.
OVERWRITABLE = (layers.Dense, layers.Conv2D, BatchNorm, Residual)
SECOND_BIAS = "bias_hh_l0"


class FlattenRowMajor(nn.Module):
    """Flatten images in canonical order (height, width, channels): a view that costs nothing if
    they are channels-last in memory."""

    def forward(self, images: Tensor) -> Tensor:
        return (images.permute(0, 2, 3, 1) if images.dim() == 4 else images).flatten(1)


class LSTM(nn.Module):
    """The output of every step, from a state of zeros.

    PyTorch's LSTM adds two biases. Ours is loaded into the first one. The second stays zero and is
    not trained, because the sum of two trained biases moves twice as fast.
    """

    def __init__(self, features: int, units: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(features, units, batch_first=True)
        self.lstm.bias_hh_l0.requires_grad_(False)

    def forward(self, sequences: Tensor) -> Tensor:
        outputs: Tensor = self.lstm(sequences)[0]
        return outputs


class Sum(nn.Module):
    """Two chains of modules, whose outputs are added."""

    def __init__(self, body: nn.Module, shortcut: nn.Module) -> None:
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x: Tensor) -> Tensor:
        total: Tensor = self.body(x) + self.shortcut(x)
        return total


class Subsampled(nn.Module):
    def __init__(self, layer: Subsample, shape: layers.Shape) -> None:
        super().__init__()
        self.stride, self.zeros = layer.stride, layer.channels - shape[2]

    def forward(self, images: Tensor) -> Tensor:
        kept = images[:, :, :: self.stride, :: self.stride]
        return nn.functional.pad(kept, (0, 0, 0, 0, 0, self.zeros))


class ByStored(nn.BatchNorm2d):
    """Batch normalisation of vectors or images by its buffers, which stay. In PyTorch only `eval`
    does this, which the next `train` of the network would undo."""

    def forward(self, input: Tensor) -> Tensor:
        return nn.functional.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps
        )


class Network(nn.Sequential):
    """A workload's layers in order, on the meta device until `to_empty` and `load`.

    If channels come first in memory, a flatten gives PyTorch's own order. The rows of the dense
    kernel after it are then permuted once, here, instead of the images in every step.
    """

    def __init__(self, workload: Workload, channels_last: bool, in_place: bool) -> None:
        # The meta device draws no initial values, which would be overwritten.
        with torch.device("meta"):
            super().__init__(*modules(workload.stages, in_place))
        self.names = tuple(workload.tensor_shapes)
        self.permuted: dict[str, layers.Shape] = {}
        if not channels_last:
            for index, name, shape in flattened_into_dense(workload):
                self[index] = nn.Flatten()
                self.permuted[f"{name}.kernel"] = shape

    def tensors(self) -> list[Tensor]:
        """Parameters and state, in the order of their names."""
        return [*trained(self), *running(self)]

    @torch.no_grad()
    def load(self, weights: Weights) -> None:
        """Copy canonical weights in."""
        for buffer in self.buffers():  # among them the counts of steps
            buffer.zero_()
        clear_second_biases(self)
        for name, tensor in zip(self.names, self.tensors(), strict=True):
            value = torch.tensor(weights[name])
            if value.dim() == 4:
                value = value.permute(3, 2, 0, 1)
            elif name in self.permuted:
                value = value.reshape(*self.permuted[name], -1).permute(3, 2, 0, 1).flatten(1)
            elif transposed(name, value):
                value = value.T
            tensor.copy_(value)

    def canonical(self) -> Weights:
        """Copy canonical weights out."""
        return {n: self.copied(n, t) for n, t in zip(self.names, self.tensors(), strict=True)}

    def gradients(self) -> Weights:
        """Copy the parameters' gradients out, in canonical layout."""
        found: Weights = {}
        for name, parameter in zip(self.names, trained(self), strict=False):  # state has none
            assert parameter.grad is not None, f"{name} has no gradient"
            found[name] = self.copied(name, parameter.grad)
        return found

    def copied(self, name: str, tensor: Tensor) -> np.ndarray:
        """The values of a parameter, or of its gradient, in canonical layout."""
        value = tensor.detach().cpu()
        if value.dim() == 4:
            value = value.permute(2, 3, 1, 0)
        elif name in self.permuted:
            height, width, channels = self.permuted[name]
            value = value.reshape(-1, channels, height, width).permute(2, 3, 1, 0).flatten(0, 2)
        elif transposed(name, value):
            value = value.T
        return np.array(value.numpy(), order="C")


def batch_norm(layer: BatchNorm, shape: layers.Shape) -> nn.Module:
    kind = nn.BatchNorm2d if len(shape) == 3 else nn.BatchNorm1d
    kind = kind if layer.batch_statistics else ByStored
    return kind(shape[-1], eps=layer.epsilon, momentum=layer.momentum)


def running(network: nn.Module) -> list[Tensor]:
    """Running means and variances, without the count of steps that PyTorch keeps beside them."""
    return [buffer for buffer in network.buffers() if buffer.is_floating_point()]


@contextmanager
def undisturbed(network: nn.Module) -> Iterator[None]:
    """What is computed inside leaves no trace in running means and variances."""
    before = [buffer.clone() for buffer in network.buffers()]
    yield
    with torch.no_grad():
        for buffer, value in zip(network.buffers(), before, strict=True):
            buffer.copy_(value)


def trained(network: nn.Module) -> list[nn.Parameter]:
    """The parameters in the workload's order: all but second biases."""
    return [p for name, p in network.named_parameters() if not name.endswith(SECOND_BIAS)]


@torch.no_grad()
def clear_second_biases(network: nn.Module) -> None:
    for name, parameter in network.named_parameters():
        if name.endswith(SECOND_BIAS):
            parameter.zero_()


def transposed(name: str, value: Tensor) -> bool:
    """Whether PyTorch has a matrix the other way round: all but an embedding's table."""
    return value.dim() == 2 and not name.endswith(".table")


def modules(stages: Sequence[Stage], in_place: bool) -> Iterator[nn.Module]:
    """A chain of layers. A ReLU may work `in_place` if no gradient needs its input."""
    before: layers.Layer | None = None
    for stage in stages:
        overwrites = isinstance(stage.layer, layers.ReLU) and isinstance(before, OVERWRITABLE)
        if in_place and overwrites:
            yield nn.ReLU(inplace=True)
        elif stage.paths:
            yield Sum(*(nn.Sequential(*modules(path, in_place)) for path in stage.paths))
        else:
            yield module(stage.layer, stage.input_shape)
        before = stage.layer


def module(layer: layers.Layer, shape: layers.Shape) -> nn.Module:
    """One layer of the vocabulary, for inputs of the canonical shape given."""
    match layer:
        case layers.Dense(units):
            return nn.Linear(shape[-1], units)
        case sequences.Embedding(words, features):
            return nn.Embedding(words, features)
        case sequences.LSTM(units):
            return LSTM(shape[-1], units)
        case layers.Conv2D():
            return convolution(layer, shape)
        case layers.MaxPool(size, padding=padding):
            return nn.MaxPool2d(size, layer.step, padding)
        case layers.AveragePool(size, padding=padding):
            return nn.AvgPool2d(size, layer.step, padding)
        case layers.GlobalAveragePool():
            return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())
        case layers.Flatten():
            return FlattenRowMajor()
        case layers.ReLU():
            return nn.ReLU()
        case layers.Tanh():
            return nn.Tanh()
        case layers.Sigmoid():
            return nn.Sigmoid()
        case BatchNorm():
            return batch_norm(layer, shape)
        case Subsample():
            return Subsampled(layer, shape)
    raise NotImplementedError(f"PyTorch adapter: no layer of kind {layer.kind!r}")


def convolution(layer: layers.Conv2D, shape: layers.Shape) -> nn.Module:
    """A convolution. PyTorch pads both sides alike; other padding needs a layer of its own."""
    (top, bottom), (left, right) = layer.pads(shape)
    sizes = (shape[2], layer.filters, layer.kernel, layer.stride)
    if (top, left) == (bottom, right):
        return nn.Conv2d(*sizes, padding=(top, left), bias=layer.bias)
    convolve = nn.Conv2d(*sizes, bias=layer.bias)
    return nn.Sequential(nn.ZeroPad2d((left, right, top, bottom)), convolve)


def flattened_into_dense(workload: Workload) -> Iterator[tuple[int, str, layers.Shape]]:
    """Each flatten of images before a dense layer, with only elementwise layers between the two:
    its index, the dense layer's name, and the shape of the images."""
    stages = workload.stages
    for index, stage in enumerate(stages):
        if isinstance(stage.layer, layers.Flatten) and len(stage.input_shape) == 3:
            between = (layers.Activation, layers.Flatten)
            after = next((s for s in stages[index:] if not isinstance(s.layer, between)), None)
            if after and isinstance(after.layer, layers.Dense):
                yield index, after.name, stage.input_shape
