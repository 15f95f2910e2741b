"""Profiles: asked for, once, and never in the mini-batches."""

from tests.workflows.conftest import several
from workflows.records.schema import ContenderRecord


def test_profiles_are_in_the_first_replicate_and_no_mini_batch(study):
    made = study(contenders=several("default", "kept", "killed"), profile=True, replicates=2)
    record, rows = made.contest()
    default, kept, killed = record.contenders
    assert (default.operations, default.unprofiled) == ({}, "its adapter offers no profile")
    assert list(kept.operations) == ["matrix product", "dispatch", "unaccounted"]
    assert kept.operations["matrix product"] < kept.operations["dispatch"] < 1
    assert kept.unprofiled == killed.unprofiled == ""  # the row says what became of it
    assert list(rows[rows.variant == "kept"].step) == list(range(2 + 4 * 4))
    again, _ = made.contest(replicate=2)
    assert not any(one.operations or one.unprofiled for one in again.contenders)


def test_nothing_is_profiled_unless_asked_for(contested):
    record, _ = contested
    assert not any(one.operations or one.unprofiled for one in record.contenders)


def test_records_of_before_have_no_profile():
    before = {"framework": "jax", "variant": "default", "device": "cpu", "threads": 1}
    one = ContenderRecord.model_validate({**before, "status": "ok"})
    assert one.operations == {} and one.unprofiled == ""
