"""Claims that only a study with a GPU decides: each of them in both directions."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from analysis.findings.findings import Findings
from analysis.findings.speed.transferred import (
    BROUGHT,
    COPIED,
    CROSSOVER,
    FILLED,
    FILLED_AND_BROUGHT,
    NO_CROSSOVER,
    RESIDENT,
    VECTOR,
    WITH,
    WITHOUT,
)
from analysis.literature.judging.claims import Judgement
from analysis.literature.judging.devices import DEVICES, STEPS_ALONE, STEPS_MOVED, trends
from analysis.literature.judging.double_ratios import TWICE
from analysis.literature.page import page
from analysis.literature.studies import MeasuredRatio, Pair, Time, study
from analysis.literature.tables import recorded
from tests.analysis.findings.speed.test_transferred import SWEEP
from tests.analysis.literature.judging.test_claims import NETWORKS, judged, planted
from tests.analysis.literature.judging.test_rules import row
from tests.analysis.recipe import Recipe

COPIES, FILLS = "copy-size-67108864", "fill-size-16777216"
LACKS = "needs a study that has not been run"
CROSSED = Pair(CROSSOVER, WITH, WITHOUT)
BRINGING = Pair(VECTOR, COPIED, BROUGHT)
FILLING = Pair(VECTOR, FILLED, FILLED_AND_BROUGHT)


def on_gpu(ratio: float, workload: str, pair: Pair = DEVICES, **changed: Any) -> MeasuredRatio:
    return row(ratio, **{"pair": pair, "workload": workload, "device": "gpu", **changed})


def found(claim: str, *rows: MeasuredRatio, **fields: Any) -> Judgement:
    """From the claim's own study, which had a GPU."""
    own = replace(planted(*rows, hardware=("cpu", "gpu")), **fields)
    name = judged()[claim].claim.studies[0]
    return judged(replace(own, name=name))[claim]


@pytest.mark.parametrize(
    ("claim", "pair", "workload", "holds", "falls"),
    [
        ("C02", DEVICES, "divide", 0.4, 0.6),
        ("C16", BRINGING, COPIES, None, 0.2),
        ("C17", DEVICES, COPIES, 0.1, 0.3),
        ("C62", FILLING, FILLS, 0.1, 0.9),
    ],
)
def test_one_operation_decides(
    claim: str, pair: Pair, workload: str, holds: float | None, falls: float
) -> None:
    if holds:
        assert found(claim, on_gpu(holds, workload, pair)).verdict == "holds here"
    one = on_gpu(falls, workload, pair)
    assert found(claim, one).verdict == "does not hold here"
    assert found(claim, replace(one, certificate="")).verdict == "cannot tell"
    other = one.id._replace(workload="copy-size-1024")
    assert found(claim, replace(one, id=other)).verdict == LACKS
    # With fewer threads than the processor has, a row is about another claim.
    if claim != "C16":
        more = on_gpu(1.0, "mlp", threads=2)
        assert found(claim, one, more).verdict == LACKS


def test_pageable_memory_alone_does_not_show_that_bringing_is_slow() -> None:
    one = found("C16", on_gpu(0.05, COPIES, BRINGING))
    assert (one.verdict, one.why) == ("cannot tell", "pinned memory was not measured")
    assert "PyTorch, default, 1 thread: a vector copied over a vector brought 0.05" in page(
        [one], [], []
    )


def test_a_network_of_two_layers_is_set_beside_one_thread() -> None:
    short = [on_gpu(0.5, f"two-layer-{batch}") for batch in (1, 128)]
    assert found("C07", *short).verdict == "does not hold here"
    assert found("C07", short[0]).verdict == LACKS
    assert found("C07", on_gpu(0.2, "two-layer-128")).verdict == "holds here"
    assert found("C07", on_gpu(0.2, "two-layer-128", threads=2)).verdict == LACKS


SWEPT = [
    *(f"mlp-width-{2**size}" for size in range(4, 13)),
    *(f"cnn-filters-{2**size}" for size in range(7)),
]


def test_one_size_at_which_a_gpu_is_slower_is_enough() -> None:
    faster = [on_gpu(0.5, name, STEPS_ALONE) for name in SWEPT]
    assert found("C09", *faster).verdict == "does not hold here"
    assert found("C09", *faster[1:]).verdict == LACKS
    slower = found("C09", on_gpu(1.5, SWEPT[0], STEPS_ALONE))
    assert slower.verdict == "holds here"
    assert "mlp-width-16, PyTorch, default, 1 thread: a step on GPU over a step on CPU 1.5" in page(
        [slower], [], []
    )
    # With transfer counted, it is another claim.
    assert found("C09", on_gpu(1.5, SWEPT[0]), on_gpu(1.5, SWEPT[0], STEPS_MOVED)).verdict == LACKS


