"""Each caveat is in the report if its fact is in the records, and only then."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from analysis.findings.findings import Findings
from analysis.report.caveats.registry import caveats
from tests.analysis.findings.conftest import QUIET, SOUND, Make, said
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import copied
from workflows.records.schema import ContestRecord


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


def test_updates_that_float32_loses_are_named(found: Make) -> None:
    findings = copied(found(replace(SOUND, float64_turns=True)))
    assert said(findings) == []
    for record in findings.machine.records.certificates:
        assert record.turns
        first, *_ = record.turns.weights
        record.turns.weights[first] = record.turns.start[first]
    (text,) = said(findings)
    assert f"loses most of their updates: {first} of MLP (1 of " in text
