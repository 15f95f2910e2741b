"""What the simulation has found, as `results.json` keeps it."""

import numpy as np
from numpy.typing import NDArray

from workflows.records.schema import Record


class Rate(Record):
    """A share of all comparisons in simulated studies, with its 95 % interval."""

    share: float
    low: float
    high: float


def rate(hits: NDArray[np.bool_]) -> Rate:
    """`hits` are (studies, comparisons). The study is the unit, because its comparisons share
    contests."""
    each = hits.mean(axis=1)
    share, reach = float(each.mean()), 1.96 * float(each.std(ddof=1)) / len(each) ** 0.5
    return Rate(share=share, low=max(share - reach, 0.0), high=min(share + reach, 1.0))


class Scatter(Record):
    """How log-ratios scatter around their study's mean, in units of the standard deviation of
    their occasion and comparison: shares beyond 3 and 4 robust standard deviations, the kurtosis,
    and the median standard deviation of a comparison in a study."""

    of: str
    beyond_three: float
    beyond_four: float
    kurtosis: float
    median_sd: float


class Source(Record):
    """The studies of one occasion."""

    machine: str
    processor: str
    start: str
    day: str  # of its first study
    studies: int
    contests: int
    sd: float  # of a recorded log-ratio, root mean square over comparisons
    alone: Rate | None = None  # coverage if the noise had the shape of these contests alone


class Cell(Record):
    """Simulated studies of one design. `lowest` and `highest` are the coverages of single
    comparisons, `half_width` is the geometric mean of an interval's half-width. `verdicts` are
    the shares of each verdict, by true ratio."""

    design: str
    replicates: int
    coverage: Rate
    lowest: float
    highest: float
    half_width: float
    verdicts: dict[str, dict[str, Rate]]


class Moved(Record):
    """How often an interval of the default design contains the truth of another hour or host, whose
    ratios differ by the standard deviation `sd`. `seen` of `pairs` recorded intervals contain the
    estimate of another recorded study. The simulation expects the share `expected`."""

    where: str
    sd: float
    coverage: Rate
    expected: Rate
    seen: int
    pairs: int


class Predicted(Record):
    """How often the prediction interval of a series contains the estimate on another host, whose
    ratios differ by the standard deviation `sd`. The series is of `count` hosts, or of as many
    hours of one host."""

    count: int
    of: str
    sd: float
    coverage: Rate


class Naive(Record):
    """How often Welch's test at 5 % found a contender different from itself, in the records."""

    unit: str
    found: int
    tests: int


class Results(Record):
    studies: int  # simulated for each cell
    folders: list[str]
    comparisons: int
    sources: list[Source]
    scatter: list[Scatter]
    cells: list[Cell]
    moved: list[Moved]
    predicted: list[Predicted]
    held_out: tuple[int, int]  # recorded occasions within the prediction of the others, of all
    naive: list[Naive]
