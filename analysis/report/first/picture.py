"""The matrix of the first screen as a picture, for README and Markdown, light and dark."""

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from analysis.findings.findings import Findings
from analysis.report.figures.style import INK, PAPER, Figure, Theme, canvas
from analysis.report.first import Cell, FirstScreen, Matrix, MatrixRow

NAMES, COLUMN = 1.45, 1.4  # inches: the names' column at least, and each other column
LETTER = 0.075  # inches of a name's letter, on average
HEADING, GROUP, ROW = 0.45, 0.33, 0.4  # inches, from top to top
BAR, FULL = 0.09, 0.88  # a bar's height in inches, and the longest's length in columns
BESIDE = 0.36  # of a column, from a time to how many times the fastest it is
NOTHING = "-"


def picture(shown: FirstScreen, _: Findings, theme: Theme, name: str) -> Figure | None:
    """The matrix as a file only, light and dark."""
    found = shown.matrix
    if not found:
        return None
    rows = [row for _, held in found.groups for row in held]
    height = HEADING + GROUP * len(found.groups) + ROW * len(rows) + 0.1
    names = max(NAMES, 0.1 + LETTER * max(len(row.title) for row in rows))
    with canvas(height, names + COLUMN * len(found.columns)) as drawn:
        drawn.set_layout_engine("none")
        axes = drawn.add_axes((0.0, 0.0, 1.0, 1.0))
        left = -names / COLUMN
        axes.set_xlim(left, len(found.columns))
        axes.set_ylim(height, 0)
        axes.set_axis_off()
        units = "ms per mini-batch,\ntimes the fastest"
        axes.text(left + 0.06, 0.08, units, va="top", fontsize=8.5)
        for number, lines in enumerate(found.columns):
            axes.text(number, 0.08, "\n".join(lines), va="top", fontsize=8.5)
        top = HEADING
        for title, held in found.groups:
            written = axes.text(left + 0.06, top + GROUP - 0.06, title, va="bottom")
            written.set(fontsize=8.5, fontweight="bold")
            top += GROUP
            for row in held:
                draw(axes, row, top, theme.colour(row.framework))
                top += ROW
        return Figure(
            drawn, name, "The matrix", found.caption, alt(found), shown.headline, inlined=False
        )


def draw(axes: Axes, row: MatrixRow, top: float, colour: str) -> None:
    left, right = axes.get_xlim()
    bottom = top + ROW - 0.07
    axes.plot([left, right], [bottom + 0.035] * 2, color=INK, alpha=0.16, linewidth=0.8)
    axes.text(left + 0.06, bottom, row.title, va="baseline", fontsize=9)
    for number, cell in enumerate(row.cells):
        if cell.share:
            inside = PAPER if row.declared else colour
            axes.add_patch(
                Rectangle((number, top + 0.04), FULL * cell.share, BAR, facecolor=inside,
                          edgecolor=colour, linewidth=1)
            )  # fmt: skip
        weight = "bold" if cell.fastest else "normal"
        axes.text(number, bottom, cell.time or NOTHING, va="baseline", fontweight=weight)
        axes.text(number + BESIDE, bottom, cell.relative, va="baseline", fontsize=8.5)


def alt(found: Matrix) -> str:
    """All cells in words, because a picture on a code host has no table beside it."""
    return " ".join(
        f"{' '.join(column)}: {contenders(found, number)}."
        for number, column in enumerate(found.columns)
    )


def contenders(found: Matrix, number: int) -> str:
    return ", ".join(
        f"{row.title} ({title}) {words(row.cells[number])}"
        for title, rows in found.groups
        for row in rows
    )


def words(cell: Cell) -> str:
    return f"{cell.time} ms {cell.relative}".strip() if cell.time else "not measured"
