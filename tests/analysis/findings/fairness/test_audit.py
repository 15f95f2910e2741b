"""Statuses of settings, and the audit that the report makes of them."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from analysis.data.results import BenchmarkId
from analysis.findings.fairness.audit import entries, mismatches, whose
from analysis.findings.fairness.certificates import Certificates
from analysis.findings.fairness.checklist import BY_SETTING, CHECKLIST
from analysis.findings.fairness.settings import SettingLine, judged
from analysis.findings.findings import Findings
from analysis.report.caveats.registry import caveats
from analysis.report.figures.style import Theme
from analysis.report.layout import Chapter, Severity
from analysis.report.sections.sameness.differences import (
    STATES,
    declarations,
    difference_table,
    own_ways,
)
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import copied
from workflows.records.schema import ContenderRecord

Make = Callable[[Recipe], Findings]
MLP = ("mlp", "default", "cpu", 2)


@pytest.fixture
def changed(findings: Findings) -> Callable[[Callable[[ContenderRecord], None]], Findings]:
    """The default study with something done to every contender's record."""

    def make(change: Callable[[ContenderRecord], None]) -> Findings:
        found = copied(findings)
        for contest in found.machine.records.contests:
            for contender in contest.contenders:
                if contender.settings:
                    change(contender)
        return found

    return make


def lines(findings: Findings, where: tuple[str, str, str, int] = MLP) -> dict[str, SettingLine]:
    """TensorFlow's, by setting."""
    return {
        line.setting: line
        for line in findings.settings
        if line.id.framework == "tensorflow"
        and (line.id.workload, line.id.variant, line.id.device, line.id.threads) == where
    }


@pytest.mark.parametrize(
    ("setting", "value", "status", "reason"),
    [
        ("intra_threads", "2", "equal", ""),
        ("learning_rate", "0.0010000000474974513", "equal", ""),
        ("layout", "NHWC", "declared", "part of what is compared; a conversion in put counts as"),
        ("epsilon_place", "outside the root, before bias correction", "declared",
         "by the certificate of tensorflow/default/cpu/2"),
        ("effective_epsilon", "3.162e-07", "declared", "by the certificate of"),
        ("mode", "n/a", "n/a", ""),
        ("decay", "not recorded", "n/a", ""),
    ],
)  # fmt: skip
def test_statuses(findings: Findings, setting: str, value: str, status: str, reason: str) -> None:
    line = lines(findings)[setting]
    assert (line.value, line.status) == (value, status)
    assert line.reason.startswith(reason) and bool(line.reason) == bool(reason)


def test_nothing_is_mismatched_in_a_sound_study(findings: Findings) -> None:
    assert {line.status for line in findings.settings} == {"equal", "declared", "n/a", ""}
    assert mismatches(findings.settings) == []


def test_a_difference_that_nobody_declares_is_a_mismatch_and_heads_the_report(
    changed: Callable[[Callable[[ContenderRecord], None]], Findings],
) -> None:
    def both_sides(contender: ContenderRecord) -> None:
        if "same_padding" in contender.settings:
            torch = contender.framework == "pytorch"
            contender.settings["same_padding"] = "both sides" if torch else "bottom and right"

    found = changed(both_sides)
    assert lines(found)["same_padding"].status == "mismatched"
    (said,) = [one for one in caveats(found, 2) if one.heading == "Mismatched"]
    assert said.severity is Severity.WARNING
    assert said.seen == (
        "same padding (PyTorch: both sides; TensorFlow: bottom and right) should be equal and is "
        "not: MLP and MNIST CNN, as in the tutorials and tuned, CPU, 1 and 2 threads."
    )
    table = difference_table(found)
    assert table and table.rows[0][0] == "SAME padding with stride 2 (should be equal)"
    first = entries(found.settings)[0]
    assert (first.title, first.status) == ("SAME padding with stride 2", "mismatched")
    assert first.values == {"pytorch": "both sides", "tensorflow": "bottom and right"}