def test_transfer_moves_the_crossover_or_does_not() -> None:
    same = [on_gpu(1.0, name, CROSSED) for name in ("mlp-width", "cnn-filters")]
    assert found("C10", *same).verdict == "does not hold here"
    assert found("C10", same[0]).verdict == LACKS
    holds = found("C10", on_gpu(2.0, "mlp-width", CROSSED))
    assert holds.verdict == "holds here"
    assert "crossover with transfer over crossover without 2.0" in page([holds], [], [])
    none = [replace(one, certificate="", reason=NO_CROSSOVER) for one in same]
    assert (found("C10", *none).verdict, found("C10", *none).why) == ("cannot tell", NO_CROSSOVER)


def timed(workload: str, **ms: float) -> tuple[Time, ...]:
    """By variant and threads, like `default_1`, on the processor; `gpu_...` on the GPU."""
    times = []
    for name, own in ms.items():
        device, (variant, threads) = "cpu", name.removeprefix("gpu_").split("_")
        device = "gpu" if name.startswith("gpu_") else "cpu"
        side = row(1.0).id._replace(workload=workload, variant=variant, device=device)
        times.append(Time(side._replace(threads=int(threads)), own, own * 0.9, own * 1.1))
    return tuple(times)


def test_a_small_network_is_judged_beside_the_fastest_processor_contender() -> None:
    """With one thread, because two are slower."""
    times = timed("mlp-width-64", default_1=1.0, default_2=2.0, gpu_default_1=0.8)

    def said(one: float, two: float) -> str:
        rows = [on_gpu(r, "mlp-width-64", threads=t) for t, r in ((1, one), (2, two))]
        return found("C11", *rows, times=times).verdict

    assert said(0.8, 0.4) == "holds here"
    assert said(0.4, 0.8) == "does not hold here"
    alone = timed("mlp-width-64", default_2=2.0, gpu_default_2=0.8)
    assert found("C11", on_gpu(0.8, "mlp-width-64", threads=2), times=alone).verdict == LACKS


def test_the_processor_must_have_run_what_the_gpu_ran() -> None:
    """Otherwise its fastest contender may not be there."""
    rows = [on_gpu(0.1, name) for name in NETWORKS]
    own = {"default_1": 10.0, "gpu_default_1": 1.0}
    whole = tuple(time for name in NETWORKS for time in timed(name, **own))
    assert found("C15", *rows, times=whole).verdict == "cannot tell"  # at the limit
    assert found("C15", *(on_gpu(0.05, n) for n in NETWORKS), times=whole).verdict == "holds here"
    assert found("C15", on_gpu(0.2, "lstm"), times=whole).verdict == "does not hold here"
    assert found("C15", *rows, times=(*whole, *timed("lstm", gpu_tuned_1=1.0))).verdict == LACKS


def test_a_gpu_is_faster_in_operation_and_networks_with_and_without_transfer() -> None:
    names = ["divide", "mlp", "mnist-cnn"]
    times = tuple(
        time for name in names for time in timed(name, default_1=2.0, tuned_1=1.0, gpu_tuned_1=0.5)
    )

    def both(moved: float, names: list[str], **changed: Any) -> Judgement:
        rows = [
            on_gpu(ratio, name, pair, **{"variant": "tuned", **changed})
            for name in names
            for pair, ratio in ((STEPS_ALONE, 0.5), (STEPS_MOVED, moved))
        ]
        return found("C01", *rows, times=times)

    assert both(0.8, names).verdict == "holds here"
    assert both(1.3, names).verdict == "does not hold here"
    some = both(0.8, names[1:])
    assert some.verdict == "cannot tell" and some.why.startswith("not measured: ")
    assert both(0.8, names, variant="default").verdict == LACKS  # not the fastest
    alone = [on_gpu(0.5, name, STEPS_ALONE, variant="tuned") for name in names]
    half = found("C01", *alone, times=times)
    assert half.verdict == "cannot tell"
    assert "transfer and step on GPU over transfer and step on CPU" in half.why


def test_twice_the_batch_is_cheap_on_a_gpu_if_it_is_dearer_on_a_processor() -> None:
    def doubled(gpu: float, host: float | None, threads: int = 1) -> Judgement:
        rows = [on_gpu(gpu, TWICE.one, TWICE)]
        if host:
            rows.append(row(host, pair=TWICE, workload=TWICE.one, threads=threads))
        return found("C14", *rows)

    assert doubled(1.1, 1.9).verdict == "holds here"
    assert doubled(1.6, 1.9).verdict == "does not hold here"
    falls = doubled(1.3, 1.2)
    assert falls.verdict == "does not hold here"
    assert "twice the batch on GPU over twice the batch on CPU 1.08" in page([falls], [], [])
    for alone in (doubled(1.1, None), doubled(1.1, 1.9, threads=2)):
        assert alone.verdict == "cannot tell"
        assert alone.why == "not measured: twice the batch on GPU over twice the batch on CPU"


