"""The float64 certificates: losses of all contenders, and their differences from the
reference."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from analysis.data.results import BenchmarkId
from analysis.findings.findings import Findings
from analysis.format import listing
from analysis.report.figures.panels import legend
from analysis.report.figures.style import INK, TALLEST, Figure, Theme, bare, canvas, render
from workflows.records.schema import CertificateRow

EVERY = 5  # steps per point: more cannot be seen, and make the file several times as large
FLOOR = 1e-17  # a difference of zero is drawn here, because the axis is logarithmic

Rows = list[tuple[BenchmarkId, CertificateRow]]


def losses(findings: Findings, theme: Theme, name: str) -> Figure | None:
    records = findings.machine.records.certificates
    found: dict[str, Rows] = {workload: [] for workload in findings.machine.workloads}
    for record in records:
        rows = [(BenchmarkId.of(record.workload, row), row) for row in record.rows]
        found.setdefault(record.workload, []).extend(
            (benchmark, row)
            for benchmark, row in rows
            if row.losses and not findings.machine.pitfall(benchmark)
        )
    found = {workload: rows for workload, rows in found.items() if rows}
    if not found:
        return None
    narrowed = {record.workload for record in records if record.narrowed}
    tolerance = max(record.tolerance for record in records)
    columns = min(len(found), 3)
    pairs = -(-len(found) // columns)
    contenders = dict.fromkeys((s.framework, s.variant) for r in found.values() for s, _ in r)
    with canvas(min(0.9 + 3.7 * pairs, max(TALLEST, 3 * pairs))) as drawn:
        grid = drawn.subplots(2 * pairs, columns, squeeze=False)
        for number, (workload, rows) in enumerate(found.items()):
            row, column = divmod(number, columns)
            upper, lower = grid[2 * row, column], grid[2 * row + 1, column]
            rows.sort(key=lambda item: findings.machine.order(item[0]))
            draw(upper, lower, rows, theme, tolerance)
            upper.set_title(workload + (" (narrower copy)" if workload in narrowed else ""))
            if not column:
                upper.set_ylabel("loss")
                lower.set_ylabel("relative difference")
        for number in range(len(found), pairs * columns):
            for half in (0, 1):
                grid[2 * (number // columns) + half, number % columns].remove()
        legend(drawn, contenders, theme)
        return render(
            drawn,
            name,
            "The same losses",
            "Losses of all contenders in float64, from the same weights on the same mini-batches "
            f"(above, at every {EVERY}th step, drawn over each other), and their relative "
            "difference from the reference "
            f"(below, the largest of {EVERY} steps, logarithmic; no difference at all is drawn at "
            f"{FLOOR:g}). "
            f"Dotted: the tolerance of {tolerance:g}.",
            f"Loss curves for {listing(found)} that lie over each other, and the relative "
            "difference of each from the reference. The largest are in certificate.csv.",
        )


def draw(upper: Axes, lower: Axes, rows: Rows, theme: Theme, tolerance: float) -> None:
    for width, (benchmark, row) in zip(np.linspace(3.4, 1.0, len(rows)), rows, strict=True):
        style: dict[str, Any] = {
            "color": theme.colour(benchmark.framework),
            "linestyle": theme.dashes(benchmark.variant),
        }
        steps = np.arange(1, len(row.losses) + 1)[::EVERY]
        upper.plot(steps, row.losses[::EVERY], linewidth=width, **style)
        distances = np.asarray(row.long.loss if row.long else [], dtype=float)
        drawable = np.where(np.isfinite(distances), np.maximum(distances, FLOOR), np.nan)
        if len(drawable):
            steps = np.arange(0, len(drawable), EVERY)
            lower.plot(steps + 1, np.fmax.reduceat(drawable, steps), linewidth=1.2, **style)
    lower.set_yscale("log")
    lower.axhline(tolerance, color=INK, linestyle=":", linewidth=1.2)
    lower.set_xlabel("step")
    for axes in (upper, lower):
        bare(axes, "y")
