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


def test_the_first_sentence_says_whether_machines_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Chapter, "figure", lambda *_: None)  # drawing takes seconds
    _, files = render([load([folder])[0] for folder in TWO_MACHINES])
    found = re.search(
        r"On these 2 machines, (\w+) of 12 comparisons (?:has|have) opposite verdicts\. "
        rf"The largest difference is on .* on ({AMD}|{INTEL}) and \S+ times on ({AMD}|{INTEL})\.",
        files["report.md"],
    )
    assert found and found[2] != found[3]
    assert found[0] in Page(files["report.html"]).text
    keep_to_the_rules(prose(files["report.md"]))
