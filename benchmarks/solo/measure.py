"""Train contenders in turns, and each in a process that has the cores alone, cycle after cycle.

Both ways run the contest of studies. Alone, it is a contest of one contender with one long turn, of
as many mini-batches as its turns have together.
"""

import random
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks.solo.records import Run, Solo, Way, write
from frameworks.registry import framework
from workflows.machine.lock import machine_lock
from workflows.machine.system_info import system_info
from workflows.measure.contest import Contest
from workflows.planning.code import code
from workflows.planning.plan import Plan, PlanError, PlannedContender, load_plan
from workflows.progress import Progress
from workflows.records.folders import Folders

FEWEST = 3  # cycles
AFTER = 1000  # replicates of contests here follow this number: studies have fewer


def measure(folders: Folders, variants: Sequence[str], minutes: float, out: Path) -> Solo:
    """As many cycles as fit in the minutes, three at least; the record is written after each.

    Raises:
        PlanError: no contender has one of the variants, or one failed.
    """
    plan = load_plan(folders)
    contenders = [one for one in plan.runnable if one.variant in variants]
    if not contenders:
        raise PlanError(f"no contender can run here in variant {' or '.join(variants)}")
    started, begin = now(), time.monotonic()
    summary = system_info()["summary"]
    runs: list[Run] = []
    longest, number = 0.0, 0
    with Progress(60 * minutes, "in turns and alone") as progress:

        def report(text: str) -> None:
            progress.update(min(time.monotonic() - begin, 60 * minutes), text)

        while number < FEWEST or time.monotonic() - begin + longest <= 60 * minutes:
            number += 1
            with machine_lock(progress.note):
                since = time.monotonic()
                runs += cycle(plan, contenders, folders, number, report)
                longest = max(longest, time.monotonic() - since)
            solo = recorded(plan, contenders, summary, started, runs)
            write(out, solo)
    return solo


def cycle(
    plan: Plan,
    contenders: Sequence[PlannedContender],
    folders: Folders,
    number: int,
    report: Callable[[str], None],
) -> list[Run]:
    """All contenders in turns, and each of them alone; both ways, and the contenders that run
    alone, are in an order drawn anew."""
    chance = random.Random(number)
    runs: list[Run] = []
    for group in plan.study.groups:
        alone = chance.sample(contenders, len(contenders))
        parts: list[tuple[Way, list[list[PlannedContender]]]] = [
            ("turns", [list(contenders)]),
            ("alone", [[one] for one in alone]),
        ]
        for way, contests in chance.sample(parts, 2):
            for entrants in contests:
                contest = Contest(dealt(plan, entrants, way), group, AFTER + number, folders)
                contest.run(lambda turn, text, way=way: report(f"cycle {number}, {way}: {text}"))
                runs += found(contest, way, number)
    return runs


def dealt(plan: Plan, contenders: Sequence[PlannedContender], way: Way) -> Plan:
    """The plan of a contest of these contenders, without controls and the harness's own turns."""
    deal: dict[str, Any] = plan.study.contest.model_dump(mode="json")
    if way == "alone":
        deal |= {"rounds": 1, "turn": deal["rounds"] * deal["turn"]}
    return Plan(
        machine=plan.machine,
        command=plan.command,
        configuration={**plan.configuration, "contest": deal},
        contenders=list(contenders),
    )


def found(contest: Contest, way: Way, number: int) -> list[Run]:
    """The runs of one contest. Raises PlanError if a contender failed."""
    batches = pd.DataFrame(contest.columns.values)
    batches["ms"] = (batches["transfer_ns"] + batches["step_ns"]) / 1e6
    steady = batches[~batches["warmup"]]
    runs = []
    for workload, records in contest.records.items():
        for record in records:
            if record.status != "ok":
                raise PlanError(f"{record.name} {record.status} on {workload}: {record.reason}")
            own = steady[(steady["workload"] == workload) & (steady["contender"] == record.name)]
            runs.append(
                Run(
                    cycle=number,
                    way=way,
                    workload=workload,
                    contender=record.identity(),
                    took_s=round(record.took_s or 0.0, 2),
                    ms=[rows["ms"].round(4).tolist() for _, rows in own.groupby("round")],
                )
            )
    return runs


def recorded(
    plan: Plan, contenders: Sequence[PlannedContender], summary: str, started: str, runs: list[Run]
) -> Solo:
    deal = plan.study.contest
    return Solo(
        machine=plan.machine,
        summary=summary,
        started=started,
        ended=now(),
        code=code(),
        versions={name: v for one in contenders for name, v in one.versions.items()},
        reference=plan.study.reference_framework,
        titles={one.framework: framework(one.framework).title for one in contenders},
        warmup=deal.warmup,
        rounds=deal.rounds,
        turn=deal.turn,
        discard=deal.discard,
        runs=runs,
    )


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
