"""Claims about parts of a step, single operations and two workers."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.data.results import BenchmarkId
from analysis.literature.judging.arithmetic import WIDTHS
from analysis.literature.judging.claims import Judgement, judge
from analysis.literature.page import page
from analysis.literature.studies import (
    EAGER,
    FIRST,
    GRADIENTS,
    LOSS,
    OTHERS,
    PART,
    POSITION,
    STEP,
    UNLIKE,
    WORKERS,
    MeasuredRatio,
    Pair,
    Time,
)  # fmt: skip
from analysis.literature.threads import divided
from analysis.stats.inference import Estimate
from tests.analysis.literature.judging.test_claims import NETWORKS, judged, planted
from tests.analysis.literature.judging.test_rules import row


def parts(workload: str, backward: float, step: float) -> list[MeasuredRatio]:
    """A framework's parts on a network: loss and gradients over loss, and over the step."""
    return [
        row(value, workload=workload, pair=Pair(PART, GRADIENTS, over), verdict="cannot tell")
        for value, over in ((backward, LOSS), (step, STEP))
    ]


def test_shares_of_a_step_are_judged_against_their_limits() -> None:
    """An update of 5 % and gradients of 40 % of loss and gradients are below 10 % and 50 %."""
    every = ["mlp", *NETWORKS]
    light = [one for name in every for one in parts(name, 1 / 0.6, 0.95)]
    assert judged(planted(*light))["C54"].verdict == "holds here"
    some = judged(planted(*light[:4]))["C54"]
    assert some.verdict == "cannot tell" and some.why.startswith("not measured: AlexNet-S")
    for heavy in (parts("mlp", 1 / 0.6, 0.8), parts("mlp", 3.0, 0.95)):
        found = judged(planted(*light[2:], *heavy))["C54"]
        assert found.verdict == "does not hold here"
        assert [one.id.workload for one in found.deciding] == ["mlp"]
    undecided = judged(planted(*light[2:], *parts("mlp", 2.0, 0.95)))["C54"]
    assert undecided.verdict == "cannot tell"


def test_a_claim_of_three_parts_holds_only_if_all_were_measured() -> None:
    light = [one for name in ["mlp", *NETWORKS] for one in parts(name, 3.0, 0.9)]
    found = judged(planted(*light))["C55"]
    assert (found.verdict, found.why) == ("cannot tell", "(a) and (c) were not measured")
    heavy = judged(planted(*parts("mlp", 6.0, 0.9)))["C55"]
    assert heavy.verdict == "does not hold here"
    assert page(judge([planted(*parts("mlp", 6.0, 0.9))]), [], {}).count(
        "MLP, PyTorch, default, 1 thread: loss and gradients over loss 6.0"
    )
    wider = row(130.0, workload="mlp-width-4096", framework="jax", pair=WIDTHS)
    grown = judged(planted(*light, wider))["C55"]
    assert grown.verdict == "does not hold here" and " in JAX times as long" in grown.why
    flat = row(1.0, workload="mlp-width-4096", framework="jax", pair=WIDTHS)
    refused = replace(wider, certificate="")
    for other in (flat, refused):
        assert judged(planted(*light, other))["C55"].verdict == "cannot tell"


def position(framework: str, ratio: float, spread: float = 1.0) -> MeasuredRatio:
    pair = Pair(POSITION, FIRST, OTHERS)
    return row(ratio, spread, workload="divide", framework=framework, pair=pair)


def test_the_first_of_five_operations_may_not_be_slower_than_the_others() -> None:
    same = [position(name, 1.0) for name in ("pytorch", "tensorflow", "jax")]
    assert judged(planted(*same))["C27"].verdict == "holds here"
    assert judged(planted(*same[:2]))["C27"].verdict.startswith("needs a study")
    slow = judged(planted(*same[:2], position("jax", 3.0)))["C27"]
    assert slow.verdict == "does not hold here"
    assert [one.id.framework for one in slow.deciding] == ["jax"]
    assert "division, JAX, default, 1 thread: the first over the next four 3.0" in page(
        [slow], [], {}
    )
    unsure = judged(planted(*same[:2], position("jax", 1.04, 9.0)))["C27"]
    assert unsure.verdict == "cannot tell"