BATCHES = [f"{network}-batch-{2**size}" for network in ("cnn", "mlp") for size in range(3, 11)]


def test_a_gpu_gains_from_a_larger_batch_or_does_not() -> None:
    def swept(factor: float, names: list[str] = BATCHES) -> list[MeasuredRatio]:
        """The ratio is multiplied by `factor` whenever the batch doubles."""
        return [on_gpu(factor**place, name) for place, name in enumerate(names)]

    cnn, mlp = BATCHES[:8], BATCHES[8:]
    holds = found("C13", *swept(0.8, cnn), *swept(0.9, mlp))
    assert holds.verdict == "holds here"
    (one,) = holds.deciding  # the nearest to 1
    assert one.id.workload == "mlp-batch" and one.known.ratio == pytest.approx(0.9)
    assert "each doubling of the batch on GPU over each doubling of the batch on CPU 0.9" in page(
        [holds], [], []
    )
    assert found("C13", *swept(0.8, cnn), *swept(1.1, mlp)).verdict == "does not hold here"
    assert found("C13", *swept(0.8, cnn), *swept(1.0, mlp)).verdict == "cannot tell"
    alone = found("C13", *swept(0.8, cnn))
    assert (alone.verdict, alone.why) == ("cannot tell", "not measured: mlp-batch")
    assert found("C13", *swept(0.8, cnn[:2])).verdict == LACKS  # no line through two
    rows = swept(0.8, cnn)
    refused = replace(rows[3], certificate="", reason="differs in a bias")
    unsure = found("C13", *rows[:3], refused, *rows[4:], *swept(0.8, mlp))
    assert (unsure.verdict, unsure.why) == ("cannot tell", "differs in a bias")


def test_the_error_of_a_trend_is_that_of_least_squares() -> None:
    """Over three sizes it is that of half the difference of the outer two."""
    rows = [on_gpu(ratio, name) for ratio, name in zip((0.5, 0.9, 0.7), BATCHES, strict=False)]
    (one,) = trends(planted(*rows, hardware=("cpu", "gpu")))
    assert one.known.ratio == pytest.approx((0.7 / 0.5) ** 0.5)
    assert one.error == pytest.approx(math.hypot(rows[0].error, rows[2].error) / 2)


SIDES = [("jax", "pytorch"), ("tensorflow", "pytorch"), ("jax", "tensorflow")]


def spread(workload: str, device: str, *ratios: float) -> list[MeasuredRatio]:
    return [
        row(own, workload=workload, device=device, pair=Pair("framework", *sides), framework="jax")
        for own, sides in zip(ratios, SIDES, strict=False)
    ]


def test_frameworks_are_closer_on_a_gpu_or_are_not() -> None:
    def networks(gpu: float, few: int = 3) -> list[MeasuredRatio]:
        return [
            one
            for number, name in enumerate(NETWORKS)
            for one in (
                *spread(name, "cpu", 2.0, 1.5, 1.3),
                *spread(name, "gpu", *[1 / gpu if number < 4 else 9.0, 1.1, 1.2][:few]),
            )
        ]

    holds = found("C50", *networks(1.5))
    (one,) = holds.deciding
    assert holds.verdict == "holds here" and one.known.ratio == pytest.approx(0.75, rel=0.01)
    assert "every framework, default, 1 thread: the slowest over the fastest on GPU over" in page(
        [holds], [], []
    )
    assert found("C50", *networks(3.0)).verdict == "does not hold here"
    # Two frameworks on a GPU are not set beside three on a processor.
    assert found("C50", *networks(1.5, few=1)).verdict == LACKS
    bad = [own.id for own in spread("fcn-s", "gpu", 1.0)]
    refused = [
        replace(own, certificate="", reason="differs in a bias") if own.id in bad else own
        for own in networks(1.5)
    ]
    unsure = found("C50", *refused)
    assert (unsure.verdict, unsure.why) == ("cannot tell", "differs in a bias")


def test_the_table_of_a_study_is_read(found: Callable[[Recipe], Findings]) -> None:
    own = study("sweep", recorded([found(SWEEP)]))
    assert own.hardware == {"cpu", "gpu"}
    (crossed,) = own.of(CROSSED)
    assert crossed.id.workload == "mlp" and crossed.known.ratio == pytest.approx(2, rel=0.1)
    steps = own.of(Pair(RESIDENT, "gpu", "cpu"))
    assert [round(one.known.ratio, 1) for one in steps] == [2.0, 1.0, 0.5, 0.2, 0.1]
