"""The same network with ReLU and max-pooling the other way round: same values, other cost."""

from dataclasses import replace

from frameworks.workloads.layers import MaxPool, ReLU
from frameworks.workloads.workload import Workload


def pooled_first(workload: Workload) -> Workload:
    """Each ReLU that stands before a max-pooling goes behind it; parameters keep their names."""
    layers = list(workload.layers)
    for index in range(1, len(layers)):
        if isinstance(layers[index - 1], ReLU) and isinstance(layers[index], MaxPool):
            layers[index - 1 : index + 1] = [layers[index], layers[index - 1]]
    return replace(workload, layers=tuple(layers))
