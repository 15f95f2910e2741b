"""The pages: same in, same out; nothing loaded from elsewhere; nothing held back."""

import hashlib
import html
import json
import os
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from analysis.data.reading import load
from analysis.findings.findings import Findings
from analysis.format import titled
from analysis.literature.section import SECTION
from analysis.report.caveats.registry import caveats
from analysis.report.first import FirstScreen
from analysis.report.first.screen import screen
from analysis.report.layout import Chapter, Severity
from analysis.report.markup import packed
from analysis.report.page import write as write_report
from tests.analysis.recipe import MS, Recipe
from tests.analysis.synthetic import write
from tests.conftest import ROOT, python

SMOKE = Recipe(
    study="smoke",
    smoke=True,
    mnist="stand-in",
    workloads=("mnist-cnn",),
    threads=(1,),
    replicates=2,
    absent={("mnist-cnn", 2, "tensorflow/tuned/cpu/1"): "out of memory: a | b <b>bold</b>"},
)
# Refuses every framework, as on a machine that has none.
BLOCKED = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("torch", "tensorflow", "jax", "keras"):
            raise ImportError(f"{name} is not for analysis")
sys.meta_path.insert(0, Refuse())
from analysis.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


class Page(HTMLParser):
    """What a browser would load, what it would show, and whether tags are balanced."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[tuple[str, str]] = []
        self.links: list[str] = []
        self.ids: list[str] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.scripts: list[dict[str, str]] = []
        self.handlers = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.handlers += any(name.startswith("on") for name in values)
        if tag == "script":
            self.scripts.append(values)
        if tag == "a":
            self.links.append(values["href"])
        else:
            self.loads += [
                (tag, values[name])
                for name in ("src", "href", "xlink:href", "srcset", "data")
                if not values.get(name, "#").startswith("#")
            ]
        if "id" in values:
            self.ids.append(values["id"])
        if tag not in ("meta", "br", "link", "img", "hr"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if self.open and self.open[-1] == tag:
            self.open.pop()
        elif tag not in ("meta", "br", "link", "img", "hr"):
            raise AssertionError(f"</{tag}> closes {self.open[-3:]}")

    def handle_data(self, data: str) -> None:
        if not {"style", "svg", "script"} & set(self.open):
            self.words.append(data)

    @property
    def text(self) -> str:
        return flat("".join(self.words))


def bare(text: str) -> str:
    """A sentence without the marks of rich text."""
    return flat(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("`", "").replace("*", ""))


def flat_markup(text: str) -> str:
    return text.replace("\u2060", "").replace("\u00a0", " ")


def flat(text: str) -> str:
    """Without line breaks and the characters that prevent them."""
    return " ".join(html.unescape(text).replace("\u2060", "").replace("\u00a0", " ").split())


@pytest.fixture(scope="module")
def rendered(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Chapter]:
    out = tmp_path_factory.mktemp("report")
    (chapter,) = write_report(load([folder]), out, further=[SECTION])
    return out, chapter


@pytest.fixture(scope="module")
def report(rendered: tuple[Path, Chapter]) -> Path:
    return rendered[0]


@pytest.fixture(scope="module")
def first(rendered: tuple[Path, Chapter]) -> FirstScreen:
    chapter = rendered[1]
    with titled(chapter.findings.machine.titles):
        return screen(chapter)


@pytest.fixture(scope="module")
def page(report: Path) -> Page:
    return Page((report / "report.html").read_text())


def hashes(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_files(report: Path) -> None:
    drawn = ("distributions", "losses", "matrix", "ratios", "rounding", "series", "start")
    figures = [f"figures/{name}.svg" for name in drawn]
    figures.insert(figures.index("figures/matrix.svg"), "figures/matrix-dark.svg")
    names = (
        "agreement as_timed certificate comparisons contenders gradients half_width machine matrix "
        "missing pairs settings start steady"
    )
    listed = [
        *figures,
        "report.html",
        "report.md",
        *(f"tables/{name}.csv" for name in names.split()),
    ]
    assert list(hashes(report)) == listed


def test_same_bytes_from_another_process_without_any_framework(
    report: Path, folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "elsewhere"
    environment = {
        **os.environ,
        "PYTHONHASHSEED": "4711",
        "PYTHONPATH": str(ROOT),
        "TZ": "Asia/Tokyo",
    }
    words = ("-c", BLOCKED, str(folder), "--out", "elsewhere")
    done = python(*words, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "The report: elsewhere/report.html"
    assert hashes(out) == hashes(report)


def test_nothing_is_loaded_and_one_script_runs(page: Page) -> None:
    assert page.loads == []
    assert page.handlers == 0
    running = [values for values in page.scripts if values.get("type") != "application/json"]
    assert running == [{}]
    files = r"tables/\w+\.csv|figures/[\w-]+\.svg|\.\./\.\./docs/[\w-]+\.md(#[\w-]+)?"
    assert all(re.fullmatch(rf"#.*|{files}", link) for link in page.links)
    assert page.open == []


def test_the_page_holds_the_tables_that_it_shows(report: Path) -> None:
    text = (report / "report.html").read_text()
    found = re.findall(
        r'<script type="application/json" id="csv-(\w+\.csv)">(.*?)</script>', text, re.S
    )
    assert {"comparisons.csv", "pairs.csv", "settings.csv"} <= {name for name, _ in found}
    for name, held in found:
        assert "<" not in held
        assert unpacked(json.loads(held)) == (report / "tables" / name).read_text()


def unpacked(held: dict[str, Any]) -> str:
    """As the page's script does it."""
    lines, above = [], list[str]()
    for number in held["order"]:
        row = held["rows"][number].split(",")
        above = [place or above[n] for n, place in enumerate(row)]
        lines.append(",".join(held["cells"][int(place)] for place in above))
    return "\n".join(lines)