@pytest.mark.parametrize(
    ("setting", "value", "usual"),
    [("precision", "float64", "float32"), ("restart", "remembers", "forgets"),
     ("same_padding", "both sides", "bottom and right")],
)  # fmt: skip
def test_a_difference_in_what_is_computed_withholds_the_ratio(
    changed: Callable[[Callable[[ContenderRecord], None]], Findings],
    setting: str, value: str, usual: str,
) -> None:  # fmt: skip
    def other(contender: ContenderRecord) -> None:
        if contender.settings:
            contender.settings[setting] = usual
        if contender.name == "tensorflow/tuned/cpu/1":
            contender.settings |= {setting: value, "layout": "NCHW"}

    found = changed(other)
    refused = [row for row in found.comparisons if row.estimate.verdict == "refused"]
    assert {row.id.contender for row in refused} == {"tensorflow/tuned/cpu/1"}
    assert refused[0].reason == (
        f"{setting}: {value} (tensorflow/tuned/cpu/1), {usual} (pytorch/tuned/cpu/1), and no "
        "certificate declares it"
    )
    assert all(row.estimate.verdict != "refused" for row in found.pairs if row.axis == "workload")


def test_an_optimiser_is_declared_only_by_a_certificate(
    changed: Callable[[Callable[[ContenderRecord], None]], Findings],
) -> None:
    """With the numbers that it is read back with: a certificate has shown what it does."""

    def other_epsilon(contender: ContenderRecord) -> None:
        if "effective_epsilon" in contender.settings:
            contender.settings["epsilon"] = 1e-8
            if contender.framework == "tensorflow":
                contender.settings |= {"effective_epsilon": 3.2e-7, "epsilon": 1e-7}

    found = changed(other_epsilon)
    for name in ("effective_epsilon", "epsilon"):
        assert lines(found)[name].status == "declared"
        assert lines(found, ("mlp", "tuned", "cpu", 2))[name].status == "mismatched"


def test_settings_of_a_refused_contender_are_no_cause_beside_the_certificates(found: Make) -> None:
    machine = found(Recipe(workloads=("mlp",), threads=(1,))).machine
    for contest in machine.records.contests:
        for contender in contest.contenders:
            if contender.framework == "tensorflow" and contender.settings:
                contender.settings["loss_reduction"] = "sum"
    headings = [one.heading for one in caveats(Findings(machine), 2)]
    assert "Mismatched" in headings and "Refused" in headings  # undeclared, so without a ratio
    for certificate in machine.records.certificates:
        for row in certificate.rows:
            if row.framework == "tensorflow":
                row.status, row.reason = "refused", "loss differs"
    headings = [one.heading for one in caveats(Findings(machine), 2)]
    assert "Mismatched" not in headings and "Refused" in headings


def test_a_declared_deviation_does_not_cover_the_other_sides_number(found: Make) -> None:
    machine = found(Recipe(workloads=("mlp",), threads=(1,))).machine
    for contest in machine.records.contests:
        for contender in contest.contenders:
            if contender.framework == "pytorch" and contender.settings:
                contender.settings["learning_rate"] = 0.01
    status = {
        (line.id.framework, line.status)
        for line in Findings(machine).settings
        if line.setting == "learning_rate" and line.id.variant == "default"
    }
    assert status == {("pytorch", "mismatched"), ("tensorflow", "mismatched")}


def test_one_declared_deviation_does_not_cover_two_others(found: Make) -> None:
    recipe = Recipe(workloads=("mlp",), frameworks=("pytorch", "tensorflow", "jax"), threads=(1,))
    machine = found(recipe).machine
    for contest in machine.records.contests:
        for contender in contest.contenders:
            if contender.framework == "jax" and contender.settings:
                contender.settings["effective_epsilon"] = 1e-5
    status = {
        line.id.framework: line.status
        for line in Findings(machine).settings
        if line.setting == "effective_epsilon" and line.id.variant == "default"
    }
    assert status == {"pytorch": "mismatched", "tensorflow": "declared", "jax": "mismatched"}


