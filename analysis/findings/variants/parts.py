"""Where a step's time goes: its parts, timed by themselves, over the whole step of their framework.

The parts are programs of their own. A compiler may optimise the whole step and its parts
differently, so the parts need not add up to the step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.data.processes import Measurements, paired
from analysis.data.results import BenchmarkId
from analysis.findings.comparisons import NO_INTERVAL, permission, ratios
from analysis.findings.fairness.certificates import Certificates
from analysis.findings.fairness.loss_check import LossCheck
from analysis.stats.inference import estimate, student
from frameworks.description import PARTS

Numbers = dict[str, Any]  # of the fields with these names
AGREES = "agrees to "  # how a pair's certificate begins if nothing is declared


@dataclass(frozen=True)
class PartLine:
    """A row of parts.csv, about the whole step `id`. The ratios of times within rounds give the
    shares of the step in each replicate. `gradient_share` is the gradient part's less the forward
    part's, and `update_share` the rest, so they add up to 1, and one of them may be negative. A
    share is the mean over replicates with Student's interval.

    `gradient_over_forward` and `gradient_over_step` are ratios of times, estimated like all ratios.
    All are None if a part or the step was not measured or is not certified.
    """

    id: BenchmarkId
    replicates: int = 0
    forward_share: float | None = None
    forward_low: float | None = None
    forward_high: float | None = None
    gradient_share: float | None = None
    gradient_low: float | None = None
    gradient_high: float | None = None
    update_share: float | None = None
    update_low: float | None = None
    update_high: float | None = None
    gradient_over_forward: float | None = None
    over_forward_low: float | None = None
    over_forward_high: float | None = None
    gradient_over_step: float | None = None
    over_step_low: float | None = None
    over_step_high: float | None = None
    certificate: str = ""
    reason: str = ""

    @property
    def exceeds(self) -> bool:
        """Whether loss and gradients take significantly longer than the whole step."""
        return self.over_step_low is not None and self.over_step_low > 1

    @property
    def inverted(self) -> bool:
        """Whether loss and gradients take significantly less time than the loss alone."""
        return self.over_forward_high is not None and self.over_forward_high < 1


def part_lines(found: Measurements, check: LossCheck) -> list[PartLine]:
    """A row for each step that the study has parts of, if the step or a part was measured."""
    machine = found.machine
    wholes: dict[BenchmarkId, dict[str, BenchmarkId]] = {}
    for one in found.availability:
        if row := machine.part(one):
            wholes.setdefault(one._replace(variant=row.beside), {})[row.change] = one
    certificates = Certificates(machine)
    return [
        part_line(whole, wholes[whole], found, check, certificates)
        for whole in sorted(wholes, key=machine.order)
        if {whole, *wholes[whole].values()} & found.processes.keys()
    ]


def part_line(
    whole: BenchmarkId,
    own: Mapping[str, BenchmarkId],
    found: Measurements,
    check: LossCheck,
    certificates: Certificates,
) -> PartLine:
    if absent := [part for part in PARTS if part not in own]:
        return PartLine(whole, reason=f"the {absent[0]} part is not in the study")
    forward, gradient = (own[part] for part in PARTS)
    pairs = ((forward, whole), (gradient, whole), (gradient, forward))
    allowed = [permission(one, base, certificates, check) for one, base in pairs]
    tried = [
        ratios(one, base, found, refused)
        for (one, base), (_, refused) in zip(pairs, allowed, strict=True)
    ]
    said = together([text for text, _ in allowed])
    reason = "; ".join(dict.fromkeys(why for _, _, why in tried if why))
    if not all(logs for logs, _, _ in tried):
        return PartLine(whole, certificate=said, reason=reason)
    sides = [paired(found.processes[one], found.processes[base]) for one, base in pairs]
    logs = pd.concat(sides, axis=1, join="inner").to_numpy()
    if not len(logs):
        reason = "there is no replicate in which the step and both parts were measured"
        return PartLine(whole, certificate=said, reason=reason)
    return PartLine(
        whole,
        len(logs),
        **shares(logs, found.machine.study.confidence),
        **over(logs[:, 2], "forward", found),
        **over(logs[:, 1], "step", found),
        certificate=said,
        reason=NO_INTERVAL if len(logs) == 1 else reason,
    )


def together(certificates: Sequence[str]) -> str:
    """The certificates of several pairs in one text: the declared deviations, or else the largest
    distance; "" if one of them forbids the comparison."""
    if not all(certificates):
        return ""
    declared = [text for text in certificates if not text.startswith(AGREES)]
    return "; ".join(dict.fromkeys(declared)) or max(
        certificates, key=lambda text: float(text.removeprefix(AGREES))
    )


def shares(logs: np.ndarray, confidence: float) -> Numbers:
    """Each share with its interval, from logarithms of both parts' times over the step's."""
    forward, gradient = np.exp(logs[:, 0]), np.exp(logs[:, 1])
    own = {"forward": forward, "gradient": gradient - forward, "update": 1 - gradient}
    found: Numbers = {}
    for name, values in own.items():
        mean = student(values.tolist(), confidence)
        found |= {f"{name}_share": mean.mean, f"{name}_low": mean.low, f"{name}_high": mean.high}
    return found


def over(logs: np.ndarray, what: str, found: Measurements) -> Numbers:
    """The ratio of the gradient part's time to another, from its logarithms."""
    study = found.machine.study
    ends = estimate(logs.tolist(), study.margin, study.confidence).ends
    names = (f"gradient_over_{what}", f"over_{what}_low", f"over_{what}_high")
    return dict(zip(names, ends, strict=True))
