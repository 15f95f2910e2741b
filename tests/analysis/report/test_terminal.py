"""What the terminal says is what the report says first."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from analysis.findings.findings import Findings
from analysis.report.first.screen import screen
from analysis.report.layout import Chapter
from analysis.report.page import write
from analysis.report.sections.comparing.half_width import advice
from analysis.report.terminal import WIDTH, lines
from tests.analysis.recipe import Recipe


@pytest.fixture(scope="module")
def chapter(
    found: Callable[[Recipe], Findings], tmp_path_factory: pytest.TempPathFactory
) -> Chapter:
    recipe = Recipe(study="smoke", smoke=True, workloads=("mnist-cnn",), threads=(1,), replicates=3)
    (one,) = write([found(recipe).machine], tmp_path_factory.mktemp("terminal"))
    return one


def test_warnings_then_the_answer_then_the_strip_then_advice(chapter: Chapter) -> None:
    shown, more = screen(chapter), advice(chapter.findings.machine, chapter.findings.half_widths)
    said = lines(chapter)
    text = " ".join(" ".join(said).split())
    parts = ["SMOKE RUN: ", shown.headline, *(one for one in shown.findings)]
    parts += [*(row.title for _, rows in shown.matrix.groups for row in rows)]
    parts += [f"{chip.heading}: {chip.text}" for chip in shown.strip]
    parts += [*more.sentences, *filter(None, [more.command])]
    places = [text.index(part) for part in parts]
    assert places[:2] == sorted(places[:2]) and places[-1] == max(places)
    assert said[0] == "" and said[-1] != ""
    assert "" not in [said[i] for i in range(1, len(said)) if said[i - 1] == ""]


def test_sentences_fit_a_terminal(chapter: Chapter) -> None:
    matrix = [line for line in lines(chapter) if line.startswith(("  ", "("))]
    others = [line for line in lines(chapter) if line not in matrix]
    assert matrix and all(len(line) <= WIDTH for line in others)


def test_one_of_several_machines_has_its_name_above(chapter: Chapter) -> None:
    several = lines(replace(chapter, machines=2))
    assert several[:2] == ["", f"{chapter.name}:"]
    assert several[2:] == lines(chapter)
