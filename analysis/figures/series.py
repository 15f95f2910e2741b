"""One process after its start: every mini-batch of one replicate, warm-up marked."""

from matplotlib.lines import Line2D

from analysis.figures.panels import grid, legend, milliseconds, panels, rows_of
from analysis.figures.style import INK, PAPER, Figure, Look, bare, canvas, render
from analysis.study import Seat
from analysis.tables import Findings


def series(findings: Findings, look: Look, name: str) -> Figure | None:
    found = panels(findings.measured)
    if not found:
        return None
    replicate = fullest(findings)
    chosen = findings.batches[findings.batches["replicate"] == replicate]
    with canvas(min(1.3 + 2.4 * rows_of(found), 7.2)) as drawn:
        for axes, panel, seats in grid(drawn, found):
            for seat in seats:
                rows = chosen[
                    (chosen["workload"] == seat.workload) & (chosen["contender"] == seat.contender)
                ].sort_values("step")
                colour = look.colour(seat.framework)
                axes.plot(rows["step"], rows["ms"], color=colour, linewidth=1.1,
                          linestyle=look.dashes(seat.variant))  # fmt: skip
                warm = rows[rows["warmup"]]
                axes.plot(warm["step"], warm["ms"], "o", color=colour, markersize=3.2,
                          markerfacecolor=PAPER, markeredgewidth=0.9)  # fmt: skip
            milliseconds(axes, "y")
            bare(axes, "y")
            axes.set_xlabel("mini-batch of the process")
            axes.set_ylabel("ms")
            axes.set_xlim(left=-1)
        legend(drawn, found_seats(found), look)
        return render(
            drawn,
            name,
            "Mini-batch by mini-batch",
            f"Every mini-batch of replicate {replicate}: transfer and step, in the order they "
            "ran. Open circles are warm-up (before the rounds, and the first of each turn) and "
            "not part of steady state. Logarithmic axis.",
            "Line plots of milliseconds per mini-batch against its number in the process, one "
            f"panel for each of {', '.join(map(str, found))}.",
        )


def found_seats(found: dict[object, list[Seat]]) -> list[Seat]:
    return [seat for seats in found.values() for seat in seats]


def fullest(findings: Findings) -> int:
    """The replicate with most contenders, the first of several."""
    attended = [int(r) for rows in findings.measured.values() for r in rows.index]
    return max(sorted(set(attended)), key=attended.count)
