"""Energy per mini-batch, on machines that measure it: joules of the processor's package or of the
GPU, with the same statistics as times.

Each turn has one value, the joules of the turn over its mini-batches, which replaces the times of
the round. If a meter stood still in many turns, the others contain their energy, so none counts.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd

from analysis.data.processes import by_benchmark, grid, logs, paired
from analysis.data.results import BenchmarkId
from analysis.findings.findings import Findings, Table, added
from analysis.format import sentence
from analysis.stats.inference import Estimate, estimates, student
from analysis.stats.intervals import Interval

FIELDS = {"processor": "package_j", "GPU": "gpu_j"}  # of a turn's record
TURN = ["workload", "replicate", "contender", "round"]
STILL = 0.1  # of a benchmark's turns: if its meter stood still in more, it has no energy
NOT_READ = "not read: "  # how a reason begins in the records


@dataclass(frozen=True)
class EnergyLine:
    """A row of energy.csv: joules per mini-batch that the processor's packages or the GPUs (`of`)
    used during the turns of a contender. `joules` is the geometric mean of the replicates' medians,
    with Student's interval. The estimate is of this energy over that of the benchmark that times
    are compared with, within rounds."""

    COLUMNS: ClassVar = (
        "machine workload device threads variant framework of joules joules_low joules_high "
        "reference replicates ratio ratio_low ratio_high"
    )

    id: BenchmarkId
    of: str
    joules: Annotated[Interval, "joules joules_low joules_high"]
    reference: str
    estimate: Estimate


def energy_lines(findings: Findings) -> list[EnergyLine]:
    return [line for of, name in FIELDS.items() for line in lines_of(findings, of, name)]


def lines_of(findings: Findings, of: str, name: str) -> list[EnergyLine]:
    """Only contenders on a GPU have rows for the GPU, because the others leave it idle."""
    found = by_turn(findings, name)
    used = {
        one: found[one]
        for one in findings.measured
        if one in found and (of == "processor" or not one.on_host)
    }
    bases = {row.id: row.base for row in findings.comparisons if row.estimate.ratio is not None}
    pairs = {one: base for one, base in bases.items() if one in used and base in used}
    study = findings.machine.study
    family = [paired(used[one], used[base]).tolist() for one, base in pairs.items()]
    judged = dict(zip(pairs, estimates(family, study.margin, study.confidence), strict=True))
    lines = []
    for one, rows in used.items():
        mean = student(logs(rows).tolist(), study.confidence)
        base = pairs[one].contender if one in pairs else ""
        estimate = judged.get(one, Estimate())
        lines.append(EnergyLine(one, of, mean.interval.through(math.exp), base, estimate))
    return lines


def by_turn(findings: Findings, name: str) -> Mapping[BenchmarkId, pd.DataFrame]:
    """The processes of each benchmark by replicate: the `median` over turns of the joules per
    mini-batch, and the `logs` of these, (rounds, 1)."""
    contests = findings.machine.records.contests
    turns = pd.DataFrame(
        [
            (contest.workload, contest.replicate, turn.contender, turn.round, joules)
            for contest in contests
            for turn in contest.turns
            if turn.round and (joules := getattr(turn, name)) is not None
        ],
        columns=[*TURN, "joules"],
    )
    counted = findings.batches.groupby(TURN)["weight"].sum().rename("batches").reset_index()
    rows = turns.merge(counted, on=TURN)
    who = {
        (contest.workload, one.name): BenchmarkId.of(contest.workload, one)
        for contest in contests
        for one in contest.contenders
    }
    whose = ["workload", "contender"]
    known = rows["joules"] > 0
    still = 1 - known.groupby([rows[name] for name in whose]).transform("mean")
    rows = rows[known & (still <= STILL)]
    if rows.empty:
        return {}
    own = [who[key] for key in zip(rows["workload"], rows["contender"], strict=True)]
    rows = rows[["replicate", "round"]].assign(
        ms=rows["joules"] / rows["batches"],
        **{part: [one[place] for one in own] for place, part in enumerate(BenchmarkId._fields)},
    )
    keys = [*BenchmarkId._fields, "replicate"]
    table = rows.groupby(keys)["ms"].median().rename("median").reset_index()
    held = np.empty(len(table), dtype=object)
    for place, values in enumerate(grid(rows, keys)):
        held[place] = values
    return by_benchmark(table.assign(logs=held))


def reasons_without_energy(findings: Findings) -> list[str]:
    """Why no energy was measured: a line for each reason that the records have."""
    measured = {line.of for line in ENERGY.of(findings)}
    slow = [
        f"The {of}'s meter of energy stood still in too many turns: they are too short for it."
        for of, name in FIELDS.items()
        if of not in measured
        and any(
            getattr(turn, name) is not None
            for contest in findings.machine.records.contests
            for turn in contest.turns
        )
    ]
    found = [contest.system_info.get("energy") for contest in findings.machine.records.contests]
    kinds = {"processor": "processor", "gpu": "GPU"}
    reasons = [
        f"Energy of the {kinds[kind]} was {sentence(str(reason))}"
        for said in found
        if isinstance(said, Mapping)
        for kind, reason in said.items()
        if kind in kinds and kinds[kind] not in measured and str(reason).startswith(NOT_READ)
    ]
    return [*dict.fromkeys(reasons), *slow]


ENERGY = added("energy", Table(EnergyLine, energy_lines, optional=True))
