"""Workloads to and from plain dictionaries, as configuration files and records hold them."""

import difflib
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from typing import Any

from frameworks.workloads.layers import VOCABULARY, Layer, WorkloadError
from frameworks.workloads.optimisers import OPTIMISERS, Optimiser
from frameworks.workloads.workload import Dataset, Workload

MOST = 10**9  # of any size of a workload


def to_dict(workload: Workload) -> dict[str, Any]:
    """A JSON-ready description that `from_dict` reads back to an equal workload."""
    return {
        "name": workload.name,
        "dataset": asdict(workload.dataset),
        "batch": workload.batch,
        "layers": [{layer.kind: asdict(layer)} for layer in workload.layers],
        "loss": workload.loss,
        "optimiser": {workload.optimiser.kind: asdict(workload.optimiser)},
    }


def from_dict(description: Mapping[str, Any]) -> Workload:
    """Build a workload, or raise a WorkloadError that says which part of it is wrong."""
    known = {"name", "dataset", "batch", "layers", "loss", "optimiser"}
    missing = known - set(description)
    if missing:
        raise WorkloadError(f"workload without {', '.join(sorted(missing))}")
    for key in set(description) - known:
        raise WorkloadError(f"unknown key {key!r}{suggestion(key, known)}")
    layers = description["layers"]
    if not isinstance(layers, (list, tuple)):
        raise WorkloadError(f"layers: a list is wanted, got {layers!r}")
    return Workload(
        name=description["name"],
        dataset=parse_dataset(description["dataset"]),
        batch=whole("batch", description["batch"]),
        layers=tuple(parse_layer(number, item) for number, item in enumerate(layers, 1)),
        loss=description["loss"],
        optimiser=parse_optimiser(description["optimiser"]),
    )


def parse_dataset(item: Any) -> Dataset:
    if not isinstance(item, Mapping):
        raise WorkloadError(f"dataset: kind, samples and shape are wanted, got {item!r}")
    dataset: Dataset = build(Dataset, item, "dataset")
    if not isinstance(dataset.shape, (list, tuple)):
        raise WorkloadError(f"dataset: shape: a list is wanted, got {dataset.shape!r}")
    if dataset.kind not in ("normal", "mnist"):
        raise WorkloadError(f"dataset: kind {dataset.kind!r} is not normal or mnist")
    whole("dataset samples", dataset.samples)
    if dataset.classes is not None:
        whole("dataset classes", dataset.classes)
    shape = tuple(whole("dataset shape", n) for n in dataset.shape)
    return Dataset(dataset.kind, dataset.samples, shape, dataset.classes)


def parse_layer(number: int, item: Any) -> Layer:
    kind, values = kind_and_values(item, f"layer {number}")
    if kind not in VOCABULARY:
        known = ", ".join(VOCABULARY)
        raise WorkloadError(
            f"layer {number}: unknown kind {kind!r}{suggestion(kind, VOCABULARY)} (known: {known})"
        )
    if "padding" in values:  # its layer says what is wrong with it
        values["padding"] = as_tuple(values["padding"])
    layer: Layer = build(VOCABULARY[kind], values, f"layer {number} ({kind})")
    for name, value in values.items():
        where = f"layer {number} ({kind}) {name}"
        if name == "bias" and not isinstance(value, bool):
            raise WorkloadError(f"{where}: true or false is wanted, got {value!r}")
        if name not in ("padding", "bias") and not (name == "stride" and value is None):
            whole(where, value)
    return layer


def as_tuple(value: Any) -> Any:
    return tuple(map(as_tuple, value)) if isinstance(value, (list, tuple)) else value


def parse_optimiser(item: Any) -> Optimiser:
    kind, values = kind_and_values(item, "optimiser")
    if kind not in OPTIMISERS:
        known = ", ".join(OPTIMISERS)
        raise WorkloadError(
            f"optimiser: unknown kind {kind!r}{suggestion(kind, OPTIMISERS)} (known: {known})"
        )
    # YAML reads 1e-3, without a point, as text.
    values = {name: number(value) for name, value in values.items()}
    optimiser: Optimiser = build(OPTIMISERS[kind], values, f"optimiser ({kind})")
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e6:
            raise WorkloadError(f"optimiser ({kind}) {name}: a number is wanted, got {value!r}")
    return optimiser


def kind_and_values(item: Any, where: str) -> tuple[str, dict[str, Any]]:
    """Accept `relu`, `{dense: 64}` and `{conv2d: {filters: 8}}`."""
    if isinstance(item, str):
        return item, {}
    if isinstance(item, Mapping) and len(item) == 1:
        kind, values = next(iter(item.items()))
        if values is None:
            return kind, {}
        if isinstance(values, Mapping):
            return kind, dict(values)
        known: Any = {**VOCABULARY, **OPTIMISERS}.get(kind)
        first = fields(known)[0].name if known and fields(known) else "value"
        return kind, {first: values}
    raise WorkloadError(f"{where}: a name or one name with its values is wanted, got {item!r}")


def build(cls: Any, values: Mapping[str, Any], where: str) -> Any:
    known = {field.name for field in fields(cls)}
    for name in values:
        if name not in known:
            raise WorkloadError(f"{where}: unknown key {name!r}{suggestion(str(name), known)}")
    for field in fields(cls):
        if field.default is MISSING and field.name not in values:
            raise WorkloadError(f"{where}: {field.name} is missing")
    return cls(**values)


def number(value: Any) -> Any:
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def whole(where: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise WorkloadError(f"{where}: a whole number from 1 is wanted, got {value!r:.80}")
    if value > MOST:
        raise WorkloadError(f"{where}: at most {MOST:,} is possible, got {value!r:.80}")
    return value


def suggestion(word: str, known: Any) -> str:
    close = difflib.get_close_matches(str(word), list(known), n=1)
    return f", did you mean {close[0]!r}?" if close else ""
