"""The noise of a study within its hour: contests of the records, cut to a design.

No distribution is assumed. A simulated contest is a recorded one, of which consecutive rounds are
taken, as many as the design has. Its mini-batches scatter as they did, interference hits both
sides of a ratio as it did, and a process that was slow from its start to its end is slow again.
How much a comparison scatters differs between occasions. One occasion has too few contests to show
how often a process is slow, so the shape of the noise is of all contests.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from analysis.data.results import grouped
from benchmarks.simulation.records import Design, Floats, Occasion, RecordedStudy, log_ratios
from benchmarks.simulation.results import Scatter


@dataclass(frozen=True)
class Noise:
    """What contests add to a log-ratio under a design.

    `shapes` are (contests, windows, comparisons), with mean 0 and mean square 1 in each occasion
    and comparison; a window is a run of as many rounds as the design has. `sizes` are standard
    deviations, (occasions, comparisons), and `weights` the occasions' shares of the contests.
    """

    shapes: Floats
    sizes: Floats
    weights: Floats

    def draw(
        self, studies: int, replicates: int, random: np.random.Generator, sized: bool = True
    ) -> Floats:
        """Log-ratios of whole studies, (studies, replicates, comparisons), whose truth is 0; in
        units of their occasion's standard deviation if not `sized`.

        A contest gives all comparisons, so rows that share a process share its noise.
        """
        contests, runs = (
            random.integers(most, size=(studies, replicates)) for most in self.shapes.shape[:2]
        )
        found: Floats = self.shapes[contests, runs]
        if sized:
            occasions = random.choice(len(self.sizes), size=studies, p=self.weights)
            found = found * self.sizes[occasions, None]
        return found


def fit(studies: Sequence[RecordedStudy], design: Design) -> Noise:
    """The noise under a design. A study with fewer rounds or places than the design has gives what
    it has, which scatters more."""
    values = []
    for own in by_occasion(studies).values():
        each = [residuals(windows(study, design)) for study in own]
        most = max(part.shape[1] for part in each)
        values.append(np.concatenate([part[:, np.arange(most) % part.shape[1]] for part in each]))
    sizes = np.array([np.sqrt((own**2).mean(axis=(0, 1))) for own in values])
    most = max(own.shape[1] for own in values)
    shapes = [
        own[:, np.arange(most) % own.shape[1]] / size
        for own, size in zip(values, sizes, strict=True)
    ]
    contests = np.array([len(own) for own in values])
    return Noise(np.concatenate(shapes), sizes, contests / contests.sum())


def by_occasion(studies: Sequence[RecordedStudy]) -> dict[Occasion, list[RecordedStudy]]:
    return grouped((study.occasion, study) for study in studies)


def windows(study: RecordedStudy, design: Design) -> Floats:
    """Log-ratios of all runs of `design.rounds` rounds, (contests, windows, comparisons)."""
    logs = study.logs[..., : design.places]
    view = sliding_window_view(logs, min(design.rounds, logs.shape[2]), axis=2)
    return np.stack(
        [log_ratios(own.swapaxes(-1, -2), study.compared) for own in view.transpose(2, 0, 1, 3, 4)],
        axis=1,
    )


def residuals(ratios: Floats) -> Floats:
    """Log-ratios of one study, (contests, ..., comparisons), less the study's means. Subtracting
    them takes part of the variance away, so the rest is widened."""
    contests = len(ratios)
    others = tuple(range(ratios.ndim - 1))
    found: Floats = (ratios - ratios.mean(axis=others)) * np.sqrt(contests / (contests - 1))
    return found


def scatter(of: str, ratios: Sequence[Floats]) -> Scatter:
    """The scatter of studies, each (contests, comparisons). A robust standard deviation is 1.4826
    times the median absolute residual of the comparison over all studies given."""
    left = np.concatenate([residuals(study) for study in ratios])
    units = np.abs(left) / (1.4826 * np.median(np.abs(left), axis=0))
    return Scatter(
        of=of,
        beyond_three=float((units > 3).mean()),
        beyond_four=float((units > 4).mean()),
        kurtosis=float(np.mean((left**4).mean(axis=0) / (left**2).mean(axis=0) ** 2)),
        median_sd=float(np.median([study.std(axis=0, ddof=1) for study in ratios])),
    )
