"""A study keeps its report if little of it is left: one device, one control, no profile."""

from dataclasses import replace
from pathlib import Path

import pytest

from analysis.data.loading import load
from analysis.report.page import write
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import write as write_records

SMALL = Recipe(replicates=2, rounds=3, turn=3, discarded=1, threads=(1,), workloads=("mlp",))
TWIN = replace(SMALL, controls=((0.0, 1.0),))
LITTLE = {
    "only a GPU": (replace(SMALL, device="gpu"), "Table 1"),
    "only a control": (
        replace(
            TWIN,
            absent={
                ("mlp", replicate, one.name): "killed (SIGKILL)"
                for one in TWIN.contenders
                for replicate in (1, 2)
            },
        ),
        "killed (SIGKILL)",
    ),
}


@pytest.mark.parametrize("case", LITTLE)
def test_the_report_is_there(case: str, tmp_path: Path) -> None:
    recipe, shown = LITTLE[case]
    machine = load([write_records(tmp_path / "machine", recipe)])
    write(machine, tmp_path / "report")
    assert shown in (tmp_path / "report/report.html").read_text()


def test_profiles_that_all_failed_are_a_reason(tmp_path: Path) -> None:
    machines = load([write_records(tmp_path / "machine", SMALL)])
    for contest in machines[0].records.contests:
        for one in contest.contenders:
            one.unprofiled = "its profiler died"
    write(machines, tmp_path / "report")
    assert "its profiler died" in (tmp_path / "report/report.html").read_text().lower()
