"""The list of claims is complete, and judges by tables alone."""

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from analysis.data.results import BenchmarkId
from analysis.literature.judging.arithmetic import CALCULATIONS, Calculation, vgg_19
from analysis.literature.judging.claims import UNBUILT, Judgement, claims, judge
from analysis.literature.judging.claims import tests as rules_of
from analysis.literature.page import PITFALLS, page
from analysis.literature.published.table7 import rows
from analysis.literature.studies import MeasuredRatio, Pair, StudyTables, Time
from tests.analysis.literature.judging.test_rules import row

NETWORKS = ["fcn-s", "alexnet-s", "resnet-50", "fcn-r", "alexnet-r", "resnet-56", "lstm"]


def judged(*studies: StudyTables) -> dict[str, Judgement]:
    return {one.claim.id: one for one in judge(studies)}


def planted(*found: object, hardware: tuple[str, ...] = ("cpu",)) -> StudyTables:
    return StudyTables("planted", tuple(found), frozenset(hardware), {})  # type: ignore[arg-type]


def test_every_claim_is_there_with_a_short_quotation() -> None:
    assert [one.id for one in claims()] == [f"C{number:02}" for number in range(1, 66)]
    assert [one["claim"] for one in rows("rules.csv")] == [one.id for one in claims()]
    assert max(len(one.quote.split()) for one in claims()) <= 15
    assert {one.source for one in claims()} == {one["id"] for one in rows("sources.csv")}
    known = {one["study"] for one in rows("studies.csv")} | {"none planned"}
    assert {word for one in claims() for word in one.study.split(", ") if word} <= known
    assert all(one.study or one.calculation for one in claims())
    hardware = Counter(one.hardware for one in claims())
    assert (hardware.pop("cpu"), hardware.pop("gpu"), hardware.total()) == (32, 25, 8)


def test_without_a_study_calculations_alone_decide() -> None:
    found = judged()
    decided = {name for name, one in found.items() if not one.verdict.startswith("needs")}
    assert decided == {one.id for one in claims() if one.calculation in CALCULATIONS}
    assert all(found[name].why and not found[name].deciding for name in decided)


def test_claims_that_arithmetic_decides() -> None:
    found = judged()
    assert found["C21"].verdict == "does not hold here" and "31.5 TFLOP/s" in found["C21"].why
    assert found["C45"].verdict == "does not hold here" and "7.8 times" in found["C45"].why
    assert found["C57"].verdict == "does not hold here" and "143,667,240" in found["C57"].why
    assert found["C65"].verdict == "does not hold here" and "CUDA packages" in found["C65"].why
    assert len([name for name in vgg_19().parameter_shapes if name.endswith("kernel")]) == 19


