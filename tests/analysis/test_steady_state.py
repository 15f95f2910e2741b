"""What follows from a steady state that is late or missing."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from analysis.findings.findings import Findings
from analysis.report.caveats.registry import caveats
from analysis.report.layout import Severity
from analysis.report.sections.answer import summary
from analysis.report.sections.times import contender_table, steady_table
from analysis.stats.inference import Estimate
from analysis.steady_state.series import interference
from tests.analysis.synthetic import Recipe

SMALL = Recipe(workloads=("mlp",), threads=(1,))
WHO = "tensorflow/tuned/cpu/1"
Change = Callable[[pd.DataFrame], "pd.Series[float]"]


def changed(findings: Findings, who: str, factor: Change) -> Findings:
    """With the times of one contender multiplied."""
    batches = findings.machine.batches.copy()
    mine = batches["contender"] == who
    batches.loc[mine, "ms"] *= factor(batches[mine])
    return Findings(replace(findings.machine, batches=batches))


@pytest.fixture
def quiet(found: Callable[[Recipe], Findings]) -> Findings:
    return found(SMALL)


def line_of(findings: Findings, who: str = WHO):  # type: ignore[no-untyped-def]
    framework, variant, _, _ = who.split("/")
    return next(
        line
        for line in findings.steady
        if (line.id.framework, line.id.variant) == (framework, variant)
    )


def test_a_quiet_study_is_steady_after_its_warm_up(quiet: Findings) -> None:
    for line in quiet.steady:
        assert line.steady and line.processes == 7 and line.none <= 1
        assert line.start_median is not None and line.start_median <= 5
    assert "warm-up" in steady_table(quiet).rows[0][4]


def test_a_late_start_takes_its_mini_batches_out(quiet: Findings) -> None:
    late = changed(quiet, WHO, lambda rows: 1 + 0.5 * (rows["round"] <= 3))
    assert line_of(late).start_median == pytest.approx(5 + 3 * 6 + 2, abs=1)
    marked = late.batches[(late.batches["contender"] == WHO) & (late.batches["round"] <= 3)]
    assert marked["warmup"].mean() > 0.98
    before, after = (
        next(
            row.estimate.ratio
            for row in found.comparisons
            if row.id.variant == "tuned" and row.estimate.ratio
        )
        for found in (quiet, late)
    )
    assert after == pytest.approx(before, rel=0.01)
    assert len(late.steady_state.later(late.dealt)) >= 7


def test_a_contender_without_a_steady_state_has_no_ratio(quiet: Findings) -> None:
    restless = changed(quiet, WHO, lambda rows: 1 + 0.5 * (rows["round"] >= 8))
    line = line_of(restless)
    assert not line.steady and line.none == 7 and line.kind == "no steady state"
    row = next(row for row in restless.comparisons if row.id.variant == "tuned")
    assert row.estimate == Estimate(verdict="no steady state")
    assert row.reason.startswith(f"7 of 7 processes of {WHO} reached no steady state")
    (own,) = (c for c in restless.contenders if c.status == "no steady state")
    assert own.median_ms is None and "their medians are" in own.reason
    assert any(text.startswith("no steady state. 7 of 7") for _, text in
               contender_table(restless).notes)  # fmt: skip
    assert any("was without a steady state" in text
               for text in summary(restless.machine, restless.comparisons))  # fmt: skip
    (caveat,) = (one for one in caveats(restless, 1) if one.heading == "No steady state")
    assert caveat.severity is Severity.WARNING
    assert caveat.text.startswith("1 contender whose times went on changing in most processes")
    assert "no steady state" in [line.status for line in restless.missing]
    # the others are compared as before
    assert next(r for r in restless.comparisons if r.id.variant == "default").estimate.ratio


def test_some_unsteady_processes_are_said_and_counted(quiet: Findings) -> None:
    some = changed(
        quiet, WHO, lambda rows: 1 + 0.5 * ((rows["round"] >= 8) & (rows["replicate"] <= 3))
    )
    line = line_of(some)
    assert line.steady and line.kind == "inconsistent" and line.none >= 3
    assert next(r for r in some.comparisons if r.id.variant == "tuned").estimate.replicates == 7
    assert any("count all the same" in caveat.text for caveat in caveats(some, 1))


def test_who_slows_down_alone_was_slowed_by_the_machine(quiet: Findings) -> None:
    """Else five slow rounds would be all that counts of one process."""
    once = changed(
        quiet, WHO, lambda rows: 1 + 1.0 * ((rows["round"] >= 5) & (rows["replicate"] == 2))
    )
    line = line_of(once)
    assert line.slowdown == 1 and line.kind == "inconsistent"
    assert line.start_worst is not None and line.start_worst < 15
    marked = once.batches[(once.batches["contender"] == WHO) & (once.batches["replicate"] == 2)]
    assert not marked[(marked["round"] == 2)]["warmup"].all()
    always = changed(quiet, WHO, lambda rows: 1 + 1.0 * (rows["round"] >= 5))
    assert line_of(always).slowdown == 7
    assert line_of(always).start_median == pytest.approx(5 + 4 * 6 + 2, abs=1)


def test_weather_is_what_the_others_had(quiet: Findings) -> None:
    batches = quiet.dealt.copy()
    stormy = (batches["round"] == 4) & (batches["replicate"] == 2)
    batches.loc[stormy, "ms"] *= 1.5
    change = interference(batches, ()) - interference(quiet.dealt, ())
    assert change[stormy].to_numpy() == pytest.approx(np.log(1.5), abs=0.05)
    assert change[~stormy].abs().max() < 0.05


def test_weather_has_nothing_of_the_contender_itself(quiet: Findings) -> None:
    batches = quiet.dealt.copy()
    mine = batches["contender"] == WHO
    batches.loc[mine & (batches["round"] == 4), "ms"] *= 3
    pd.testing.assert_series_equal(
        interference(batches, ())[mine], interference(quiet.dealt, ())[mine]
    )


def test_two_contenders_have_no_weather(found: Callable[[Recipe], Findings]) -> None:
    two = found(replace(SMALL, variants=("tuned",)))
    assert (interference(two.dealt, ()) == 0).all()
    assert all(line.steady for line in two.steady)


def test_a_smoke_run_and_turns_of_one(found: Callable[[Recipe], Findings]) -> None:
    tiny = found(replace(SMALL, warmup=3, rounds=4, turn=5, replicates=3))
    assert [line.processes for line in tiny.steady] == [3] * 4
    shortest = found(replace(SMALL, machine="other", rounds=2, turn=3, warmup=1, replicates=1))
    assert {line.kind for line in shortest.steady} == {"too short"}
    assert all(row.estimate.ratio for row in shortest.comparisons if row.id.device == "cpu")


def test_weather_cancels_where_one_side_starts_late(quiet: Findings) -> None:
    """The machine slows down for everybody when the slow start of one contender ends: over rounds
    of its own, each side would be held against other weather."""
    before = next(
        row for row in quiet.comparisons if row.id.variant == "tuned" and row.estimate.ratio
    )
    names = set(quiet.machine.batches["contender"])
    throttled = quiet
    for who in names:
        throttled = changed(throttled, who, lambda rows: 1 + 0.2 * (rows["round"] >= 5))
    late = changed(throttled, WHO, lambda rows: 1 + 0.5 * (rows["round"] <= 4))
    assert line_of(late).start_median == pytest.approx(5 + 4 * 6 + 2, abs=1)
    after = next(
        row for row in late.comparisons if row.id.variant == "tuned" and row.estimate.ratio
    )
    assert before.estimate.ratio and after.estimate.ratio == pytest.approx(
        before.estimate.ratio, rel=0.02
    )


def test_an_unsteady_process_counts_from_where_its_like_are_steady(quiet: Findings) -> None:
    """Else its warm-up would be in its median, and not in those of the others."""
    late = changed(quiet, WHO, lambda rows: 1 + 0.5 * (rows["round"] <= 3))
    burst = changed(
        late, WHO, lambda rows: 1 + 1.0 * ((rows["round"] >= 7) & (rows["replicate"] == 2))
    )
    assert line_of(burst).none >= 1
    seat = next(seat for seat in burst.measured if seat.contender == WHO)
    assert np.isnan(burst.measured[seat].at[2, "logs"][:3]).all()


def test_only_those_with_a_ratio_are_held_against_each_other_at_the_start(
    found: Callable[[Recipe], Findings],
) -> None:
    findings = found(replace(SMALL, refused=(WHO,)))
    refused = next(
        row for row in findings.comparisons if row.id.variant == "tuned" and not row.estimate.ratio
    )
    assert refused.estimate.verdict == "refused"
    lines = {(line.id.framework, line.id.variant): line for line in findings.start}
    assert lines["tensorflow", "tuned"].ahead == lines["tensorflow", "tuned"].reference == ""
    assert lines["tensorflow", "default"].reference == "pytorch"
