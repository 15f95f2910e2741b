"""Batch normalisation: its epsilon, and what it normalises by and keeps.

The network is one batch normalisation of two features and four samples, the same two twice, so that
each of two workers has both. The first feature has a mean of 0 and a small variance, which an
epsilon shows beside. The second has a scale of 0, so the loss does not depend on it, and a mean and
variance of 1 for the running averages. In a second step equal samples are side by side: two workers
that normalise by themselves see no variance then.
"""

from typing import NamedTuple

import numpy as np

from frameworks.contract import Adapter, Setting
from frameworks.workloads import Workload, leaves
from frameworks.workloads.optimisers import SGD
from frameworks.workloads.residual import BatchNorm
from workflows.worker.probes.asking import NONE, OTHER, nearest, network, significant, step, trained

SMALL = 2.0**-7  # the first feature's standard deviation
INPUTS = np.array([[SMALL, 0.0], [-SMALL, 2.0]] * 2, np.float32)
SIDE_BY_SIDE = INPUTS[[0, 2, 1, 3]]
SAMPLES = len(INPUTS)
VARIANCES = {
    "unbiased": SAMPLES / (SAMPLES - 1),
    "biased": 1.0,  # of half of the samples, too
    "unbiased, of half of the samples": SAMPLES / 2 / (SAMPLES / 2 - 1),
}
NAME = "batch_norm1"
WITHIN = 1e-3  # relative


class Seen(NamedTuple):
    """The mean square of the first feature's outputs in each step, and the second feature's running
    mean and variance after the first. They began at 0 and 1."""

    square: float
    side_by_side: float
    mean: float
    variance: float


def observe(adapter: Adapter, variant: str, workload: Workload) -> Seen | None:
    """None if the workload has no batch normalisation."""
    own = [s.layer for s in leaves(workload.stages) if isinstance(s.layer, BatchNorm)]
    if not own:
        return None
    asked = network(own[0], shape=(2,), batch=SAMPLES, optimiser=SGD(2.0**-20))
    given = {f"{NAME}.gamma": np.array([1.0, 0.0]), f"{NAME}.variance": np.ones(2)}
    trainer, _ = trained(adapter, variant, asked, given)
    square = 2 * step(trainer, INPUTS, np.zeros_like(INPUTS))
    after = trainer.weights()
    mean, variance = (float(after[f"{NAME}.{short}"][1]) for short in ("mean", "variance"))
    side_by_side = 2 * step(trainer, SIDE_BY_SIDE, np.zeros_like(INPUTS))
    return Seen(square, side_by_side, mean, variance)


def by_running(seen: Seen) -> bool:
    return abs(seen.square / SMALL**2 - 1) <= WITHIN


def batch_norm_statistics(seen: Seen | None) -> Setting:
    if not seen:
        return NONE
    if by_running(seen):
        return "running"
    whole = seen.side_by_side > seen.square / 2
    return "of the mini-batch" if whole else "of half of the mini-batch"


def batch_norm_epsilon(seen: Seen | None) -> Setting:
    if not seen or by_running(seen):
        return NONE
    return significant(SMALL**2 * (1 / seen.square - 1))


def batch_norm_momentum(seen: Seen | None) -> Setting:
    return significant(seen.mean) if seen else NONE


def batch_norm_variance(seen: Seen | None) -> Setting:
    """Which variance the running average is of."""
    if not seen:
        return NONE
    if not seen.mean:
        return "not kept"
    average = 1 + (seen.variance - 1) / seen.mean
    return nearest(average, VARIANCES, 10 * WITHIN) or OTHER


QUESTIONS = {
    "batch_norm_statistics": batch_norm_statistics,
    "batch_norm_epsilon": batch_norm_epsilon,
    "batch_norm_momentum": batch_norm_momentum,
    "batch_norm_variance": batch_norm_variance,
}
