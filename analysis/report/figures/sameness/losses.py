"""The float64 certificates: losses of all contenders, and their differences from the
reference."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from analysis.data.results import BenchmarkId
from analysis.findings.findings import Findings
from analysis.format import count, listing, scientific, short
from analysis.report.figures.panels import fitting, legend, powers
from analysis.report.figures.panels import name as named
from analysis.report.figures.style import INK, TALLEST, Figure, Theme, bare, canvas
from analysis.report.prose import DECLARED, workload
from workflows.records.schema import CertificateRow

EVERY = 10  # steps per point: more points would not be visible, but make the file much larger
FLOOR = 1e-17  # a difference of zero is drawn here, because the axis is logarithmic
VAST = 1e100  # from here on nothing is drawn, because the ends of an axis overflow
FEW = 4  # names in a sentence; more are counted

Contender = tuple[str, str]  # framework and variant
Rows = dict[Contender, list[CertificateRow]]  # a row for each device and number of threads


def losses(findings: Findings, theme: Theme, name: str) -> Figure | None:
    records = findings.machine.records.certificates
    found: dict[str, Rows] = {}
    for record in records:
        for row in record.rows:
            one = BenchmarkId.of(record.workload, row)
            if row.losses and not findings.machine.pitfall(one):
                rows = found.setdefault(record.workload, {})
                rows.setdefault((one.framework, one.variant), []).append(row)
    found = {at: found[at] for at in findings.machine.workloads if at in found}
    if not found:
        return None
    narrowed = {record.workload for record in records if record.narrowed}
    tolerance = max(record.tolerance for record in records)
    columns = min(len(found), 2)
    pairs = -(-len(found) // columns)
    contenders = sorted(
        dict.fromkeys(one for rows in found.values() for one in rows),
        key=lambda one: (
            (theme.place(one[1]), theme.frameworks.index(one[0]))
            if one[0] in theme.frameworks
            else (len(theme.variants), 0)
        ),
    )
    with canvas(min(0.8 + 3.2 * pairs, max(TALLEST, 2.8 * pairs))) as drawn:
        grid = drawn.subplots(2 * pairs, columns, squeeze=False)
        for number, (at, held) in enumerate(found.items()):
            down, column = divmod(number, columns)
            upper, lower = grid[2 * down, column], grid[2 * down + 1, column]
            draw(upper, lower, {one: held[one] for one in contenders if one in held}, theme)
            upper.set_title(fitting(workload(at)) + (" (narrower)" if at in narrowed else ""))
            if not column:
                upper.set_ylabel("loss")
                lower.set_ylabel("relative difference")
        lowers = list(grid[1::2, :].flat[: len(found)])
        ends = [axes.get_ylim() for axes in lowers]
        for axes in lowers:
            high = max(3 * tolerance, *(end for _, end in ends))
            axes.set_ylim(min(low for low, _ in ends), high)
            axes.axhline(tolerance, color=INK, linestyle=":", linewidth=1.2)
            powers(axes, "y")
        for number in range(len(found), pairs * columns):
            for half in (0, 1):
                grid[2 * (number // columns) + half, number % columns].remove()
        legend(drawn, contenders, theme)
        return Figure(
            drawn,
            name,
            "The same losses",
            f"Above: float64 losses at every {EVERY}th step, drawn over each other. Below: their "
            f"relative difference from the reference, the largest of {EVERY} steps; none is drawn "
            f"at {short(FLOOR)}. Dotted: the tolerance, {short(tolerance)}.",
            "Loss curves above, and their relative differences from the reference below.",
            agreement(found, max(record.steps for record in records)),
        )


def draw(upper: Axes, lower: Axes, rows: Rows, theme: Theme) -> None:
    """A line for each contender: the losses of its first device and number of threads, and the
    largest difference of all."""
    for width, ((framework, variant), held) in zip(
        np.linspace(3.4, 1.0, len(rows)), rows.items(), strict=True
    ):
        style: dict[str, Any] = {
            "color": theme.colour(framework),
            "linestyle": theme.dashes(variant),
        }
        steps = np.arange(1, len(held[0].losses) + 1)[::EVERY]
        upper.plot(steps, possible(held[0].losses)[::EVERY], linewidth=width, **style)
        distances = furthest(held)
        if len(distances):
            steps = np.arange(0, len(distances), EVERY)
            lower.plot(steps + 1, np.fmax.reduceat(distances, steps), linewidth=1.2, **style)
    lower.set_yscale("log")
    lower.set_xlabel("step")
    for axes in (upper, lower):
        bare(axes, "y")


def furthest(held: list[CertificateRow]) -> Any:
    """By step, the largest relative difference that can be drawn."""
    runs = [np.asarray(row.long.loss, dtype=float) for row in held if row.long and row.long.loss]
    if not runs:
        return np.array([])
    stacked = np.stack([run[: min(map(len, runs))] for run in runs])
    return np.fmax.reduce(np.maximum(possible(stacked), FLOOR))


def possible(values: Any) -> Any:
    """Numbers that can be drawn, NaN for the others."""
    numbers = np.asarray(values, dtype=float)
    return np.where(np.abs(numbers) < VAST, numbers, np.nan)


def agreement(found: Mapping[str, Rows], steps: int) -> str:
    """Which contenders agree, and how closely, and which do not."""
    statuses: dict[Contender, set[str]] = {}
    worst = 0.0
    for rows in found.values():
        for one, held in rows.items():
            for row in held:
                statuses.setdefault(one, set()).add(row.status)
                if row.status == "agrees" and row.long:
                    worst = max(worst, row.long.worst_loss)
    agree = [one for one, said in statuses.items() if said == {"agrees"}]
    allowed = {"agrees", "declared"}
    declared = [one for one, said in statuses.items() if "declared" in said and said <= allowed]
    others = [one for one, said in statuses.items() if said - allowed]
    parts = []
    if agree:
        verb = "agree" if len(agree) > 1 else "agrees"
        size = f"to {scientific(worst)}" if worst else "to the last digit"
        over = f"over {count(steps, 'step')}, {names(agree)}"
        parts.append(f"{over} {verb} with the reference {size}")
    if declared:
        verb = "differ" if len(declared) > 1 else "differs"
        parts.append(f"{names(declared, DECLARED)} {verb} as declared")
    if others:
        verb = "do" if len(others) > 1 else "does"
        parts.append(f"{names(others)} {verb} not agree")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}."


def names(contenders: list[Contender], mark: str = "") -> str:
    if len(contenders) > FEW:
        return f"{count(len(contenders), 'contender')}{mark}"
    return listing(f"{named(*one)}{f' {mark}' * bool(mark)}" for one in contenders)
