"""The controls: the self-test on the first screen, a table, and the method."""

from collections.abc import Iterator, Sequence

from analysis.findings.controls import ControlLine, expected_misses, judged, missed
from analysis.findings.findings import Findings
from analysis.format import alike, count, device, listing, percent, sentence, title
from analysis.report.tables import Table, absent, estimate

NONE = (
    "none in this study. No contender ran a second time, so nothing here shows what the study "
    "finds where the truth is known."
)


def control_summary(findings: Findings) -> str:
    """The line on the first screen: how many intervals contain the truth, and what was measured."""
    rows = findings.controls
    if not rows:
        return NONE
    workloads = listing(dict.fromkeys(row.id.workload for row in rows))
    ran = f"{originals(rows)} ran a second time in {workloads}"
    return " ".join([*coverage(findings), f"{': '.join([ran, *measured(rows)])}."])


def coverage(findings: Findings) -> Iterator[str]:
    """`Of 4 controls, 4 intervals contain the truth.`"""
    rows, confidence = findings.controls, findings.machine.study.confidence
    tried = judged(rows)
    if len(tried) < len(rows):
        yield f"{len(rows) - len(tried)} of {count(len(rows), 'control')} could not be judged."
    if tried:
        right = len(tried) - len(missed(rows))
        yield (
            f"Of {count(len(tried), 'control')}, {count(right, 'interval')} "
            f"{'contains' if right == 1 else 'contain'} the truth; by chance alone, "
            f"{expected_misses(rows, confidence):.2g} of {len(tried)} would miss it."
        )


def originals(rows: Sequence[ControlLine]) -> str:
    """The contenders that have controls: `PyTorch tuned (CPU, 1 thread)`, or how many."""
    found = list(dict.fromkeys((r.id.framework, r.of, r.id.device, r.id.threads) for r in rows))
    if len(found) > 1:
        return f"Each of {len(found)} contenders"
    ((framework, variant, on, threads),) = found
    return f"{title(framework)} {variant} ({device(on)}, {count(threads, 'thread')})"


def measured(rows: Sequence[ControlLine]) -> list[str]:
    """`it took 0.973 and 1.000 times as long unchanged; slowed by 10 %, 1.06 and 1.10 times`, if
    anything was measured."""
    found: list[str] = []
    for share in sorted({row.slowed_by for row in rows}):
        ratios = [row.ratio for row in rows if row.slowed_by == share and row.ratio]
        if ratios:
            few = len(ratios) < 3
            spread = (
                listing(alike(*ratios)) if few else " to ".join(alike(min(ratios), max(ratios)))
            )
            what = f"slowed by {percent(share)}" if share else "unchanged"
            first = f"it took {spread} times as long {what}"
            found.append(f"{what}, {spread} times" if found else first)
    return ["; ".join(found)] if found else []


def control_table(findings: Findings) -> Table | None:
    if not findings.controls:
        return None
    rows = [row for row in findings.controls if row.ratio is not None]
    answers = {True: "yes", False: "no", None: ""}
    return Table(
        "Controls: the time of a contender that runs a second time, in another process, over its "
        "own",
        [
            ("workload", False), ("on", False), ("control", False), ("truth", True),
            ("ratio", True), (f"{percent(findings.machine.study.confidence)} interval", True),
            ("contains the truth", False),
        ],
        [
            [
                row.id.workload, row.id.on, row.id.who, f"{row.truth:g}",
                *estimate(row.ratio, row.ratio_low, row.ratio_high), answers[row.contains_truth],
            ]
            for row in rows
        ],
        absent(
            [row for row in findings.controls if row.reason],
            lambda row: f"not judged. {sentence(row.reason)}",
        ),
        "controls.csv",
    )  # fmt: skip


def control_method(findings: Findings) -> str:
    """The kinds of controls, and their share of the contests' time."""
    if not findings.controls:
        return "None."
    machine = findings.machine
    confidence = machine.study.confidence
    text = (
        "A control is a contender that runs a second time, in another process, and takes turns "
        "like all others: unchanged (a twin), or slowed by a known share. The harness slows it "
        f"by waiting {'between its steps' if machine.waits_between_steps else 'after each turn'} "
        "and adding that time to the steps. The controls of one contender share a process, because "
        "starting one takes longest. The report compares each control with its contender and "
        f"asks whether the {percent(confidence)} interval of the ratio contains the true ratio. "
        f"If nothing is wrong, {percent(1 - confidence)} of intervals miss it."
    )
    if machine.waits_between_steps and any(one.slowed_by for one in machine.controls.values()):
        text += (
            " Where others use the processor's caches, waiting between steps slows the next step, "
            "too, so a slowed control may take longer than its truth (docs/calibration.md). "
            "Contests of several workloads do not wait there."
        )
    took = [
        (one.took_s, bool(one.runs))
        for contest in machine.records.contests
        for one in contest.contenders
        if one.took_s is not None
    ]
    if took:
        share = sum(s for s, control in took if control) / sum(s for s, _ in took)
        text += f" Controls took {percent(share)} of the contenders' time, starting included."
    return text