def test_whoever_differs_from_all_others_is_the_one_that_is_mismatched(found: Make) -> None:
    recipe = Recipe(workloads=("mlp",), frameworks=("pytorch", "tensorflow", "jax"), threads=(1,))
    machine = found(recipe).machine
    for contest in machine.records.contests:
        for contender in contest.contenders:
            if contender.name == "jax/tuned/cpu/1":
                contender.settings["same_padding"] = "both sides"
    findings = Findings(machine)
    status = {
        line.id.framework: (line.status, line.reason)
        for line in findings.settings
        if line.setting == "same_padding" and line.id.variant == "tuned"
    }
    odd = ("equal", "but for jax/tuned/cpu/1: both sides")
    assert status == {"pytorch": odd, "tensorflow": odd, "jax": ("mismatched", "")}
    assert mismatches(findings.settings)[0][0] == (
        "same padding (PyTorch: as it should be; JAX: both sides; TensorFlow: as it should be)"
    )
    assert entries(findings.settings)[0].status == "mismatched"


@pytest.mark.parametrize("fastest", [False, True])
def test_one_odd_contender_costs_the_others_no_place_beside_the_fastest(
    found: Make, fastest: bool
) -> None:
    """Although it is faster than they are."""
    recipe = Recipe(
        workloads=("mlp",), frameworks=("pytorch", "tensorflow", "jax"), variants=("default",),
        threads=(1,), ms={("mlp", "jax", "default"): 10.0}, fastest=fastest,
    )  # fmt: skip
    machine = found(recipe).machine
    for contest in machine.records.contests:
        for contender in contest.contenders:
            if contender.framework == "jax" and contender.settings:
                contender.settings["precision"] = "float64"
    findings = Findings(machine)
    lines = {line.id.framework: line for line in findings.matrix if line.id.device == "cpu"}
    assert {line.base.framework for line in lines.values() if line.base} == {"tensorflow"}
    assert lines["pytorch"].estimate.ratio and not lines["jax"].estimate.ratio
    assert "precision: float64 (jax/default/cpu/1)" in lines["jax"].reason
    refused = [r.id.framework for r in findings.comparisons if r.estimate.verdict == "refused"]
    assert refused == ["jax"]


def test_of_many_only_those_that_differ_are_named(found: Make) -> None:
    ways = [("pytorch", f"way-{number}") for number in range(3)]
    recipe = Recipe(workloads=("mlp",), frameworks=("pytorch", "tensorflow"), threads=(1,))
    lines = [line for line in found(replace(recipe, opted=ways)).settings
             if line.setting == "same_padding"]  # fmt: skip
    assert len(lines) == 7
    odd = replace(lines[0], value="both sides", status="mismatched")
    assert whose([odd, *lines[1:]]) == "PyTorch: both sides; 6 others: as it should be"
    assert "others" not in whose([odd, *lines[1:6]])


def test_state_may_be_declared_beside_an_optimiser(found: Make) -> None:
    recipe = Recipe(workloads=("mlp",), frameworks=("pytorch", "tensorflow"), threads=(1,))
    machine = found(recipe).machine
    for contest in machine.records.contests:
        for contender in contest.contenders:
            if contender.framework == "tensorflow" and contender.settings:
                contender.settings["batch_norm_variance"] = "biased"
    for record in machine.records.certificates:
        for row in record.rows:
            if row.status == "declared":
                row.reason += "; state.batch_norm.variance: another average"
                row.state = {"batch_norm1.variance": 0.002}
    findings = Findings(machine)
    status = {
        line.id.variant: line.status
        for line in findings.settings
        if line.setting == "batch_norm_variance" and line.id.framework == "tensorflow"
    }
    assert status == {"default": "declared", "tuned": "mismatched"}
    (said,) = declarations(findings)
    assert "within 10 steps, state 2.0e-3." in said


