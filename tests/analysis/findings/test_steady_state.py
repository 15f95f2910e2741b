"""A contender that alone drifts is named and has no ratio; nothing else holds a ratio back."""

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.findings.comparisons import Comparison
from analysis.findings.findings import Findings
from analysis.findings.steady_state import SteadyLine, relative_drifts
from analysis.report.caveats.registry import caveats
from analysis.report.layout import Severity
from analysis.report.sections.measuring.times import steadiness
from analysis.stats.inference import Estimate
from tests.analysis.recipe import Recipe

SMALL = Recipe(workloads=("mlp",), threads=(1,), process_sd=0.01, batch_sd=0.01)
WHO = "tensorflow/tuned/cpu/1"
Change = Callable[[pd.DataFrame], "pd.Series[float]"]


def changed(findings: Findings, factor: Change, who: str = WHO) -> Findings:
    """With the times of one contender multiplied."""
    batches = findings.machine.batches.copy()
    mine = batches["contender"] == who
    batches.loc[mine, "ms"] *= factor(batches[mine])
    return Findings(replace(findings.machine, batches=batches))


@pytest.fixture
def quiet(found: Callable[[Recipe], Findings]) -> Findings:
    return found(SMALL)


def line_of(findings: Findings, who: str = WHO) -> SteadyLine:
    return next(line for line in findings.steady if line.id.contender == who)


def tuned(findings: Findings) -> Comparison:
    return next(
        row for row in findings.comparisons if row.id.variant == "tuned" and row.id.device == "cpu"
    )


def drifting(size: float) -> Change:
    """Slower by `size` in the last three of eight rounds."""
    return lambda rows: 1 + size * (rows["round"] >= 6)


def headings(findings: Findings) -> list[str]:
    return [one.heading for one in caveats(findings, 2) if one.severity is Severity.WARNING]


def test_a_quiet_study_is_steady(quiet: Findings) -> None:
    assert [line.id.contender for line in quiet.steady] == [
        "pytorch/default/cpu/1", "tensorflow/default/cpu/1", "pytorch/tuned/cpu/1", WHO,
    ]  # fmt: skip
    for line in quiet.steady:
        assert line.steady and line.replicates == 7 and line.reason == ""
        assert line.drift.low is not None and line.drift.high is not None
        assert line.drift.value is not None and line.drift.low < line.drift.value < line.drift.high
        assert abs(line.drift.value) < 0.02
    assert headings(quiet) == []


def test_warm_up_is_what_the_contests_dealt(quiet: Findings) -> None:
    dealt = quiet.machine.batches
    assert quiet.batches["warmup"].tolist() == dealt["warmup"].tolist()
    (line,) = [c for c in quiet.contenders if c.id.contender == WHO]
    assert line.batches == 7 * 8 * 4


@pytest.mark.parametrize(("size", "what"), [(0.2, "more"), (-0.2, "less")])
def test_who_alone_drifts_is_named_and_has_no_ratio(
    quiet: Findings, size: float, what: str
) -> None:
    drifted = changed(quiet, drifting(size))
    line = line_of(drifted)
    assert not line.steady and line.drift.value == pytest.approx(size, abs=0.02)
    row = tuned(drifted)
    assert row.estimate == Estimate(verdict="no steady state")
    found = re.match(
        rf"mini-batches of {WHO} took (\S+) % {what} time in the last third", row.reason
    )
    assert found and float(found[1]) == pytest.approx(20, abs=2)
    (caveat,) = (one for one in caveats(drifted, 2) if one.heading == "No steady state")
    said = (
        f"TensorFlow, tuned, came to take {found[1]} % {what} time (MLP, 1 thread), and the others"
    )
    assert said in caveat.seen
    assert "no steady state" in [one.status for one in drifted.missing]
    # its times are shown, and the others are compared as before
    (own,) = (c for c in drifted.contenders if c.status == "no steady state")
    assert own.time.value and own.samples_per_s
    assert [one.verdict for one in (r.estimate for r in drifted.comparisons)].count("faster") == 1
    assert all(line.steady for line in drifted.steady if line.id.contender != WHO)


def test_a_change_of_the_machine_holds_nothing_back(quiet: Findings) -> None:
    slower = quiet
    for who in sorted(set(quiet.machine.batches["contender"])):
        slower = changed(slower, drifting(0.5), who)
    for before, after in zip(quiet.steady, slower.steady, strict=True):
        assert after.drift.value == pytest.approx(before.drift.value, abs=1e-9) and after.steady
    assert tuned(slower).estimate.ratio == pytest.approx(tuned(quiet).estimate.ratio, rel=1e-6)


