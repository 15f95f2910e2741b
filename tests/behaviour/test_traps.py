"""The catalogue of traps leaves nothing out."""

import re
from pathlib import Path

from analysis.findings.fairness.checklist import ABSENT, BY_SETTING, HANDLED, TRAPS
from frameworks.contract import SETTINGS
from frameworks.workloads.optimisers import OPTIMISERS
from workflows.worker.probes import QUESTIONS

LIST = Path(__file__).with_name("fairness-traps.md").read_text()


def rows() -> list[str]:
    table = re.findall(r"^\| (.*?) \|", LIST, re.M)
    return table[1:]  # without the heading


def test_every_row_of_the_list_is_a_trap_or_handled_or_cannot_occur() -> None:
    accounted = [*(row for trap in TRAPS for row in trap.rows), *HANDLED, *ABSENT]
    assert len(rows()) > 20
    assert set(accounted) == set(rows())
    assert not {*HANDLED, *ABSENT} & {row for trap in TRAPS for row in trap.rows}


def test_every_answer_belongs_to_a_trap() -> None:
    numbers = {name for kind in OPTIMISERS.values() for name in vars(kind())}
    beside = {"device", "freed_memory"}  # what both adapters answer beyond what they must
    assert {*SETTINGS, *QUESTIONS, *numbers, *beside} == set(BY_SETTING)
    assert len(BY_SETTING) == sum(len(trap.settings) for trap in TRAPS)
    assert not set(SETTINGS) & set(QUESTIONS)


def test_what_is_each_frameworks_own_has_a_reason() -> None:
    assert all(bool(trap.reason) == (trap.rule == "own") for trap in TRAPS)
    assert len({trap.title for trap in TRAPS}) == len(TRAPS)
