"""Workloads: what every framework must build, in terms of no framework."""

from frameworks.workloads.catalogue import CATALOGUE, SMALL, TITLES, load
from frameworks.workloads.layers import Stage, WorkloadError, leaves
from frameworks.workloads.parsing import from_dict, to_dict
from frameworks.workloads.smaller import narrowed
from frameworks.workloads.weights import Weights, initial_weights
from frameworks.workloads.workload import Dataset, Workload

__all__ = [
    "CATALOGUE", "SMALL", "TITLES", "Dataset", "Stage", "Weights", "Workload", "WorkloadError",
    "from_dict", "initial_weights", "leaves", "load", "narrowed", "to_dict",
]  # fmt: skip
