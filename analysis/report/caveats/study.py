"""Caveats about the size of the study and about missing measurements."""

from collections.abc import Iterator

from analysis.findings.findings import Findings
from analysis.format import count, crossed, listing, title
from analysis.report.layout import Caveat, note, warning

FEW = 5  # replicates; below, Student's t is more than 2.8 standard errors


def smoke(findings: Findings) -> Iterator[Caveat]:
    if findings.machine.study.smoke:
        yield warning(
            "SMOKE RUN",
            "a small budget to see that everything works. Conclude nothing from the numbers.",
        )


def stand_in(findings: Findings) -> Iterator[Caveat]:
    for record in findings.machine.records.datasets:
        if record.kind == "stand-in":
            yield warning(
                "Stand-in data",
                f"{record.workload} did not run on MNIST but on {record.source}. Times should "
                "hardly depend on pixels, but the losses do.",
            )


def nothing_measured(findings: Findings) -> Iterator[Caveat]:
    if not findings.measured:
        yield warning("Nothing measured", "no contender left a steady-state mini-batch.")


def other_reference(findings: Findings) -> Iterator[Caveat]:
    wanted = findings.machine.study.reference
    if findings.machine.study.fastest:
        return
    if used := {row.reference for row in findings.comparisons} - {wanted}:
        yield warning(
            "Other reference",
            f"{title(wanted)} was not measured; "
            f"ratios refer to {listing(title(name) for name in sorted(used))}.",
        )


def failed(findings: Findings) -> Iterator[Caveat]:
    lines = [line for line in findings.missing if line.status == "failed"]
    if lines:
        keys = [s.id for s in lines]
        yield warning("Failures", f"{crossed(keys)}; reasons under What is missing.")


def not_measured(findings: Findings) -> Iterator[Caveat]:
    frameworks = {benchmark.framework for benchmark in findings.availability}
    absent = frameworks - {benchmark.framework for benchmark in findings.measured}
    if absent:
        yield note(f"Not measured at all: {listing(title(name) for name in sorted(absent))}.")


def few_replicates(findings: Findings) -> Iterator[Caveat]:
    numbers = [
        row.estimate.replicates for row in findings.comparisons if row.estimate.ratio is not None
    ]
    if numbers and min(numbers) < FEW:
        yield note(
            f"Few replicates ({count(min(numbers), 'replicate')} in the smallest comparison): "
            "intervals are wide, and Student's assumptions weigh more."
        )


def losses(findings: Findings) -> Iterator[Caveat]:
    matched = findings.machine.matched(findings.batches)
    wild = matched[~matched["loss"].map(lambda x: abs(x) < float("inf"))]
    if len(wild):
        yield note(f"Losses that are not finite: {listing(sorted(set(wild['contender'])))}.")
