"""What a certificate concludes from what was measured. Nothing is trained here."""

import re

import numpy as np
import pytest

from frameworks.contract import Deviation
from frameworks.workloads.distance import relative
from workflows.certify.judge import (
    Uncanonical,
    compare,
    judge,
    judge_optimiser,
    judge_state,
    set_aside,
)
from workflows.certify.runs import Result
from workflows.planning.configuration import CertificateEntry
from workflows.records.schema import CertificateRow, Measured

ASKED = CertificateEntry()
DEVIATION = Deviation("optimiser.adam", "a reason", loss_within=1e-3)


def measured(loss=0.0, weights=0.0, start=0.0, steps=20):
    return Measured(
        loss=[0.0, *[loss] * (steps - 1)], weights={0: {"w": start}, 20: {"w": weights}}
    )


def judged(*deviations, **parts):
    row = CertificateRow(framework="f", variant="v", device="cpu", threads=1, status="missing")
    row = row.model_copy(update={"long": measured(), "gradients": {"w": 0.0}, **parts})
    judge(row, ASKED, list(deviations))
    return row.status, row.reason


EXACT, NEAR, FAR = measured(), measured(1e-4, 1e-3), measured(0.9, float("inf"))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"long": measured(start=1e-9)}, "w differs by 1.0e-09 before the first step"),
        ({"long": measured(1e-9)}, "loss differs by 1.0e-09 at step 2 (allowed 1e-12)"),
        ({"long": measured(0, 1e-9)}, "w differs by 1.0e-09 after step 20"),
        ({"full": measured(1e-9)}, "at full size loss differs by 1.0e-09 at step 2"),
        ({"gradients": {"v": 1e-9, "w": 1e-3}}, "w (and 1 more) differs by 1.0e-03"),
        ({"restarted": [0.0, 1e-9]}, "after restart() the loss of step 2 differs by 1.0e-09"),
        ({"rounding": {"u": 1e-6, "v": 1e-6, "w": 3e-5}}, "a sum that cancels in this one"),
        ({"rounding": {"w": 1.0}}, "so much is no matter of precision"),
        ({"rounding": {"w": 0.5}, "reduced": "TF32"}, "and even TF32; so much is no matter"),
        ({"float32": [1e-6, 5e-3]}, "in float32 the loss of step 2 differs by 5.0e-03"),
        ({"rounding": {"w": 3e-3}}, "products in bfloat16 would look so"),
        ({"rounding": {"w": 3e-4}}, "products in TF32 or float16 would look so"),
        ({"unfenced": 0.93}, "synchronise() returned with 93% of the step still to be done"),
    ],
)
def test_each_part_can_refuse_and_says_where(parts, message):
    status, reason = judged(**parts)
    assert status == "refused" and message in reason


def test_what_is_within_the_tolerance_agrees():
    inside = {"rounding": {"w": 9e-6}, "unfenced": 0.1, "restarted": [1e-13]}
    assert judged(long=measured(1e-13, 1e-13), **inside) == ("agrees", "")


def test_a_reduced_precision_that_the_settings_name_explains_the_rounding():
    reduced = "TF32 (tf32_matmul)"
    assert judged(rounding={"w": 3e-4}, reduced=reduced)[0] == "agrees"


def test_a_declaration_is_held_to_its_bound_and_to_the_rest_at_full_size_too():
    runs = {"long": NEAR, "full": NEAR, "substituted": EXACT, "substituted_full": EXACT}
    assert judged(DEVIATION, **runs) == ("declared", "optimiser.adam: a reason")
    assert "loss off by 9.0e-01" in judged(DEVIATION, **{**runs, "full": FAR})[1]
    status, reason = judged(DEVIATION, **{**runs, "substituted_full": FAR})
    assert status == "refused" and "with plain SGD at full size" in reason


@pytest.mark.parametrize(
    "parts",
    [
        {"long": measured(1e-4, start=1e-6)},
        {"gradients": {"w": 1e-6}},
        {"restarted": [1e-6]},
        {"rounding": {"w": 1e-3}},
        {"unfenced": 0.5},
    ],
)
def test_a_declared_optimiser_covers_nothing_else(parts):
    runs = {"long": NEAR, "substituted": EXACT}
    assert judged(DEVIATION, **{**runs, **parts})[0] == "refused"


STATE = Deviation("state.batch_norm.variance", "another reason", state_within=0.1)


def test_state_that_is_declared_to_deviate_is_bounded_and_all_else_is_compared():
    run = Measured(loss=[0.0], weights={0: {"w": 0.0, "v": 0.0}, 5: {"w": 0.0, "v": 0.02}})
    assert set_aside(run, ["v"]) == {"v": 0.02}
    assert run.weights == {0: {"w": 0.0, "v": 0.0}, 5: {"w": 0.0}}
    for off, status, reason in (
        (1e-15, "agrees", ""),
        (0.02, "declared", "state.batch_norm.variance: another reason"),
        (0.2, "refused", "more than declared: state off by 2.0e-01, declared 1.0e-01"),
    ):
        row = CertificateRow(framework="f", variant="v", device="cpu", threads=1, status="agrees")
        row.state = {"v": off}
        judge_state(row, ASKED.tolerance, [STATE, STATE])
        assert (row.status, row.reason) == (status, reason)
    row.status, row.reason, row.state = "declared", "optimiser.adam: a reason", {"v": 0.02}
    judge_state(row, ASKED.tolerance, [STATE])
    assert row.reason == "optimiser.adam: a reason; state.batch_norm.variance: another reason"


def test_another_optimiser_is_judged_by_itself():
    assert judge_optimiser(EXACT, 1e-12, []).status == "agrees"
    assert judge_optimiser(NEAR, 1e-12, []).status == "refused"
    assert judge_optimiser(NEAR, 1e-12, [DEVIATION]).status == "declared"
    assert judge_optimiser(FAR, 1e-12, [DEVIATION]).status == "refused"
    assert judge_optimiser(measured(1e-4, start=1e-6), 1e-12, [DEVIATION]).status == "refused"


def test_a_loss_that_is_no_number_is_said_so():
    run = Measured(loss=[0.0, float("inf")], weights={0: {"w": 0.0}})
    assert "loss is not finite at step 2" in judged(long=run)[1]
    run = Measured(loss=[float("inf")], weights={0: {"w": 0.0}})
    assert "does it keep a reference" in judged(long=run)[1]


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
        compare(Result([1.0], {0: weights}, []), Result([1.0], {0: {"w": np.ones((2, 3))}}, []))


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
    mine, true = ({5: {"w": np.array(w)}} for w in ([3.0, 4.5], [3.0, 4.0]))
    assert compare(Result([1.0], mine, []), Result([1.0], true, [])).weights[5][
        "w"
    ] == pytest.approx(0.1)
