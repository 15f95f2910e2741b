"""A reduced precision is certified in float64, and as timed by a bound from its format. A mistake
that only the reduced variant makes is still refused."""

import pytest

from tests.workflows.conftest import certified_once, several
from workflows.certify.as_timed import wrong_moves
from workflows.certify.summary import summary
from workflows.records.schema import CertificateRow

REDUCED = (
    "bfloat16", "bfloat16-not", "bfloat16-frozen", "bfloat16-uncorrected", "bfloat16-drifting",
)  # fmt: skip


@pytest.fixture(scope="module")
def rows(surroundings, tmp_path_factory) -> dict[str, CertificateRow]:
    limits = {"steps": 20, "optimisers": ["sgd"]}
    return certified_once(tmp_path_factory, "reduced", "default", *REDUCED, certificate=limits)


def test_it_declares_the_format_and_how_far_it_leads(rows, abacus):
    row, right = rows["bfloat16"], rows["default"]
    assert row.status == "declared", row.reason
    assert row.reason.startswith("precision.bfloat16: as timed, first gradients are up to ")
    assert row.reduced == "bfloat16" and row.room == (12 * 2**-8, 36 * 2**-8)
    assert row.long.worst_loss <= 1e-12 and max(row.gradients.values()) <= 1e-12
    assert 1e-4 < max(row.rounding.values()) <= row.room[1]
    assert 1e-4 < max(row.float32) <= row.room[1]
    assert right.reduced == "" and right.room is None and max(right.rounding.values()) < 1e-5
    (said,) = summary([row])
    assert said == "same but for precision.bfloat16, as declared"


def test_a_format_that_is_not_in_use_is_a_row_with_its_reason(rows):
    row = rows["bfloat16-not"]
    assert row.status == "missing"
    assert row.reason == "this build does not use bfloat16: dense products are in float32"


@pytest.mark.parametrize(
    ("variant", "words"),
    [
        ("bfloat16-frozen", "first gradient in float32: dense1.kernel differs by 1.0e+00"),
        ("bfloat16-uncorrected", "in float32 the loss of step 4 differs by "),
        ("bfloat16-drifting", "in float32 the loss of step 2 differs by "),
    ],
)
def test_a_mistake_of_the_reduced_variant_alone_is_refused(rows, variant, words):
    row = rows[variant]
    assert row.long.worst_loss <= 1e-12
    assert row.status == "refused" and row.reason.startswith(words), row.reason


def test_updates_of_another_size_show_in_the_weights_too(rows):
    assert wrong_moves(rows["bfloat16"], 1e-5) == ""
    off = wrong_moves(rows["bfloat16-uncorrected"], 1e-5)
    assert off.startswith("in float32 the weights go astray: after step 2")


def test_the_reference_is_never_reduced(study):
    made = study(contenders=several("bfloat16", "default"))
    assert made.plan.reference.name == "abacus/default/cpu/1"
