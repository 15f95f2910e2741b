"""The certificates: the proof that all contenders compute the same."""

from collections.abc import Iterable

from analysis.data.results import BenchmarkId
from analysis.findings.fairness.certificate_steps import (
    AgreementLine,
    GradientLine,
    Run,
    certified,
    runs,
)
from analysis.findings.findings import Findings
from analysis.format import listing, scientific, sentence, short, title
from analysis.report.figures.losses import losses
from analysis.report.figures.rounding import rounding
from analysis.report.layout import Chapter, Parts, Section
from analysis.report.tables import Table, absent


def certificate_table(findings: Findings) -> Table:
    compared = findings.machine.matched_rows(findings.certificate)
    rows = [row for row in compared if row.loss is not None]
    data = findings.machine.dataset
    return Table(
        "Certificates: largest relative difference from the reference",
        [
            ("workload", False), ("data", False), ("on", False), ("contender", False),
            ("status", False), ("steps", True), ("loss", True), ("weights", True),
            ("at full size", True), ("with plain SGD", True), ("first gradient", True),
            ("the same in float32", True),
        ],
        [
            [
                row.id.workload, data(row.id.workload), row.id.on, row.id.who, row.status,
                f"{row.steps:,}",
                largest(row.loss), largest(row.weights), largest(row.full_loss, row.full_weights),
                largest(row.sgd_loss, row.sgd_weights, row.full_sgd_loss, row.full_sgd_weights),
                largest(row.gradients),
                largest(row.rounding) + f" {row.reduced}" * bool(row.reduced),
            ]
            for row in rows
        ],
        absent(
            [row for row in compared if row.reason],
            lambda row: " ".join(
                [f"{row.status}.", *(sentence(text) for text in (row.reason, row.cause) if text)]
            ),
        ),
        "certificate.csv",
    )  # fmt: skip


def optimiser_table(findings: Findings) -> Table | None:
    """A line for each framework, variant and workload, a column for each optimiser: the
    largest difference of any step and tensor over devices and threads. Optimisers that no
    workload uses are proven on one workload, so their other cells are empty."""
    machine = findings.machine
    found: dict[tuple[str, str, str], dict[str, list[Run]]] = {}
    for benchmark, _, row in certified(machine):
        for run in runs(machine, benchmark.workload, row):
            if machine.pitfall(benchmark) is None and row.long and run.name == "long":
                cells = found.setdefault(
                    (benchmark.workload, benchmark.framework, benchmark.variant), {}
                )
                cells.setdefault(run.optimiser, []).append(run)
    kinds = list(dict.fromkeys(kind for cells in found.values() for kind in cells))
    if len(kinds) < 2:
        return None
    steps = max(record.steps for record in machine.records.certificates)
    return Table(
        "Every optimiser, on the workloads that it was proven on: largest relative difference of "
        f"loss and weights in {steps:,} steps",
        [("workload", False), ("contender", False), *((kind, True) for kind in kinds)],
        [
            [workload, f"{title(framework)} {variant}", *(summed(cells.get(k, [])) for k in kinds)]
            for (workload, framework, variant), cells in found.items()
        ],
        [],
        "agreement.csv",
    )


def summed(found: list[Run]) -> str:
    statuses = {run.status for run in found} - {"agrees"}
    measured = [run.measured for run in found if run.measured]
    size = largest(*(end for run in measured for end in (run.worst_loss, run.worst_weights)))
    return f"{size} {listing(sorted(statuses))}".strip()


def deviation_table(findings: Findings) -> Table | None:
    """The size of each declared deviation, in loss and weights, by number of steps."""
    compared = findings.machine.matched_rows(findings.agreement)
    lines = [line for line in compared if line.status == "declared" and line.run == "long"]
    steps = sorted({line.step for line in lines} - {0})
    if not lines:
        return None
    found: dict[tuple[str, str, str, str], list[AgreementLine]] = {}
    for line in lines:
        key = (line.id.workload, line.id.framework, line.id.variant, line.optimiser)
        found.setdefault(key, []).append(line)
    return Table(
        "Declared deviations: relative difference from the reference after so many steps",
        [
            ("workload", False), ("contender", False), ("optimiser", False), ("of", False),
            *((f"{step:,}", True) for step in steps),
        ],
        [
            [
                workload, f"{title(framework)} {variant}", optimiser, what,
                *(
                    largest(*(getattr(line, what) for line in held if line.step == step))
                    for step in steps
                ),
            ]
            for (workload, framework, variant, optimiser), held in found.items()
            for what in ("loss", "weights")
        ],
        [
            (f"{title(framework)} {variant}, {optimiser}", sentence(reason))
            for framework, variant, optimiser, reason in dict.fromkeys(
                (one.id.framework, one.id.variant, one.optimiser,
                 one.reason.partition(": ")[2] or one.reason)
                for one in lines
            )
        ],
        "agreement.csv",
    )  # fmt: skip


def rounding_table(findings: Findings) -> Table | None:
    """The tensor with the largest float32 rounding, for each contender."""
    worst: dict[BenchmarkId, GradientLine] = {}
    data = findings.machine.dataset
    for line in findings.gradients:
        if not line.tensor:
            continue
        if line.id not in worst or further(line) > further(worst[line.id]):
            worst[line.id] = line
    if not worst:
        return None
    allowed = max(line.allowed for line in worst.values())
    return Table(
        "Exactness of float32: the first step's gradients against the reference's in float64, "
        f"the worst tensor (allowed: {short(allowed)}, or a reduced precision that says so)",
        [
            ("workload", False), ("data", False), ("on", False), ("contender", False),
            ("tensor", False), ("difference", True), ("reduced precision", False),
        ],
        [
            [
                line.id.workload, data(line.id.workload), line.id.on, line.id.who, line.tensor,
                largest(line.float32), line.reduced or "none",
            ]
            for line in worst.values()
        ],
        [],
        "gradients.csv",
    )  # fmt: skip


def further(line: GradientLine) -> float:
    return line.float32 or 0.0


def largest(*values: float | None) -> str:
    """The largest value, in few digits; "" if there is none."""
    known: Iterable[float] = [value for value in values if value is not None]
    return scientific(max(known)) if known else ""


def same_computation(chapter: Chapter) -> Parts:
    findings = chapter.findings
    return [
        chapter.figure(losses),
        certificate_table(findings),
        optimiser_table(findings),
        deviation_table(findings),
        chapter.figure(rounding),
        rounding_table(findings),
    ]


SECTION = Section("The same computation", same_computation)
