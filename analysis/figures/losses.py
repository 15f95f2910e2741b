"""The float64 certificate: losses of all contenders over each other, and how far apart."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from analysis.figures.panels import legend
from analysis.figures.style import INK, Figure, Look, bare, canvas, render
from analysis.study import Seat
from analysis.tables import Findings
from analysis.words import listing, scientific
from workflows.records import CertificateRow

FLOOR = 1e-17  # where a difference of nothing is drawn on a logarithmic axis

Rows = list[tuple[Seat, CertificateRow]]


def losses(findings: Findings, look: Look, name: str) -> Figure | None:
    found: dict[str, Rows] = {}
    records = findings.machine.records.certificates
    for record in records:
        for row in record.rows:
            if row.losses and row.long is not None:
                seat = Seat(record.workload, row.framework, row.variant, row.device, row.threads)
                found.setdefault(record.workload, []).append((seat, row))
    if not found:
        return None
    narrowed = {record.workload for record in records if record.narrowed}
    names = [workload for workload in findings.machine.workloads if workload in found]
    tolerance = max(record.tolerance for record in records)
    with canvas(min(1.1 + 3.6 * -(-len(names) // 2), 7.2)) as drawn:
        for number, workload in enumerate(names):
            upper, lower = pair(drawn, number, len(names))
            rows = sorted(found[workload], key=lambda item: findings.machine.order(item[0]))
            draw(upper, lower, rows, look, tolerance)
            upper.set_title(workload + (" (narrower copy)" if workload in narrowed else ""))
        legend(drawn, [seat for rows in found.values() for seat, _ in rows], look)
        return render(
            drawn,
            name,
            "The same losses",
            "Losses of all contenders in float64, from the same weights on the same mini-batches "
            "(above, drawn over each other), and the relative difference from the reference at "
            f"every step (below, logarithmic; no difference at all is drawn at {FLOOR:.0e}). "
            f"Dotted: the tolerance of {scientific(tolerance)}.",
            f"Loss curves for {listing(names)} that lie over each other, and the relative "
            "difference of each from the reference. The largest are in certificate.csv.",
        )


def pair(drawn: Canvas, number: int, total: int) -> tuple[Axes, Axes]:
    """Two sets of axes above each other, pairs side by side."""
    columns, rows = min(total, 2), 2 * -(-total // 2)
    top = 2 * (number // 2) * columns + number % 2 + 1
    upper = drawn.add_subplot(rows, columns, top)
    return upper, drawn.add_subplot(rows, columns, top + columns, sharex=upper)


def draw(upper: Axes, lower: Axes, rows: Rows, look: Look, tolerance: float) -> None:
    for width, (seat, row) in zip(np.linspace(3.4, 1.0, len(rows)), rows, strict=True):
        style = {"color": look.colour(seat.framework), "linestyle": look.dashes(seat.variant)}
        upper.plot(range(1, len(row.losses) + 1), row.losses, linewidth=width, **style)
        distances = np.asarray(row.long.loss if row.long else [], dtype=float)
        drawable = np.where(np.isfinite(distances), np.maximum(distances, FLOOR), np.nan)
        lower.plot(range(1, len(distances) + 1), drawable, linewidth=1.2, **style)
    lower.set_yscale("log")
    lower.axhline(tolerance, color=INK, linestyle=":", linewidth=1.2)
    upper.set_ylabel("loss")
    lower.set_ylabel("relative difference")
    lower.set_xlabel("step")
    for axes in (upper, lower):
        bare(axes, "y")