def test_what_could_not_be_probed_is_held_against_nobody(
    changed: Callable[[Callable[[ContenderRecord], None]], Findings],
) -> None:
    def refuses(contender: ContenderRecord) -> None:
        if contender.framework == "tensorflow" and "put" in contender.settings:
            contender.settings["put"] = "not supported: out of memory"

    found = changed(refuses)
    assert lines(found)["put"].status == "n/a"
    assert mismatches(found.settings) == []


@pytest.mark.parametrize(("threads", "status"), [(2, "mismatched"), (16, "declared")])
def test_frameworks_divide_work_differently_among_many_threads(
    findings: Findings, threads: int, status: str
) -> None:
    one = BenchmarkId("mlp", "jax", "default", "cpu", threads)
    rival = {one._replace(framework="pytorch"): str(threads)}
    item = BY_SETTING["computing_threads"]
    known = Certificates(findings.machine)
    assert judged(item, item.settings[0], one, "1", rival, known)[0] == status


def test_the_audit_has_every_item(findings: Findings) -> None:
    found = {one.title: one for one in entries(findings.settings)}
    assert set(found) == {item.title for item in CHECKLIST}
    assert all(one.status != "not recorded" for one in found.values())
    assert found["optimiser's epsilon"].values["tensorflow"] == (
        "effective epsilon: 3.162e-7 (default), 1e-8 (tuned); epsilon place: outside the root, "
        "before bias correction (default), outside the root (tuned)"
    )
    assert found["optimiser's epsilon"].where == "default"
    assert found["threads at work"].values["pytorch"] == "1 (1 thread), 2 (2 threads)"
    assert found["threads"].values["pytorch"] == (
        "inter threads: 1; intra threads: 1 (1 thread), 2 (2 threads)"
    )
    assert found["gradient of the input"].status == "equal"
    assert [one.status for one in entries(findings.settings)] == sorted(
        (one.status for one in found.values()), key=["declared", "equal", "n/a"].index
    )


def test_what_an_older_study_lacks_is_not_recorded(
    changed: Callable[[Callable[[ContenderRecord], None]], Findings],
) -> None:
    found = changed(lambda contender: contender.settings.pop("initial_weights", None) and None)
    last = entries(found.settings)[-1]
    assert (last.title, last.status) == ("initial weights", "not recorded")
    assert set(last.values.values()) == {"not recorded"}


def test_a_setting_beyond_the_catalogue_must_be_equal_too(
    changed: Callable[[Callable[[ContenderRecord], None]], Findings],
) -> None:
    def extra(contender: ContenderRecord) -> None:
        contender.settings["sparsity"] = contender.framework == "pytorch"

    found = changed(extra)
    assert lines(found)["sparsity"].status == "mismatched"
    assert entries(found.settings)[0].values == {"pytorch": "yes", "tensorflow": "no"}


def test_what_is_only_stated_is_marked(changed: Callable[..., Findings]) -> None:
    """And compared like everything else."""

    def state(contender: ContenderRecord) -> None:
        if contender.framework == "tensorflow":
            contender.stated = [
                "compilation",
                "learning_rate",
                "mode",
                "cudnn_autotune",
                "relu_and_pool",
            ]

    found = changed(state)
    own = lines(found)
    assert own["compilation"].value == "tf.function (stated)"
    assert (own["learning_rate"].status, own["mode"].status) == ("equal", "n/a")
    assert own["mode"].value == "n/a (stated)"  # it computes, and PyTorch has a value
    assert own["cudnn_autotune"].value == own["relu_and_pool"].value == "n/a"
    (audited,) = [one for one in entries(found.settings) if one.title == "compilation"]
    assert audited.values == {"pytorch": "none", "tensorflow": "tf.function (stated)"}
    (numbers,) = [one for one in entries(found.settings) if "numbers" in one.title]
    assert "0.001 (stated)" in numbers.values["tensorflow"]
    for study, marked in ((found, True), (changed(lambda contender: None), False)):
        parts = own_ways(Chapter(study, Theme((), ()), 1, []))
        assert (STATES in [getattr(part, "text", "") for part in parts]) == marked
