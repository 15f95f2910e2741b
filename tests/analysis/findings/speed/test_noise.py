"""Caveats of what the machine or a contender did beside the timed steps."""

from dataclasses import replace

import pandas as pd
import pytest

from analysis.data.processes import COLUMNS
from analysis.findings.fairness.loss_check import LossCheck
from analysis.findings.findings import Findings
from analysis.findings.speed.off_clock import (
    OFF_CLOCK,
    OffClockLine,
    between_ms,
    late_ms,
    off_clock_lines,
)
from analysis.findings.speed.use import USE, Limit, UseLine
from frameworks.workloads import load, to_dict
from tests.analysis.findings.conftest import SOUND, Make, said
from tests.analysis.synthetic import copied
from workflows.records.columns import PHASES
from workflows.records.schema import TurnRecord


@pytest.mark.parametrize(("first", "warned"), [(25, True), (30, False), (None, False)])
def test_turns_of_which_most_steps_cannot_be_compared(
    sound: Findings, monkeypatch: pytest.MonkeyPatch, first: int | None, warned: bool
) -> None:
    check = LossCheck(1e-3, in_float64=True, first=first, share=(first or 60) / 60)
    monkeypatch.setattr(Findings, "loss_check", check)
    found = [text for text in said(sound) if "of a turn could be compared" in text]
    assert len(found) == warned
    assert all("Only the first 25 steps of a turn" in text and "41.7 % of it" in text
               for text in found)  # fmt: skip


@pytest.mark.parametrize(("outside_s", "warned"), [(None, False), (0.01, False), (0.5, True)])
def test_work_while_nothing_is_timed(
    sound: Findings, outside_s: float | None, warned: bool
) -> None:
    """Six mini-batches of a turn take 0.3 s of processor time."""
    findings = copied(sound)
    for contest in findings.machine.records.contests:
        contest.turns = [
            TurnRecord(
                round=number, position=0, contender="pytorch/tuned/cpu/1", start_ns=0, cores=1,
                duration_s=0.4, switches=0, outside_s=outside_s if number else 9.0,
            )
            for number in range(9)
        ]  # fmt: skip
    found = said(findings)
    assert any(text.startswith("1 contender worked while nothing") for text in found) == warned
    rows = {row.id.who: row for row in off_clock_lines(findings) if row.processor_ms is not None}
    assert list(rows) == ([] if outside_s is None else ["PyTorch tuned"])
    if warned:
        assert rows["PyTorch tuned"].share == pytest.approx(0.5 / 0.3, rel=0.1)


@pytest.mark.parametrize(
    ("device", "share", "warned"),
    [("cpu", 0.02, False), ("cpu", 0.04, True), ("gpu", 0.04, False), ("gpu", 0.06, True)],
)
def test_time_between_steps_that_others_do_not_take(
    sound: Findings, monkeypatch: pytest.MonkeyPatch, device: str, share: float, warned: bool
) -> None:
    """A loss is copied from a GPU, which takes longer."""
    one = next(iter(sound.measured))._replace(device=device)
    row = OffClockLine(one, None, None, 0.1 + 10 * share, 10 * share, None, 10.0)
    monkeypatch.setattr(OFF_CLOCK, "of", lambda findings: [row])
    found = [text for text in said(sound) if text.startswith("1 contender took longer than")]
    assert bool(found) == warned and all(
        f"by up to {100 * share:.0f} % of a step (`" in text for text in found
    )


