"""What the reports of committed studies say: short sentences, plain words, few tables."""

import re
from collections.abc import Iterator, Sequence

import pytest

from analysis.data.reading import load
from analysis.findings.findings import Findings
from analysis.format import titled
from analysis.report.caveats.registry import caveats
from analysis.report.contents import SECTIONS
from analysis.report.figures.style import Theme
from analysis.report.first import FirstScreen
from analysis.report.first.screen import screen
from analysis.report.layout import Block, Bullets, Chapter, Paragraph, Section
from analysis.report.sections.measuring.method import method
from analysis.report.tables import Table
from tests.conftest import ROOT

BANNED = r"\b(weather|ledger|trap|fence|handicap|told|tell apart|held against|like all others)\b"
LONGEST = 30  # words
Shown = tuple[Section, list[Block]]


@pytest.fixture(scope="module", params=["reference", "traps", "aa"])
def study(request: pytest.FixtureRequest) -> Iterator[tuple[Chapter, list[Shown]]]:
    """A committed study's chapter, and its sections without their figures."""
    folders = sorted((ROOT / "reports" / request.param / "machines").iterdir())
    findings = Findings(load(folders)[0])
    chapter = Chapter(findings, Theme((), ()), 1, caveats(findings, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Chapter, "figure", lambda *_: None)
        shown = [
            (section, [block for block in section.blocks(chapter) if block])
            for section in SECTIONS
            if isinstance(section, Section)
        ]
    yield chapter, [(section, blocks) for section, blocks in shown if blocks]


def first(chapter: Chapter) -> FirstScreen:
    with titled(chapter.findings.machine.titles):
        return screen(chapter)


def texts(chapter: Chapter, sections: Sequence[Shown]) -> Iterator[str]:
    """The report's own sentences, without what it quotes from records and adapters."""
    shown = first(chapter)
    yield from (shown.headline, *shown.findings, *(chip.text for chip in shown.strip))
    for section, blocks in sections:
        yield section.about
        if section.inside:
            yield section.inside(chapter)
        for block in blocks:
            if isinstance(block, Paragraph):
                yield block.text
            elif isinstance(block, Bullets) and section.title == "Threats to validity":
                yield from block.items
    yield from (text for _, text in method(chapter.findings))


def test_sentences_are_short_and_plain(study: tuple[Chapter, list[Shown]]) -> None:
    for text in texts(*study):
        assert not re.search(BANNED, text, re.I), text
        for sentence in re.split(r"(?<=[.?!:;])\s+", re.sub(r"\(\S*#\S*\)", "", text)):
            assert len(sentence.split()) <= LONGEST, sentence


def test_the_page_names_when_where_and_what(study: tuple[Chapter, list[Shown]]) -> None:
    for word in ("2026", "CPU only: 2 cores of an Intel", "PyTorch 2.13.0", "parameters"):
        assert word in first(study[0]).about


def test_closed_folds_say_what_is_inside(study: tuple[Chapter, list[Shown]]) -> None:
    chapter, sections = study
    lines = [section.inside(chapter) for section, _ in sections if section.inside]
    assert len(lines) > 8 and all(line.endswith(".") for line in lines)
    assert len(set(lines)) == len(lines)


def test_tables_are_few_and_one_is_open(study: tuple[Chapter, list[Shown]]) -> None:
    chapter, sections = study
    tables = [(section, one) for section, blocks in sections for one in blocks
              if isinstance(one, Table)]  # fmt: skip
    assert len(tables) <= 9
    shown = [one.file for section, one in tables if section.inside is None]
    first = {"traps": ["traps.csv"], "aa": ["controls.csv"]}.get(
        chapter.findings.machine.study.name
    )
    usual = [] if chapter.findings.machine.alone else ["comparisons.csv"]
    assert shown == [*(first or []), *usual]
    for _, table in tables:
        assert all(len(row) == len(table.columns) and row[0] for row in table.rows)


def test_numbers_of_a_column_have_the_same_decimals(study: tuple[Chapter, list[Shown]]) -> None:
    for _, blocks in study[1]:
        for table in (one for one in blocks if isinstance(one, Table)):
            for place, (heading, _) in enumerate(table.columns):
                if heading in ("ratio", "ms", "median", "total", "truth"):
                    cells = [row[place] for row in table.rows if row[place]]
                    assert len({len(cell.partition(".")[2]) for cell in cells}) <= 1, heading