def test_writing_through_the_result_of_to_is_judged_on_both_devices() -> None:
    def found(**aliases: str) -> Judgement:
        read_back = {("pytorch", f"to_{name}"): value for name, value in aliases.items()}
        return judged(replace(planted(), name="operations", aliases=read_back))["C63"]

    here = found(same_device="changed")
    assert here.verdict == "cannot tell" and here.why.endswith("another device was not there")
    assert found(same_device="unchanged").verdict == "does not hold here"
    both = found(same_device="changed", another_device="unchanged")
    assert both.verdict == "holds here" and "leaves the original changed (same device)" in both.why
    assert found(same_device="changed", another_device="changed").verdict == "does not hold here"
    assert found().verdict == "needs a study that has not been run"


def test_a_graph_is_read_back_and_its_losses_are_those_without_one() -> None:
    def found(mode: str, *rows: MeasuredRatio) -> Judgement:
        modes = {"tensorflow": frozenset({mode})} if mode else {}
        study = replace(planted(*rows), name="traps", compilation=modes)
        return judged(study)["C53"]

    eager = row(4.7, pair=EAGER, framework="tensorflow")
    holds = found("tf.function", eager)
    assert holds.verdict == "holds here" and "4.7 times as long" in holds.why
    assert found("eager", eager).verdict == "does not hold here"
    others = found("tf.function", replace(eager, reason=f"trap-eager {UNLIKE} default"))
    assert others.verdict == "does not hold here" and "its losses are others" in others.why
    assert found("tf.function").verdict == found("", eager).verdict
    assert found("").verdict == "needs a study that has not been run"


def test_losses_that_nobody_reads_are_the_same_in_every_framework() -> None:
    def found(**ends: str) -> Judgement:
        own = {name: frozenset({end}) for name, end in ends.items()}
        return judged(replace(planted(), name="fence", unread=own))["C25"]

    holds = found(jax="the same", pytorch="the same")
    assert holds.verdict == "holds here"
    assert holds.why.endswith("the same to the last bit in JAX and PyTorch")
    falls = found(jax="the same", pytorch="others")
    assert falls.verdict == "does not hold here" and falls.why.endswith("not the same in PyTorch")
    assert found().verdict == "needs a study that has not been run"


def test_memory_is_compared_on_every_network() -> None:
    def found(*ratios: float) -> Judgement:
        mib, own = {}, []
        for name, ratio in zip(NETWORKS, ratios, strict=False):
            for framework, value in (("pytorch", 100 * ratio), ("tensorflow", 100.0)):
                who = BenchmarkId(name, framework, "default", "cpu", 2)
                mib[who] = value
                own.append(Time(who, 1.0, 0.9, 1.1))
        proven = [row(0.9, workload=name, threads=2) for name in NETWORKS]
        study = replace(planted(*proven), name="networks", times=tuple(own), memory=mib)
        return judged(study)["C40"]

    falls = found(0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.3)
    assert falls.verdict == "does not hold here"
    assert "0.5 on FCN-S to 1.3 on LSTM; medians without intervals; each" in falls.why
    assert found(*[0.9] * 7).verdict == "holds here"
    assert found(*[0.9] * 6, 1.0).verdict == "cannot tell"
    assert found(0.9).verdict == "needs a study that has not been run"


def shared(workload: str, ratio: float = 0.9, **changed: Any) -> MeasuredRatio:
    """PyTorch's two workers of one thread over one of two."""
    own = {"pair": WORKERS, "variant": WORKERS.one, "workload": workload, "threads": 2}
    return row(ratio, **{**own, **changed})


ALONE = (
    "pytorch/two-workers/cpu/2 refused: loss differs by 2.2e-03 at step 1 (allowed 1e-12); "
    "pytorch/two-workers/cpu/2: the float32 loss of step 1 differs"
)
REFUSED: dict[str, Any] = {"estimate": Estimate(), "certificate": "", "reason": ALONE}
SPLIT = ["fcn-s", "alexnet-s", "fcn-r", "lstm"]