@pytest.mark.parametrize(
    ("put_off", "single_ms", "expected_ms"), [(0.0, 0, 0.1), (0.4, 0, 3.2), (0.0, 500, 0.1)]
)
def test_work_put_off_in_fewer_than_half_of_the_steps_is_seen(
    put_off: float, single_ms: int, expected_ms: float
) -> None:
    """A step takes 8 ms: in the step, or after it. One long wait is none of the contender's."""
    rows, start = [], 0
    for number in range(100):
        late = number % 10 < 10 * put_off
        step_ns = 0 if late else 8_000_000
        place = ("mlp", "pytorch", "tuned", "cpu", 1, 1, number // 10 + 1, number)
        rows.append((*place, start, 0, 0, step_ns, 1))
        start += 8_100_000 + (single_ms * 1_000_000 if number == 55 else 0)
    names = [*COLUMNS, "replicate", "round", "step", "start_ns", *PHASES, "weight"]
    (found,) = between_ms(pd.DataFrame(rows, columns=names)).values()
    assert found == pytest.approx(expected_ms, rel=0.15)


@pytest.mark.parametrize(
    ("device", "spun_ms", "computed", "warned"),
    [("cpu", 8.6, 16, False), ("cpu", 20, 16, True), ("cpu", 8.6, 1, True), ("gpu", 8.6, 1, False),
     ("gpu", 20, 1, True)],
)  # fmt: skip
def test_threads_that_spin_after_a_turn(
    sound: Findings,
    monkeypatch: pytest.MonkeyPatch,
    device: str,
    spun_ms: float,
    computed: int,
    warned: bool,
) -> None:
    one = next(iter(sound.measured))._replace(device=device, threads=16)
    monkeypatch.setitem(sound.machine.study.configuration, "contest", {"turn": 4})
    spent_ms, step_ms = 16 * spun_ms / 4, 10.0
    row = OffClockLine(one, spent_ms, spent_ms / (computed * step_ms), 0.1, 0.0, None, step_ms)
    monkeypatch.setattr(OFF_CLOCK, "of", lambda findings: [row])
    assert any(text.startswith("1 contender worked") for text in said(sound)) == warned


@pytest.mark.parametrize(
    ("device", "milliseconds", "warned"),
    [("cpu", 9.0, False), ("cpu", 11.0, True), ("gpu", 90.0, False), ("cpu", None, False)],
)
def test_weights_that_are_computed_when_they_are_read(
    sound: Findings,
    monkeypatch: pytest.MonkeyPatch,
    device: str,
    milliseconds: float | None,
    warned: bool,
) -> None:
    """JAX keeps what it has copied from a GPU."""
    one = next(iter(sound.measured))._replace(device=device)
    row = OffClockLine(one, None, None, 0.1, 0.0, milliseconds, 10.0)
    monkeypatch.setattr(OFF_CLOCK, "of", lambda findings: [row])
    found = [text for text in said(sound) if text.startswith("1 contender took longer to give")]
    assert len(found) == warned and all("by up to 110 % of a step" in text for text in found)


@pytest.mark.parametrize(("others", "warned"), [(0.0, 1), (5.0, 0), (18.0, 0)])
def test_weights_that_take_every_framework_long_are_the_machines_affair(
    sound: Findings, monkeypatch: pytest.MonkeyPatch, others: float, warned: int
) -> None:
    one = next(iter(sound.measured))
    rows = [
        OffClockLine(one._replace(framework=name), None, None, 0.1, 0.0, late, 10.0)
        for name, late in (("pytorch", 14.0), ("tensorflow", others), ("jax", 9.0))
    ]
    monkeypatch.setattr(OFF_CLOCK, "of", lambda findings: rows)
    found = [text for text in said(sound) if "contender took longer to give" in text]
    assert len(found) == warned


def test_how_late_weights_are_is_the_median_of_the_replicates(sound: Findings) -> None:
    findings = copied(sound)
    for contest, late_s in zip(findings.machine.records.contests, (0.1, 0.5), strict=False):
        for contender in contest.contenders:
            if contender.name == "pytorch/tuned/cpu/1":
                contender.late_s = late_s
    assert [*late_ms(findings).values()] == [pytest.approx(300)]


def test_the_worst_three_that_take_longer_are_named(
    sound: Findings, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = next(iter(sound.measured))
    rows = [
        OffClockLine(one._replace(workload=str(number)), None, None, 9.0, number, None, 10.0)
        for number in range(4, 9)
    ]
    monkeypatch.setattr(OFF_CLOCK, "of", lambda findings: rows)
    (text,) = (text for text in said(sound) if text.startswith("5 contenders took longer than"))
    places = [text.index(f"on {number}`") for number in (8, 7, 6)]
    assert places == sorted(places) and "and 2 more). Look" in text, text


@pytest.mark.parametrize("cores", [[0], [0, 1]])
def test_a_contender_that_had_other_cores(sound: Findings, cores: list[int]) -> None:
    findings = copied(sound)
    for contest in findings.machine.records.contests:
        contest.contenders[1].cores = cores
    found = [text for text in said(findings) if "other cores" in text]
    assert len(found) == (cores != [0])
    assert all("with as many threads (`tensorflow/tuned/cpu/1 on mlp`)" in text for text in found)


@pytest.mark.parametrize(
    ("other_s", "steal_s", "warned"),
    [(None, 0.0, False), (-0.1, 0.0, False), (-1.8, 0.0, True), (-1.8, 1.7, False)],
)
def test_a_contender_that_leaves_its_cores_during_a_step(
    sound: Findings, other_s: float | None, steal_s: float, warned: bool
) -> None:
    findings = copied(sound)
    for contest in findings.machine.records.contests:
        contest.turns = [
            TurnRecord(
                round=1, position=0, contender=one.name, start_ns=1, duration_s=2.0, cores=1,
                switches=0, cpu_s=2.0, steal_s=steal_s,
                other_s=other_s if one.variant == "tuned" else 0.0,
            )
            for one in contest.contenders
        ]  # fmt: skip
    found = [text for text in said(findings) if "on other cores than their own" in text]
    assert bool(found) == warned and all("for up to 90 %" in text for text in found)


@pytest.mark.parametrize(
    ("network", "compute_ms", "warned"),
    [("mlp", None, False), ("mlp", 14.0, False), ("mlp", 30.0, True), ("mnist-cnn", 20.0, False)],
)
def test_steps_that_are_faster_than_the_machine(
    sound: Findings, monkeypatch: pytest.MonkeyPatch, network: str, compute_ms: float | None,
    warned: bool,
) -> None:  # fmt: skip
    for work in sound.machine.records.workloads:
        monkeypatch.setattr(work, "description", to_dict(load(network, None)))
    line = UseLine(next(iter(sound.measured)), 10.0, Limit(compute_ms=compute_ms), *[None] * 4)
    monkeypatch.setattr(USE, "of", lambda findings: [line])
    found = [text for text in said(sound) if text.startswith("Steps take less time")]
    assert bool(found) == warned and all("up to 3.0 times less: MLP" in text for text in found)


@pytest.mark.parametrize(
    ("times", "words"),
    [(1.0, ""), (0.5, ""), (2.0, ""), (0.01, "far less processor time"), (20.0, "far more")],
)
def test_processor_time_that_is_far_from_that_of_others(
    found: Make, times: float, words: str
) -> None:
    machine = found(replace(SOUND, variants=("default", "tuned"))).machine
    batches = machine.batches.copy()
    odd = batches["contender"] == "pytorch/default/cpu/1"
    batches.loc[odd, "cpu_ns"] = (batches.loc[odd, "cpu_ns"] * times).astype("int64")
    texts = said(Findings(replace(machine, batches=batches)))
    caveat = [text for text in texts if "processor time on the same arithmetic" in text]
    assert len(caveat) == bool(words)
    assert all(words in text and "(`pytorch/default/cpu/1 on mlp`)" in text for text in caveat)


@pytest.mark.parametrize(("times", "shown"), [(1.0, False), (0.3, False), (0.05, True), (20, True)])
def test_processor_time_of_two_contenders(found: Make, times: float, shown: bool) -> None:
    machine = found(replace(SOUND, frameworks=("pytorch", "jax"), variants=("tuned",))).machine
    batches = machine.batches.copy()
    odd = batches["contender"] == "jax/tuned/cpu/1"
    batches.loc[odd, "cpu_ns"] = (batches.loc[odd, "cpu_ns"] * times).astype("int64")
    texts = said(Findings(replace(machine, batches=batches)))
    (*caveat,) = (text for text in texts if "There is no third contender" in text)
    assert len(caveat) == shown
    less, more = ("jax", "pytorch") if times < 1 else ("pytorch", "jax")
    for text in caveat:
        assert text.startswith(f"`{less}/tuned/cpu/1 on mlp` spent far less processor time")
        assert f"than `{more}/tuned/cpu/1 on mlp`: " in text
