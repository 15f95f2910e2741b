"""What the report says about simulated studies whose true ratios are known."""

from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from scipy import stats

from analysis.stats.inference import of_equivalence, students, verdict
from benchmarks.simulation.noise import Noise, fit
from benchmarks.simulation.records import Design, Floats, RecordedStudy
from benchmarks.simulation.results import Cell, Naive, Rate, rate

SEED = 20161
CONFIDENCE, MARGIN = 0.95, 0.05  # of the default study
DESIGNS = {  # with the replicates to simulate; most recorded studies are of the former design
    "default": (Design(rounds=8, turn=4, discard=1), (5, 6, 7, 8, 12)),
    "former": (Design(rounds=12, turn=6, discard=2), (8,)),
}
TRUTHS = (1.0, 1.02, 1.05, 1.1)
VERDICTS = ("faster", "slower", "equivalent", "cannot tell")


@dataclass(frozen=True)
class Judged:
    """Means and interval ends of log-ratios whose truth is 0, each (studies, comparisons)."""

    mean: Floats
    low: Floats
    high: Floats
    tost_low: Floats
    tost_high: Floats

    def verdicts(self, truth: float) -> dict[str, Rate]:
        """The verdicts if all ratios were `truth`: intervals move with it."""
        ends = (self.low, self.high, self.tost_low, self.tost_high)
        rows = zip(*((np.exp(end) * truth).ravel().tolist() for end in ends), strict=True)
        said = np.array([verdict((low, high), (least, most), MARGIN) for low, high, least, most
                         in rows]).reshape(self.mean.shape)  # fmt: skip
        return {each: rate(said == each) for each in VERDICTS}


def judge(ratios: Floats) -> Judged:
    """`ratios` are logarithms, (studies, replicates, comparisons)."""
    studies, replicates, comparisons = ratios.shape
    flat = ratios.transpose(0, 2, 1).reshape(-1, replicates).astype(float)
    mean, _, low, high, _ = students(flat, CONFIDENCE)
    _, _, tost_low, tost_high, _ = students(flat, of_equivalence(CONFIDENCE))
    ends = (mean, low, high, tost_low, tost_high)
    return Judged(*(end.reshape(studies, comparisons) for end in ends))


def simulated(noise: Noise, name: str, replicates: int, studies: int) -> Judged:
    random = np.random.default_rng([SEED, crc32(name.encode()), replicates])
    return judge(noise.draw(studies, replicates, random))


def covered(judged: Judged, truth: Floats | float = 0.0) -> Rate:
    return rate((judged.low <= truth) & (truth <= judged.high))


def cell(studies: Sequence[RecordedStudy], name: str, replicates: int, count: int) -> Cell:
    judged = simulated(fit(studies, DESIGNS[name][0]), name, replicates, count)
    each = ((judged.low <= 0) & (judged.high >= 0)).mean(axis=0)
    with np.errstate(divide="ignore"):  # of pairs without any scatter
        half_width = np.expm1(np.exp(np.log((judged.high - judged.low) / 2).mean()))
    return Cell(
        design=name,
        replicates=replicates,
        coverage=covered(judged),
        lowest=float(each.min()),
        highest=float(each.max()),
        half_width=float(half_width),
        verdicts={f"{truth:g}": judged.verdicts(truth) for truth in TRUTHS},
    )


def naive(studies: Sequence[RecordedStudy]) -> list[Naive]:
    """Each contender against itself: the processes of one study, two by two, and its first half
    against its second, by all mini-batches and by the medians of processes."""
    single, pooled, medians = [], [], []
    for study in studies:
        times = np.exp(study.logs).reshape(*study.logs.shape[:2], -1).swapaxes(0, 1)
        contenders, count, _ = times.shape
        for one, other in zip(*np.triu_indices(count, 1), strict=True):
            single.append(welch(times[:, one], times[:, other]))
        halves = times[:, : count // 2], times[:, count - count // 2 :]
        pooled.append(welch(*(half.reshape(contenders, -1) for half in halves)))
        medians.append(welch(*(np.median(half, axis=2) for half in halves)))
    named = {
        "mini-batches, one process against one": single,
        "mini-batches, half of the processes against the other half": pooled,
        "medians of processes, half against half": medians,
    }
    return [
        Naive(unit=unit, found=int(np.sum(found)), tests=int(np.size(found)))
        for unit, found in named.items()
    ]


def welch(one: Floats, other: Floats) -> Floats:
    found: Floats = stats.ttest_ind(one, other, axis=1, equal_var=False).pvalue < 1 - CONFIDENCE
    return found
