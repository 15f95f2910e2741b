"""What the terminal says is what the report says first."""

from dataclasses import replace
from pathlib import Path

import pytest

from analysis.data.loading import load
from analysis.report import terminal
from analysis.report.layout import Chapter
from analysis.report.page import write
from analysis.report.sections.answer import claims
from analysis.report.sections.precision import advice
from analysis.report.terminal import lines
from tests.analysis.synthetic import Recipe
from tests.analysis.synthetic import write as write_records


@pytest.fixture(scope="module")
def chapter(tmp_path_factory: pytest.TempPathFactory) -> Chapter:
    folder: Path = tmp_path_factory.mktemp("terminal")
    recipe = Recipe(study="smoke", smoke=True, workloads=("mnist-cnn",), threads=(1,), replicates=3)
    (one,) = write(load([write_records(folder / "in", recipe)]), folder / "out")
    return one


def test_what_weakens_it_stands_before_the_answer_and_the_answer_before_advice(
    chapter: Chapter,
) -> None:
    findings, machine = chapter.findings, chapter.findings.machine
    sentences = claims(machine, findings.comparisons)
    more = advice(machine, findings.precision)
    told = lines(chapter)
    starts = ["SMOKE RUN: ", "Self-test: ", "Variant ", f"- {sentences[0]}"]
    starts += [more.sentences[0], f"  {more.command}"]
    places = [next(i for i, line in enumerate(told) if line.startswith(s)) for s in starts]
    assert places == sorted(places)
    assert [line for line in told if line.startswith("- ")] == [f"- {c}" for c in sentences]
    assert told[0] == "" and told[-1] != ""
    assert "" not in [told[i] for i in range(1, len(told)) if told[i - 1] == ""]


def test_one_of_several_machines_has_its_name_above(chapter: Chapter) -> None:
    several = lines(replace(chapter, machines=2))
    assert several[:2] == ["", f"{chapter.name}:"]
    assert several[2:] == lines(chapter)


def test_a_pitfall_study_says_what_pitfalls_cost(
    chapter: Chapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentence = "The costliest pitfall is spelled out."
    monkeypatch.setattr(terminal, "pitfall_summary", lambda rows: sentence)
    assert sentence in lines(chapter)