@pytest.mark.parametrize("text", ["", "a\n", "a,b\n1,\n1,\n,,\n", 'x\n"<b>, </script>"\n"a\nb"\n'])
def test_any_table_can_be_packed(text: str) -> None:
    assert "<" not in packed(text)
    assert unpacked(json.loads(packed(text))) == text


def test_figures_and_tables_have_numbers_and_ids(report: Path) -> None:
    text = (report / "report.html").read_text()
    for kind, element in (("Figure", "figcaption"), ("Table", "caption")):
        numbers = re.findall(rf"<{element}><b>{kind} (\d+)\.</b>", text)
        assert numbers == [str(n + 1) for n in range(len(numbers))] and len(numbers) > 2
    for name in ("fig-ratios", "table-comparisons", "table-pairs"):
        assert f'id="{name}"' in text
    markdown = (report / "report.md").read_text()
    for caption in re.findall(r"\*\*(Table \d+)\. (.*?)\*\*", markdown):
        assert f"<b>{caption[0]}.</b> {caption[1]}" in flat_markup(text)


def test_stylesheet_loads_nothing(report: Path) -> None:
    text = (report / "report.html").read_text()
    assert not re.search(r"@import|url\((?!#)", text)
    assert "prefers-color-scheme: dark" in text


def test_ids_are_unique_and_links_go_somewhere(page: Page) -> None:
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)


def test_no_path_and_no_moment_of_rendering(report: Path, folder: Path) -> None:
    for name in ("report.html", "report.md"):
        text = (report / name).read_text()
        assert str(folder) not in text and str(report) not in text and str(ROOT) not in text
    for path in report.glob("figures/*.svg"):
        assert "<dc:date>" not in path.read_text()


def test_figures_are_whole_and_embedded_in_the_pages_colours(report: Path) -> None:
    text = (report / "report.html").read_text()
    assert text.count('<svg role="img" aria-label="') == 6
    assert "currentColor" in text
    for path in report.glob("figures/*.svg"):
        svg = path.read_text()
        ElementTree.fromstring(svg)
        paper = "#0d1117" if path.stem.endswith("-dark") else "#ffffff"
        assert "#010203" not in svg and paper in svg
    for stand_in in ("#010203", "#fefdfc"):
        assert stand_in not in text


