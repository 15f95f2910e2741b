"""What is drawn, where it is drawn, and the sentence that each figure states."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas

from analysis.data.reading import load
from analysis.data.results import BenchmarkId
from analysis.findings.fairness.certificate_steps import GradientLine
from analysis.findings.fairness.certificates import declares
from analysis.findings.findings import Findings
from analysis.findings.variants.pitfalls import PitfallLine
from analysis.format import titled
from analysis.report.figures.comparing import ratios
from analysis.report.figures.inline import as_one_path
from analysis.report.figures.measuring import distributions, series, start
from analysis.report.figures.sameness import losses, pitfalls, rounding
from analysis.report.figures.style import ON_BLACK, PALETTE, SHADES, SPARE, Figure, Theme, canvas
from analysis.report.first import Cell, FirstScreen, Matrix, MatrixRow
from analysis.report.first.picture import picture
from analysis.stats.inference import Estimate
from analysis.stats.intervals import Interval
from tests.analysis.recipe import Recipe
from tests.conftest import ROOT

CSS = ROOT / "analysis/report/templates/report.css"
MODULES: list[Any] = [ratios, distributions, series, start, losses, rounding]
PHONE = 390 - 2 * 13  # pixels of a phone's page within its margins
Make = Callable[[Recipe], Findings]


def draw(module: Any, findings: Findings) -> Figure:
    name = module.__name__.rpartition(".")[2]
    figure = getattr(module, name)(findings, Theme.of(findings.matched), name)
    assert isinstance(figure, Figure)
    return figure


def drawing(
    module: Any, findings: Findings, monkeypatch: pytest.MonkeyPatch, name: str = ""
) -> Canvas:
    """What a figure is made from, laid out."""
    kept: list[Canvas] = []
    monkeypatch.setattr(module, "Figure", lambda drawn, *words, **more: kept.append(drawn))
    name = name or module.__name__.rpartition(".")[2]
    getattr(module, name)(findings, Theme.of(findings.matched), name)
    FigureCanvasAgg(kept[0])
    kept[0].canvas.draw()
    return kept[0]


@pytest.fixture(scope="module")
def figures(findings: Findings) -> list[Figure]:
    return [draw(module, findings) for module in MODULES]


def test_each_figure_states_its_finding_and_how_to_read_it(figures: list[Figure]) -> None:
    for figure in figures:
        assert figure.finding.endswith(".") and len(figure.finding.split()) <= 30, figure.finding
        assert len(figure.caption.split()) <= 40, figure.caption
        label = ElementTree.fromstring(figure.inline).attrib["aria-label"]
        assert label == f"{figure.finding} {figure.alt}"
        assert not re.search("weather|trap", figure.finding + figure.caption + figure.alt)


def test_text_is_text_in_the_page_and_in_files(figures: list[Figure]) -> None:
    for figure in figures:
        inline = ElementTree.fromstring(figure.inline)
        words = " ".join("".join(one.itertext()) for one in inline.iter("text"))
        assert "PyTorch" in words and "MLP" in words
        assert "Verdana" in inline.attrib["style"] and "min-width" not in figure.inline
        written = " ".join(ElementTree.fromstring(figure.file).itertext())
        assert words.split() == written.split() and "currentColor" in figure.file
        assert not re.search(r"var\(|#010203|#fefdfc", figure.file)
        used = re.findall(r'(?:href="|url\()#([\w-]+)', figure.inline)
        ids = [one.attrib["id"] for one in inline.iter() if "id" in one.attrib]
        assert len(ids) == len(set(ids)) and set(used) == set(ids)
        assert all(one.startswith(f"{figure.name}-") for one in ids)


def test_names_are_neither_formulas_nor_markup(findings: Findings) -> None:
    name = '$x^2$ <b id="c">&amp;'
    with titled({"pytorch": name, "tensorflow": "TensorFlow"}):
        for module in (distributions, losses, start):
            figure = draw(module, findings)
            inline = ElementTree.fromstring(figure.inline)
            assert any(name in (one.text or "") for one in inline.iter("text"))
            assert not list(inline.iter("b"))
            ElementTree.fromstring(figure.file)


def test_what_the_page_shows_is_what_was_drawn() -> None:
    """Shortened paths end where the long ones do."""
    random = np.random.default_rng(1)
    with canvas(2) as drawn:
        axes = drawn.add_subplot()
        axes.plot(np.arange(200), random.normal(size=200))
        figure = Figure(drawn, "walk", "", "", "")
    (long,) = (d for d in re.findall(r' d="([^"]*)"', figure.svg) if d.count("L") > 150)
    (short,) = (d for d in re.findall(r' d="([^"]*)"', figure.inline) if d.count("l") > 150)
    points = np.array(re.findall(r"(-?[\d.]+) (-?[\d.]+)", long), float)
    steps = np.array(re.findall(r"[Ml](-?[\d.]+) ?(-?[\d.]+)", short), float)
    assert np.abs(np.cumsum(steps, axis=0) - points).max() <= 0.0501
    assert len(short) < 0.7 * len(long)


def luminance(colour: str) -> float:
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def contrast(one: str, other: str) -> float:
    """WCAG 2.2's ratio of relative luminances."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def styles() -> list[dict[str, str]]:
    """The style sheet's variables on a light and on a dark page."""
    light, dark = CSS.read_text().split("prefers-color-scheme: dark")[:2]
    return [dict(re.findall(r"--(\w+): (#[0-9a-f]{6})\b", text)) for text in (light, dark)]


