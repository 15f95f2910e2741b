"""A certificate that was tried again in a process of its own says what was wrong at first."""

from analysis.findings.findings import Findings
from analysis.report.sections.sameness.certificates import AT_FIRST, certificate_table
from tests.analysis.synthetic import copied


def test_the_table_says_what_was_wrong_in_a_shared_process(findings: Findings) -> None:
    found = copied(findings)
    for record in found.machine.records.certificates:
        for row in record.rows:
            if (row.framework, row.variant) == ("tensorflow", "tuned"):
                row.at_first = "refused: loss differs by 2.0e-3 at step 3"
    before, table = certificate_table(findings), certificate_table(found)
    assert before and table and table.rows == before.rows
    note, *_ = notes = sorted(set(table.notes) - set(before.notes))
    assert len({text for _, text in notes}) == 1
    assert "TensorFlow, tuned" in note[0]
    assert note[1] == f"refused: loss differs by 2.0e-3 at step 3. {AT_FIRST}"