def test_both_pages_say_the_same_first(report: Path, page: Page, first: FirstScreen) -> None:
    markdown = flat((report / "report.md").read_text())
    said = [first.title, first.about, first.headline, *first.findings]
    said += [text for pair in first.warnings for text in pair]
    said += [text for chip in first.strip for text in (chip.heading, chip.text)]
    said += [row.title for _, rows in first.matrix.groups for row in rows]
    assert len(said) > 4
    for sentence in said:
        assert bare(sentence) in page.text
        assert flat(sentence) in markdown


def test_the_first_screen_is_first(report: Path, page: Page, first: FirstScreen) -> None:
    lines = [line for line in (report / "report.md").read_text().splitlines() if line]
    assert lines[:2] == [f"# {first.title}", first.about]
    last = bare(first.strip[-1].text)
    for section in re.findall(r"<h2>(.*?)</h2>", (report / "report.html").read_text()):
        assert page.text.rindex(section) > page.text.index(last)


def test_how_to_do_it_again(page: Page) -> None:
    assert "snakemake --cores 1" in page.text
    machine = Recipe().machine
    assert (
        f"python -m analysis reports/default/machines/{machine} --out reports/default" in page.text
    )


def test_a_smoke_run_is_marked(tmp_path: Path) -> None:
    (machine,) = load([write(tmp_path / "in", SMOKE)])
    write_report([machine], tmp_path / "out")
    markdown = (tmp_path / "out" / "report.md").read_text()
    page = Page((tmp_path / "out" / "report.html").read_text())
    for text in (flat(markdown), page.text):
        for caveat in caveats(Findings(machine), 1):
            if caveat.severity is Severity.WARNING:
                said = caveat.text if text == flat(markdown) else caveat.text.replace("`", "")
                assert text.count(flat(said)) == 1 and caveat.heading in text
        assert text.index("SMOKE RUN") < text.index("Self-test")
    assert "<b>bold</b>" not in markdown
    assert "a | b <b>bold</b>" in page.text
    assert page.open == []


def test_several_machines_stand_apart(tmp_path: Path) -> None:
    recipes = [
        Recipe(machine="laptop", workloads=("mnist-cnn",), threads=(1,), replicates=3),
        Recipe(
            machine="server", workloads=("mnist-cnn",), threads=(1,), replicates=3,
            ms={key: 2 * ms for key, ms in MS.items()},
        ),
    ]  # fmt: skip
    folders = [write(tmp_path / recipe.machine, recipe) for recipe in recipes]
    write_report(load(folders), tmp_path / "out")
    markdown = (tmp_path / "out" / "report.md").read_text()
    for name in ("laptop", "server"):
        assert markdown.count(f"\n## {name}\n") == 1 and markdown.count(f"\n### {name}\n") > 0
    assert (tmp_path / "out" / "figures" / "ratios-server.svg").exists()
    page = Page((tmp_path / "out" / "report.html").read_text())
    assert "reports/default/machines/laptop reports/default/machines/server" in page.text
    assert len(page.ids) == len(set(page.ids))
    assert {link[1:] for link in page.links if link.startswith("#")} <= set(page.ids)
    said = "On these 2 machines, none of 2 comparisons have opposite verdicts."
    assert said in flat(markdown) and said in page.text
    # back to one machine: figures of the other rendering go
    write_report(load(folders[:1]), tmp_path / "out")
    assert not list((tmp_path / "out" / "figures").glob("*-server.*"))
    assert (tmp_path / "out" / "figures" / "ratios.svg").exists()


def test_times_without_any_spread_can_be_drawn(tmp_path: Path) -> None:
    recipe = Recipe(workloads=("mnist-cnn",), threads=(1,), replicates=3)
    machine = load([write(tmp_path / "in", recipe)])[0]
    for column in ("ms", "data_ms", "transfer_ms", "step_ms"):
        machine.batches[column] = 1.0
    (row, *_) = Findings(machine).comparisons
    assert (*row.estimate.ends, row.estimate.verdict) == (1, 1, 1, "equivalent")
    write_report([machine], tmp_path / "out")
    assert (tmp_path / "out" / "report.html").exists()
