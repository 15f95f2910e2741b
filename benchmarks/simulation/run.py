"""All figures of the page, from recorded studies."""

from collections.abc import Sequence

import numpy as np

from benchmarks.simulation.judging import DESIGNS, SEED, cell, covered, naive, simulated
from benchmarks.simulation.moving import REPLICATES, held_out, moved, predicted
from benchmarks.simulation.noise import by_occasion, fit, scatter
from benchmarks.simulation.records import Floats, RecordedStudy
from benchmarks.simulation.results import Results, Scatter, Source

AGAIN = 200  # times the recorded studies are drawn to compare their tails


def run(studies: Sequence[RecordedStudy], count: int) -> Results:
    return Results(
        studies=count,
        folders=[study.folder for study in studies],
        comparisons=len(studies[0].names),
        sources=sources(studies, count),
        scatter=scatters(studies),
        cells=[
            cell(studies, name, replicates, count)
            for name, (_, several) in DESIGNS.items()
            for replicates in several
        ],
        moved=moved(studies, count),
        predicted=predicted(studies, count),
        held_out=held_out(studies),
        naive=naive(studies),
    )


def sources(studies: Sequence[RecordedStudy], count: int) -> list[Source]:
    """Each occasion, and the coverage of the default design's smallest studies if there were only
    its contests."""
    found = []
    for occasion, own in by_occasion(studies).items():
        alone = simulated(fit(own, DESIGNS["default"][0]), "default", REPLICATES, count)
        spread = np.mean([study.ratios.var(axis=0, ddof=1) for study in own])
        found.append(
            Source(
                **occasion._asdict(), day=own[0].began[:10], studies=len(own),
                contests=sum(len(study.logs) for study in own), sd=float(spread**0.5),
                alone=covered(alone),
            )
        )  # fmt: skip
    return found


def scatters(studies: Sequence[RecordedStudy]) -> list[Scatter]:
    """The recorded log-ratios; as many studies with as many contests, drawn from the noise; and
    as many of normal values."""
    random = np.random.default_rng(SEED)
    design, _ = DESIGNS["former"]
    noise = fit(studies, design)
    order = list(by_occasion(studies))
    units = [study.ratios / noise.sizes[order.index(study.occasion)] for study in studies]
    counts = [len(own) for own in units] * AGAIN
    drawn = [noise.draw(1, n, random, sized=False)[0] for n in counts]
    normal: list[Floats] = [random.standard_normal((n, units[0].shape[1])) for n in counts]
    return [
        scatter("the records", units),
        scatter("simulated studies", drawn),
        scatter("normal values", normal),
    ]