def test_gradients_of_shards_are_judged_by_certificates() -> None:
    """Those of networks without batch normalisation agree, and those of the others do not."""
    split, other = [shared(name) for name in SPLIT], shared("resnet-56", **REFUSED)
    holds = judged(planted(*split, other))["C58"]
    assert holds.verdict == "holds here"
    assert holds.why.endswith(
        "LSTM: agrees to 1e-14; ResNet-56: loss differs by 2.2e-03 at step 1 (allowed 1e-12)"
    )
    some = judged(planted(*split[2:], other))["C58"]
    assert some.verdict == "cannot tell"
    assert some.why.endswith("; not measured: FCN-S and AlexNet-S")
    for rows_of in (
        [*split, shared("resnet-56")],
        [shared("fcn-s", **REFUSED), other],
        [shared("fcn-s", certificate="agrees to 3.0e-12"), other],
    ):
        assert judged(planted(*rows_of))["C58"].verdict == "does not hold here"
    lacking = {**REFUSED, "reason": "pytorch is not installed"}
    for few in ([other], split, [*split, shared("resnet-56", **lacking)],
                [*split, shared("resnet-56", framework="jax", **REFUSED)]):  # fmt: skip
        assert judged(planted(*few))["C58"].verdict == "needs a study that has not been run"


def test_two_workers_take_hardly_longer_than_two_threads_or_the_claim_falls() -> None:
    names = ["fcn-r", "alexnet-r", "lstm", "alexnet-s", "fcn-s"]
    light = [shared(name) for name in names]
    found = judged(planted(*light))["C59"]
    assert (found.verdict, found.why) == ("cannot tell", "two GPUs were not measured")
    few = judged(planted(*light[1:], shared("fcn-r", **REFUSED)))["C59"]
    assert few.verdict == "cannot tell" and ALONE in few.why
    heavy = judged(planted(*light[:4], shared("fcn-s", 1.2)))["C59"]
    assert heavy.verdict == "does not hold here"
    others = judged(planted(*light, shared("lstm", 1.2, framework="jax")))["C59"]
    assert others.verdict == "cannot tell"


def test_two_workers_have_a_table_with_or_without_a_ratio(tmp_path: Path) -> None:
    timed = [
        Time(BenchmarkId(name, "pytorch", variant, "cpu", threads), ms, ms, ms)
        for name in ("lstm", "resnet-56")
        for variant, threads, ms in (
            ("default", 2, 100.0), ("two-workers", 2, 125.0), ("two-workers", 4, 900.0),
        )
    ]  # fmt: skip
    study = planted(shared("lstm", 1.25), shared("resnet-56", **REFUSED))
    study = replace(study, times=tuple(timed))
    text = page(judge([study]), [study], {})
    assert "| LSTM | PyTorch | 125 | 100 | 0.799 (0." in text
    why = "refused: loss differs by 2.2e-03 at step 1 (allowed 1e-12)"
    assert f"| ResNet-56 | PyTorch | 125 | 100 |  | {why} |" in text
    assert "Two workers" not in page(judge([]), [], {})
    first, second = divided([study])
    assert first.speedup and first.speedup.low < first.speedup.ratio < first.speedup.high
    assert first.efficiency == first.speedup.ratio == pytest.approx(1 / 1.25, rel=0.01)
    assert (first.way, first.workers, first.threads) == ("DistributedDataParallel", 2, 2)
    assert (first.median_ms, first.one_worker_ms) == (125, 100)
    assert second.speedup is second.efficiency is None and second.reason == ALONE
    assert second.median_ms == 125
    (untimed,) = divided([planted(shared("lstm", 1.25))])
    assert untimed.median_ms is None and untimed.speedup


def test_four_shards_count_if_certificates_tried_them() -> None:
    split, other = [shared(name) for name in SPLIT], shared("resnet-56", **REFUSED)

    def found(**quarters: float) -> Judgement:
        own = {row.id: quarters[row.id.workload.replace("-", "_")] for row in (*split, other)
               if row.id.workload.replace("-", "_") in quarters}  # fmt: skip
        return judged(replace(planted(*split, other), quarters=own))["C58"]

    right = dict.fromkeys(("fcn_s", "alexnet_s", "fcn_r", "lstm"), 3e-15)
    holds = found(**right, resnet_56=2e-2)
    assert holds.verdict == "holds here" and "LSTM: agrees to 1e-14; four quarters to 3.0e-15" in (
        holds.why
    )
    assert found(**right).verdict == found().verdict == "holds here"
    assert found(**{**right, "lstm": 1e-9}).verdict == "does not hold here"
    assert found(**right, resnet_56=1e-14).verdict == "does not hold here"
