"""Memory and page faults: the table, and a cause only where its evidence is."""

import re
from collections.abc import Callable

import pytest

from analysis.findings.findings import Findings
from analysis.report.sections.comparing.why import apart, causes
from analysis.report.sections.measuring.use import compared, use_table
from tests.analysis.recipe import Recipe
from workflows.records.schema import TurnRecord

Found = Callable[[Recipe], Findings]
MS = {
    ("mlp", "pytorch", "default"): 100.0,
    ("mlp", "pytorch", "tuned"): 50.0,
    ("mlp", "tensorflow", "default"): 60.0,
    ("mlp", "tensorflow", "tuned"): 40.0,
}


def study(found: Found, faults: dict[str, float]) -> Findings:
    """Contenders with page faults by framework and variant; each has its own peak and 100 MiB of
    its framework."""
    recipe = Recipe(workloads=("mlp",), threads=(1,), replicates=3, ms=MS)
    findings = found(recipe)
    for contest in findings.machine.records.contests:
        for place, one in enumerate(contest.contenders):
            if one.status != "ok":
                continue
            one.idle_mib, one.settings = 100.0, {}
            for number in range(recipe.rounds + 1):
                counted = {
                    "minor_faults": faults.get(f"{one.framework} {one.variant}", 3.0),
                    "major_faults": 0.0,
                    "peak_mib": 200.0 + place,
                }
                contest.turns.append(
                    TurnRecord(
                        round=number, position=place, contender=one.name, start_ns=0, cores=1,
                        duration_s=0.2, switches=0, **(counted if number else {"peak_mib": 900.0}),
                    )
                )  # fmt: skip
    return findings


def test_the_table_has_the_peak_after_warm_up_and_what_the_network_takes(found: Found) -> None:
    findings = study(found, {"pytorch default": 31_000.0})
    rows = {row.id.who: row for row in compared(findings)}
    first = rows["PyTorch default"]
    assert (first.faults, first.idle_mib) == (31_000.0, 100.0)
    assert 200 <= (first.peak_mib or 0) < 300
    table = use_table(compared(findings))
    (line,) = [row for row in table.rows if row[1] == "PyTorch"]
    assert line[2:] == [f"{first.peak_mib:.0f}", f"{(first.peak_mib or 0) - 100:.0f}", "31,000"]


@pytest.mark.parametrize(
    ("faults", "said"),
    [
        ({"pytorch default": 31_000.0, "pytorch tuned": 12.0},
         ["Page faults in a mini-batch: 31,000 before, 12 after."]),
        ({}, []),  # few page faults
        ({"pytorch default": 31_000.0, "pytorch tuned": 30_000.0}, []),  # as many when tuned
        ({"pytorch tuned": 31_000.0}, []),  # more in the faster one
    ],
)  # fmt: skip
def test_a_cause_needs_its_evidence(
    found: Found, faults: dict[str, float], said: list[str]
) -> None:
    assert [cause.partition("%. ")[2] for cause in causes(study(found, faults))] == said


def test_settings_that_differ_are_named_if_they_can_change_the_speed(found: Found) -> None:
    findings = study(found, {})
    settings = {
        "default": {"optimiser": "torch.optim.Adam(foreach=None, fused=None)", "layout": "NCHW",
                    "other": "a", "blas": "mkl"},
        "tuned": {"optimiser": "torch.optim.Adam(foreach=None, fused=True)", "layout": "NHWC",
                  "other": "b", "blas": "mkl"},
    }  # fmt: skip
    for contest in findings.machine.records.contests:
        for one in contest.contenders:
            if one.framework == "pytorch":
                one.settings = dict(settings[one.variant])
    (said,) = causes(Findings(findings.machine))
    assert re.fullmatch(
        r"PyTorch, MLP, 1 thread: tuning takes off (49|50|51) %\. What differs: layout NHWC "
        r"instead of NCHW; optimiser Adam with fused=True instead of without\.",
        said,
    )
    assert apart("keras.Adam", "tf.Adam(x=1)") == ("keras.Adam", "tf.Adam(x=1)")
    for contest in findings.machine.records.contests:  # as different, and no faster
        for one in contest.contenders:
            one.settings = dict(settings["default"])
    assert list(causes(Findings(findings.machine))) == []


def test_records_of_before_have_no_memory(findings: Findings) -> None:
    assert compared(findings) == []
