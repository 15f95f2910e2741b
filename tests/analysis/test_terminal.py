"""What the terminal says is what the report says first."""

from dataclasses import replace
from pathlib import Path

import pytest

from analysis.data.loading import load
from analysis.report.page import Chapter, write
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
    told = lines(chapter, several=False)
    starts = ["SMOKE RUN: ", "Controls: ", "Variant ", f"- {chapter.claims[0]}"]
    starts += [chapter.advice.sentences[0], f"  {chapter.advice.command}"]
    places = [next(i for i, line in enumerate(told) if line.startswith(s)) for s in starts]
    assert places == sorted(places)
    assert [line for line in told if line.startswith("- ")] == [f"- {c}" for c in chapter.claims]
    assert told[0] == "" and told[-1] != ""
    assert "" not in [told[i] for i in range(1, len(told)) if told[i - 1] == ""]


def test_one_of_several_machines_has_its_name_above(chapter: Chapter) -> None:
    assert lines(chapter, several=True)[:2] == ["", f"{chapter.machine}:"]
    assert lines(chapter, several=True)[2:] == lines(chapter, several=False)


def test_a_trap_study_says_what_traps_cost(chapter: Chapter) -> None:
    told = "The costliest trap is spelled out."
    assert told in lines(replace(chapter, trap_summary=told), several=False)
