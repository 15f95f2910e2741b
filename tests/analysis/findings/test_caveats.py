"""Each caveat is in the report if its fact is in the records, and only then."""

from collections.abc import Callable
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
from analysis.report.caveats.registry import caveats
from frameworks.workloads import load, to_dict
from tests.analysis.recipe import ENVIRONMENT, Recipe
from tests.analysis.synthetic import copied
from workflows.records.columns import PHASES
from workflows.records.schema import ContestRecord, TurnRecord

QUIET = {**ENVIRONMENT, "virtualisation": {"hypervisor": False, "machine": "", "container": ""}}
QUIET["cpu"] = {**ENVIRONMENT["cpu"], "governor": "performance", "turbo": "off"}  # type: ignore[dict-item]
SOUND = Recipe(workloads=("mlp",), threads=(1,), variants=("tuned",), system_info=QUIET)
Make = Callable[[Recipe], Findings]


def said(findings: Findings, machines: int = 2) -> list[str]:
    return [caveat.text for caveat in caveats(findings, machines)]


@pytest.fixture
def sound(found: Make) -> Findings:
    return found(SOUND)


def test_nothing_to_say(sound: Findings) -> None:
    assert said(sound) == []


def test_one_machine(sound: Findings) -> None:
    assert said(sound, machines=1) == [
        "This is one machine; ratios differ between machines. Measure on another, and give the "
        "report the folders of both."
    ]


def dirty(contest: ContestRecord) -> None:
    contest.code.dirty = True


def no_commit(contest: ContestRecord) -> None:
    contest.code.commit = ""


def other_code(contest: ContestRecord) -> None:
    contest.code.commit = f"{contest.replicate}"


def other_configuration(contest: ContestRecord) -> None:
    contest.configuration = f"{contest.replicate}"


def virtual(contest: ContestRecord) -> None:
    contest.system_info["virtualisation"] = {"machine": "KVM", "container": "docker"}


def virtual_in_a_word(contest: ContestRecord) -> None:
    contest.system_info["virtualisation"] = "kvm"


def started_anew(contest: ContestRecord) -> None:
    contest.system_info["system"] = {"boot": "before" if contest.replicate < 3 else "after"}


def no_governor(contest: ContestRecord) -> None:
    contest.system_info["cpu"]["governor"] = "not readable"


def newer_version(contest: ContestRecord) -> None:
    contest.contenders[0].versions["torch"] = f"2.{contest.replicate}"


def threads_changed(contest: ContestRecord) -> None:
    contest.contenders[0].settings["intra_threads"] = contest.replicate


def other_mode(contest: ContestRecord) -> None:
    for contender in contest.contenders:
        contender.settings["mode"] = "inference"
    contest.contenders[0].settings["mode"] = "training"


def no_probes(contest: ContestRecord) -> None:
    for contender in contest.contenders:
        contender.settings.pop("same_padding", None)
        contender.settings.pop("put", None)


def failed(contest: ContestRecord) -> None:
    if contest.replicate > 3:
        contest.contenders[0].status = "failed"


