"""Narrow copies: the same layers with less to do, for long certificates."""

from dataclasses import replace
from math import prod

from frameworks.workloads.layers import Conv2D, Dense, Layer
from frameworks.workloads.workload import Workload

# From here on, hundreds of steps in float64 take minutes.
PARAMETERS = 1_000_000
FLOPS = 100_000_000  # a step
INPUTS, UNITS, FILTERS, BATCH = 512, 128, 16, 16


def narrowed(workload: Workload) -> Workload:
    """The workload itself, or, if it is costly, a copy in which the input vector, the batch,
    and hidden dense and convolution layers are capped. Layers, loss and optimiser stay."""
    if workload.parameters <= PARAMETERS and workload.flops_per_step <= FLOPS:
        return workload
    dataset = workload.dataset
    if dataset.kind == "normal" and len(dataset.shape) == 1:
        dataset = replace(dataset, shape=(min(prod(dataset.shape), INPUTS),))
    *hidden, last = workload.layers
    return replace(
        workload,
        dataset=dataset,
        batch=min(workload.batch, BATCH),
        layers=(*map(capped, hidden), last),
    )


def capped(layer: Layer) -> Layer:
    match layer:
        case Dense(units):
            return Dense(min(units, UNITS))
        case Conv2D(filters):
            return replace(layer, filters=min(filters, FILTERS))
    return layer
