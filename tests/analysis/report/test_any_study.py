"""Whatever a study holds, its first screen and report.md keep to the rules for sentences, and what
is declared to differ is marked."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from analysis.data.reading import load
from analysis.format import titled
from analysis.report.figures.comparing.ratios import hollow
from analysis.report.first.comparing import races
from analysis.report.first.screen import screen
from analysis.report.layout import Chapter
from analysis.report.page import render
from analysis.report.page import write as write_report
from analysis.report.prose import DECLARED
from analysis.report.prose import variant as in_words
from analysis.report.sections.comparing.comparisons import (
    comparison_table,
    declared,
    within_variants,
)
from analysis.report.sections.comparing.pairs import alike, pair_table
from analysis.report.terminal import all_lines
from tests.analysis.recipe import Recipe
from tests.analysis.report.test_wording import BANNED, LONGEST
from tests.analysis.synthetic import write

FRAMEWORKS = ("pytorch", "tensorflow", "jax")
VARIANTS = (("default",), ("default", "tuned"), ("default", "tuned"), ("tuned",), ("eager",))
OPT_IN = (("pytorch", "compile"), ("tensorflow", "xla"), ("jax", "other"), ("tensorflow", "other"))
CONTROLS = ((), (), ((0.0, 1.0),), ((0.0, 1.0), (0.1, 1.1)), ((0.0, 1.3), (0.1, 1.0)))
SLOW = ("pytorch", "trap-slow")
SPREAD = st.floats(3, 300)  # milliseconds of a step
WRONG = r"\b(nan|None|inf)\b|  |[{}]| [.,;:]"
MORE_DIGITS = r"\b[1-9]\d*\.\d\d|\b0\.[1-9]\d\d"  # than two


@st.composite
def studies(draw: Any) -> list[Recipe]:
    """One study of one machine or more, in which anything may be missing or refused."""
    common = {
        "reference": draw(st.sampled_from(FRAMEWORKS)),
        "fastest": draw(st.booleans()),
        "smoke": draw(st.booleans()),
        "workloads": draw(st.sampled_from((("mlp",), ("mnist-cnn",), ("mlp", "mnist-cnn")))),
        "rounds": 3, "turn": 3, "discarded": 1, "warmup": 2,
    }  # fmt: skip
    machines = draw(st.sampled_from((1, 1, 1, 2, 3)))
    made = [draw(recipes(f"machine-{number}", common)) for number in range(machines)]
    return [replace(recipe, seed=1 + number) for number, recipe in enumerate(made)]


@st.composite
def recipes(draw: Any, machine: str, common: dict[str, Any]) -> Recipe:
    frameworks = tuple(
        draw(st.lists(st.sampled_from(FRAMEWORKS), min_size=1, max_size=3, unique=True))
    )
    variants = draw(st.sampled_from(VARIANTS))
    own = [one for one in OPT_IN if one[0] in frameworks]
    chosen = {
        **common,
        "machine": machine,
        "frameworks": frameworks,
        "variants": variants,
        "threads": draw(st.sampled_from(((1,), (1, 2)))),
        "replicates": draw(st.sampled_from((1, 2, 5))),
        "seed": draw(st.integers(0, 99)),
        "opted": draw(st.lists(st.sampled_from(own), unique=True)) if own else [],
    }
    everybody = [one.name for one in Recipe(**chosen).contenders]
    some = st.lists(st.sampled_from(everybody), unique=True, max_size=3)
    lost = [name for name in draw(st.one_of(st.just([]), some)) if name != everybody[0]]
    if common["reference"] in frameworks:
        chosen |= {"controls": draw(st.sampled_from(CONTROLS)), "controlled": variants[-1]}
        chosen["alone"] = bool(chosen["controls"]) and draw(st.integers(0, 5)) == 0
    if SLOW[0] in frameworks and "default" in variants and draw(st.integers(0, 5)) == 0:
        chosen["pitfalls"] = {SLOW: ("a slow default", 1.5, 0.1)}
    return Recipe(
        **chosen,
        ms={
            (workload, *one): draw(SPREAD)
            for workload in common["workloads"]
            for one in dict.fromkeys((*key.split("/")[:2],) for key in everybody)
        },
        refused=tuple(draw(st.one_of(st.just([]), some, st.just(everybody)))),
        absent={
            (workload, number, name): "out of memory"
            for workload in common["workloads"]
            for number in range(1, chosen["replicates"] + 1)
            for name in lost
        },
    )


@pytest.mark.parametrize(
    "cases", [pytest.param(4, marks=pytest.mark.brief), pytest.param(24, marks=pytest.mark.all)]
)
def test_every_sentence_keeps_to_the_rules_and_what_is_declared_is_marked(cases: int) -> None:
    settings(max_examples=cases, deadline=None, derandomize=True, phases=[Phase.generate])(
        given(studies())(keep_and_mark)
    )()


def keep_and_mark(made: list[Recipe]) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Chapter, "figure", lambda *_: None)  # drawing takes seconds
        machines = load([write(Path(folder) / recipe.machine, recipe) for recipe in made])
        with titled(machines[0].titles):
            chapters, files = render(machines)
            for chapter in chapters:
                said = screen(chapter)
                chips = [chip.text for chip in said.strip]
                keep_to_the_rules([said.headline, *said.findings, *chips])
                assert len(said.findings) <= 5
                mark_what_is_declared(chapter)
        keep_to_the_rules(prose(files["report.md"]))
        assert len(files["report.md"].splitlines()) <= 250 * len(chapters)
        assert list(all_lines(chapters))


def prose(markdown: str) -> Iterator[str]:
    """The lines of a page that are no heading, table, command, picture or list of names."""
    code = False
    for line in markdown.splitlines():
        code ^= line.startswith("```")
        if line and not code and not line.startswith(("#", "|", "!", "```")) and " · " not in line:
            yield re.sub(r"\]\([^)]*\)|[*`\[]", "", line.lstrip("->✓~✗! "))


def keep_to_the_rules(texts: Any) -> None:
    for said in texts:
        text = re.sub(r"^(Mismatched: [\w ]+) \(.*?\)", r"\1", said)  # values, as they are
        assert not re.search(WRONG, text), text
        assert not re.search(BANNED, text, re.I), text
        assert not re.search(MORE_DIGITS, text), text
        for sentence in re.split(r"(?<=[.?!:;])\s+", text):
            assert len(sentence.split()) <= LONGEST, sentence


def mark_what_is_declared(chapter: Chapter) -> None:
    findings = chapter.findings
    rows = within_variants(findings)
    table = pair_table(findings)
    order = findings.machine.order
    both = sorted(alike(findings), key=lambda row: (order(row.base), order(row.id)))
    for row, cells in [
        *zip(rows, comparison_table(findings).rows, strict=True),
        *zip(both, table.rows if table else [], strict=True),
    ]:
        assert declared(row) == any(DECLARED in cell for cell in cells), cells
    for row in findings.pairs:
        assert hollow(row) == declared(row)
    shown = screen(chapter)
    if shown.matrix:
        here = [line for line in findings.matrix if line.id.device == "cpu"]
        drawn = [row for _, held in shown.matrix.groups for row in held]
        marked = {row.framework for row in drawn if row.declared}
        assert marked == {line.id.framework for line in here if line.declared}
    for name in ("default", "tuned"):
        start = f"{in_words(name)}: ".lower()
        for text in (one for one in shown.findings if one.lower().startswith(start)):
            differs = any(one.declared for race in races(findings, name) for one in race.rivals)
            assert (DECLARED in text) == differs, text


# Little is left: one device, one control, no profile.
SMALL = Recipe(replicates=2, rounds=3, turn=3, discarded=1, threads=(1,), workloads=("mlp",))
TWIN = replace(SMALL, controls=((0.0, 1.0),))
LITTLE = {
    "only a GPU": (replace(SMALL, device="gpu"), "Table 1"),
    "only a control": (
        replace(
            TWIN,
            absent={
                ("mlp", replicate, one.name): "killed (SIGKILL)"
                for one in TWIN.contenders
                for replicate in (1, 2)
            },
        ),
        "killed (SIGKILL)",
    ),
}


@pytest.mark.parametrize("case", LITTLE)
def test_the_report_is_there(case: str, tmp_path: Path) -> None:
    recipe, shown = LITTLE[case]
    machine = load([write(tmp_path / "machine", recipe)])
    write_report(machine, tmp_path / "report")
    assert shown in (tmp_path / "report/report.html").read_text()


def test_profiles_that_all_failed_are_a_reason(tmp_path: Path) -> None:
    machines = load([write(tmp_path / "machine", SMALL)])
    for contest in machines[0].records.contests:
        for one in contest.contenders:
            one.unprofiled = "its profiler died"
    write_report(machines, tmp_path / "report")
    assert "its profiler died" in (tmp_path / "report/report.html").read_text().lower()
