"""Start-up cost of each contender, and when a slower start has paid off."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import pandas as pd

from analysis.data.processes import COLUMNS
from analysis.data.results import BenchmarkId, Machine
from analysis.findings.comparisons import Comparison
from analysis.stats.fieller import PayOff, pay_off
from analysis.stats.inference import student
from analysis.stats.intervals import UNKNOWN, Interval

COSTS = ("imports", "build", "first", "compile", "excess", "total")


@dataclass(frozen=True)
class StartLine:
    """A row of start.csv, in seconds: means over replicates with Student's intervals.

    If workloads share contests, only the replicates count in which this workload came first,
    because what a process does only once falls on the first workload.
    `imports`: importing the framework, in its first process of each contest, while no other
    imported; `build`: building the network; `first`: the first mini-batch, which may trace or
    compile; `compile`: by how much that exceeds the steady median; `excess`: the same for all
    other mini-batches before the first round; `total`: imports, build, compile and excess. `ahead`
    and `steps` say, as in `PayOff`, from or until which mini-batch the contender is ahead of
    `reference` if both start together.
    """

    id: BenchmarkId
    replicates: int
    imports: Annotated[Interval, "import_s import_low_s import_high_s"] = UNKNOWN
    build: Annotated[Interval, "build_s build_low_s build_high_s"] = UNKNOWN
    first: Annotated[Interval, "first_s first_low_s first_high_s"] = UNKNOWN
    compile: Annotated[Interval, "compile_s compile_low_s compile_high_s"] = UNKNOWN
    excess: Annotated[Interval, "excess_s excess_low_s excess_high_s"] = UNKNOWN
    total: Annotated[Interval, "total_s total_low_s total_high_s"] = UNKNOWN
    reference: str = ""
    reference_variant: str = ""
    ahead: str = ""
    steps: Annotated[Interval, "steps steps_low steps_high"] = UNKNOWN


def start_lines(
    machine: Machine,
    measured: dict[BenchmarkId, pd.DataFrame],
    batches: pd.DataFrame,
    comparisons: Sequence[Comparison],
) -> list[StartLine]:
    """A row for each benchmark except controls, compared if it has a ratio in `comparisons`."""
    keys = [*COLUMNS, "replicate"]
    warmup = batches.loc[batches["round"] == 0, [*keys, "step", "ms", "weight"]]
    warmed = dict(list(warmup.sort_values("step").groupby(keys)))
    costs = {
        benchmark: starting(machine, benchmark, rows, warmed)
        for benchmark, rows in measured.items()
        if not machine.control(benchmark)
    }
    bases = {row.id: row.base for row in comparisons if row.estimate.ratio is not None}
    lines = []
    for benchmark, cost in costs.items():
        base = bases.get(benchmark, benchmark)
        pair = compared(benchmark, base, costs, machine.study.confidence)
        lines.append(
            StartLine(
                benchmark,
                replicates=len(cost),
                **{part: over(cost[part], machine.study.confidence) for part in COSTS},
                reference=base.framework if pair else "",
                reference_variant=base.variant if pair else "",
                ahead=pair.outcome if pair else "",
                steps=Interval(pair.steps, pair.low, pair.high) if pair else UNKNOWN,
            )
        )
    return lines


def starting(
    machine: Machine,
    benchmark: BenchmarkId,
    rows: pd.DataFrame,
    warmed: Mapping[tuple[Hashable, ...], pd.DataFrame],
) -> pd.DataFrame:
    """Seconds by replicate, a column for each part, and for the `step` in steady state; NaN if
    it was not recorded. `warmed` has the warm-up of each process in the order of its steps."""
    contests = machine.contests(benchmark.workload)
    kind = (benchmark.framework, benchmark.device)
    table = {}
    for replicate, median in rows["median"].items():
        number = int(str(replicate))
        if contests[number].place:
            continue
        records = contests[number].contenders
        same = [r for r in records if (r.framework, r.device) == kind]
        same.sort(key=lambda r: r.variant != benchmark.variant)  # some variants import differently
        mine = next(record for record in same if record.name == benchmark.contender)
        imported = next((r.import_s for r in same if r.import_s is not None), None)
        own = warmed[(*benchmark, number)]
        seconds, weight = own["ms"].to_numpy() / 1000, own["weight"].to_numpy()
        first = float(seconds[0])
        table[number] = {
            "imports": imported,
            "build": mine.build_s,
            "first": first,
            "compile": first - median / 1000,
            "excess": sum((seconds * weight)[1:].tolist()) - int(weight[1:].sum()) * median / 1000,
            "step": median / 1000,
        }
    columns = [*(part for part in COSTS if part != "total"), "step"]
    parts = pd.DataFrame.from_dict(table, orient="index").reindex(columns=columns).astype(float)
    parts["total"] = parts[["imports", "build", "compile", "excess"]].sum(axis=1, skipna=False)
    return parts


def over(values: "pd.Series[float]", confidence: float) -> Interval:
    known = values.dropna().tolist()
    return student(known, confidence).interval if known else UNKNOWN


def compared(
    benchmark: BenchmarkId,
    base: BenchmarkId,
    costs: dict[BenchmarkId, pd.DataFrame],
    confidence: float,
) -> PayOff | None:
    if benchmark == base:
        return None
    difference = (costs[benchmark] - costs[base])[["total", "step"]].dropna()
    if difference.empty:
        return None
    return pay_off(difference["total"].tolist(), difference["step"].tolist(), confidence)


def compiler_caches(machine: Machine) -> dict[str, Counter[str]]:
    """How many processes found each compiler's cache off, cold or warm when they started."""
    found: dict[str, Counter[str]] = {}
    seen: set[tuple[str, str, int]] = set()
    for contest in machine.records.contests:
        for contender in contest.contenders:
            process = (contest.group or contest.workload, contender.name, contest.replicate)
            if contender.caches and process not in seen:
                seen.add(process)
                for name, state in contender.caches.items():
                    found.setdefault(name, Counter())[state] += 1
    return found
