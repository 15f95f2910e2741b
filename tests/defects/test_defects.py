"""Every planted defect is caught, by the check that should, with a message that says why."""

import re

import pytest

from tests.defects.catching import Caught, Results, planted

with planted():
    from planted.registry import DEFECTS, Defect

EVERY = [pytest.param(defect, id="-".join(key)) for key, defect in DEFECTS.items()]


@pytest.mark.parametrize("defect", EVERY)
def test_a_defect_is_caught_by_name(caught: Results, defect: Defect) -> None:
    found = caught[defect.framework, defect.name]
    assert found.by, f"nothing has caught: {defect.summary}"
    assert found.by == defect.caught_by, found.message
    assert re.search(defect.message, found.message), found.message


@pytest.mark.parametrize(
    ("framework", "workload"), sorted({(d.framework, d.workload) for d in DEFECTS.values()})
)
def test_without_a_defect_nothing_is_caught(caught: Results, framework: str, workload: str) -> None:
    assert caught[framework, f"right/{workload}"] == Caught("", "")


def test_a_defect_says_what_it_is() -> None:
    summaries = [(defect.framework, defect.summary) for defect in DEFECTS.values()]
    assert all(summary for _, summary in summaries)
    assert len(set(summaries)) == len(summaries) >= 36
