"""Parts of a step: asked for by name, timed beside the whole step, and checked in every turn."""

from pathlib import Path

import pytest

from analysis.data.loading import load
from analysis.findings.findings import Findings
from frameworks.contract import Framework, Variant
from tests.workflows.conftest import SmallStudy, several
from workflows.planning.configfiles import ConfigurationError, parse
from workflows.records.storage import write_batches, write_json
from workflows.stages.collect import collect


def measured(made: SmallStudy, folder: Path) -> Findings:
    """The findings of a study of two replicates."""
    made.certificate()
    for replicate in (1, 2):
        made.contest(replicate)
    records, batches = collect(made.folders)
    write_json(folder / "machine" / "records.json", records)
    write_batches(folder / "machine" / "batches.parquet", batches)
    return Findings(load([folder / "machine"])[0])


def made_of(study, *variants: str) -> SmallStudy:
    limits = {"steps": 10, "optimisers": []}
    return study(contenders=several(*variants), replicates=2, certificate=limits)


def test_parts_are_timed_and_never_ranked(study, tmp_path):
    found = measured(made_of(study, "default", "part-forward", "part-gradient"), tmp_path)
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
    shares = (row.forward_share, row.gradient_share, row.update_share)
    assert sum(share or 0.0 for share in shares) == pytest.approx(1)


def test_weights_that_move_in_timed_turns_are_seen_though_no_loss_shows_it(study, tmp_path):
    found = measured(made_of(study, "default", "part-drifting", "part-gradient"), tmp_path)
    assert [one.variant for one in found.loss_check.faults] == ["part-drifting"]
    (fault,) = found.loss_check.faults.values()
    assert "after the last timed turn, dense1.kernel is not as it was given" in fault
    (row,) = found.parts
    assert row.forward_share is None and fault in row.reason


def test_a_part_alone_is_refused_before_any_time_is_spent(abacus, small):
    with pytest.raises(ConfigurationError, match="part-forward is compared with its 'default'"):
        parse({**small, "contenders": several("part-forward")})


@pytest.mark.parametrize(
    "variants",
    [
        {"default": Variant("right"), "odd": Variant("a part", part="forward")},
        {"default": Variant("right"), "part-odd": Variant("no part")},
        {"default": Variant("right"), "part-odd": Variant("", part="update")},
        {"part-odd": Variant("", part="forward", compared_with="part-odd")},
        {"part-odd": Variant("", part="forward")},
    ],
)
def test_names_tell_parts_and_each_has_a_whole_step(variants):
    with pytest.raises(ValueError, match="odd"):
        Framework("f", "F", (), "", "", variants)
