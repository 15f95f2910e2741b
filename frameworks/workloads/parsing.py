"""Workloads to and from plain dictionaries, as configuration files and records hold them."""

import difflib
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from typing import Any

from frameworks.workloads.layers import VOCABULARY, Chain, Layer, WorkloadError
from frameworks.workloads.optimisers import OPTIMISERS, Optimiser
from frameworks.workloads.workload import DATASETS, LOOSEST, Dataset, Limits, Workload

CHAINS = ("body", "shortcut")  # keys of layers that hold layers
FLAGS = ("bias", "batch_statistics")  # keys of layers that are true or false
SHARES = ("epsilon", "momentum")  # keys of layers with a number between 0 and 1
FADING = ("momentum", "decay", "beta1", "beta2")  # of optimisers: what is left after a step

MOST = 10**9  # of any size of a workload


def to_dict(workload: Workload) -> dict[str, Any]:
    """A JSON-ready description that `from_dict` reads back to an equal workload."""
    limits = {key: value for key, value in vars(workload.certificate).items() if value}
    return {
        "name": workload.name,
        "dataset": asdict(workload.dataset),
        "batch": workload.batch,
        "layers": layers_to_list(workload.layers),
        "loss": workload.loss,
        "optimiser": {workload.optimiser.kind: asdict(workload.optimiser)},
    } | ({"certificate": limits} if limits else {})


def layers_to_list(layers: Chain) -> list[dict[str, Any]]:
    return [
        {layer.kind: {k: layers_to_list(v) if k in CHAINS else v for k, v in vars(layer).items()}}
        for layer in layers
    ]


def from_dict(description: Mapping[str, Any]) -> Workload:
    """Build a workload, or raise a WorkloadError that says which part of it is wrong."""
    needed = {"name", "dataset", "batch", "layers", "loss", "optimiser"}
    known = needed | {"certificate"}
    missing = needed - set(description)
    if missing:
        raise WorkloadError(f"workload without {', '.join(sorted(missing))}")
    for key in set(description) - known:
        raise WorkloadError(f"unknown key {key!r}{suggestion(key, known)}")
    return Workload(
        name=description["name"],
        dataset=parse_dataset(description["dataset"]),
        batch=whole("batch", description["batch"]),
        layers=parse_layers("layers", "layer", description["layers"]),
        loss=description["loss"],
        optimiser=parse_optimiser(description["optimiser"]),
        certificate=parse_limits(description.get("certificate", {})),
    )


def parse_dataset(item: Any) -> Dataset:
    if not isinstance(item, Mapping):
        raise WorkloadError(f"dataset: kind, samples and shape are wanted, got {item!r}")
    dataset: Dataset = build(Dataset, item, "dataset")
    if not isinstance(dataset.shape, (list, tuple)):
        raise WorkloadError(f"dataset: shape: a list is wanted, got {dataset.shape!r}")
    if dataset.kind not in DATASETS:
        raise WorkloadError(f"dataset: kind {dataset.kind!r} is not one of {', '.join(DATASETS)}")
    whole("dataset samples", dataset.samples)
    if dataset.classes is not None:
        whole("dataset classes", dataset.classes)
    shape = tuple(whole("dataset shape", n) for n in dataset.shape)
    if dataset.kind == "pixels" and len(shape) != 3:
        raise WorkloadError("dataset: pixels have a shape of [height, width, channels]")
    return Dataset(dataset.kind, dataset.samples, shape, dataset.classes)


def parse_limits(item: Any) -> Limits:
    if not isinstance(item, Mapping):
        raise WorkloadError(f"certificate: steps, rounding and the like are wanted, got {item!r}")
    values = {name: number(value) for name, value in item.items()}
    limits: Limits = build(Limits, values, "certificate")
    for name, value in values.items():
        if name.endswith("steps"):
            whole(f"certificate {name}", value)
        else:
            most = LOOSEST if name == "tolerance" else 1
            if not isinstance(value, float) or not 0 < value < most:
                raise WorkloadError(
                    f"certificate {name}: a number between 0 and {most:g} is wanted, got {value!r}"
                )
    return limits


def parse_layers(where: str, each: str, items: Any) -> Chain:
    """A chain, which errors call `where`, and each of its layers `each` and a number."""
    if not isinstance(items, (list, tuple)):
        raise WorkloadError(f"{where}: a list is wanted, got {items!r}")
    return tuple(parse_layer(f"{each} {number}", item) for number, item in enumerate(items, 1))


def parse_layer(where: str, item: Any) -> Layer:
    kind, values = kind_and_values(item, where)
    if kind not in VOCABULARY:
        known = ", ".join(VOCABULARY)
        raise WorkloadError(
            f"{where}: unknown kind {kind!r}{suggestion(kind, VOCABULARY)} (known: {known})"
        )
    where = f"{where} ({kind})"
    if "padding" in values:  # its layer says what is wrong with it
        values["padding"] = as_tuple(values["padding"])
    for name in values.keys() & {*CHAINS}:
        values[name] = parse_layers(f"{where} {name}", f"{where} {name}", values[name])
    for name in values.keys() & {*SHARES}:
        values[name] = number(values[name])
    layer: Layer = build(VOCABULARY[kind], values, where)
    for name, value in values.items():
        own = f"{where} {name}"
        if name in FLAGS and not isinstance(value, bool):
            raise WorkloadError(f"{own}: true or false is wanted, got {value!r}")
        if name in SHARES and not (isinstance(value, float) and 0 < value < 1):
            raise WorkloadError(f"{own}: a number between 0 and 1 is wanted, got {value!r}")
        if name not in ("padding", *FLAGS, *CHAINS, *SHARES) and not (
            name == "stride" and value is None
        ):
            whole(own, value)
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
        own = f"optimiser ({kind}) {name}"
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e6:
            raise WorkloadError(f"{own}: a number from 0 to 1e6 is wanted, got {value!r}")
        if name in FADING and not value < 1:
            raise WorkloadError(f"{own}: a number below 1 is wanted, got {value!r}")
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
