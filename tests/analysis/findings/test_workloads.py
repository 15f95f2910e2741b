"""Workloads beside each other: those of one contender, and those that are named after others."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analysis.findings.findings import Findings
from analysis.report.page import write
from analysis.report.sections.comparing.workloads import between, workload_table
from tests.analysis.recipe import Recipe

Make = Callable[[Recipe], Findings]
ALONE = Recipe(
    frameworks=("pytorch",),
    variants=("default",),
    threads=(1,),
    process_sd=0.005,
    together=True,
    ms={("mlp", "pytorch", "default"): 50.0, ("mnist-cnn", "pytorch", "default"): 25.0},
)


def test_one_contender_has_its_workloads_compared(found: Make, tmp_path: Path) -> None:
    findings = found(ALONE)
    (row,) = between(findings)
    assert row.estimate.ratio == pytest.approx(0.5, rel=0.03)
    (cells,) = workload_table(findings).rows
    assert cells[:3] == ["MNIST CNN", "MLP", "PyTorch, 1 thread"] and cells[-1] == "faster"
    work = {one.name: one.flops_per_step for one in findings.machine.records.workloads}
    assert float(cells[3]) == pytest.approx(work["mnist-cnn"] / work["mlp"], rel=0.06)
    write([findings.machine], tmp_path / "report")
    assert "Workloads beside each other" in (tmp_path / "report/report.md").read_text()


@pytest.mark.parametrize("seed", range(4))
def test_a_workload_beside_its_like_is_equivalent(found: Make, seed: int) -> None:
    """Two names of the same work, in the same contests: an A/A test of this axis."""
    same = {("mlp", "pytorch", "default"): 50.0, ("mnist-cnn", "pytorch", "default"): 50.0}
    (row,) = between(found(replace(ALONE, ms=same, seed=seed)))
    assert row.estimate.verdict == "equivalent"


def test_contenders_are_compared_rather_than_workloads(found: Make) -> None:
    two = replace(ALONE, frameworks=("pytorch", "jax"), ms={})
    assert between(found(two)) == []


def test_what_is_named_after_another_is_compared_with_that_alone(found: Make) -> None:
    """Also beside comparisons of contenders."""
    findings = found(replace(ALONE, frameworks=("pytorch", "jax"), ms={}))
    own = [row for row in findings.pairs if row.axis == "workload" and row.estimate.ratio]
    named = [replace(row, id=row.id._replace(workload="mlp-narrow")) for row in own]
    with_them: Any = SimpleNamespace(pairs=[*findings.pairs, *named])
    assert between(with_them) == named and len(named) == 2
