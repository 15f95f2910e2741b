"""What a certificate concludes from what was measured. Nothing is trained here."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from frameworks.contract import Deviation
from frameworks.oracle.mistakes import CATALOGUE
from frameworks.workloads.distance import relative
from workflows.certify.judge import (
    FROM,
    NotComparable,
    compare,
    distances,
    gradient_distances,
    judge,
    judge_optimiser,
    judge_state,
    loss_distances,
    names,
    set_aside,
)
from workflows.certify.runs import Result
from workflows.certify.second_look import look_again
from workflows.planning.entries import CertificateEntry
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


def moved(step, typical=0.0, off=0.0):
    return {step: {"w": (typical, off)}}


EXACT, NEAR, FAR = measured(), measured(1e-4, 1e-3), measured(0.9, float("inf"))


@pytest.mark.parametrize(
    ("loss", "first"),
    [(1e-11, "in float32 the loss of step 2 differs"), (1e-3, "loss differs by 1.0e-03")],
)
def test_what_is_surely_wrong_is_named_before_what_may_be_rounding(loss, first):
    row = CertificateRow(framework="f", variant="v", device="cpu", threads=1, status="missing")
    parts = {"long": measured(loss), "gradients": {"w": 0.0}, "float32": [1e-6, 5e-3]}
    row = row.model_copy(update=parts)
    judge(row, ASKED, [])
    assert row.reason.startswith("loss differs by")
    assert not look_again(
        SimpleNamespace(runner=SimpleNamespace(large=()), result=row, limits=ASKED, made=[])
    )
    assert row.reason.startswith(first) and f"loss differs by {loss:.1e}" in row.reason


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"long": measured(start=1e-9)}, f"w differs by 1.0e-09 {FROM} before the first step"),
        ({"long": measured(1e-9)}, f"loss differs by 1.0e-09 {FROM} at step 2 (allowed 1e-12)"),
        ({"long": measured(0, 1e-9)}, f"w differs by 1.0e-09 {FROM} after step 20"),
        ({"full": measured(1e-9)}, f"at full size loss differs by 1.0e-09 {FROM} at step 2"),
        ({"gradients": {"v": 1e-9, "w": 1e-3}}, "w (and 1 more) differs by 1.0e-03"),
        ({"restarted": [0.0, 1e-9]}, "after restart() the loss of step 2 differs by 1.0e-09"),
        ({"rounding": {"u": 1e-6, "v": 1e-6, "w": 3e-4}}, "a sum that cancels in this one"),
        ({"rounding": {"u": 4e-5, "v": 4e-5, "w": 1e-6}}, "u (and 1 more) differs by 4.0e-05"),
        ({"rounding": {"w": 1.0}}, "so much is no matter of precision"),
        ({"rounding": {"w": 0.5}, "reduced": "TF32"}, "and even TF32; so much is no matter"),
        ({"float32": [1e-6, 5e-3]}, "in float32 the loss of step 2 differs by 5.0e-03"),
        (
            {"astray": moved(2, typical=1e-3)},
            "after step 2 w is typically 1.0e-03 of its move away",
        ),
        ({"astray": moved(10, off=0.5)}, "50% of its numbers are far away (allowed 10%)"),
        ({"astray": moved(10, typical=float("nan"))}, "after step 10 w is typically nan"),
        (
            {"again": [0.0, 2e-3]},
            "in float32, after restart() the loss of step 2 differs by 2.0e-03 from before (allowed"
            " 1e-04)",
        ),
        ({"float32": [1e-7, 3e-4], "again": [3e-4]}, "the loss of step 1 differs by 3.0e-04"),
        ({"float32": [3e-4, 1e-7], "again": [0.0, 1e-3]}, "(allowed 9e-04)"),
        ({"float32": [9e-4, 1e-7], "again": [0.0, 2e-3]}, "(allowed 1e-03)"),
        ({"rounding": {"w": 3e-3}}, "products or gradients in bfloat16 would look so"),
        ({"rounding": {"w": 3e-4}}, "products or gradients in TF32 or float16 would look so"),
        ({"unfenced": 0.93}, "synchronise() returned with 93% of the step still to be done"),
    ],
)
def test_each_part_can_refuse_and_says_where(parts, message):
    status, reason = judged(**parts)
    assert status == "refused" and message in reason


def test_what_is_within_the_tolerance_agrees():
    inside = {
        "rounding": {"u": 1e-6, "v": 1e-6, "w": 9e-5}, "unfenced": 0.1, "restarted": [1e-13],
        "astray": {**moved(2, 5e-5), **moved(10, 3e-4, 0.01)}, "again": [0.0, 1e-6],
    }  # fmt: skip
    assert judged(long=measured(1e-13, 1e-13), **inside) == ("agrees", "")


def test_a_deep_network_may_magnify_what_kernels_add_in_another_order_after_a_restart():
    """As ResNet-50 did on an H100, in PyTorch and in JAX."""
    assert judged(float32=[1e-7, 2e-5, 3e-4], again=[0.0, 2e-5, 8.8e-4]) == ("agrees", "")


def test_a_reduced_precision_that_the_settings_name_explains_the_rounding():
    reduced = {"reduced": "TF32 (tf32_matmul)", "room": (9e-3, 3e-2)}
    assert judged(rounding={"u": 8e-3, "v": 8e-3, "w": 2e-2}, **reduced)[0] == "agrees"
    assert judged(astray=moved(2, 0.01), float32=[8e-3, 2e-2], **reduced)[0] == "agrees"
    for wrong in (
        {"rounding": {"u": 1e-2, "v": 1e-2, "w": 2e-2}}, {"rounding": {"u": 1e-4, "w": 4e-2}},
        {"float32": [1e-2]}, {"float32": [1e-3, 4e-2]}, {"astray": moved(2, 2.2, 1.0)},
    ):  # fmt: skip
        assert judged(**wrong, **reduced)[0] == "refused"


def test_a_declaration_is_held_to_its_bound_and_to_the_rest_at_full_size_too():
    runs = {"long": NEAR, "full": NEAR, "substituted": EXACT, "substituted_full": EXACT,
            "followed": measured(1e-10)}  # fmt: skip
    assert judged(DEVIATION, **runs) == ("declared", "optimiser.adam: a reason")
    assert "loss off by 9.0e-01" in judged(DEVIATION, **{**runs, "full": FAR})[1]
    status, reason = judged(DEVIATION, **{**runs, "followed": None})
    assert status == "refused" and "nothing can follow" in reason
    assert "optimiser.adam may be adam-of-keras, adam-of-keras-by-default, amsgrad, " in reason
    status, reason = judged(DEVIATION, **{**runs, "followed": measured(1e-7)})
    assert status == "refused" and "beside the declared mistake, loss differs by 1.0e-07" in reason
    status, reason = judged(DEVIATION, **{**runs, "followed_full": measured(1e-7)})
    assert status == "refused" and "at full size loss differs by 1.0e-07 from NumPy's" in reason
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


STATE = Deviation(
    "state.batch_norm.variance", "another reason", state_within=0.1,
    mistake="batch-norm-running-variance-biased",
)  # fmt: skip


def test_state_that_is_declared_to_deviate_is_bounded_and_all_else_is_compared():
    run = Measured(loss=[0.0], weights={0: {"w": 0.0, "v": 0.0}, 5: {"w": 0.0, "v": 0.02}})
    assert set_aside(run, ["v"]) == {"v": 0.02}
    assert run.weights == {0: {"w": 0.0, "v": 0.0}, 5: {"w": 0.0}}
    for off, status, reason in (
        (1e-15, "agrees", ""),
        (0.02, "declared", "state.batch_norm.variance: another reason"),
        (0.2, "refused", f"more than declared: state off by 2.0e-01 {FROM}, declared 1.0e-01"),
    ):
        row = CertificateRow(framework="f", variant="v", device="cpu", threads=1, status="agrees")
        row.state = {"v": off}
        judge_state(row, ASKED.tolerance, {"v": STATE})
        assert (row.status, row.reason) == (status, reason)
    row.status, row.reason, row.state = "declared", "optimiser.adam: a reason", {"v": 0.02}
    judge_state(row, ASKED.tolerance, {"v": STATE})
    assert row.reason == "optimiser.adam: a reason; state.batch_norm.variance: another reason"


def test_each_tensor_of_state_has_the_bound_of_its_own_deviation():
    row = CertificateRow(framework="f", variant="v", device="cpu", threads=1, status="agrees")
    row.state = {"v": 0.02, "u": 0.01}
    state = {"v": STATE, "u": replace(STATE, state_within=0.015)}
    judge_state(row, ASKED.tolerance, state)
    assert row.status == "declared"
    judge_state(row, ASKED.tolerance, {**state, "u": replace(STATE, state_within=1e-3)})
    assert row.reason.startswith("more than declared: state off by 1.0e-02")


def test_state_that_is_declared_to_deviate_is_the_mistake_in_every_step():
    for changed, deviation, words in (
        ({"followed": measured(0, 1e-7)}, STATE, "beside the declared mistake, w differs by"),
        ({"followed_full": measured(0, 1e-7)}, STATE, "at full size w differs by 1.0e-07"),
        ({}, replace(STATE, mistake=""), "nothing can follow"),
    ):
        row = CertificateRow(framework="f", variant="v", device="cpu", threads=1, status="agrees")
        row = row.model_copy(update={"state": {"v": 0.02}, "followed": EXACT, **changed})
        judge_state(row, ASKED.tolerance, {"v": deviation})
        assert row.status == "refused" and words in row.reason


def test_a_deviation_may_be_what_fits_its_component():
    assert "amsgrad" in names("optimiser.adam") and "amsgrad" not in names("optimiser.rmsprop")
    assert "rmsprop-epsilon-inside-the-root" in names("optimiser.rmsprop")
    assert "batch-norm-running-variance-biased" in names("state.batch_norm.variance")
    assert not {"adam-of-keras", "bias-missing"} & {*names("state.batch_norm.variance")}
    assert names("state.no_layer.mean") == names("optimiser.rmsprob") == []
    assert "learning-rate-in-float32" in names("optimiser.sgd")
    assert {*names("optimiser.momentum")} < {*CATALOGUE}


def test_a_network_that_magnifies_rounding_has_more_room_in_float32_alone():
    parts = {"rounding": {"w": 0.04}, "float32": [1e-6, 0.02], "astray": moved(2, 0.05, 0.3)}
    row = CertificateRow(framework="f", variant="v", device="cpu", threads=1, status="missing")
    for changed, status in (
        ({}, "agrees"),
        ({"long": measured(1e-9)}, "refused"),
        ({"astray": moved(10, 0.56, 1.0)}, "agrees"),  # as ResNet-50's
        ({"astray": moved(10, float("nan"))}, "refused"),
        ({"astray": moved(2, 0.75, 0.85)}, "refused"),
        ({"astray": moved(2, 0.2, 0.3)}, "refused"),
        ({"astray": moved(2, 0.2, 0.3), "reduced": "bfloat16"}, "agrees"),
    ):
        own = {"long": measured(), "gradients": {"w": 0.0}, **parts, **changed}
        found = row.model_copy(update=own)
        judge(found, ASKED.model_copy(update={"rounding": 0.05}), [])
        assert found.status == status
    for name, value in parts.items():
        assert judged(**{name: value})[0] == "refused"


def test_another_optimiser_is_judged_by_itself():
    assert judge_optimiser(EXACT, 1e-12, []).status == "agrees"
    assert judge_optimiser(NEAR, 1e-12, []).status == "refused"
    assert judge_optimiser(NEAR, 1e-12, [DEVIATION]).status == "refused"
    assert judge_optimiser(FAR, 1e-12, [DEVIATION]).status == "refused"
    assert judge_optimiser(NEAR, 1e-12, [DEVIATION], measured(1e-10)).status == "declared"
    assert judge_optimiser(NEAR, 1e-12, [DEVIATION], measured(1e-7)).status == "refused"
    assert judge_optimiser(measured(1e-4, start=1e-6), 1e-12, [DEVIATION]).status == "refused"
    small = replace(DEVIATION, loss_within=1e-6)
    reason = judge_optimiser(NEAR, 1e-12, [small], EXACT).reason
    runs = {"long": NEAR, "substituted": EXACT, "followed": EXACT}
    assert reason == judged(small, **runs)[1]
    assert reason == f"more than declared: loss off by 1.0e-04 {FROM}, declared 1.0e-06"


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
    with pytest.raises(NotComparable, match=re.escape(message)):
        compare(Result([1.0], {0: weights}, []), Result([1.0], {0: {"w": np.ones((2, 3))}}, []))


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), [1.0, float("nan")], [1.0, 2.0, 3.0]]
)
def test_what_is_not_finite_or_of_another_shape_never_agrees(value):
    reference = [1.0, 2.0] if isinstance(value, list) else 1.0
    assert relative(value, reference) == float("inf")


def test_one_gradient_may_be_a_sum_that_cancels():
    right = {"a": 1e-15, "b": 2e-13, "c": 8e-12}
    assert judged(gradients=right)[0] == "agrees"
    assert "c differs by 2.0e-11" in judged(gradients={**right, "c": 2e-11})[1]
    assert "(allowed 1e-12)" in judged(gradients={**right, "b": 2e-12})[1]


def test_no_gradient_need_be_closer_than_plain_numpy_comes_to_it_in_float32():
    """In float64 NumPy comes as much closer as float64 has finer digits."""
    near = {"u": 1e-6, "v": 1e-6, "w": 6e-3}
    assert judged(rounding=near, attainable={"w": 7e-4})[0] == "agrees"
    assert judged(rounding=near, attainable={"v": 7e-4, "w": 5e-4})[0] == "refused"
    assert judged(rounding={"w": 0.5}, attainable={"w": 1.0})[0] == "refused"
    exact = {"a": 1e-15, "b": 2e-13, "c": 5e-11}
    assert judged(gradients=exact, attainable_first={"c": 3e-3})[0] == "agrees"
    assert judged(gradients=exact, attainable_first={"c": 2e-3})[0] == "refused"
    wrong = {"a": 1e-15, "b": 2e-13, "c": 1e-6}
    assert judged(gradients=wrong, attainable_first={"c": float("inf")})[0] == "refused"


def test_no_run_need_be_closer_than_plain_numpy_comes_to_it_in_float32():
    def decided(own, near):
        return judged(long=own.model_copy(update={"attainable": near}))[0]

    off = measured(1e-11, 1e-11)
    assert decided(off, measured(1e-3, 1e-3)) == "agrees"
    assert decided(off, measured(1e-3, 1e-5)) == decided(off, measured(1e-5, 1e-3)) == "refused"
    assert decided(measured(1e-6, 1e-6), measured(np.inf, np.inf)) == "refused"


def test_float32_need_be_no_closer_than_plain_numpy_in_float32():
    """Up to limits: nothing that NumPy makes of it excuses half of a move."""
    near = {10: {"w": (2e-3, 0.2)}}
    for found, status in (
        ((1.5e-2, 0.35), "agrees"),
        ((3e-2, 0.35), "refused"),
        ((1.5e-2, 0.55), "refused"),
    ):
        assert judged(astray={10: {"w": found}}, astray_attainable=near)[0] == status
        assert judged(astray={10: {"w": found}})[0] == "refused"
    still = judged(astray={2: {"w": (1.0, 0.3)}}, astray_attainable={2: {"w": (1.0, 1.0)}})
    assert still[0] == "refused"

    def losses(second, attained):
        return judged(float32=[1e-7, second, 0.9], float32_attainable=[1e-8, attained, 0.2])[0]

    assert losses(2e-2, 5e-3) == "agrees"  # the third one cannot be compared
    assert losses(6e-2, 5e-3) == losses(2e-2, 1e-6) == "refused"


def test_a_loss_that_has_vanished_is_not_less_exact_than_the_first():
    assert loss_distances([1.1, 0.11, 2e-7], [1.0, 0.1, 1e-7]) == pytest.approx([0.1, 0.1, 1e-5])
    assert loss_distances([np.nan], [1.0]) == [float("inf")]
    assert loss_distances([0.0, 1e-9], [0.0, 0.0]) == [0, float("inf")]


def test_the_loss_of_a_single_sample_may_vanish_in_float64_too():
    """As in mini-batches of one: the network knew the sample, and -log p cancels."""
    right = Result([2.0, 2e-5], {}, [])
    assert compare(Result([2.0, 2e-5 + 3e-16], {}, []), right).loss[1] < 1e-13
    assert compare(Result([2.0, 4e-5], {}, []), right).loss[1] == pytest.approx(1e-3)


def test_a_gradient_that_cancels_says_nothing():
    """It is nothing but rounding, in every precision."""
    right = {"w": np.full(100, 0.1), "b": np.array([1e-17]), "c": np.zeros(2)}
    own = {"w": right["w"] * (1 + 1e-7), "b": np.array([3e-9]), "c": np.array([0.0, 2e-9])}
    found = gradient_distances(own, right)
    assert found["w"] == pytest.approx(1e-7) and max(found.values()) < 1e-5
    assert gradient_distances({**own, "c": np.array([0.0, 1e-3])}, right)["c"] > 0.1
    assert gradient_distances({**own, "b": np.array([np.nan])}, right)["b"] == float("inf")
    nothing = {name: 1e-12 * gradient for name, gradient in right.items()}
    assert max(gradient_distances(own, nothing).values()) == 0


def test_distances_are_relative():
    assert relative(1.1, 1.0) == pytest.approx(0.1)
    assert relative([3.0, 4.0], [0.0, 0.0]) == float("inf")
    assert relative(0.0, 0.0) == 0.0
    mine, true = ({5: {"w": np.array(w)}} for w in ([3.0, 4.5], [3.0, 4.0]))
    assert compare(Result([1.0], mine, []), Result([1.0], true, [])).weights[5][
        "w"
    ] == pytest.approx(0.1)


def test_running_means_count_relative_to_what_they_are_means_of():
    right = {
        "n.mean": np.array([3e-6, 0.0]),
        "n.variance": np.array([4.0, 0.0]),
        "mean": np.ones(1),
    }
    own = {**right, "n.mean": right["n.mean"] + [2e-9, 0.0]}
    assert distances(own, right) == {"n.mean": pytest.approx(1e-9), "n.variance": 0, "mean": 0}
    alone = {"n.mean": right["n.mean"]}
    assert distances({"n.mean": own["n.mean"]}, alone)["n.mean"] == pytest.approx(2e-3 / 3)


def test_a_tensor_that_has_vanished_is_not_less_exact_than_it_was():
    """The learning rate of one network was such that a step led to zero."""
    first, right = {"w": np.array([3.0, 4.0])}, {"w": np.array([0.0, 1e-17])}
    own = {"w": np.array([1e-13, 0.0])}
    assert distances(own, right)["w"] > 1e3
    assert distances(own, right, first)["w"] == pytest.approx(2e-12, rel=1e-3)
    assert distances(first, right, first)["w"] == pytest.approx(100)
    beside = Result([1.0], {0: first, 3: own}, []), Result([1.0], {0: first, 3: right}, [])
    assert compare(*beside).weights[3]["w"] == pytest.approx(2e-12, rel=1e-3)
