"""Calibration: the slowdown that studies measured, over the slowdown that the harness applied.

`python -m analysis.repeats.calibration FOLDER... --out docs/calibration.md` reads every machine
folder below the given folders and pools the controls of all studies.
"""

import argparse
import math
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pandas as pd

from analysis.data.processes import by_benchmark, paired, processes, sound
from analysis.data.reading import load
from analysis.data.results import BenchmarkId, Machine, grouped
from analysis.format import count, crossed, listing, markdown_table, percent
from analysis.stats.inference import Mean, student
from workflows.output import place, printing
from workflows.records.storage import RecordError
from workflows.records.whole_files import atomic

CONFIDENCE = 0.95
Logs: TypeAlias = "pd.Series[float]"  # by replicate


@dataclass(frozen=True)
class Trial:
    """One control in one study.

    `error` has the logarithm of its measured over its true slowdown in each contest, compared with
    its contender, in another process. `beside` has the same compared with the control that only
    waited, in the same process, if the study has one. `only_waits` marks that control itself: its
    true slowdown is taken as 1, so `error` is what waiting costs. `waits` is the share of its time
    that a control waits between steps, inside and outside the timed region.
    """

    study: Path
    id: BenchmarkId
    original: BenchmarkId
    slowed_by: float
    waits: float
    only_waits: bool
    error: Logs
    beside: "Logs | None"


@dataclass(frozen=True)
class PooledControl:
    """One kind of control on one workload, pooled over studies. The unit is the contest."""

    workload: str
    whom: str
    slowed_by: float
    waits: float
    only_waits: bool
    studies: list[float]  # the mean of each
    error: Mean | None
    beside: Mean | None

    @property
    def contests(self) -> int:
        return self.error.n if self.error else 0


def trials(roots: Sequence[Path]) -> list[Trial]:
    """The controls of all studies below the folders.

    Raises:
        RecordError: a folder cannot be read, a contest is there twice, or no study has a control.
    """
    found: list[Trial] = []
    known: set[tuple[object, ...]] = set()
    for folder in sorted({path.parent for root in roots for path in root.rglob("batches.parquet")}):
        (machine,) = load([folder])
        for contest in machine.records.contests:
            key = (machine.name, contest.workload, contest.replicate, contest.started)
            if key in known:
                raise RecordError(f"{folder}: contest {key} is in another folder, too")
            known.add(key)
        found += study_trials(folder, machine)
    if not found:
        raise RecordError("no study in these folders has a control")
    return found


def study_trials(study: Path, machine: Machine) -> Iterator[Trial]:
    """The controls that were measured together with their contender."""
    measured = by_benchmark(processes(sound(machine)))
    controls = {one: control for one in measured if (control := machine.control(one))}
    waiting = {one._replace(variant=c.of): one for one, c in controls.items() if c.paused}
    for one in sorted(controls, key=machine.order):
        control = controls[one]
        original = one._replace(variant=control.of)
        if original not in measured:
            continue
        truth, beside = math.log1p(control.slowed_by), None
        if control.slowed_by and original in waiting:
            beside = paired(measured[one], measured[waiting[original]]) - truth
        error = paired(measured[one], measured[original]) - truth
        if len(error):
            waits = round(control.slowed_by + control.idle, 6) * machine.waits_between_steps
            yield Trial(
                study, one, original, control.slowed_by, waits, control.paused, error, beside
            )


def pooled(tried: Sequence[Trial]) -> list[PooledControl]:
    """A row for each workload, contender or contenders, and kind of control."""
    originals: dict[tuple[Path, str], dict[BenchmarkId, None]] = {}
    for trial in tried:
        originals.setdefault((trial.study, trial.id.workload), {})[trial.original] = None
    groups: dict[tuple[str, str, bool, float, float], list[Trial]] = {}
    for trial in tried:
        whom = several(list(originals[trial.study, trial.id.workload]))
        key = (trial.id.workload, whom, trial.only_waits, trial.slowed_by, trial.waits)
        groups.setdefault(key, []).append(trial)
    return [
        PooledControl(
            workload, whom, slowed_by, waits, only_waits, study_means(own),
            contest_mean([(one.study, one.error) for one in own]),
            contest_mean([(one.study, one.beside) for one in own if one.beside is not None]),
        )
        for (workload, whom, only_waits, slowed_by, waits), own in sorted(groups.items())
    ]  # fmt: skip


def several(originals: Sequence[BenchmarkId]) -> str:
    if len(originals) > 1:
        return f"{len(originals)} contenders"
    return crossed([originals[0][1:]])


def contest_mean(tried: Sequence[tuple[Path, Logs]]) -> Mean | None:
    """Student's interval over contests. If several contenders of a contest have this control, their
    mean is the contest's value."""
    values: list[float] = []
    for study in dict.fromkeys(study for study, _ in tried):
        own = pd.concat([logs for where, logs in tried if where == study])
        values += own.groupby(level=0).mean().tolist()
    return student(values, CONFIDENCE) if values else None


def study_means(tried: Sequence[Trial]) -> list[float]:
    means = grouped((one.study, float(one.error.mean())) for one in tried)
    return [sum(own) / len(own) for own in means.values()]


