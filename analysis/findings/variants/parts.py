"""Where a step's time goes: its parts, timed by themselves, over the whole step of their framework.

The parts are programs of their own. A compiler may optimise the whole step and its parts
differently, so the parts need not add up to the step.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd

from analysis.data.processes import Measurements, paired
from analysis.data.results import BenchmarkId
from analysis.findings.comparisons import NO_INTERVAL, permission, ratios
from analysis.findings.fairness.certificates import Certificates
from analysis.findings.fairness.loss_check import LossCheck
from analysis.stats.inference import estimate, student
from analysis.stats.intervals import UNKNOWN, Interval
from frameworks.description import PARTS

AGREES = "agrees to "  # how a pair's certificate begins if nothing is declared


@dataclass(frozen=True)
class PartLine:
    """A row of parts.csv, about the whole step `id`. The ratios of times within rounds give the
    shares of the step in each replicate. `gradient` is the gradient part's less the forward part's,
    and `update` the rest, so the shares add up to 1, and one of them may be negative. A share is
    the mean over replicates with Student's interval.

    `over_forward` and `over_step` are ratios of the gradient part's time to that of the forward
    part and of the step, estimated like all ratios. All are unknown if a part or the step was not
    measured or is not certified.
    """

    id: BenchmarkId
    replicates: int = 0
    forward: Annotated[Interval, "forward_share forward_low forward_high"] = UNKNOWN
    gradient: Annotated[Interval, "gradient_share gradient_low gradient_high"] = UNKNOWN
    update: Annotated[Interval, "update_share update_low update_high"] = UNKNOWN
    over_forward: Annotated[
        Interval, "gradient_over_forward over_forward_low over_forward_high"
    ] = UNKNOWN
    over_step: Annotated[Interval, "gradient_over_step over_step_low over_step_high"] = UNKNOWN
    certificate: str = ""
    reason: str = ""

    @property
    def exceeds(self) -> bool:
        """Whether loss and gradients take significantly longer than the whole step."""
        return self.over_step.low is not None and self.over_step.low > 1

    @property
    def inverted(self) -> bool:
        """Whether loss and gradients take significantly less time than the loss alone."""
        return self.over_forward.high is not None and self.over_forward.high < 1


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
        over_forward=ratio(logs[:, 2], found),
        over_step=ratio(logs[:, 1], found),
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


def shares(logs: np.ndarray, confidence: float) -> dict[str, Interval]:
    """Each share with its interval, from logarithms of both parts' times over the step's."""
    forward, gradient = np.exp(logs[:, 0]), np.exp(logs[:, 1])
    own = {"forward": forward, "gradient": gradient - forward, "update": 1 - gradient}
    return {part: student(one.tolist(), confidence).interval for part, one in own.items()}


def ratio(logs: np.ndarray, found: Measurements) -> Interval:
    """From its logarithms."""
    study = found.machine.study
    return estimate(logs.tolist(), study.margin, study.confidence).ends