def test_a_time_below_the_peak_may_be_that_of_another_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Caffe at 0.35 of Torch: a definition that takes a third explains it, one that takes half is
    shown, but explains a part only. A time beyond the peak needs no explanation."""

    def study(ratio: float) -> StudyTables:
        pair = Pair("workload", "alexnet-s-caffe", "alexnet-s")
        return planted(*(
            row(ratio, pair=pair, workload=pair.one, framework=name)
            for name in ("pytorch", "tensorflow")
        ))  # fmt: skip

    beyond = judged(study(0.55))["C47"]
    assert beyond.verdict == "does not hold here" and "1.1 times the peak" in beyond.why
    assert [round(one.known.ratio, 2) for one in beyond.deciding] == [0.55, 0.55]
    possible = {**CALCULATIONS, "peak of Caffe's AlexNet-S": lambda: Calculation(True, "half")}
    monkeypatch.setattr("analysis.literature.judging.claims.CALCULATIONS", possible)
    assert judged(study(0.33))["C47"].verdict == "does not hold here"
    assert judged(study(0.55))["C47"].verdict == judged()["C47"].verdict == "holds here"


def test_what_a_claim_needs_beside_hardware_is_said() -> None:
    for hardware in (("cpu",), ("cpu", "gpu")):
        found = judged(replace(planted(hardware=hardware), name="fence"))["C28"]
        assert found.verdict.startswith("needs") and not found.deciding
        assert found.why.endswith("; not built yet: a contender that CUDA events time")
    on_a_gpu = [one for one in claims() if one.hardware == "gpu"]
    without = {one.id for one in on_a_gpu if not (rules_of(one) or one.calculation)}
    assert without == {*UNBUILT, "C20"}  # for which no study is planned


def test_rows_decide_a_claim_in_its_direction() -> None:
    """PyTorch faster than TensorFlow in each of nine workloads: one row against it is enough, and
    eight for it are not."""
    fast = [row(0.7, workload=name) for name in ["mlp", "mnist-cnn", *NETWORKS]]
    assert judged(planted(*fast))["C39"].verdict == "holds here"
    assert judged(planted(*fast[1:]))["C39"].verdict == "needs a study that has not been run"
    against = judged(planted(fast[0], row(1.5, workload="mnist-cnn")))["C39"]
    assert against.verdict == "does not hold here"
    assert [one.id.workload for one in against.deciding] == ["mnist-cnn"]
    turned = judged(planted(row(1.5, workload="mlp").inverse))["C39"]
    assert turned.deciding[0].known.ratio == pytest.approx(1.5, rel=0.01)


def test_a_variant_that_says_something_else_says_it() -> None:
    pair = Pair("framework", "tensorflow", "pytorch")

    def study(default: float) -> StudyTables:
        of = {"default": default, "tuned": 2.0, "two-workers": 0.5}
        return planted(*(
            row(ratio, pair=pair, workload="alexnet-r", variant=own) for own, ratio in of.items()
        ))  # fmt: skip

    found = judged(study(0.5))["C43"]
    assert found.verdict == "does not hold here"
    assert found.why == "default alone: holds here; tuned alone: does not hold here"
    assert judged(study(2.0))["C43"].why == ""


def test_a_median_is_judged_in_each_framework() -> None:
    def rows_of(framework: str, *ratios: float) -> list[object]:
        return [
            row(ratio, pair=Pair("threads", "2", "1"), threads=2, workload=name,
                framework=framework)
            for name, ratio in zip(NETWORKS, ratios, strict=True)
        ]  # fmt: skip

    good, bad = [0.55] * 4 + [0.9] * 3, [0.55] * 3 + [0.9] * 4
    holds = judged(planted(*rows_of("pytorch", *good), *rows_of("jax", *good)))["C30"]
    assert holds.verdict == "holds here" and len(holds.deciding) == 2
    assert [one.known.ratio for one in holds.deciding] == [pytest.approx(0.55, rel=0.02)] * 2
    falls = judged(planted(*rows_of("pytorch", *good), *rows_of("jax", *bad)))["C30"]
    assert falls.verdict == "does not hold here"


def test_who_gains_more_from_threads_is_a_ratio_of_ratios() -> None:
    def study(tensorflow: float) -> StudyTables:
        of = {"pytorch": 0.7, "tensorflow": tensorflow}
        return planted(*(
            row(ratio, pair=Pair("threads", "2", "1"), threads=2, workload=name, framework=who)
            for name in NETWORKS for who, ratio in of.items()
        ))  # fmt: skip

    found = judged(study(0.6))["C36"]
    (one,) = found.deciding
    assert found.verdict == "holds here" and one.known.ratio == pytest.approx(6 / 7, rel=0.02)
    assert judged(study(0.8))["C36"].verdict == "does not hold here"
    near = judged(study(0.701))["C36"]
    assert near.verdict == "cannot tell"
    # Its error is that of both, as if neither knew of the other's.
    (one,), own = near.deciding, row(1.0)
    assert math.log(one.known.high / one.known.low) == pytest.approx(
        2**0.5 * math.log(own.known.high / own.known.low)
    )
    refused = planted(*study(0.6).ratios[1:], replace(study(0.6).ratios[0], certificate=""))
    assert judged(refused)["C36"].verdict == "cannot tell"


def test_a_network_is_set_beside_each_other_one() -> None:
    def study(lstm: float, *others: float) -> StudyTables:
        named = zip(["lstm", *NETWORKS], [lstm, *others], strict=False)
        return planted(*(row(ratio, workload=name).inverse for name, ratio in named))

    others = [0.8, 1.3, 1.0, 1.1, 1.2, 0.9]  # the median is 1.05
    found = judged(study(0.85, *others))["C52"]
    (one,) = found.deciding
    assert found.verdict == "holds here"
    assert one.known.ratio == pytest.approx(0.85 / 1.05, rel=0.01)
    # Its error: LSTM's, and that of the mean of the two in the middle.
    own = row(1.0)
    assert math.log(one.known.high / one.known.low) == pytest.approx(
        1.5**0.5 * math.log(own.known.high / own.known.low)
    )
    assert "PyTorch over TensorFlow on LSTM over the median of 6 other networks 0.81" in page(
        [found], [], []
    )
    assert judged(study(1.15, *others))["C52"].verdict == "does not hold here"
    lacking = study(0.5, *others[1:])
    assert judged(lacking)["C52"].verdict == "needs a study that has not been run"
    # What another study has of some networks is not a median over all.
    assert judged(study(0.85, *others), study(2.0, *others[1:]))["C52"] == found
    refused = replace(study(0.85, *others).ratios[1], certificate="", reason="differs in a bias")
    unsure = judged(planted(*study(0.85, *others).ratios[:1], refused,
                            *study(0.85, *others).ratios[2:]))["C52"]  # fmt: skip
    assert (unsure.verdict, unsure.why) == ("cannot tell", "differs in a bias")


def test_the_fixed_cost_of_a_step_is_bounded_by_the_smallest_step() -> None:
    def study(name: str, **milliseconds: float) -> StudyTables:
        pair = Pair("framework", "jax", "pytorch")
        proven = [row(0.7, workload=own, pair=pair, threads=2) for own in milliseconds]
        times = tuple(
            Time(BenchmarkId(own, framework, "default", "cpu", 2), ms, ms * 0.9, ms * 1.1)
            for own, ms in milliseconds.items() for framework in ("pytorch", "jax")
        )  # fmt: skip
        return replace(planted(*proven), name=name, times=times)

    large = study("networks", **dict.fromkeys(NETWORKS, 90.0))
    for small, verdict in ((0.5, "holds here"), (4.5, "cannot tell")):
        assert judged(large, study("sweep", tiny=small, less=2 * small))["C56"].verdict == verdict
    lacking = "needs a study that has not been run"
    assert judged(large, study("other", tiny=0.5))["C56"].verdict == lacking
    assert judged(large)["C56"].verdict == lacking
    uncertified = replace(study("sweep", tiny=0.5), ratios=())
    assert judged(large, uncertified)["C56"].verdict == lacking


def test_a_refused_contender_makes_it_cannot_tell() -> None:
    fast = [row(0.7, workload=name) for name in ["mlp", *NETWORKS]]
    refused = row(2.0, workload="mnist-cnn", certificate="", reason="pytorch differs in a bias")
    found = judged(planted(*fast, refused))["C39"]
    assert (found.verdict, found.why) == ("cannot tell", "pytorch differs in a bias")


def test_hardware_is_missing_until_a_study_has_it() -> None:
    assert judged()["C41"].verdict == "needs hardware that is not here"
    gpu = [
        row(0.7, workload=name, device="gpu").inverse for name in NETWORKS if name != "lstm"
    ]  # TensorFlow over PyTorch
    found = judged(planted(*gpu, hardware=("cpu", "gpu")))
    assert found["C41"].verdict == "holds here"
    found = judged(replace(planted(*gpu, hardware=("cpu", "gpu")), name="networks"))
    assert found["C44"].verdict == "needs a study that has not been run"


def test_a_study_without_a_gpu_is_said_to_need_one() -> None:
    """A GPU in another study does not help."""
    none = replace(planted(), name="networks", missing={"gpu": "PyTorch sees no GPU"})
    other = replace(planted(hardware=("cpu", "gpu")), name="gpu")
    decided = judge([none, other])
    found = {one.claim.id: one for one in decided}
    needed = {"C44": "networks on a GPU", "C08": "networks and sweep on a GPU",
              "C34": "threads on a processor with SMT",
              "C22": "a TPU; no study is planned"}  # fmt: skip
    for name, why in needed.items():
        assert (found[name].verdict, found[name].why) == ("needs hardware that is not here", why)
    text = page(decided, [none, other], [])
    assert "Only [gpu](../gpu/report.md) had a GPU. Elsewhere PyTorch sees no GPU." in text
    assert "No machine here has the other hardware that rows name." in text
    hardware = [one for one in decided if one.verdict == "needs hardware that is not here"]
    assert "needs a study" not in page(hardware, [none], [])
    assert "No study had a GPU: PyTorch sees no GPU." in page(hardware, [none], [])


def test_both_variants_of_a_claim_are_said() -> None:
    pair = Pair("framework", "pytorch", "tensorflow")
    rows_of = [row(1.5), row(1.2, variant="tuned"), row(1.9, variant="tuned", threads=2)]
    found = judged(planted(*rows_of))["C38"]
    assert found.claim.pair == pair and found.verdict == "does not hold here"
    assert [(one.id.variant, one.id.threads) for one in found.deciding] == [
        ("default", 1),
        ("tuned", 2),
    ]


UNFENCED = Pair("variant", "trap-unsynchronised", "default")


def unfenced(ratio: float, framework: str, workload: str, **changed: Any) -> MeasuredRatio:
    own = {"pair": UNFENCED, "variant": UNFENCED.one, "framework": framework, "workload": workload}
    return row(ratio, spread=0.5, **{**own, **changed})


def test_a_claim_about_frameworks_is_said_of_each() -> None:
    """JAX returns before the work is done; the others are the control."""
    found = [
        unfenced(ratio, name, workload)
        for name, ratio in (("pytorch", 1.0), ("tensorflow", 1.01), ("jax", 0.05))
        for workload in ("mlp", "mnist-cnn")
    ]
    said = judged(planted(*found))
    assert (said["C23"].verdict, len(said["C23"].deciding)) == ("holds here", 1)
    assert said["C24"].verdict == "holds here"
    assert [one.id.framework for one in said["C24"].deciding] == ["pytorch", "tensorflow", "jax"]
    assert said["C24"].why == (
        "PyTorch alone: does not hold here; TensorFlow alone: does not hold here; JAX alone: holds "
        "here"
    )
    text = page([said["C24"]], [], {})
    assert "JAX, 1 thread: unsynchronised over default 0.05" in text and PITFALLS in text
    control = judged(planted(*found[:4], *(unfenced(1.0, "jax", w) for w in ("mlp", "mnist-cnn"))))
    assert {control[name].verdict for name in ("C23", "C24")} == {"does not hold here"}
    # What may not decide does not stand among what decides, however far it is off.
    strange = unfenced(0.8, "tensorflow", "mlp", threads=2, certificate="", reason="no work left")
    with_it = judged(planted(*found, strange))["C24"]
    assert with_it.deciding == said["C24"].deciding
    alone = judged(planted(*found[:4]))
    assert alone["C24"].verdict == "needs a study that has not been run"
