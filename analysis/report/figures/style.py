"""One theme for all figures: on paper, on a screen and in dark mode."""

import io
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure as Canvas

from analysis.data.results import USUAL, BenchmarkId, order
from analysis.report.figures.inline import embedded, standalone

INK = "#010203"  # stands for the page's text colour until the figure is embedded
PAPER = "#fefdfc"  # stands for the page's background
WIDTH = 4.9  # inches at 96 pixels: a phone of 390 pixels shows text at three quarters of its size
TALLEST = 6.1  # inches, unless there are more panels than fit

# After Okabe and Ito (2008): distinct with any colour vision. Each colour has a contrast of 3:1 on
# a white page, and its shade (also in the page's style sheet) on a dark page.
PALETTE = {"pytorch": "#d55e00", "tensorflow": "#0072b2", "jax": "#009e73", "keras": "#b8578a"}
SPARE = ["#8a6a00", "#6a51a3", "#6b6b6b", "#b2182b"]
SHADES = {
    "#d55e00": "#ff9048", "#0072b2": "#4fb0ee", "#009e73": "#2fcf9f", "#b8578a": "#e5a3c8",
    "#8a6a00": "#e6c229", "#6a51a3": "#b3a2e8", "#6b6b6b": "#adadad", "#b2182b": "#ff8a8a",
}  # fmt: skip
ON_WHITE = {INK: "#1b1f24", PAPER: "#ffffff"}
ON_BLACK = {INK: "#e6edf3", PAPER: "#0d1117", **SHADES}  # a code host's dark page
ON_PAGE = {
    INK: "currentColor",
    PAPER: "var(--paper)",
    **{colour: f"var(--c{colour[1:]})" for colour in SHADES},
}
MARKERS = ["o", "D", "s", "^", "v", "P", "X", "*"]
DASHES: list[Any] = ["-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1, 1, 1)), (0, (3, 3))]

THEME: Any = {
    "axes.axisbelow": True,
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": 8.5,
    "axes.linewidth": 0.8,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.unicode_minus": True,
    "figure.facecolor": PAPER,
    "font.family": ["DejaVu Sans"],
    "font.size": 9,
    "grid.alpha": 0.16,
    "grid.color": INK,
    "hatch.linewidth": 0.9,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "lines.solid_capstyle": "round",
    "patch.edgecolor": "w",
    "patch.force_edgecolor": True,
    "savefig.facecolor": PAPER,
    "svg.fonttype": "none",
    "svg.hashsalt": "samestep",
    "text.color": INK,
    "text.parse_math": False,  # a name may hold a $
    "xtick.bottom": False,
    "xtick.color": INK,
    "xtick.labelsize": 8.5,
    "ytick.color": INK,
    "ytick.left": False,
    "ytick.labelsize": 8.5,
}


@contextmanager
def themed() -> Iterator[None]:
    """The theme, whatever the user's matplotlibrc says. It hides warnings of letters that
    matplotlib's font lacks, because a reader's font has them."""
    usual = {
        key: value
        for key, value in matplotlib.rcParamsDefault.items()
        if not key.startswith("backend")
    }
    with matplotlib.rc_context(usual | THEME), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        yield


@dataclass(frozen=True)
class Figure:
    """A drawing with its title, a sentence on what it shows (`finding`), how to read it
    (`caption`), and a description for people who cannot see it (`alt`). A figure that is not
    `inlined` is only a file, light and dark: the page has the same without a drawing.
    """

    drawn: Canvas = field(compare=False, repr=False)
    name: str
    title: str
    caption: str
    alt: str
    finding: str = ""
    inlined: bool = True

    @cached_property
    def svg(self) -> str:
        """The drawing with letters as text, colours still INK and PAPER, and coordinates to 0.01
        points, finer than any screen. The same drawing gives the same bytes. Only figures that are
        shown are drawn, because this takes longest."""
        written = io.StringIO()
        with themed():
            settle(self.drawn)
            self.drawn.set_facecolor("none")
            # `savefig` would draw all of it twice, to lay out what is laid out already.
            drawing: Any = FigureCanvasSVG(self.drawn)
            drawing.print_svg(written, metadata={"Date": None, "Creator": None})
        coordinates = r'\b(?:d|x|y)="[^"]*"'
        return re.sub(
            coordinates, lambda found: re.sub(r"(\.\d\d)\d+", r"\1", found[0]), written.getvalue()
        )

    @property
    def file(self) -> str:
        """The SVG as a file of its own: dark on white."""
        return standalone(self.svg, ON_WHITE[INK], ON_WHITE[PAPER], ON_WHITE)

    @property
    def files(self) -> dict[str, str]:
        """By their names in the folder of figures."""
        found = {f"{self.name}.svg": self.file}
        if not self.inlined:
            dark = standalone(self.svg, ON_BLACK[INK], ON_BLACK[PAPER], ON_BLACK)
            found[f"{self.name}-dark.svg"] = dark
        return found

    @property
    def inline(self) -> str:
        """The SVG as an element of the page."""
        label = " ".join(filter(None, (self.finding, self.alt)))
        rem = 7.1 * float(self.drawn.get_figwidth())
        return embedded(self.svg, self.name, label, rem, ON_PAGE)


@contextmanager
def canvas(height: float, width: float = WIDTH) -> Iterator[Canvas]:
    """An empty figure; sizes in inches."""
    with themed():
        yield Canvas(figsize=(width, height), layout="constrained")


def settle(drawn: Canvas) -> None:
    """Fix the layout and round it: its last digits differ between processors, and the ids in an
    SVG are hashes of all digits."""
    FigureCanvasSVG(drawn)  # texts are as wide as in the file
    drawn.dpi = 72
    if engine := drawn.get_layout_engine():
        engine.execute(drawn)
    drawn.set_layout_engine("none")
    for axes in drawn.axes:
        left, bottom, width, height = (round(edge, 6) for edge in axes.get_position().bounds)
        axes.set_position((left, bottom, width, height))


@dataclass(frozen=True)
class Theme:
    """Colour by framework, marker and dashes by variant, the same in every figure."""

    frameworks: tuple[str, ...]
    variants: tuple[str, ...]

    @classmethod
    def of(cls, benchmarks: Iterable[BenchmarkId]) -> "Theme":
        benchmarks = list(benchmarks)
        return cls(
            tuple(dict.fromkeys(benchmark.framework for benchmark in benchmarks)),
            tuple(
                sorted(
                    {benchmark.variant for benchmark in benchmarks}, key=lambda v: order(v, *USUAL)
                )
            ),
        )

    def colour(self, framework: str) -> str:
        strangers = [name for name in self.frameworks if name not in PALETTE]
        if framework in PALETTE:
            return PALETTE[framework]
        return SPARE[strangers.index(framework) % len(SPARE)]

    def place(self, variant: str) -> int:
        """A variant that is not compared, like one with a pitfall, comes after all others."""
        return self.variants.index(variant) if variant in self.variants else len(self.variants)

    def marker(self, variant: str) -> str:
        return MARKERS[self.place(variant) % len(MARKERS)]

    def dashes(self, variant: str) -> Any:
        return DASHES[self.place(variant) % len(DASHES)]


def bare(axes: Axes, grid: str = "both") -> None:
    """Axes without a box, with a grid along one axis."""
    for side in ["top", "right", *["left"] * (grid == "x")]:
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0 if grid == "x" else 3)
    axes.grid(False)
    axes.grid(True, axis=grid)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
