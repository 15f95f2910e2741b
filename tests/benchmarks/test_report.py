"""Ever larger studies for the benchmark of reports."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from analysis.data.reading import load
from benchmarks.report.longer import lengthened
from tests.conftest import ROOT
from workflows.records import storage


def test_a_longer_study_is_one_that_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "LEVEL", 1)  # which it sets, and here is set back
    (source,) = (ROOT / "reports" / "networks" / "machines").iterdir()
    rows = lengthened(source, 20_000, tmp_path)
    assert 18_000 < rows < 22_000
    (machine,) = load([tmp_path])
    assert len(machine.batches) + len(machine.uncompared.batches) == rows
    groups = pq.ParquetFile(tmp_path / "batches.parquet").metadata.num_row_groups
    assert groups == len(machine.records.contests)
