"""The report in a browser: on a screen and on a phone, light and dark, with and without its
script, and printed."""

import csv
import re
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.analysis.browser.conftest import Open

SIZES = [(1400, 900), (390, 844)]
MODES = [
    (*size, dark, script) for size in SIZES for dark in (False, True) for script in (True, False)
]
VERDICTS = {"faster", "slower", "equivalent", "cannot tell"}
PHONE = 390
TALLEST = 3_200  # pixels of a page as it opens; four screens would be 3,600


def number(text: str) -> float:
    return float(re.sub("[,\u2060]", "", text))


def column(page: Any, table: str, place: int) -> list[str]:
    rows = page.locator(f"#{table} tbody tr:not([hidden])")
    return [str(text) for text in rows.locator(f"> :nth-child({place + 1})").all_inner_texts()]


def headings(page: Any, table: str) -> list[str]:
    return [re.sub("[↑↓]", "", str(text)).strip()
            for text in page.locator(f"#{table} thead th").all_inner_texts()]  # fmt: skip


@pytest.mark.parametrize(("width", "height", "dark", "script"), MODES)
def test_it_fits_its_window(
    opened: Open, width: int, height: int, dark: bool, script: bool
) -> None:
    page = opened(width, height, dark, script)
    if script:
        assert page.evaluate("document.documentElement.scrollWidth") == width
        for fold in page.locator("details").all():
            fold.evaluate("fold => { fold.open = true }")
        assert page.evaluate("document.documentElement.scrollWidth") == width
    for what in ("h1", ".lead", ".findings", ".matrix", ".strip", "#fig-ratios"):
        box = page.locator(what).first.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= width, what


@pytest.mark.parametrize("kind", ["report", "crowded"])
def test_the_first_screen_is_one_screen(
    opened: Open, kind: str, request: pytest.FixtureRequest
) -> None:
    """Also with eight rows in the matrix."""
    page = opened(1400, 900, of=request.getfixturevalue(kind))
    assert page.locator(".matrix tbody tr:not(.group)").count() >= (8 if kind == "crowded" else 5)
    for what in ("h1", ".lead", ".findings", ".matrix", ".strip"):
        box = page.locator(what).first.bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 900, what
    assert page.evaluate("document.documentElement.scrollHeight") <= TALLEST


@pytest.mark.parametrize("width", [1400, PHONE])
def test_several_machines_fit_their_window(opened: Open, several: Path, width: int) -> None:
    page = opened(width, of=several)
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true })")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator(".screen").count() == page.locator(".screen > h2:visible").count() == 2
    for one in page.locator(".matrix tbody td:has(.bar) b").all():
        box = one.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width


@pytest.mark.parametrize("kind", ["report", "several"])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1400, PHONE])
def test_axe_finds_nothing(
    opened: Open, width: int, dark: bool, kind: str, request: pytest.FixtureRequest
) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed"
    )
    page = opened(width, dark=dark, of=request.getfixturevalue(kind))
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true })")
    page.wait_for_timeout(300)  # regions are marked once the browser has laid them out
    found = axe.Axe().run(page)
    assert [
        (one["id"], [node["html"][:200] for node in one["nodes"][:3]])
        for one in found.response["violations"]
    ] == []


@pytest.mark.parametrize(
    ("kind", "script"), [("report", True), ("report", False), ("crowded", True)]
)
def test_a_phone_shows_the_matrix_and_every_ratio_with_its_verdict(
    opened: Open, kind: str, script: bool, request: pytest.FixtureRequest
) -> None:
    report = request.getfixturevalue(kind)
    page = opened(PHONE, 844, script=script, of=report)
    times = page.locator(".matrix tbody td:has(.bar) b")
    assert times.count() > 0
    drawn = page.locator("#fig-ratios svg text")
    with (report / "tables" / "comparisons.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file)
                if row["ratio"] and row["variant"] == row["reference_variant"]]  # fmt: skip
    words = [str(text) for text in drawn.all_text_contents()]
    assert sum(any(word in text for word in VERDICTS) for text in words) >= len(rows) > 0
    for locator in (times, drawn):
        for one in locator.all():
            box = one.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= PHONE
    for one in drawn.all():  # letters of a figure are not too small to read
        assert one.bounding_box()["height"] >= 8


def test_a_table_is_sorted_by_its_headings(opened: Open) -> None:
    page = opened()
    place = headings(page, "table-comparisons").index("ratio")
    heading = page.locator("#table-comparisons thead th").nth(place)
    before = column(page, "table-comparisons", place)
    for direction, sign in (("ascending", 1), ("descending", -1)):
        heading.get_by_role("button").click()
        assert heading.get_attribute("aria-sort") == direction
        values = [sign * number(text) for text in column(page, "table-comparisons", place)]
        assert all(one <= other for one, other in pairwise(values))
        assert sorted(column(page, "table-comparisons", place)) == sorted(before)
    assert page.locator("#table-comparisons thead th[aria-sort]").count() == 1


def test_rows_are_filtered(opened: Open) -> None:
    page = opened(at="#all-pairs")
    whole = column(page, "table-pairs", 1)
    field = page.locator("#table-pairs").locator("xpath=preceding::input[@type='search'][1]")
    field.fill("jax mlp")
    left = page.locator("#table-pairs tbody tr:not([hidden])").all_inner_texts()
    assert 0 < len(left) < len(whole)
    assert all("JAX" in text and "MLP" in text for text in left)
    field.fill("")
    assert column(page, "table-pairs", 1) == whole


