"""The figures of a report: one module each, one look for all."""

from analysis.figures.distributions import distributions
from analysis.figures.losses import losses
from analysis.figures.parts import parts
from analysis.figures.ratios import ratios
from analysis.figures.rounding import rounding
from analysis.figures.series import series
from analysis.figures.style import Figure, Look
from analysis.figures.traps import traps
from analysis.tables import Findings

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


def figures(findings: Findings, look: Look, suffix: str = "") -> list[Figure]:
    """All figures of one machine that there is something to draw for."""
    drawn = [draw(findings, look, name + suffix) for name, draw in DRAWINGS.items()]
    return [figure for figure in drawn if figure is not None]