def test_a_drift_that_is_not_sure_is_named_and_keeps_its_ratio(quiet: Findings) -> None:
    """5.6 % in the middle, with an interval that reaches below the margin of 3 %."""
    wavering = changed(
        quiet, lambda rows: 1 + (0.008 + 0.012 * rows["replicate"]) * (rows["round"] >= 6)
    )
    line = line_of(wavering)
    assert line.steady and line.drift.value and line.drift.low
    assert line.drift.value > 0.03 > line.drift.low > 0
    assert tuned(wavering).estimate.ratio and headings(wavering) == []
    assert any("TensorFlow, tuned, came to take" in one.text and "more time" in one.text
               for one in caveats(wavering, 2))  # fmt: skip


def test_a_drift_within_the_margin_is_not_worth_a_word(quiet: Findings) -> None:
    still = changed(quiet, drifting(0.025))
    line = line_of(still)
    assert line.steady and line.drift.low and line.drift.low > 0
    assert not any("came to take" in one.text for one in caveats(still, 2))


def test_a_few_late_replicates_do_not_hold_a_ratio_back(quiet: Findings) -> None:
    late = changed(quiet, lambda rows: 1 + 0.5 * ((rows["round"] >= 6) & (rows["replicate"] <= 2)))
    assert line_of(late).steady and tuned(late).estimate.replicates == 7


def test_the_interval_is_of_all_contenders_together(quiet: Findings) -> None:
    """Four of them: t(1 - 0.05 / 8; 6) = 3.5212 instead of t(0.975; 6) = 2.4469."""
    found = dict(relative_drifts(quiet.machine, quiet.measured))
    for line in quiet.steady:
        logs = np.array(found[line.id])
        reach = 3.5212 * logs.std(ddof=1) / np.sqrt(7)
        assert line.drift.high == pytest.approx(np.expm1(logs.mean() + reach), abs=1e-5)
        assert line.drift.low == pytest.approx(np.expm1(logs.mean() - reach), abs=1e-5)


def test_two_contenders_are_not_checked(found: Callable[[Recipe], Findings]) -> None:
    two = changed(found(replace(SMALL, variants=("tuned",))), drifting(0.5))
    assert {(line.drift.value, line.steady, line.replicates) for line in two.steady} == {
        (None, True, 0)
    }
    assert tuned(two).estimate.ratio
    assert steadiness(two).startswith("Steady state was not checked")


def test_one_replicate_has_a_drift_and_no_interval(found: Callable[[Recipe], Findings]) -> None:
    alone = changed(found(replace(SMALL, replicates=1)), drifting(0.5))
    line = line_of(alone)
    assert (
        line.drift.value == pytest.approx(0.5, abs=0.05) and line.drift.low is None and line.steady
    )
    assert tuned(alone).estimate.ratio


def test_two_replicates_that_drift_apart_have_an_endless_interval(
    found: Callable[[Recipe], Findings],
) -> None:
    wild = found(replace(SMALL, replicates=2))
    wild = changed(
        wild, lambda rows: np.exp(60.0 * (rows["round"] >= 6) * (rows["replicate"] == 1))
    )
    line = line_of(wild)
    assert line.steady and line.drift.high and line.drift.high > 1e300


def test_the_report_says_how_far_times_drifted(quiet: Findings) -> None:
    text = steadiness(changed(quiet, drifting(0.2)))
    assert text.startswith("Of 4 contenders checked for steady state, 1 drifted. ")
    assert re.search(r"changed by at most (19|2\d) %\.$", text)


def test_controls_are_checked_and_are_nobodys_others(found: Callable[[Recipe], Findings]) -> None:
    """Three controls of one contender would otherwise outvote the other contenders."""
    controls = [(0.0, 1.0), (0.05, 1.05), (0.1, 1.1)]
    findings = found(replace(SMALL, controls=controls))
    for control in ("twin", "5%", "10%"):
        findings = changed(findings, drifting(0.5), f"pytorch/tuned+{control}/cpu/1")
    assert line_of(findings).drift.value == pytest.approx(0, abs=0.02)
    assert line_of(findings, "pytorch/tuned+twin/cpu/1").drift.value == pytest.approx(0.5, abs=0.05)


def test_only_those_with_a_ratio_are_held_against_each_other_at_the_start(
    found: Callable[[Recipe], Findings],
) -> None:
    findings = found(replace(SMALL, refused=(WHO,)))
    assert tuned(findings).estimate.verdict == "refused"
    lines = {(line.id.framework, line.id.variant): line for line in findings.start}
    assert lines["tensorflow", "tuned"].ahead == lines["tensorflow", "tuned"].reference == ""
    assert lines["tensorflow", "default"].reference == "pytorch"
