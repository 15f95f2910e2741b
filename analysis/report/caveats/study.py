"""Caveats about the size of the study and about missing measurements."""

from collections.abc import Iterator

import numpy as np

from analysis.findings.findings import Findings
from analysis.format import count, listing, quoted, title
from analysis.report.layout import Caveat, note, warning
from analysis.report.prose import places, workload

FEW = 5  # replicates; below, Student's t is more than 2.8 standard errors


def smoke(findings: Findings) -> Iterator[Caveat]:
    if findings.machine.study.smoke:
        yield warning(
            "SMOKE RUN",
            "A small budget, to see that everything works.",
            "Conclude nothing from the numbers; `make study` measures.",
        )


def stand_in(findings: Findings) -> Iterator[Caveat]:
    for record in findings.machine.records.datasets:
        if record.kind == "stand-in":
            yield warning(
                "Stand-in data",
                f"{workload(record.workload)} did not run on MNIST but on "
                f"{quoted(record.source)}. Times hardly depend on pixels, losses do.",
                "Name a folder with MNIST in `SAMESTEP_MNIST` for the losses of MNIST.",
            )


def random_words(findings: Findings) -> Iterator[Caveat]:
    for record in findings.machine.records.datasets:
        if record.kind == "tokens":
            yield note(
                f"{workload(record.workload)} trains on {quoted(record.source)}. Times hardly "
                "depend on words, losses do.",
                "Compare no loss with one of a real text.",
            )


def nothing_measured(findings: Findings) -> Iterator[Caveat]:
    if not findings.measured:
        yield warning(
            "Nothing measured",
            "No contender left a steady-state mini-batch.",
            "What is missing says why; mend that and run the study again.",
        )


def other_reference(findings: Findings) -> Iterator[Caveat]:
    wanted = findings.machine.study.reference
    if findings.machine.study.fastest:
        return
    if used := {row.reference for row in findings.comparisons} - {wanted}:
        yield warning(
            "Other reference",
            f"{title(wanted)} was not measured; ratios refer to "
            f"{listing(title(name) for name in sorted(used))}.",
            "Set `reference` to a framework of the study.",
        )


def failed(findings: Findings) -> Iterator[Caveat]:
    lines = [line.id for line in findings.missing if line.status == "failed"]
    if lines:
        yield warning(
            "Failures",
            f"{places(lines)}.",
            "What is missing has the reasons; run the study again to repeat these alone.",
        )


def not_measured(findings: Findings) -> Iterator[Caveat]:
    frameworks = {benchmark.framework for benchmark in findings.availability}
    absent = frameworks - {benchmark.framework for benchmark in findings.measured}
    if absent and findings.measured:
        yield note(
            f"Not measured at all: {listing(title(name) for name in sorted(absent))}.",
            "See What is missing.",
        )


def few_replicates(findings: Findings) -> Iterator[Caveat]:
    numbers = [
        row.estimate.replicates for row in findings.comparisons if row.estimate.ratio is not None
    ]
    if numbers and min(numbers) < FEW:
        yield note(
            f"A ratio rests on {count(min(numbers), 'replicate')} only, so its interval is wide.",
            f"Set `replicates` to {FEW} or more.",
        )


def losses(findings: Findings) -> Iterator[Caveat]:
    matched = findings.machine.matched(findings.batches)
    wild = matched[~np.isfinite(matched["loss"])]
    if len(wild):
        yield note(
            f"Losses that are not finite: {listing(sorted(set(wild['contender'])))}.",
            "Lower the learning rate of the workload.",
        )
