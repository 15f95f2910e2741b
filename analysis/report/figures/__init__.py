"""The figures of a report: one module each, one look for all."""

from analysis.findings.findings import Findings
from analysis.report.figures.distributions import distributions
from analysis.report.figures.losses import losses
from analysis.report.figures.parts import parts
from analysis.report.figures.pitfalls import traps
from analysis.report.figures.ratios import ratios
from analysis.report.figures.rounding import rounding
from analysis.report.figures.series import series
from analysis.report.figures.style import Figure, Theme

__all__ = ["Figure", "figures"]

DRAWINGS = {
    "traps": traps,
    "ratios": ratios,
    "series": series,
    "distributions": distributions,
    "parts": parts,
    "losses": losses,
    "rounding": rounding,
}


def figures(findings: Findings, look: Theme, suffix: str = "") -> list[Figure]:
    """All figures of one machine that there is something to draw for."""
    drawn = [draw(findings, look, name + suffix) for name, draw in DRAWINGS.items()]
    return [figure for figure in drawn if figure is not None]
