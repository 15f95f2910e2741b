"""Studies of the series are kept in few bytes, and say the same."""

import numpy as np
import pytest

from analysis.data.reading import read
from analysis.findings.findings import Findings
from benchmarks.keep import kept, thinned
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import write
from tests.conftest import ROOT
from workflows.records.machine_folder import read_machine, write_machine

(FOLDER,) = (ROOT / "reports" / "reference" / "machines").iterdir()


@pytest.mark.all
def test_comparisons_stay_what_they_are_and_times_move_by_little(tmp_path):
    records, batches = read_machine(FOLDER)
    found = {}
    for name in ("before", "after", "again"):
        folder = tmp_path / name
        folder.mkdir()
        write_machine(folder, records, batches)
        found[name] = Findings(read(folder))
        records, batches = kept(records), thinned(batches)
    one, other, again = found.values()
    sizes = [(tmp_path / name / "batches.parquet").stat().st_size for name in found]
    assert sizes[1] < 0.8 * sizes[0]
    rows = [(row.id, row.estimate.verdict, row.estimate.ratio or 0) for row in one.comparisons]
    same = [(row.id, row.estimate.verdict, row.estimate.ratio or 0) for row in other.comparisons]
    assert [row[:2] for row in rows] == [row[:2] for row in same]
    assert [row[2] for row in rows] == pytest.approx([row[2] for row in same], rel=2e-4)
    before, after = one.machine.batches, other.machine.batches
    total, cpu = before["transfer_ns"] + before["step_ns"], before["cpu_ns"]
    for moved, most in (
        (before["data_ns"] - after["data_ns"], 131_072 / 2),
        (before["start_ns"] - after["start_ns"], 131_072 / 2),
        (total - after["transfer_ns"] - after["step_ns"], total / 2**12),
        (cpu - after["cpu_ns"], cpu / 8),
    ):
        assert np.abs(moved).max() > 0 and (np.abs(moved) <= most).all(), moved.name
    assert again.machine.batches.equals(other.machine.batches)


def test_sampled_weights_keep_seven_digits_and_their_verdict(tmp_path):
    records, batches = read_machine(write(tmp_path / "whole", Recipe(float64_turns=True)))
    turns = records.certificates[0].turns
    turns.start["dense1.kernel"][0] = 0.123456789012
    short = kept(records)
    assert short.certificates[0].turns.start["dense1.kernel"][0] == 0.1234568
    assert short.certificates[0].turns.losses == turns.losses
    weights = [one.weights for contest in short.contests for one in contest.contenders]
    assert any(weights) and kept(short) == short
    checks = []
    for name, each in (("before", records), ("after", short)):
        (tmp_path / name).mkdir()
        write_machine(tmp_path / name, each, batches)
        checks.append(Findings(read(tmp_path / name)).loss_check)
    assert checks[0] == checks[1] and checks[0].weights
