"""The section of a report with the claims that the study decides."""

from dataclasses import replace

import pytest

from analysis.data.reading import read
from analysis.findings.findings import Findings
from analysis.literature.judging.claims import judge
from analysis.literature.section import SECTION, claims, judged, verdicts
from analysis.literature.studies import read as read_study
from analysis.report.caveats.registry import caveats
from analysis.report.figures.style import Theme
from analysis.report.layout import Chapter
from analysis.report.page import render
from tests.conftest import ROOT

REFERENCE = ROOT / "reports" / "reference"


def chapter(confidence: float = 0.95) -> Chapter:
    (folder,) = (REFERENCE / "machines").iterdir()
    machine = read(folder)
    records = machine.records
    changed = records.study.model_copy(update={"confidence": confidence})
    findings = Findings(replace(machine, records=records.model_copy(update={"study": changed})))
    return Chapter(findings, Theme.of([]), 1, caveats(findings, 1))


def test_it_judges_as_the_page_of_claims_does_from_the_written_tables() -> None:
    own = chapter()
    decided = {one.claim.id: one for one in judge([read_study(REFERENCE)]) if one.deciding}
    assert {one.claim.id: one for one in judged(own)} == decided and len(decided) >= 2
    terms, link = claims(own)
    assert next(term for term, _ in terms.items).startswith("Does not hold here: “")
    assert len(terms.items) == len(decided) and "docs/literature.md" in link.text
    assert verdicts(own) == f"does not hold here: {len(decided)}"


def test_another_confidence_leaves_it_out() -> None:
    assert not any(claims(chapter(0.9)))


@pytest.mark.all
def test_it_is_on_the_page() -> None:
    machine = chapter().findings.machine
    _, files = render([machine], further=[SECTION])
    assert 'id="claims-of-the-literature"' in files["report.html"]
