"""The section about versions of one framework, from made-up records."""

from collections.abc import Callable

from analysis.findings.findings import Findings
from analysis.report.sections.comparing.versions import later, summary, version_table
from tests.analysis.recipe import Recipe

RECIPE = Recipe(
    workloads=("mlp",),
    frameworks=("jax-0.9.2", "jax-0.10.2", "pytorch"),
    variants=("default",),
    threads=(1,),
    reference="pytorch",
    process_sd=0.003,
    ms={("mlp", "jax-0.9.2", "default"): 40.0, ("mlp", "jax-0.10.2", "default"): 50.0},
)


def test_a_later_version_is_compared_with_the_one_named_first(
    found: Callable[[Recipe], Findings],
) -> None:
    findings = found(RECIPE)
    (row,) = later(findings)
    assert (row.id.framework, row.base.framework) == ("jax-0.10.2", "jax-0.9.2")
    assert row.estimate.ratio and 1.2 < row.estimate.ratio < 1.3
    assert row.estimate.verdict == "slower"
    assert summary([row]).startswith("1 comparison of a version with the earliest: 1 slower.")
    assert version_table(findings, [row]).rows[0][-2] == "slower"


def test_frameworks_without_versions_have_no_such_section(
    found: Callable[[Recipe], Findings],
) -> None:
    assert later(found(Recipe(workloads=("mlp",), threads=(1,)))) == []
