"""A section of a study's report: the claims of the literature that its own ratios decide."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import get_args

from analysis.findings.findings import Findings
from analysis.format import capital
from analysis.literature.judging.claims import ClaimVerdict, Judgement, judge
from analysis.literature.page import said
from analysis.literature.studies import CONFIDENCE, study
from analysis.literature.tables import recorded
from analysis.report.layout import Blocks, Chapter, Paragraph, Rich, Section, Terms

PAGE = "../../docs/literature.md"  # from a report's folder, reports/<study>
VERDICTS: Sequence[ClaimVerdict] = get_args(ClaimVerdict)


def decided(findings: Findings) -> list[Judgement]:
    """The judgements that ratios of this study decide, by verdict. There are none if its intervals
    are at another confidence than the rules."""
    asked = findings.machine.study
    if asked.confidence != CONFIDENCE:
        return []
    own = study(asked.name, recorded([findings]))
    found_by_ratios = (one for one in judge([own]) if one.deciding)
    return sorted(found_by_ratios, key=lambda one: VERDICTS.index(one.verdict))


# Kept with the findings, like their tables, because the line on the closed section asks again.
DECIDED = cached_property(decided)
DECIDED.__set_name__(Findings, "decided_claims")


def judged(chapter: Chapter) -> list[Judgement]:
    return DECIDED.__get__(chapter.findings)


def claims(chapter: Chapter) -> Blocks:
    own = judged(chapter)
    link = f"[What was claimed, and how it is judged]({PAGE})"
    return [
        Terms([
            (
                f"{capital(one.verdict)}: “{one.claim.quote}” ({one.claim.source}, {one.claim.id})",
                "; ".join(filter(None, [*map(said, one.deciding), one.why])),
            )
            for one in own
        ]),
        Paragraph(Rich(link * bool(own)), style="soft"),
    ]  # fmt: skip


def verdicts(chapter: Chapter) -> str:
    found = Counter(one.verdict for one in judged(chapter))
    return ", ".join(f"{name}: {number}" for name, number in found.items())


SECTION = Section("Claims of the literature", claims, inside=verdicts)
