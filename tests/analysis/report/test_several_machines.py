"""A report of two starts of an AMD machine and one of an Intel machine, from committed records."""

import re

import pytest

from analysis.data.reading import load
from analysis.report.layout import Chapter
from analysis.report.page import render
from analysis.report.sections.machines import ABSENT
from tests.analysis.report.test_any_study import keep_to_the_rules, prose
from tests.analysis.report.test_report import Page, flat
from tests.conftest import ROOT

REPEATS = ROOT / "reports" / "repeats"
AMD, INTEL = "amd-epyc-2c-24gb-7de1e5", "intel-xeon-2c-24gb-3681d7"
TWO_MACHINES = (
    REPEATS / "fast-host" / "second" / "machines" / AMD,
    REPEATS / "afternoon" / "first" / "machines" / INTEL,
)
OTHER_START = REPEATS / "other-host" / "first" / "machines" / AMD
STARTS = (f"{AMD}_ab580453", f"{AMD}_9fd607ae")


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Chapter, "figure", lambda *_: None)  # drawing takes seconds
        return render(load([*TWO_MACHINES, OTHER_START]))[1]


def test_the_first_sentence_says_whether_machines_agree(files: dict[str, str]) -> None:
    found = re.search(
        r"On these 3 machines, (\w+) of 12 comparisons (?:has|have) opposite verdicts\. "
        rf"The largest difference is on .* on ({AMD}_\w+|{INTEL}) and \S+ times on "
        rf"({AMD}_\w+|{INTEL})\.",
        files["report.md"],
    )
    assert found and found[2] != found[3]
    assert found[0] in Page(files["report.html"]).text
    keep_to_the_rules(prose(files["report.md"]))


def test_what_differs_between_machines_comes_first(files: dict[str, str]) -> None:
    markdown, page = files["report.md"], Page(files["report.html"]).text
    between = markdown.index("## Between machines")
    assert between < min(markdown.index(f"## {name}") for name in (*STARTS, INTEL))
    for said in (
        "TensorFlow to PyTorch † on the MLP, 1 thread: faster on machines 2 and 3, slower on "
        "machine 1.",
        "TensorFlow's onednn is no on machine 1 and yes on machines 2 and 3.",
        "The margin of equivalence is 3 % on machine 1 and 5 % on machines 2 and 3.",
    ):
        assert f"- {said}\n" in markdown
        assert flat(said) in page


def test_each_machine_has_its_own_ratios_and_speeds(files: dict[str, str]) -> None:
    tables = files["report.md"].partition("## Between machines")[2]
    machines, *others = re.findall(r"(?:^\|.*\n)+", tables, re.M)[:5]
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in machines.splitlines()[2:]]
    assert [row[1] for row in rows] == [*STARTS, INTEL]
    assert rows[0][4:] == [ABSENT] * 4  # its records are older than the machine's own turns
    assert rows[1][4:] == ["114", "208", "28.4", "34.0"]
    (first,) = [one for one in others if "1.21 (1.16 to 1.25) †" in one.splitlines()[2]]
    assert "| 0.405 (0.387 to 0.423) † |" in first.splitlines()[3]
