"""A machine has one processor, and one contest at a time."""

from pathlib import Path

import pytest

from analysis.data.contradictions import contradictions
from tests.analysis.recipe import ENVIRONMENT, Recipe
from tests.analysis.synthetic import write
from tests.analysis.turns import with_turns
from workflows.records.machine_folder import read_machine
from workflows.records.machine_records import MachineRecords


@pytest.fixture
def records(tmp_path: Path) -> MachineRecords:
    recipe = Recipe(workloads=("mnist-cnn",), threads=(1,), replicates=2, rounds=2)
    records, table = read_machine(write(tmp_path / "one", recipe))
    with_turns(records, table)
    return records


def begin_with_the_first(records: MachineRecords, boots: tuple[str, str]) -> None:
    """The second contest begins a microsecond after the first."""
    first, second = records.contests
    early = first.turns[0].start_ns - second.turns[0].start_ns + 1000
    for turn in second.turns:
        turn.start_ns += early
    for contest, boot in zip(records.contests, boots, strict=True):
        contest.system_info = {**ENVIRONMENT, "system": {"boot": boot}}


def test_contests_of_one_machine_do_not_overlap(records: MachineRecords) -> None:
    assert not [*contradictions(records)]
    begin_with_the_first(records, ("a", "a"))
    (fault,) = contradictions(records)
    assert fault == (
        "contests: mnist-cnn, replicate 2: it began before that of mnist-cnn, replicate 1 had ended"
    )


def test_nodes_of_a_cluster_may_measure_at_the_same_time(records: MachineRecords) -> None:
    begin_with_the_first(records, ("a", "b"))
    assert not [*contradictions(records)]


def test_a_machine_has_one_processor(records: MachineRecords) -> None:
    records.contests[1].system_info = {**ENVIRONMENT, "cpu": {"model": "Apple M9"}}
    (fault,) = contradictions(records)
    assert fault.startswith("contests: processors ") and "Apple M9, of one machine" in fault
