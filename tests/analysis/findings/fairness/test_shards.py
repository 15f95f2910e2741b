"""How far averaged gradients of shards are from the whole's, from made-up certificates."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from analysis.findings.findings import Findings
from analysis.report.page import write
from tests.analysis.recipe import Recipe

WORKERS = ("pytorch", "two-workers")
RECIPE = Recipe(
    variants=("default",), threads=(2,), replicates=2, rounds=2, opted=(WORKERS,),
    workloads=("mlp",),
)  # fmt: skip


def test_shards_have_rows_and_a_section_only_if_four_were_tried(
    found: Callable[[Recipe], Findings], tmp_path: Path
) -> None:
    findings = found(RECIPE)
    assert findings.shards == []
    (row,) = [
        row
        for certificate in findings.machine.records.certificates
        for row in certificate.rows
        if (row.framework, row.variant) == WORKERS
    ]
    row.gradients, row.quarters = {"dense1.kernel": 2e-16, "dense1.bias": 3e-16}, 4e-15
    again = Findings(findings.machine)
    assert [(one.shards, one.distance) for one in again.shards] == [(2, 3e-16), (4, 4e-15)]
    assert {one.id.variant for one in again.shards} == {"two-workers"}
    write([again.machine], tmp_path)
    pages = [(tmp_path / f"report.{kind}").read_text() for kind in ("md", "html")]
    assert all("Gradients of shards" in page for page in pages)
    assert "| MLP | PyTorch | 3.0e-16 | 4.0e-15 |" in pages[0]
    table = pd.read_csv(tmp_path / "tables/shards.csv")
    assert table["shards"].tolist() == [2, 4] and table["variant"].unique() == ["two-workers"]