def test_colours_are_seen_on_the_page() -> None:
    assert {*PALETTE.values(), *SPARE} == {*SHADES}
    light, dark = styles()
    for colour, shade in SHADES.items():
        assert light[f"c{colour[1:]}"] == colour and dark[f"c{colour[1:]}"] == shade
        assert contrast(colour, light["paper"]) >= 3 and contrast(colour, "#ffffff") >= 3
        assert contrast(shade, dark["paper"]) >= 3 and contrast(shade, "#0d1117") >= 3


# Linear RGB as seen without one kind of cone (Vienot, Brettel and Mollon 1999).
PROTANOPE = [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]]
DEUTERANOPE = [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]]


def lab(colour: str, seen: Any) -> Any:
    """CIELAB of a colour as somebody sees it."""
    channels = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    matrix = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    xyz = np.array(matrix) @ np.clip(np.array(seen) @ linear, 0, 1) / [0.9505, 1, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("seen", [np.eye(3), PROTANOPE, DEUTERANOPE])
def test_frameworks_differ_with_any_colour_vision(seen: Any) -> None:
    for colours in (PALETTE.values(), [SHADES[colour] for colour in PALETTE.values()]):
        for one, other in combinations(colours, 2):
            assert np.linalg.norm(lab(one, seen) - lab(other, seen)) > 12, (one, other)


def test_figures_of_the_reference_study_are_small() -> None:
    folders = sorted((ROOT / "reports/reference/machines").iterdir())
    findings = Findings(load(folders)[0])
    sizes = {module.__name__: len(draw(module, findings).inline.encode()) for module in MODULES}
    assert sum(sizes.values()) <= 150_000, sizes


@pytest.mark.parametrize("title", ["PyTorch", "A framework with quite a long name (nightly)"])
def test_every_ratio_and_verdict_is_seen_on_a_phone(
    title: str, findings: Findings, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert ratios.WIDTH * 96 <= PHONE + 1
    wide = replace(findings.pairs[-1].estimate, ratio_low=1e-6, ratio_high=1e6)
    rows = [row for row in findings.pairs if row.axis == "framework"]
    other = Findings(findings.machine)
    other.__dict__["pairs"] = [replace(rows[0], estimate=wide), *rows[1:]]  # arrowheads
    with titled({"pytorch": title, "tensorflow": "TensorFlow"}):
        drawn = drawing(ratios, other, monkeypatch)
    renderer = FigureCanvasAgg(drawn).get_renderer()
    texts = [text for text in drawn.axes[0].texts if text.get_text()]
    boxes = [text.get_window_extent(renderer) for text in texts]
    verdicts = [text for text in texts if re.match(r"[\d.,]+ [a-z]", text.get_text())]
    assert len(verdicts) == len(rows)
    for box in boxes:
        assert drawn.bbox.x0 <= box.x0 and box.x1 <= drawn.bbox.x1
    for one, two in combinations(boxes, 2):
        assert not one.overlaps(two)
    # no mark lies on words
    axes = drawn.axes[0]
    half = 2.75 * drawn.dpi / 72
    for line in axes.lines[1:]:
        for _, y in axes.transData.transform(np.column_stack(line.get_data())):
            assert not any(box.y0 < y + half and y - half < box.y1 for box in boxes)


def test_declared_pairs_are_hollow(findings: Findings, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row for row in findings.pairs if row.axis == "framework"]
    declared = [row for row in rows if declares(row.certificate)]
    assert 0 < len(declared) < len(rows)
    drawn = drawing(ratios, findings, monkeypatch)
    marks = [line for line in drawn.axes[0].lines if line.get_marker() in ("o", "D")]
    hollow = [m for m in marks if m.get_markerfacecolor() != m.get_markeredgecolor()]
    assert len(marks) == len(rows) and len(hollow) == len(declared)
    words = [text.get_text() for text in drawn.axes[0].texts]
    assert sum("†" in text for text in words) == len(declared)
    assert "†" in "".join(text.get_text() for text in drawn.legends[0].get_texts())


@pytest.mark.all
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("one", ["framework", "variant"])
def test_forty_contenders_leave_room_for_what_is_drawn(found: Make, one: str) -> None:
    """matplotlib warns if they do not."""
    names = [(f"own{number}", f"way-{number}") for number in range(38)]
    opted = [(own, "default") if one == "framework" else ("pytorch", way) for own, way in names]
    recipe = Recipe(workloads=("mlp",), threads=(1,), variants=("default",), opted=opted)
    findings, counted = found(replace(recipe, replicates=3)), (series, losses, rounding)
    for module in MODULES:
        assert ("and 23 more" in draw(module, findings).svg) is (module in counted), module


def test_pairs_without_the_reference_are_in_a_figure_of_their_own(found: Make) -> None:
    recipe = Recipe(frameworks=("pytorch", "tensorflow", "jax"), threads=(1,), workloads=("mlp",))
    findings = found(recipe)
    theme = Theme.of(findings.matched)
    few, every = (draw(findings, theme, "name") for draw in (ratios.ratios, ratios.all_ratios))
    assert few and every
    for figure, number in ((few, 0), (every, 2)):
        assert figure.svg.count("TensorFlow : JAX") + figure.svg.count("JAX : TensorFlow") == number
        assert figure.svg.count("TensorFlow : PyTorch") == 2
    two = found(replace(recipe, frameworks=("pytorch", "tensorflow"), machine="two"))
    assert ratios.ratios(two, theme, "name") and ratios.all_ratios(two, theme, "name") is None


@pytest.mark.parametrize("module", [distributions, series, start])
def test_panels_that_are_compared_share_their_axes(
    module: Any, findings: Findings, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = drawing(module, findings, monkeypatch)
    limits: dict[str, set[tuple[float, float]]] = {}
    for axes in drawn.axes:
        ends = axes.get_ylim() if module is series else axes.get_xlim()
        limits.setdefault(axes.get_title(loc="left").splitlines()[0], set()).add(ends)
    assert {*limits} == {"MLP", "MNIST CNN"}
    assert all(len(ends) == 1 for ends in limits.values())


def one(framework: str = "jax", workload: str = "mlp", threads: int = 1) -> BenchmarkId:
    return BenchmarkId(workload, framework, "default", "cpu", threads)


def test_finding_of_ratios(findings: Findings) -> None:
    rows = [row for row in findings.pairs if row.axis == "framework"]
    row = replace(rows[0], id=one("tensorflow"), base=one("pytorch"), certificate="agrees to 1e-14")
    slow = replace(row, estimate=Estimate(7, 1.93, 1.8, 2.0, verdict="slower"))
    fast = replace(row, estimate=Estimate(7, 0.4, 0.3, 0.5, verdict="faster"),
                   certificate="declared: optimiser.adam (loss 1e-4 within 10 steps)")  # fmt: skip
    same = replace(row, estimate=Estimate(7, 1.01, 0.99, 1.02, verdict="equivalent"))
    text = "TensorFlow takes 1.9 times as long as PyTorch on the MLP with 1 thread"
    assert ratios.finding([slow]) == f"{text}."
    assert ratios.finding([slow, same]) == f"Times differ in 1 of 2 pairs, most here: {text}."
    text = "PyTorch takes 2.5 times as long as TensorFlow† on the MLP with 1 thread"
    assert ratios.finding([slow, fast]) == f"Times differ in 2 of 2 pairs, most here: {text}."
    assert ratios.finding([same]) == "No time differs significantly, in 1 pair of frameworks."


def test_finding_of_distributions(findings: Findings, found: Make) -> None:
    everybody = list(findings.matched)
    text = distributions.scatter(findings, everybody)
    assert re.match(r"Medians of \w+( tuned)?'s processes differ by up to [\d.]+ % on the ", text)
    assert re.search(r"; for half of the contenders, by less than [\d.]+ %\.$", text)
    assert distributions.scatter(findings, everybody[:1]).count(";") == 0
    single = found(Recipe(replicates=1, rounds=2, workloads=("mlp",), threads=(1,)))
    assert distributions.scatter(single, list(single.matched)).startswith("One replicate does not")


def test_finding_of_series() -> None:
    text = "The first mini-batch of JAX on the MLP with 1 thread takes 40 times as long as a steady"
    assert series.first_step([(40.2, one())]) == f"{text} one."
    assert (
        series.first_step([(3, one("pytorch")), (40.2, one())]) == f"{text} one, the most of all."
    )
    assert "takes 6 % longer than a steady one" in series.first_step([(1.06, one())])
    assert series.first_step([(0.9, one())]).startswith("No process's first")
    assert series.first_step([]) == ""


def test_losses_near_the_largest_number_leave_the_others_their_figure(found: Make) -> None:
    findings = found(Recipe(workloads=("mlp",), threads=(1,), replicates=2, rounds=2))
    row = findings.machine.records.certificates[0].rows[0]
    row.losses[0], row.losses[10] = 1.7e308, -1.7e308
    assert "<svg" in draw(losses, findings).svg


def test_finding_of_losses(findings: Findings) -> None:
    text = draw(losses, findings).finding
    assert re.match(
        r"Over \d+ steps, .*PyTorch tuned.* agree with the reference to .*e-1\d; ", text
    )
    assert text.endswith("TensorFlow † differs as declared.")
    row = findings.machine.records.certificates[0].rows[0]
    agrees, refused = (row.model_copy(update={"status": s}) for s in ("agrees", "refused"))
    found = {"mlp": {("jax", "default"): [agrees], ("jax", "tuned"): [agrees, refused]}}
    assert losses.agreement(found, 500).endswith("; JAX tuned does not agree.")
    many = {"mlp": {("jax", f"v{number}"): [refused] for number in range(9)}}
    assert losses.agreement(many, 500) == "9 contenders do not agree."


def test_finding_of_rounding() -> None:
    line = GradientLine(one(), "dense1.kernel", 0.0, 2e-6, 1e-5, "", "")
    exact = replace(line, float32=0.0)
    text = "The least exact gradient, of dense1.kernel on the MLP with 1 thread in JAX, is off by "
    assert rounding.furthest([exact, line]) == f"{text}2.0e-6: 5.0 times less than allowed."
    far = replace(line, float32=3e-4, reduced="TF32")
    assert rounding.furthest([line, far]) == f"{text}3.0e-4, more than the 1e-5 allowed: TF32."
    assert rounding.furthest([exact]) == "All gradients equal the reference's."


def test_finding_of_start(findings: Findings) -> None:
    torch, other = findings.start[0], findings.start[-1]
    half, two, below = (Interval(seconds) for seconds in (0.5, 2.0, -0.1))
    jax = replace(torch, id=one(), imports=half, build=half, compile=two)
    eager = replace(torch, id=one("pytorch"), imports=half, build=half, compile=below)
    assert start.slowest([jax, eager]) == (
        "JAX starts slowest, in 3.0 s, most of it for its first mini-batch; PyTorch in 1.0 s."
    )
    assert start.slowest([eager]) == "PyTorch starts in 1.0 s."
    assert other.id.framework != "jax"


def test_finding_of_pitfalls() -> None:
    def row(name: str, ratio: float, loss: float) -> PitfallLine:
        verdict = "slower" if ratio > 1.1 else "equivalent"
        estimate = Estimate(7, ratio, ratio, ratio, p_adjusted=0.01, verdict=verdict)  # type: ignore[arg-type]
        return PitfallLine(
            one(), name, "default", estimate, 100, loss, loss, loss, loss, None, None, "", ""
        )

    eager, sums, none = row("eager", 2.61, 0.0), row("loss summed", 1.0, 0.5), row("x", 1.0, 0.0)
    assert pitfalls.extremes([none, eager, sums]) == (
        "“eager” takes 2.6 times as long as JAX without it and “loss summed” changes the loss "
        "most, by 50 % within 100 steps."
    )
    assert pitfalls.extremes([none, eager]).endswith("without it.")
    assert pitfalls.extremes([none]) == "No pitfall costs time or changes the loss."


def cells() -> Iterator[Cell]:
    yield from (Cell("43.7", "fastest", 0.4, True), Cell("", about="failed"))
    yield from (Cell("56.6", "1.3\u00d7", 1.0), Cell("12.0", "fastest", 1.0, True))


def screen(shown: Matrix) -> FirstScreen:
    return FirstScreen("", "", [], "One wins.", [], shown, [])


def test_the_matrix_is_a_file_for_light_and_for_dark_pages(findings: Findings) -> None:
    found = iter(cells())
    rows = [
        MatrixRow(key, name, [next(found), next(found)])
        for key, name in (("pytorch", "PyTorch"), ("tensorflow", "TensorFlow † <b>"))
    ]
    shown = Matrix("Milliseconds", [("MLP", "1 thread"), ("MLP", "2 threads")], [("tuned", rows)])
    theme = Theme(("pytorch", "tensorflow"), ("tuned",))
    figure = picture(screen(shown), findings, theme, "matrix")
    assert figure is not None and not figure.inlined and figure.finding == "One wins."
    assert {*figure.files} == {"matrix.svg", "matrix-dark.svg"}
    light, dark = (str(figure.files[name]) for name in ("matrix.svg", "matrix-dark.svg"))
    for text in (light, dark):
        ElementTree.fromstring(text)
        assert "43.7" in text and "var(" not in text
    for colour in (PALETTE["pytorch"], PALETTE["tensorflow"]):
        assert colour in light and colour not in dark and ON_BLACK[colour] in dark
    assert figure.alt == (
        "MLP 1 thread: PyTorch (tuned) 43.7 ms fastest, "
        "TensorFlow † <b> (tuned) 56.6 ms 1.3\u00d7. "
        "MLP 2 threads: PyTorch (tuned) not measured, TensorFlow † <b> (tuned) 12.0 ms fastest."
    )
    assert picture(screen(Matrix("", [], [])), findings, theme, "matrix") is None


def test_a_line_with_no_point_in_view_joins_no_other() -> None:
    lines = [ElementTree.Element("path", {"style": "fill:none", **more}) for more in
             ({"d": "M0 0"}, {}, {"d": "M1 1"}, {"d": "M2 2"})]  # fmt: skip
    assert [one.get("d") for one in as_one_path(lines)] == ["M0 0", None, "M1 1M2 2"]
