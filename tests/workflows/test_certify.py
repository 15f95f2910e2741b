import re

import numpy as np
import pytest

from frameworks.contract import Deviation
from workflows.agreement import Uncanonical, compare, judge, relative
from workflows.certify import FAILED
from workflows.records import CertificateRow, Measured
from workflows.verdict import failures


def rows(study, *variants, **changes):
    contenders = [{"framework": "abacus", "variants": ["default", *variants]}]
    made = study(contenders=contenders, **changes)
    return {row.variant: row for row in made.certificate().rows}


def test_the_same_computation_agrees(study):
    row = rows(study, "kept")["kept"]
    assert row.status == "agrees"
    assert row.long.worst_loss <= 1e-12 and row.long.worst_weights <= 1e-12
    assert len(row.losses) == len(row.long.loss) == 50
    assert row.losses[-1] < row.losses[0]


def test_an_undeclared_difference_is_refused_and_located(study):
    row = rows(study, "wrong")["wrong"]
    assert row.status == "refused"
    assert "loss differs by" in row.reason and "at step 2 (allowed 1e-12)" in row.reason
    assert row.long.loss[0] == 0  # the first loss is taken before the optimiser has acted


def test_a_declared_difference_is_measured(study):
    row = rows(study, "rounded")["rounded"]
    assert row.status == "declared"
    assert "beta1 is rounded to float32" in row.reason
    assert 1e-12 < row.long.worst_loss < 1e-3
    assert row.substituted.worst_loss <= 1e-12


def test_a_difference_larger_than_declared_is_refused(study):
    row = rows(study, "understated")["understated"]
    assert row.status == "refused" and "more than declared" in row.reason


def test_a_declaration_covers_nothing_but_its_own_part(study):
    row = rows(study, "disguised")["disguised"]
    assert row.status == "refused" and "with plain SGD" in row.reason


def test_a_declaration_is_held_to_its_bound_and_to_the_rest_at_full_size_too():
    near = Measured(loss=[1e-4] * 20, weights={"w": 1e-3})
    exact = Measured(loss=[0.0] * 20, weights={"w": 0.0})
    far = Measured(loss=[0.9] * 3, weights={"w": float("inf")})
    deviations = [Deviation("optimiser.adam", "a reason", loss_within=1e-3)]

    def status(**runs):
        row = CertificateRow(framework="f", variant="v", device="cpu", threads=1, status="missing")
        copy = row.model_copy(update=runs)
        judge(copy, 1e-12, deviations)
        return copy.status, copy.reason

    runs = {"long": near, "full": near, "substituted": exact, "substituted_full": exact}
    assert status(**runs)[0] == "declared"
    assert "loss off by 9.0e-01" in status(**{**runs, "full": far})[1]
    assert "with plain SGD at full size" in status(**{**runs, "substituted_full": far})[1]


def test_a_deviation_of_another_optimiser_does_not_count(study):
    mlp = {"features": 20, "hidden": [8], "samples": 400, "batch": 4, "optimiser": "sgd"}
    assert rows(study, "rounded", workloads={"mlp": mlp})["rounded"].status == "agrees"


def test_missing_and_failing_contenders_are_rows(study):
    found = rows(study, "raises", devices=["cpu", "gpu"])
    assert found["raises"].status == "missing"  # the last of its rows is the GPU's
    made = study(contenders=[{"framework": "abacus", "variants": ["default", "raises", "killed"]}])
    status = {row.variant: row for row in made.certificate().rows}
    assert status["raises"].status == "failed" and "no beads left" in status["raises"].reason
    assert status["killed"].status == "failed" and "SIGKILL" in status["killed"].reason
    (found_failure,) = failures(made.folders)
    assert len(found_failure[1]) == 2


def test_without_a_reference_nothing_is_certified(study):
    made = study(contenders=[{"framework": "abacus", "variants": ["raises"]}])
    (row,) = made.certificate().rows
    assert row.status == "failed" and "the reference abacus/raises/cpu/1 failed" in row.reason
    assert (made.folders.traces("mlp") / FAILED).exists()


def test_a_wide_workload_is_certified_narrow_and_at_full_size(study):
    mlp = {"features": 2000, "hidden": [600], "samples": 400, "batch": 4}
    made = study(workloads={"mlp": mlp})
    record = made.certificate()
    assert record.narrowed and record.parameters > 1_000_000 > record.parameters_long
    (row,) = record.rows
    assert row.status == "agrees"
    assert len(row.long.loss) == 50 and len(row.full.loss) == 3
    assert set(row.full.weights) == {"dense1.kernel", "dense1.bias", "dense2.kernel", "dense2.bias"}


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({}, "weights() lacks w; it has "),
        ({"v": np.ones((2, 3))}, "weights() has v, which the workload has not"),
        ({"w": np.ones((3, 2))}, "weights() gives w as (3, 2), canonical is (2, 3)"),
    ],
)
def test_weights_of_another_name_or_shape_are_said_so(weights, message):
    with pytest.raises(Uncanonical, match=re.escape(message)):
        compare(([1.0], weights), ([1.0], {"w": np.ones((2, 3))}))


def test_a_loss_that_is_no_number_is_said_so():
    row = CertificateRow(framework="f", variant="v", device="cpu", threads=1, status="missing")
    row.long = Measured(loss=[0.0, float("inf")], weights={"w": 0.0})
    judge(row, 1e-12, [])
    assert row.status == "refused" and "not a finite number at step 2" in row.reason


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), [1.0, float("nan")], [1.0, 2.0, 3.0]]
)
def test_what_is_not_finite_or_of_another_shape_never_agrees(value):
    reference = [1.0, 2.0] if isinstance(value, list) else 1.0
    assert relative(value, reference) == float("inf")


def test_distances_are_relative():
    assert relative(1.1, 1.0) == pytest.approx(0.1)
    assert relative([3.0, 4.0], [0.0, 0.0]) == float("inf")
    assert relative(0.0, 0.0) == 0.0
    weights = {"w": np.array([3.0, 4.0])}
    measured = compare(([1.0], {"w": np.array([3.0, 4.5])}), ([1.0], weights))
    assert measured.weights["w"] == pytest.approx(0.1)
