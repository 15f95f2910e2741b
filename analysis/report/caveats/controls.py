"""Caveats about controls that miss the truth or compute something else."""

from collections.abc import Iterator, Sequence

from analysis.findings.controls import ControlLine, beyond_chance, expected_misses, judged, missed
from analysis.findings.findings import Findings
from analysis.format import alike, count, listing, percent, sentence, title
from analysis.report.layout import Caveat, note, warning

# In studies of one workload a contest, slowed controls waited between steps. That has slowed the
# next step by up to this share, so they may take longer than their truth (docs/calibration.md).
WAITING = 0.05


def misses(findings: Findings) -> Iterator[Caveat]:
    """The controls whose intervals miss the truth: a warning if neither chance nor waiting explains
    them."""
    rows, confidence = findings.controls, findings.machine.study.confidence
    if not (wrong := missed(rows)):
        return
    waiting = [
        row for row in wrong if findings.machine.waits_between_steps and slow_by_waiting(row)
    ]
    seen = (
        f"{len(wrong)} of {count(len(judged(rows)), 'control')} "
        f"{'misses' if len(wrong) == 1 else 'miss'} the truth: "
        f"{'; '.join(mistake(row, confidence) for row in wrong)}. "
        f"By chance alone, {expected_misses(rows, confidence):.2g} would."
    )
    if waiting:
        seen += (
            f" In this study the harness waited between a slowed control's steps, which can slow "
            f"the next step by up to {percent(WAITING)}, too, if others use the processor's "
            f"caches: that may explain {len(waiting)} of them."
        )
    doubtful = listing(
        f"of {percent(max(row.furthest for row in own))} or less in {workload}"
        for workload, own in by_workload(wrong).items()
    )
    if beyond_chance([row for row in rows if row not in waiting], confidence):
        yield warning(
            "Self-test failed",
            f"{seen} Chance hardly explains that. Do not rely on differences {doubtful}, and "
            "repeat the study.",
        )
    else:
        yield note(f"{seen} Otherwise, differences {doubtful} are not reliable.")


def strange(findings: Findings) -> Iterator[Caveat]:
    """The controls that compute something else than their contenders."""
    faults = findings.loss_check.faults
    for row in findings.controls:
        if row.id in faults and row.original not in faults:
            yield warning(
                "Self-test failed",
                f"the control {row.id.contender} did not compute the same as its contender. "
                f"{sentence(row.reason)} Do not rely on any difference in {row.id.workload}, and "
                "report this error.",
            )


def slow_by_waiting(row: ControlLine) -> bool:
    return bool(row.slowed_by and row.ratio and 1 < row.ratio / row.truth <= 1 + WAITING)


def by_workload(rows: Sequence[ControlLine]) -> dict[str, list[ControlLine]]:
    found: dict[str, list[ControlLine]] = {}
    for row in rows:
        found.setdefault(row.id.workload, []).append(row)
    return found


def mistake(row: ControlLine, confidence: float) -> str:
    """`mlp (PyTorch tuned, CPU, 1 thread), unchanged, took 1.05 times as long (95 % interval 1.04
    to 1.06) instead of 1`"""
    ratio, low, high = alike(row.ratio, row.ratio_low, row.ratio_high)
    what = f"slowed by {percent(row.slowed_by)}" if row.slowed_by else "unchanged"
    return (
        f"{row.id.workload} ({title(row.id.framework)} {row.of}, {row.id.on}), {what}, took "
        f"{ratio} times as long ({percent(confidence)} interval {low} to {high}) instead of "
        f"{row.truth:g}"
    )
