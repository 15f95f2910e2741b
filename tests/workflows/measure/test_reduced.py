"""A reduced precision: asked for by name, timed beside float32, and never ranked."""

import pytest

from analysis.report.page import write
from tests.workflows.conftest import findings_once, several
from workflows.planning.configfiles import ConfigurationError, parse


@pytest.fixture(scope="session")
def found(surroundings, tmp_path_factory):
    """The findings of a study of two replicates."""

    def measure(study, machine):
        made = study(
            contenders=several("default", "kept", "bfloat16", "bfloat16-not", "bfloat16-drifting"),
            replicates=2,
            certificate={"steps": 10, "optimisers": []},
        )
        made.measured(machine)

    return findings_once(tmp_path_factory, "contests in bfloat16", measure)


def test_it_is_compared_with_its_own_float32_alone(found, tmp_path):
    rows = {row.id.variant: row for row in found.reduced}
    right, unused = rows["bfloat16"], rows["bfloat16-not"]
    assert right.beside == "default" and right.estimate.ratio
    assert right.certificate.startswith("declared: precision.bfloat16 (gradients ")
    assert right.float32_gradients < 1e-5 < right.gradients <= right.allowed == 36 * 2**-8
    assert right.float32_losses < 1e-5 < right.losses <= right.allowed
    assert unused.estimate.ratio is None and "does not use bfloat16" in unused.reason
    ranked = {"default", "kept"}
    assert {one.variant for one in found.matched} == ranked
    assert {row.id.variant for row in found.matrix} == ranked
    sides = {side.variant for row in found.pairs for side in (row.id, row.base)}
    assert sides == ranked and {row.id.variant for row in found.comparisons} <= ranked
    write([found.machine], tmp_path / "page")
    assert (tmp_path / "page" / "figures" / "reduced.svg").exists()
    page = (tmp_path / "page" / "report.md").read_text()
    assert "## Reduced precision" in page and "| Abacus in bfloat16 |" in page
    assert "this build does not use bfloat16" in page.lower()


def test_losses_of_timed_turns_have_the_room_of_the_format_and_no_more(found):
    check = found.loss_check
    assert [one.variant for one in check.faults] == ["bfloat16-drifting"]
    (fault,) = check.faults.values()
    assert "the float32 loss of step 2 in round 0 of replicate 1 differs by " in fault
    assert check.worst < 1e-4
    (settings,) = (
        one.settings for one in found.machine.contests("mlp")[1].contenders
        if one.variant == "bfloat16"
    )  # fmt: skip
    assert settings["dense_products"] == "bfloat16"


def test_it_is_refused_without_its_float32(abacus, small):
    with pytest.raises(ConfigurationError, match="bfloat16 is compared with its 'default'"):
        parse({**small, "contenders": several("bfloat16")})


def test_a_fault_of_one_is_a_row_and_costs_nobody_anything(study):
    made = study(
        contenders=several("default", "bfloat16", "bfloat16-raises", "bfloat16-killed"),
        certificate={"steps": 10, "optimisers": []},
    )
    record, _ = made.contest()
    certified = {row.variant: row.status for row in made.certificate().rows}
    found = {one.variant: (one.status, one.reason[:30]) for one in record.contenders}
    assert found["bfloat16-raises"] == ("failed", "out of memory: MemoryError: no")
    assert found["bfloat16-killed"][0] == "failed" and "SIGKILL" in found["bfloat16-killed"][1]
    assert found["default"] == found["bfloat16"] == ("ok", "")
    assert certified == {
        "default": "agrees", "bfloat16": "declared",
        "bfloat16-raises": "failed", "bfloat16-killed": "failed",
    }  # fmt: skip