@pytest.mark.parametrize(
    ("threads", "fraction", "hypervisor", "kernel", "warned"),
    [
        (2, "0", True, "Linux 6.18.44", True),
        (2, "0", True, "Linux 7.0", True),
        (2, "1000", True, "Linux 6.18.44", False),
        (1, "0", True, "Linux 6.18.44", False),
        (2, "0", False, "Linux 6.18.44", False),
        (2, "0", True, "Linux 6.1.140", False),
    ],
)
def test_pages_kept_by_cores(
    found: Make, threads: int, fraction: str, hypervisor: bool, kernel: str, warned: bool
) -> None:
    system_info = {
        **QUIET,
        "memory": {"pages_kept_by_core": fraction},
        "virtualisation": {"hypervisor": hypervisor, "machine": "", "container": "docker"},
        "system": {"kernel": kernel},
    }
    recipe = replace(SOUND, threads=(threads,), system_info=system_info)
    texts = said(found(recipe))
    assert any("percpu_pagelist_high_fraction" in text for text in texts) == warned


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (dirty, "The code differed from its commit"),
        (no_commit, "samestep ran outside a clone, so its commit is unknown"),
        (other_code, "Contests ran with different versions of the code"),
        (other_configuration, "Contests ran under different configurations"),
        (virtual, "The machine is a docker container in a KVM virtual machine"),
        (virtual_in_a_word, "The machine is a kvm virtual machine"),
        (started_anew, "The machine was started anew between replicates (2 and 5 of them)"),
        (no_governor, "The processor's governor cannot be read here"),
        (newer_version, "Versions changed between contests: versions.pytorch.torch"),
        (threads_changed, "Settings that changed between replicates: intra_threads"),
        (
            other_mode,
            "mode (PyTorch: training; TensorFlow: inference) should be equal and is not: "
            "MLP, tuned, CPU, 1 thread. Do not rely",
        ),
        (
            no_probes,
            "Not read back in these records: SAME padding with stride 2 and arrays of the caller.",
        ),
        (failed, "MLP, PyTorch, tuned, 1 thread. What is missing has the reasons;"),
        (failed, "A ratio rests on 3 replicates only, so its interval is wide."),
    ],
)
def test_records(sound: Findings, change: Callable[[ContestRecord], None], expected: str) -> None:
    findings = copied(sound)
    for contest in findings.machine.records.contests:
        change(contest)
    found = said(findings)
    assert any(text.startswith(expected) for text in found), found


@pytest.mark.parametrize(
    ("column", "factor", "add", "expected"),
    [
        ("switches", 0, 40, "2 of 2 contenders lost a core more than 100 times a second, up to "),
        ("cpu_ns", 0.5, 0, "2 contenders had less than a whole processor, down to 4"),
        ("loss", float("nan"), 0, "Losses that are not finite: pytorch/tuned/cpu/1"),
    ],
)
def test_batches(sound: Findings, column: str, factor: float, add: int, expected: str) -> None:
    batches = sound.machine.batches.copy()
    batches[column] = batches[column] * factor + add
    found = said(Findings(replace(sound.machine, batches=batches)))
    assert any(text.startswith(expected) for text in found), found


def test_words_that_stand_in_for_a_text(sound: Findings) -> None:
    findings = copied(sound)
    findings.machine.records.datasets[0].kind = "tokens"
    findings.machine.records.datasets[0].source = "random words, a stand-in for a text"
    (text,) = said(findings)
    assert text.startswith("MLP trains on random words, a stand-in for a text. Times hardly ")


def test_reference_that_was_not_measured(found: Make) -> None:
    (text, *_) = said(found(replace(SOUND, reference="jax")))
    assert text.startswith("JAX was not measured; ratios refer to PyTorch. Set ")


def test_every_caveat_says_what_to_do(found: Make) -> None:
    recipe = replace(
        Recipe(), smoke=True, mnist="stand-in", replicates=2,
        refused=("pytorch/tuned/cpu/1",), controls=[(0.0, 1.2)], controlled="default",
        absent={("mlp", 2, "tensorflow/tuned/cpu/2"): "out of memory"},
    )  # fmt: skip
    said = caveats(found(recipe), 1)
    assert len(said) > 7
    for caveat in said:
        assert caveat.seen.endswith(".") and caveat.do.endswith(".")
        assert caveat.seen[0].isupper() or caveat.seen[0].isdigit(), caveat.seen
        assert len(caveat.do.split()) <= 20


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


def test_updates_that_float32_loses_are_named(found: Make) -> None:
    findings = copied(found(replace(SOUND, float64_turns=True)))
    assert said(findings) == []
    for record in findings.machine.records.certificates:
        assert record.turns
        first, *_ = record.turns.weights
        record.turns.weights[first] = record.turns.start[first]
    (text,) = said(findings)
    assert f"loses most of their updates: {first} of MLP (1 of " in text


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
