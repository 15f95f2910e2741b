"""One theme for all figures: on paper, on a screen and in dark mode."""

import io
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

import matplotlib
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas
from PIL import Image

from analysis.data.results import BenchmarkId

INK = "#010203"  # stands for the page's text colour until the figure is embedded
PAPER = "#fefdfc"  # stands for the page's background
COLOURS = 64  # colours of a PNG: drawings use few, plus shades at smooth edges
WIDTH = 6.2  # inches at 96 pixels: 595 pixels, so that a phone shrinks text by less than half
TALLEST = 6.1  # inches, unless there are more panels than fit

# Okabe and Ito's (2008) palette: distinct with any colour vision, on black and on white.
PALETTE = {"pytorch": "#D55E00", "tensorflow": "#0072B2", "jax": "#009E73", "keras": "#CC79A7"}
SPARE = ["#E69F00", "#56B4E9", "#999999", "#F0E442"]
MARKERS = ["o", "D", "s", "^", "v", "P", "X", "*"]
DASHES: list[Any] = ["-", (0, (4, 1.5)), (0, (1, 1.2)), (0, (5, 1, 1, 1)), (0, (3, 3))]

THEME: Any = {
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.linewidth": 0.8,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.unicode_minus": True,
    "figure.facecolor": PAPER,
    "font.family": ["DejaVu Sans"],
    "font.size": 9.5,
    "grid.alpha": 0.16,
    "grid.color": INK,
    "legend.frameon": False,
    "savefig.facecolor": PAPER,
    "svg.fonttype": "path",
    "svg.hashsalt": "samestep",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


@dataclass(frozen=True)
class Figure:
    """A drawing with its title, what it shows in a sentence (`finding`), and how to read it
    (`caption`). `svg` still holds INK and PAPER."""

    name: str
    title: str
    caption: str
    alt: str
    svg: str
    png: bytes
    width: float
    finding: str = ""

    @property
    def file(self) -> str:
        """The SVG as a file of its own: dark on white."""
        return self.svg.replace(INK, "#1b1f24").replace(PAPER, "#ffffff")

    @property
    def inline(self) -> str:
        """The SVG to embed: in the page's colours, with ids that no other figure has."""
        body = re.sub(r"<metadata>.*?</metadata>\s*", "", self.svg, flags=re.DOTALL)
        opening = re.search(r'<svg [^>]*?(viewBox="[^"]*")[^>]*>', body)
        assert opening is not None
        body = body[opening.end() :].replace(INK, "currentColor").replace(PAPER, "var(--paper)")
        body = body.replace("xlink:href", "href")
        for colour in PALETTE.values():  # the page may lighten it in dark mode
            body = body.replace(colour.lower(), f"var(--c{colour[1:].lower()})")
        body = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{self.name}-", body)
        size = f"max-width:{7.1 * self.width:.1f}rem;min-width:{4.35 * self.width:.1f}rem"
        label = escape(self.alt)
        return f'<svg role="img" aria-label="{label}" style="{size}" {opening[1]}>{body}'


@contextmanager
def canvas(height: float, width: float = WIDTH) -> Iterator[Canvas]:
    """An empty figure; sizes in inches."""
    with sns.axes_style("whitegrid"), matplotlib.rc_context(THEME):
        yield Canvas(figsize=(width, height), layout="constrained")


def render(
    drawn: Canvas, name: str, title: str, caption: str, alt: str, finding: str = ""
) -> Figure:
    """The drawing as SVG and PNG; the same figure gives the same bytes."""
    settle(drawn)
    svg, png = io.StringIO(), io.BytesIO()
    drawn.savefig(svg, format="svg", metadata={"Date": None, "Creator": None})
    drawn.savefig(png, format="png", dpi=160, metadata={"Software": None})
    width = float(drawn.get_figwidth())
    text = hundredths(svg.getvalue())
    return Figure(name, title, caption, alt, text, paletted(png), width, finding)


def hundredths(svg: str) -> str:
    """The same drawing with coordinates to 0.01 points, which is finer than any screen."""
    coordinates = r'\b(?:d|x|y)="[^"]*"'
    return re.sub(coordinates, lambda found: re.sub(r"(\.\d\d)\d+", r"\1", found[0]), svg)


def paletted(png: io.BytesIO) -> bytes:
    """The same picture with a reduced palette, in a third of the bytes."""
    small = io.BytesIO()
    picture = Image.open(png).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    picture.save(small, "png", optimize=True)
    return small.getvalue()


def settle(drawn: Canvas) -> None:
    """Fix the layout and round it: its last digits differ between processors, and the ids in an
    SVG are hashes of all digits."""
    drawn.savefig(io.StringIO(), format="svg")  # lays the figure out
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
                    {benchmark.variant for benchmark in benchmarks},
                    key=lambda v: (v != "default", v),
                )
            ),
        )

    def colour(self, framework: str) -> str:
        strangers = [name for name in self.frameworks if name not in PALETTE]
        if framework in PALETTE:
            return PALETTE[framework]
        return SPARE[strangers.index(framework) % len(SPARE)]

    def marker(self, variant: str) -> str:
        return MARKERS[self.variants.index(variant) % len(MARKERS)]

    def dashes(self, variant: str) -> Any:
        return DASHES[self.variants.index(variant) % len(DASHES)]


def bare(axes: Axes, grid: str = "both") -> None:
    """Axes without a box, with a grid along one axis."""
    sns.despine(ax=axes, left=grid == "x")
    axes.tick_params(length=0 if grid == "x" else 3)
    axes.grid(False)
    axes.grid(True, axis=grid)  # type: ignore[arg-type]
    axes.set_axisbelow(True)
