"""A report of two machines, from the committed records of an AMD and an Intel processor."""

import re

import pytest

from analysis.data.loading import load
from analysis.report.layout import Chapter
from analysis.report.page import render
from tests.analysis.report.test_any_study import keep_to_the_rules, prose
from tests.analysis.report.test_report import Page
from tests.conftest import ROOT

REPEATS = ROOT / "reports" / "repeats"
AMD, INTEL = "amd-epyc-2c-24gb-7de1e5", "intel-xeon-2c-24gb-3681d7"
TWO_MACHINES = (
    REPEATS / "fast-host" / "second" / "machines" / AMD,
    REPEATS / "afternoon" / "first" / "machines" / INTEL,
)


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """The report's files without figures, which take seconds to draw."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Chapter, "figure", lambda *_: None)
        return render([load([folder])[0] for folder in TWO_MACHINES])[1]


def test_the_first_sentence_says_whether_machines_agree(files: dict[str, str]) -> None:
    found = re.search(
        r"On these 2 machines, (\w+) of 12 comparisons (?:has|have) opposite verdicts\. "
        rf"The largest difference is on .* on ({AMD}|{INTEL}) and \S+ times on ({AMD}|{INTEL})\.",
        files["report.md"],
    )
    assert found and found[2] != found[3]
    assert found[0] in Page(files["report.html"]).text
    keep_to_the_rules(prose(files["report.md"]))


def test_each_machine_has_its_own_screen_and_its_part_of_each_section(
    files: dict[str, str],
) -> None:
    text, page = files["report.html"], Page(files["report.html"])
    for name in (AMD, INTEL):
        assert text.count(f'<h2 id="machine-{name}">{name}</h2>') == 1
        assert text.count(f"<h3>{name}</h3>") > 8
    assert len(page.ids) == len({*page.ids})
    assert {link[1:] for link in page.links if link.startswith("#")} <= {*page.ids}
    assert len(files["report.md"].splitlines()) <= 250