def test_the_reference_is_chosen(opened: Open, report: Path) -> None:
    """Pairs that are listed the other way round are turned, and agree with the file."""
    page = opened(at="#all-pairs")
    names = headings(page, "table-pairs")
    contender, base, ratio, interval, verdict = (
        next(n for n, name in enumerate(names) if word in name)
        for word in ("contender", "compared with", "ratio", "interval", "verdict")
    )
    places = (0, contender, base, ratio, interval, verdict)
    listed = {
        (on, who, other): (value, ends, said)
        for on, who, other, value, ends, said in zip(
            *(column(page, "table-pairs", n) for n in places), strict=True
        )
    }
    choice = page.get_by_label("Compared with")
    options = [str(text) for text in choice.locator("option").all_inner_texts()]
    turned = 0
    for option in options[1:]:
        choice.select_option(option)
        rows = page.locator("#table-pairs tbody tr:not([hidden])")
        assert rows.count() > 0
        for cells in (row.locator("th, td").all_inner_texts() for row in rows.all()):
            assert cells[base] == option
            if (now := listed.get((cells[0], cells[contender], option))) is not None:
                assert [cells[ratio], cells[interval], cells[verdict]] == list(now)
                continue
            value, ends, said = listed[cells[0], option, cells[contender]]
            low, high = map(number, ends.split(" to "))
            new_low, new_high = map(number, cells[interval].split(" to "))
            for new, old in ((cells[ratio], number(value)), (new_low, high), (new_high, low)):
                assert number(str(new)) == pytest.approx(1 / old, abs=0.0006 * (1 + 1 / old**2))
            turns = {"faster": "slower", "slower": "faster"}
            assert cells[verdict] == turns.get(said, said)
            turned += 1
    assert turned > 0
    choice.select_option(options[0])
    assert len(column(page, "table-pairs", 0)) == len(listed)


def test_files_are_saved_from_the_page_alone(opened: Open, report: Path) -> None:
    page = opened()
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true })")
    links = page.locator("a[data-from^=csv-]")
    assert links.count() > 4
    for link in links.all():
        with page.expect_download(timeout=20_000) as found:
            link.click()
        name = found.value.suggested_filename
        assert Path(found.value.path()).read_bytes() == (report / "tables" / name).read_bytes()
        page.wait_for_timeout(200)  # Chromium drops an eleventh download within a second
    with page.expect_download() as found:
        page.locator("#fig-ratios a.save").click()
    assert found.value.suggested_filename == "ratios.svg"
    text = Path(found.value.path()).read_text()
    root = ElementTree.fromstring(text)
    assert root.tag.endswith("svg") and "var(--" not in text and "currentColor" not in text
    assert any(element.tag.endswith("text") for element in root.iter())


@pytest.mark.parametrize("script", [True, False])
def test_without_a_script_files_are_links_to_those_beside_the_page(
    opened: Open, report: Path, script: bool
) -> None:
    page = opened(script=script)
    for link in page.locator("a[download]").all():
        assert (report / str(link.get_attribute("href"))).is_file()
    visible = page.locator("#table-comparisons").locator("xpath=ancestor::*[@class='table']")
    assert visible.locator(".beside").is_visible() is not script
    assert (page.get_by_label("Compared with").count() > 0) is script


def test_a_link_opens_the_fold_that_it_leads_into(opened: Open) -> None:
    page = opened(at="#table-pairs")
    page.locator("#table-pairs").wait_for()  # until it is visible
    page = opened()
    assert not page.locator("#table-pairs").is_visible()
    page.locator("nav.side a[href='#all-pairs']").click()
    page.locator("#table-pairs").wait_for()  # until it is visible
    page = opened(PHONE, 844)
    page.locator(".menu summary").click()
    page.locator(".menu a[href='#all-pairs']").click()
    page.locator("#table-pairs").wait_for()  # until it is visible
    assert not page.locator(".menu nav").is_visible()


def test_what_overflows_is_in_the_tab_order_and_nothing_else(opened: Open) -> None:
    page = opened(PHONE, 844)
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true })")
    page.wait_for_timeout(300)
    for region in page.locator(".scroll").all():
        over = region.evaluate("one => one.scrollWidth > one.clientWidth + 1")
        assert (region.get_attribute("tabindex") == "0") is over
        assert bool(region.get_attribute("aria-label")) is over


@pytest.mark.parametrize("kind", ["report", "crowded"])
def test_print(opened: Open, kind: str, request: pytest.FixtureRequest) -> None:
    page = opened(of=request.getfixturevalue(kind))
    data: bytes = page.pdf(
        format="A4", margin=dict.fromkeys(("top", "bottom", "left", "right"), "15mm")
    )
    pages = len(re.findall(rb"/Type\s*/Page\b", data))
    assert 1 <= pages <= 7
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 680, "height": 1009})  # what the margins leave of A4
    assert page.evaluate("document.documentElement.scrollWidth") <= 680
    assert not page.locator("nav.side").is_visible() and not page.locator(".menu").is_visible()
    assert page.locator(".printed").is_visible()
    # A figure that may not break is cut only if it is taller than a page.
    height = (297 - 30) / 25.4 * 96
    for figure in page.locator("figure:visible").all():
        assert figure.evaluate("one => getComputedStyle(one).breakInside") == "avoid"
        assert figure.bounding_box()["height"] < height
    for heading in page.locator("h2:visible").all():
        style = heading.evaluate("one => getComputedStyle(one).breakAfter")
        assert style == "avoid" or heading.evaluate("one => Boolean(one.closest('summary'))")


def test_size(report: Path, crowded: Path) -> None:
    for one in (report, crowded):
        assert (one / "report.html").stat().st_size <= 400_000
