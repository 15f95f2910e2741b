"""Parts of a step: asked for by name, timed beside the whole step, and checked in every turn."""

from pathlib import Path

import pytest

from analysis.findings.findings import Findings
from tests.workflows.conftest import several
from workflows.planning.configfiles import ConfigurationError, parse


def measured(study, folder: Path, *variants: str) -> Findings:
    limits = {"steps": 10, "optimisers": []}
    made = study(contenders=several(*variants), replicates=2, certificate=limits)
    return made.measured(folder / "machine")


def test_parts_are_timed_and_never_ranked(study, tmp_path):
    found = measured(study, tmp_path, "default", "part-forward", "part-gradient")
    machine = found.machine
    assert [(row.variant, row.change, row.beside) for row in machine.records.parts] == [
        ("part-forward", "forward", "default"), ("part-gradient", "gradient", "default"),
    ]  # fmt: skip
    assert len(found.measured) == 3 and not found.loss_check.faults
    assert found.loss_check.compared == 2 * 3 * (2 + 4 * 4)
    assert {one.variant for one in found.matched} == {"default"}
    assert {row.id.variant for row in found.matrix} == {"default"} and not found.pairs
    settings = {one.variant: one.settings for one in machine.contests("mlp")[1].contenders}
    assert "loss_taken" in settings["default"] and "loss_taken" not in settings["part-forward"]
    (row,) = found.parts
    assert row.replicates == 2 and row.certificate.startswith("agrees to") and not row.reason
    shares = (row.forward.value, row.gradient.value, row.update.value)
    assert sum(share or 0.0 for share in shares) == pytest.approx(1)


def test_weights_that_move_in_timed_turns_are_seen_though_no_loss_shows_it(study, tmp_path):
    found = measured(study, tmp_path, "default", "part-drifting", "part-gradient")
    assert [one.variant for one in found.loss_check.faults] == ["part-drifting"]
    (fault,) = found.loss_check.faults.values()
    assert "after the timed turn of round 3, dense1.kernel is not as it was given" in fault
    (row,) = found.parts
    assert row.forward.value is None and fault in row.reason


def test_a_part_alone_is_refused_before_any_time_is_spent(abacus, small):
    with pytest.raises(ConfigurationError, match="part-forward is compared with its 'default'"):
        parse({**small, "contenders": several("part-forward")})
