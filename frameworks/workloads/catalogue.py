"""The workloads that come with samestep, and their parameters."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from frameworks.workloads import resnet, shi2016
from frameworks.workloads.layers import (
    Conv2D,
    Copy,
    Dense,
    Divide,
    Elementwise,
    Fill,
    Flatten,
    Layer,
    MaxPool,
    ReLU,
    WorkloadError,
)
from frameworks.workloads.parsing import from_dict, parse_limits, parse_optimiser, suggestion, whole
from frameworks.workloads.workload import Dataset, Workload


def mlp(
    name: str = "mlp",
    features: int = 10_000,
    hidden: tuple[int, ...] = (1_000, 1_000),
    outputs: int = 1,
    samples: int = 10_000,
    batch: int = 32,
    optimiser: Any = "adam",
) -> Workload:
    """A wide perceptron: standard-normal features, mean squared error against zeros."""
    layers: list[Layer] = []
    for units in hidden:
        layers += [Dense(units), ReLU()]
    return Workload(
        name=name,
        dataset=Dataset("normal", samples, (features,)),
        batch=batch,
        layers=(*layers, Dense(outputs)),
        loss="mean_squared_error",
        optimiser=parse_optimiser(optimiser),
    )


def mnist_cnn(
    name: str = "mnist-cnn",
    filters: tuple[int, ...] = (32, 64, 64),
    kernel: int = 3,
    units: int = 64,
    samples: int = 60_000,
    batch: int = 64,
    optimiser: Any = "adam",
) -> Workload:
    """A small convolutional network on 28x28 handwritten digits; pooling between
    convolutions, none after the last; sparse cross-entropy from ten logits."""
    layers: list[Layer] = []
    for count in filters[:-1]:
        layers += [Conv2D(count, kernel), ReLU(), MaxPool(2)]
    return Workload(
        name=name,
        dataset=Dataset("mnist", samples, (28, 28, 1), 10),
        batch=batch,
        layers=(
            *layers,
            Conv2D(filters[-1], kernel),
            ReLU(),
            Flatten(),
            Dense(units),
            ReLU(),
            Dense(10),
        ),
        loss="sparse_cross_entropy",
        optimiser=parse_optimiser(optimiser),
    )


def operation(
    layer: type[Elementwise],
    name: str,
    elements: int = 645 * 645,
    repeat: int = 1,
    samples: int = 8,
) -> Workload:
    """A single operation on standard-normal vectors, of which each sample is a pair."""
    return Workload(
        name=name,
        dataset=Dataset("normal", samples, (elements,)),
        batch=1,
        layers=(layer(repeat),),
        loss="mean_squared_error",
        optimiser=parse_optimiser("sgd"),
    )


# The workloads of the default study. The others of the catalogue take minutes to certify.
SMALL: dict[str, Callable[..., Workload]] = {"mlp": mlp, "mnist-cnn": mnist_cnn}
CATALOGUE: dict[str, Callable[..., Workload]] = {
    **SMALL,
    "fcn-s": shi2016.fcn_s,
    "fcn-r": shi2016.fcn_r,
    "alexnet-s": shi2016.alexnet_s,
    "alexnet-r": shi2016.alexnet_r,
    "resnet-56": resnet.resnet_56,
    "resnet-50": resnet.resnet_50,
    "lstm": shi2016.lstm,
    **{layer.kind: partial(operation, layer) for layer in (Divide, Copy, Fill)},
}
TITLES = {
    "mlp": "MLP",
    "mnist-cnn": "MNIST CNN",
    "fcn-s": "FCN-S",
    "fcn-r": "FCN-R",
    "alexnet-s": "AlexNet-S",
    "alexnet-r": "AlexNet-R",
    "resnet-56": "ResNet-56",
    "resnet-50": "ResNet-50",
    "lstm": "LSTM",
    "divide": "division",
    "copy": "copy",
    "fill": "fill",
}  # for people


def load(name: str, entry: Mapping[str, Any] | None) -> Workload:
    """A workload from its configuration entry.

    The entry gives parameters of the catalogue's workload of that name, or of the name in `from`,
    or a whole description with `layers`.

    Raises:
        WorkloadError: unknown name or parameter, or layers that do not fit.
    """
    entry = dict(entry or {})
    if "layers" in entry:
        return from_dict({"name": name, **entry})
    base, limits = entry.pop("from", name), entry.pop("certificate", None)
    if base not in CATALOGUE:
        known = ", ".join(CATALOGUE)
        named = "" if base == name else f"from: {base!r:.80} is "
        raise WorkloadError(
            f"{named}not in the catalogue ({known}){suggestion(base, CATALOGUE)}; "
            "give its layers, or name a catalogue entry with `from`"
        )
    build = CATALOGUE[base]
    parameters = inspect.signature(build).parameters
    known_parameters = [p for p in parameters if p != "name"]
    for key, value in entry.items():
        if key not in known_parameters:
            raise WorkloadError(
                f"unknown parameter {key!r}{suggestion(key, known_parameters)} "
                f"(known: {', '.join(known_parameters)})"
            )
        usual = parameters[key].default
        if isinstance(usual, tuple):
            if not isinstance(value, list):
                raise WorkloadError(f"{key}: a list of whole numbers is wanted, got {value!r}")
            if not value:
                raise WorkloadError(f"{key}: at least one number is wanted")
            entry[key] = tuple(whole(key, item) for item in value)
        elif isinstance(usual, bool):
            if not isinstance(value, bool):
                raise WorkloadError(f"{key}: true or false is wanted, got {value!r:.80}")
        elif key != "optimiser":
            whole(key, value)
    built = build(name=name, **entry)
    if limits is None:
        return built
    return replace(built, certificate=parse_limits(limits))