def coverage(logs: Iterable[Logs]) -> tuple[int, int]:
    """How many intervals of single studies contain the truth, and how many there are."""
    found = [student(own.tolist(), CONFIDENCE).p for own in logs if len(own)]
    p = [one for one in found if one is not None]
    return sum(one >= 1 - CONFIDENCE for one in p), len(p)


def finding(rows: Sequence[PooledControl]) -> str:
    said = []
    for where, waits in (
        (" that wait after turns or not at all", False),
        (" that waited between steps", True),
    ):
        own = [
            row.error.low <= 0 <= row.error.high
            for row in rows
            if row.error and row.error.low is not None and row.error.high is not None
            and not row.only_waits and bool(row.waits) == waits
        ]  # fmt: skip
        if own:
            said.append(f"{sum(own)} of {count(len(own), 'control')}{where}")
    return f"Pooled intervals contain the truth of {listing(said)}." if said else ""


def markdown(tried: Sequence[Trial], command: str) -> str:
    rows = pooled(tried)
    studies = len({one.study for one in tried})
    parts = [
        "# Calibration",
        f"{finding(rows)} In {count(studies, 'study', 'studies')} a contender ran a second time in "
        "every contest, in another process: unchanged (a twin), or slowed by the harness by a "
        "known share. The table has the measured slowdown over the true slowdown, against the "
        "contender, with its "
        f"{percent(CONFIDENCE)} interval. A value of 1.01 means that studies measure 1 % too much.",
        "The unit is the contest, and the intervals are Student's. A contest of several contenders "
        "with controls counts once, with their mean.",
        markdown_table(
            ["workload", "contender", "control", "waits", "studies", "contests",
             "measured over true", "in the same process"],
            [
                [
                    row.workload, row.whom, kind(row.slowed_by), share(row.waits),
                    str(len(row.studies)), str(row.contests), cell(row.error), cell(row.beside),
                ]
                for row in rows if not row.only_waits
            ],
        ),
        "The harness slows a control by waiting after its turn for a share of the turn's time, and "
        "adds that time to the turn's steps. In studies with a share of waiting in the table, it "
        "waited between steps, equally long for all slowed controls, a part of it timed, and a "
        "control that only waited ran in the same process. The last column is the comparison with "
        "that control: it leaves out what waiting costs and how processes differ.",
        "## Intervals of single studies",
        "How many intervals contain the truth, of each control in each study:",
        coverage_table(tried),
    ]  # fmt: skip
    if waiting := [row for row in rows if row.only_waits]:
        parts += [
            "## What waiting costs",
            "The control that only waited, over its contender. It computed the same, so its ratio "
            "is what waiting costs the next step, probably because other tenants use the "
            "processor's caches meanwhile. Against its contender, a slowed control takes longer "
            "than its truth by as much; against the control that only waited, it does not.",
            markdown_table(
                ["workload", "contender", "waits", "contests", "ratio", "studies",
                 "from study to study"],
                [
                    [
                        row.workload, row.whom, share(row.waits), str(row.contests),
                        cell(row.error), str(len(row.studies)),
                        f"{ratio(min(row.studies))} to {ratio(max(row.studies))}",
                    ]
                    for row in waiting
                ],
            ),
        ]  # fmt: skip
    return "\n\n".join([*parts, f"Made by\n\n```sh\n{command}\n```"]) + "\n"


def coverage_table(tried: Sequence[Trial]) -> str:
    rows = []
    for workload in sorted({one.id.workload for one in tried}):
        own = [one for one in tried if one.id.workload == workload and not one.only_waits]
        for what, logs in (
            ("twin", [one.error for one in own if not one.slowed_by]),
            ("slowed", [one.error for one in own if one.slowed_by]),
            ("slowed, in the same process", [one.beside for one in own if one.beside is not None]),
        ):
            right, total = coverage(logs)
            if total:
                expected = f"{total * CONFIDENCE:.1f}"
                rows.append([workload, what, str(total), str(right), expected])
    return markdown_table(
        ["workload", "control", "intervals", "contain the truth", "expected"], rows
    )


def share(part: float) -> str:
    return percent(part) if part else ""


def kind(slowed_by: float) -> str:
    return f"slowed by {percent(slowed_by)}" if slowed_by else "twin"


def cell(found: Mean | None) -> str:
    """`1.003 (0.998 to 1.008)`"""
    if found is None:
        return ""
    if found.low is None or found.high is None:
        return ratio(found.mean)
    return f"{ratio(found.mean)} ({ratio(found.low)} to {ratio(found.high)})"


def ratio(log: float) -> str:
    return f"{math.exp(log):.3f}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m analysis.repeats.calibration")
    parser.add_argument("folders", nargs="+", type=Path, help="folders with studies below them")
    parser.add_argument("--out", type=place, help="write the Markdown there, not to the terminal")
    options = parser.parse_args(arguments)
    words = [*map(str, options.folders), *(["--out", str(options.out)] if options.out else [])]
    command = shlex.join(["python", "-m", "analysis.repeats.calibration", *words])
    try:
        text = markdown(trials(options.folders), command)
        if options.out:
            with atomic(options.out) as temporary:
                temporary.write_text(text, encoding="utf-8")
        else:
            print(text, end="")
    except RecordError as error:
        print(f"calibration: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(printing("calibration", main))
