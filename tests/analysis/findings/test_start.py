"""What a start costs and when it has paid off."""

import re
from dataclasses import replace

import numpy as np
import pytest

from analysis.findings.findings import Findings
from analysis.report.figures.style import Theme
from analysis.report.layout import Chapter
from analysis.report.sections.measuring.start import (
    beats,
    caches,
    start,
    start_sentences,
    start_table,
)
from analysis.stats.fieller import fieller, pay_off
from tests.analysis.synthetic import copied


def test_outcomes() -> None:
    def outcome(start: float, step: float) -> str:
        return pay_off([start] * 3, [step] * 3, 0.95).outcome

    assert outcome(-1, -1) == "at once" and outcome(1, 1) == "never"
    assert outcome(1, -1) == "from" and outcome(-1, 1) == "until"


def test_the_number_of_mini_batches() -> None:
    found = pay_off([3.0, 3.1, 2.9], [-0.01, -0.0101, -0.0099], 0.95)
    assert found.steps == pytest.approx(300)
    assert found.low and found.high and 280 < found.low < 300 < found.high < 330


def test_steps_that_may_be_equally_fast_give_no_upper_end() -> None:
    found = pay_off([3.0, 3.1, 2.9], [-0.02, 0.015, -0.01], 0.95)
    assert found.outcome == "from" and found.high is None
    assert found.low and found.low < 600


def test_never_is_not_sure_where_the_steps_may_be_faster() -> None:
    found = pay_off([3.0, 3.1, 2.9], [0.02, -0.015, 0.01], 0.95)
    assert found.outcome == "never" and found.low and found.low > 50
    sure = pay_off([3.0, 3.1, 2.9], [0.02, 0.021, 0.02], 0.95)
    assert (sure.low, sure.high) == (None, None)


def test_one_replicate_has_no_interval() -> None:
    found = pay_off([3.0], [-0.01], 0.95)
    assert (found.outcome, found.low, found.high) == ("from", None, None)
    assert found.steps == pytest.approx(300)


@pytest.mark.parametrize("sd", [0.002, 0.01])
def test_fiellers_interval_covers(sd: float) -> None:
    """Also where the differences of steps are hardly known (sd as large as the mean)."""
    random, hits, times = np.random.default_rng(1), 0, 1000
    for _ in range(times):
        low, high = fieller(random.normal(3, 0.4, 7), random.normal(0.01, sd, 7), 0.95)
        hits += (low or 0) <= 300 <= (float("inf") if high is None else high)
    assert hits / times == pytest.approx(0.95, abs=0.021)


def test_every_part_of_a_start(findings: Findings) -> None:
    for line in findings.start:
        assert line.imports.value == pytest.approx(2.16 if line.id.framework == "pytorch" else 4.32)
        parts = (line.imports.value, line.build.value, line.compile.value, line.excess.value)
        assert line.total.value == pytest.approx(sum(part or 0 for part in parts))
        assert line.first.value and line.compile.value and line.first.value > line.compile.value > 0
        assert line.total.low and line.total.high
        assert line.total.low < line.total.value < line.total.high
    (row,) = (
        line
        for line in findings.start
        if (line.id.workload, line.id.framework, line.id.variant, line.id.threads)
        == ("mlp", "tensorflow", "default", 1)
    )
    assert row.ahead == "from" and row.steps.low and row.steps.value and row.steps.high
    # import 2.16 s more, build .7, first step 39 times 77 ms against 5 times 110
    assert row.steps.value == pytest.approx((2.16 + 0.7 + 39 * 0.077 - 5 * 0.11) / 0.033, rel=0.15)
    assert beats(row).startswith("PyTorch: after ")
    assert re.fullmatch(r"after \d+ steps \(\d+ to \d+\)", beats(row, "PyTorch"))


def test_a_start_counts_where_the_workload_came_first(findings: Findings) -> None:
    """The processes of the other contests had already done what they do only once."""
    shared = copied(findings)
    contests = shared.machine.records.contests
    for contest in contests:
        contest.place = contest.replicate % 2 if contest.workload == "mlp" else 1
        for one in contest.contenders if contest.place else []:
            one.build_s, one.import_s = 100.0, 100.0
    alone = {row.id: row for row in findings.start}
    every = {contest.replicate for contest in contests}
    for row in shared.start:
        if row.id.workload == "mlp":
            assert row.replicates == sum(number % 2 == 0 for number in every)
            assert row.build.value == pytest.approx(alone[row.id].build.value, rel=0.1)
        else:
            assert (row.replicates, row.total.value, row.first.value, row.ahead) == (
                0,
                None,
                None,
                "",
            )
    said = [[str(part) for part in start(Chapter(f, Theme((), ()), 1, []))]
            for f in (shared, findings)]  # fmt: skip
    assert [any("contests that began with" in part for part in parts) for parts in said] == [
        True, False,
    ]  # fmt: skip
    assert any("Start-up included" in text for text in start_sentences(shared))


def test_records_without_import_times_have_no_total(findings: Findings) -> None:
    old = copied(findings)
    for contest in old.machine.records.contests:
        for contender in contest.contenders:
            contender.import_s = None
    assert {line.total.value for line in old.start} == {None}
    assert {line.ahead for line in old.start} == {""}
    assert all(line.build.value and line.first.value for line in old.start)
    assert start_sentences(old) == []
    table = start_table(old)
    assert table and table.columns[-1][0] == "95 % interval"  # nothing is compared
    cost, pay_off = start_sentences(findings)
    assert cost.startswith("A start costs PyTorch ")
    assert pay_off.startswith("Start-up included, TensorFlow beats PyTorch only after ")


def test_which_caches_were_warm(findings: Findings) -> None:
    """Of each process once, although it has a record for every workload."""
    assert caches(findings) == ""
    records = findings.machine.records.model_copy(deep=True)
    for contest in records.contests:
        contest.group = "all"
        for contender in contest.contenders:
            jax = "warm" if contest.replicate > 1 else "cold"
            if contender.name == "pytorch/default/cpu/1":
                contender.caches = {"JAX's": jax, "XLA's": "off"}  # type: ignore[dict-item]
    last = max(contest.replicate for contest in records.contests)
    assert caches(Findings(replace(findings.machine, records=records))) == (
        "Of the compilers' caches, before each process started: JAX's was cold in 1 of "
        f"{last} processes and warm in {last - 1}; XLA's was off. Empty a warm one to see what a "
        "first start costs."
    )
