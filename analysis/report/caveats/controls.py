"""Caveats about controls that miss the truth or compute something else."""

from collections.abc import Iterator

from analysis.data.results import grouped
from analysis.findings.controls import ControlLine, beyond_chance, expected_misses, judged, missed
from analysis.findings.findings import Findings
from analysis.format import count, listing, percent, quoted, sentence
from analysis.report.layout import SELF_TEST_FAILED, Caveat, note, warning
from analysis.report.prose import place, share, subject, workload

# In studies with one workload in a contest, slowed controls waited between steps. That slowed the
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
        f"{'misses' if len(wrong) == 1 else 'miss'} the truth; chance explains "
        f"{expected_misses(rows, confidence):.2g}. {' '.join(map(mistake, wrong))}"
    )
    if waiting:
        seen += (
            f" {len(waiting)} of them may be slow because the harness waited between their steps."
        )
    doubtful = listing(
        f"of {share(max(row.furthest for row in own))} or less on the {workload(name)}"
        for name, own in grouped((row.id.workload, row) for row in wrong).items()
    )
    if beyond_chance([row for row in rows if row not in waiting], confidence):
        do = f"Do not rely on differences {doubtful}; repeat the study."
        yield warning(SELF_TEST_FAILED, seen, do)
    else:
        yield note(seen, f"If it is not chance, differences {doubtful} are not reliable.")


def strange(findings: Findings) -> Iterator[Caveat]:
    """The controls that compute something else than their contenders."""
    faults = findings.loss_check.faults
    for row in findings.controls:
        if row.id in faults and row.original not in faults:
            yield warning(
                SELF_TEST_FAILED,
                f"The control `{row.id.contender}` did not compute the same as its contender: "
                f"{quoted(sentence(row.reason))}",
                f"Do not rely on differences on the {workload(row.id.workload)}; report this.",
            )


def slow_by_waiting(row: ControlLine) -> bool:
    ratio = row.ratio.value
    return bool(row.slowed_by and ratio and 1 < ratio / row.truth <= 1 + WAITING)


def mistake(row: ControlLine) -> str:
    """`PyTorch, tuned, unchanged (MLP, 1 thread), took 5 % more time than it should.`"""
    off = (row.ratio.value or row.truth) / row.truth - 1
    what = f"slowed by {percent(row.slowed_by)}" if row.slowed_by else "unchanged"
    return (
        f"{subject(row.original)} {what} ({place(row.id)}), took {share(abs(off))} "
        f"{'more' if off > 0 else 'less'} time than it should."
    )
