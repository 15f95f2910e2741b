"""The tables as the report shows them: fewer columns than the files, rounded, in words."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from analysis.data.results import BenchmarkId
from analysis.findings.fairness.audit import entries
from analysis.findings.fairness.certificates import components
from analysis.findings.fairness.checklist import ABSENT, HANDLED
from analysis.findings.findings import Findings
from analysis.format import alike, crossed, listing, percent, probability, sentence, three, title
from analysis.steady_state.table import classes, start


@dataclass(frozen=True)
class Table:
    """`columns`: heading, and whether its cells are numbers. `notes`: rows that the table leaves
    out, who and why, a line for all that have the same reason. `file`: where all columns are."""

    caption: str
    columns: list[tuple[str, bool]]
    rows: list[list[str]]
    notes: list[tuple[str, str]]
    file: str


def comparison_table(findings: Findings) -> Table:
    study = findings.machine.study
    data = findings.machine.dataset
    rows = [row for row in findings.comparisons if row.estimate.ratio is not None]
    pairs = list(dict.fromkeys(f"{title(r.id.framework)} to {r.against}" for r in rows))
    several = len(pairs) > 1
    return Table(
        f"Ratio of times per mini-batch, {listing(pairs)}" if rows else "Ratios of times",
        [
            ("workload", False), ("data", False), ("on", False), ("variant", False),
            *[("ratio of", False)] * several, ("ratio", True),
            (f"{percent(study.confidence)} interval", True), ("p (Holm)", True),
            ("verdict", False), ("could have seen", True),
            (f"replicates to see {percent(study.margin)}", True), ("same computation", False),
        ],
        [
            [
                row.id.workload, data(row.id.workload), row.id.on, row.id.variant,
                *[f"{title(row.id.framework)} to {row.against}"] * several,
                *estimate(*row.estimate.ends),
                probability(row.estimate.p_adjusted), row.estimate.verdict,
                "" if row.estimate.detectable is None else percent(row.estimate.detectable),
                "" if (n := row.estimate.replicates_needed) is None else f"{n:,}",
                same(row.certificate),
            ]
            for row in rows
        ],
        absent(
            [row for row in findings.comparisons if row.reason],
            lambda row: f"{row.estimate.verdict}. {sentence(row.reason)}",
        ),
        "comparisons.csv",
    )  # fmt: skip


def contender_table(findings: Findings) -> Table:
    study = findings.machine.study
    data = findings.machine.dataset
    rows = [row for row in findings.contenders if row.median_ms is not None]
    return Table(
        "Contenders: milliseconds per mini-batch, transfer and step",
        [
            ("workload", False), ("data", False), ("on", False), ("contender", False),
            ("median", True), (f"{percent(study.confidence)} interval", True),
            ("middle half", True), ("very first", True), ("samples per s", True),
            ("replicates", True), ("mini-batches", True),
        ],
        [
            [
                row.id.workload, data(row.id.workload), row.id.on,
                row.id.who,
                *estimate(row.median_ms, row.low_ms, row.high_ms),
                " to ".join(alike(row.q25_ms, row.q75_ms)),
                three(row.first_batch_ms), three(row.samples_per_s), str(row.replicates),
                str(row.batches),
            ]
            for row in rows
        ]
        + [
            [
                row.workload, "", "", "nothing: the harness itself",
                *estimate(row.median_ms, row.low_ms, row.high_ms),
                " to ".join(alike(row.q25_ms, row.q75_ms)), "", "", str(row.replicates),
                str(row.batches),
            ]
            for row in findings.harness
        ],
        absent(
            [row for row in findings.contenders if row.reason],
            lambda row: f"{row.status}. {sentence(row.reason)}",
        ),
        "contenders.csv",
    )  # fmt: skip


def steady_table(findings: Findings) -> Table:
    return Table(
        "Steady state: processes by class, and their first steady mini-batch, counted from 0",
        [
            ("workload", False), ("on", False), ("contender", False), ("class", False),
            ("processes", False), ("steady from, median", True), ("worst", True),
        ],
        [
            [
                row.id.workload, row.id.on,
                row.id.who,
                row.kind if row.steady else "no steady state",
                classes(row), start(row),
                "" if row.start_worst is None else str(row.start_worst),
            ]
            for row in findings.machine.matched_rows(findings.steady)
        ],
        [],
        "steady.csv",
    )  # fmt: skip


def device_table(findings: Findings) -> Table:
    data = findings.machine.dataset
    rows = [row for row in findings.devices if row.speedup is not None]
    return Table(
        "Devices and threads: how many times as fast as the baseline",
        [
            ("workload", False), ("data", False), ("contender", False), ("on", False),
            ("baseline", False), ("speed-up", True),
            (f"{percent(findings.machine.study.confidence)} interval", True), ("replicates", True),
        ],
        [
            [
                row.id.workload, data(row.id.workload), row.id.who,
                row.id.on,
                crossed([(row.baseline_device, row.baseline_threads)]),
                *estimate(row.speedup, row.low, row.high), str(row.replicates),
            ]
            for row in rows
        ],
        absent(
            [row for row in findings.devices if row.reason],
            lambda row: f"{'missing. ' if row.speedup is None else ''}{sentence(row.reason)}",
        ),
        "devices.csv",
    )  # fmt: skip


def setting_table(findings: Findings) -> Table:
    """The ledger: a row for each trap, then those that the harness rules out for everybody."""
    found = entries(findings.compared_settings)
    frameworks = list(found[0].values) if found else []
    return Table(
        "The ledger: what may differ between frameworks, as read back from them or found by probe",
        [
            ("trap", False), *((title(name), False) for name in frameworks),
            ("status", False), ("what it matters", False),
        ],
        [
            [
                one.title, *(one.values[name] for name in frameworks),
                f"{one.status} ({one.where})" if one.where else one.status, one.matters,
            ]
            for one in found
        ],
        [*HANDLED.items(), *ABSENT.items()],
        "settings.csv",
    )  # fmt: skip


def environment_table(findings: Findings) -> Table:
    return Table(
        "Machine, versions and code",
        [("key", False), ("value", False)],
        [
            [line.key, line.value + " (changed between contests)" * (line.changed == "yes")]
            for line in findings.environment
        ],
        [],
        "machine.csv",
    )


def estimate(value: float | None, low: float | None, high: float | None) -> list[str]:
    """Two cells: the estimate, and its interval with as many decimals."""
    told = alike(value, low, high)
    return [told[0], f"{told[1]} to {told[2]}" if told[1] else ""]


def same(certificate: str) -> str:
    """Without the sizes of deviations, which stand in the certificate table."""
    return (
        f"declared: {listing(components(certificate))}"
        if components(certificate)
        else (certificate)
    )


def absent(rows: Iterable[Any], reason: Callable[[Any], str]) -> list[tuple[str, str]]:
    """Rows that lack something, in few words."""
    groups: dict[str, list[BenchmarkId]] = {}
    for row in rows:
        groups.setdefault(reason(row), []).append(row.id)
    return [(crossed(seats), text) for text, seats in groups.items()]
