"""A framework without float64: what is said of a certificate that claims less."""

from analysis.findings.findings import Findings
from analysis.report.first.trust import same
from analysis.report.sections.sameness.certificates import certificate_summary, certificate_table
from tests.analysis.synthetic import copied

ONLY = (
    "in float32 only, since it has no float64: first gradients to 1e-05, losses of 10 steps to "
    "1e-03"
)


def with_single(findings: Findings) -> Findings:
    """TensorFlow's tuned had its certificates in float32."""
    found = copied(findings)
    for record in found.machine.records.certificates:
        for row in record.rows:
            if (row.framework, row.variant) == ("tensorflow", "tuned"):
                row.precision, row.reason, row.long, row.full = "float32", ONLY, None, None
    return found


def test_it_is_not_counted_among_those_shown_in_float64(findings: Findings) -> None:
    found = with_single(findings)
    before, after = (same(one).text for one in (findings, found))
    assert "in float32 only" not in before
    assert after.startswith("0 of 8 comparisons agree to")
    assert "4 in float32 only, which shows less." in after


def test_the_certificates_count_it_separately(findings: Findings) -> None:
    texts = [certificate_summary(f)[1] for f in (findings, with_single(findings))]
    assert "in float32 only" not in texts[0]
    assert "4 in float32 only" in texts[1]
    table = certificate_table(with_single(findings))
    assert table and "agrees, in float32 only" in {row[2] for row in table.rows}


def test_its_ratio_stands_with_the_weaker_claim(findings: Findings) -> None:
    rows = [
        r for r in with_single(findings).comparisons if r.id.variant == "tuned" and r.estimate.ratio
    ]
    assert len(rows) == 4 and all("in float32 only" in r.certificate for r in rows)
