"""What the study itself is too small for, or does without."""

from collections.abc import Iterator

from analysis.findings.findings import Findings
from analysis.format import count, crossed, listing, title

FEW = 5  # replicates; below, Student's t is more than 2.8 standard errors


def smoke(findings: Findings) -> Iterator[str]:
    if findings.machine.study.smoke:
        yield "A smoke run: so small a budget shows that everything works, and little else."


def stand_in(findings: Findings) -> Iterator[str]:
    for record in findings.machine.records.datasets:
        if record.kind == "stand-in":
            yield (
                f"{record.workload} ran on stand-in data, not MNIST: times should hardly depend on "
                "pixels, but the losses do."
            )


def other_reference(findings: Findings) -> Iterator[str]:
    wanted = findings.machine.study.reference
    used = {row.reference for row in findings.comparisons} - {wanted}
    for name in sorted(used):
        yield f"{title(wanted)} was not measured; ratios refer to {title(name)} instead."


def few_replicates(findings: Findings) -> Iterator[str]:
    numbers = [row.replicates for row in findings.comparisons if row.ratio is not None]
    if numbers and min(numbers) < FEW:
        yield (
            f"Few replicates ({count(min(numbers), 'replicate')} in the smallest comparison): "
            "intervals are wide, and Student's assumptions weigh more."
        )


def gaps(findings: Findings) -> Iterator[str]:
    failed = [line for line in findings.missing if line.status == "failed"]
    if failed:
        keys = [(s.workload, s.framework, s.variant, s.device, s.threads) for s in failed]
        yield f"Contenders failed: {crossed(keys)}. The reasons are below."
    frameworks = {seat.framework for seat in findings.roster}
    absent = frameworks - {seat.framework for seat in findings.measured}
    if absent:
        yield f"Not measured at all: {listing(title(name) for name in sorted(absent))}."


def losses(findings: Findings) -> Iterator[str]:
    matched = findings.machine.matched(findings.batches)
    wild = matched[~matched["loss"].map(lambda x: abs(x) < float("inf"))]
    if len(wild):
        yield f"Losses that are not finite: {listing(sorted(set(wild['contender'])))}."
