"""Every planted defect is caught, by the check that should, with a message that says why."""

import re
from collections.abc import Callable, Iterator

import pytest

from tests.defects.catching import Caught, Results, planted

with planted():
    from planted.registry import DEFECTS, Defect


def marked() -> Iterator[object]:
    """Of the defects that a check catches, `make test` plants the first in PyTorch, if the
    perceptron shows one."""
    checked = set()
    for key, defect in DEFECTS.items():
        shown = (defect.framework, defect.workload) == ("planted", "perceptron")
        marks = [] if shown and defect.caught_by not in checked else [pytest.mark.all]
        yield pytest.param(defect, id="-".join(key), marks=marks)
        checked |= {defect.caught_by} if shown else set()


@pytest.mark.parametrize("defect", list(marked()))
def test_a_defect_is_caught_by_name(caught: Callable[[str], Results], defect: Defect) -> None:
    """And without a defect, the same code on the same workload agrees."""
    results = caught(defect.workload)
    assert results[defect.framework, "right"] == Caught("", "")
    found = results[defect.framework, defect.name]
    assert found.by, f"nothing has caught: {defect.summary}"
    assert found.by == defect.caught_by, found.message
    assert re.search(defect.message, found.message), found.message


def test_a_defect_says_what_it_is() -> None:
    summaries = [(defect.framework, defect.summary) for defect in DEFECTS.values()]
    assert all(summary for _, summary in summaries)
    assert len(set(summaries)) == len(summaries) >= 36
