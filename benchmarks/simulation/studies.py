"""Whole simulated studies, in portions that fit into memory."""

from collections.abc import Iterator, Sequence
from zlib import crc32

import numpy as np

from benchmarks.simulation.drawing import Deal, draw
from benchmarks.simulation.judging import Floats, log_ratios
from benchmarks.simulation.noise import Noise
from benchmarks.simulation.scenarios import WORKLOADS, Scenario

SEED = 20161
PORTION = 125  # studies that are drawn at once, with the same noise


def studies(
    scenario: Scenario, fits: Sequence[Noise], deal: Deal, count: int, replicates: int
) -> Iterator[tuple[Floats, Floats]]:
    """Log-ratios (studies, replicates, rows of the comparison table) and their truth (rows,),
    portion by portion. A portion's numbers depend on its place and size alone."""
    for portion, begin in enumerate(range(0, count, PORTION)):
        here = min(PORTION, count - begin)
        random = np.random.default_rng([SEED, crc32(scenario.name.encode()), portion, replicates])
        ratios, truths = [], []
        for workload in range(WORKLOADS):
            setup = scenario.build(fits, WORKLOADS * portion + workload)
            logs = draw(setup.noises, setup.times, deal, here * replicates, random)
            one, other = np.array(setup.pairs).T
            ratios.append(log_ratios(logs, deal, setup.pairs).reshape(here, replicates, -1))
            own = np.log(setup.times) + [noise.slow * noise.slowed for noise in setup.noises]
            truths.append(own[one] - own[other])
        yield np.concatenate(ratios, axis=2), np.concatenate(truths)
