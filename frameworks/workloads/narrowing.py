"""Narrow copies: the same layers on fewer features, for long certificates."""

from dataclasses import replace
from math import prod

from frameworks.workloads.layers import Dense
from frameworks.workloads.workload import Workload

WIDE = 1_000_000  # parameters from which a float64 certificate gets slow
INPUTS = 512
UNITS = 128


def narrowed(workload: Workload) -> Workload:
    """The workload itself, or, if it has over a million parameters, a copy whose input
    vector and hidden dense layers are capped. Layers, loss and optimiser stay."""
    if workload.parameters <= WIDE:
        return workload
    dataset = workload.dataset
    if dataset.kind == "normal" and len(dataset.shape) == 1:
        dataset = replace(dataset, shape=(min(prod(dataset.shape), INPUTS),))
    *hidden, last = workload.layers
    layers = tuple(
        Dense(min(layer.units, UNITS)) if isinstance(layer, Dense) else layer for layer in hidden
    )
    return replace(workload, dataset=dataset, layers=(*layers, last))
