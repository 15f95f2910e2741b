"""Start-up cost of each contender, and when a slower start has paid off."""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from analysis.data.processes import COLUMNS
from analysis.data.results import BenchmarkId, Machine
from analysis.findings.comparisons import Comparison
from analysis.stats.fieller import PayOff, pay_off
from analysis.stats.inference import student

COSTS = ("import", "build", "first", "compile", "excess", "total")


class Range(NamedTuple):
    """Mean over replicates and Student's interval."""

    mean: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class StartLine:
    """A row of start.csv, in seconds; intervals are Student's over replicates.

    If workloads share contests, only the replicates count in which this workload came first,
    because what a process does only once falls on the first workload.
    `import_s`: importing the framework, in its first process of each contest, while no other
    imported; `build_s`: building the network; `first_s`: the first mini-batch, which may trace or
    compile; `compile_s`: by how much that exceeds the steady median; `excess_s`: the same for all
    other mini-batches before the first round; `total_s`: import, build, compile and excess. `ahead`
    and `steps` say, as in `PayOff`, from or until which mini-batch the contender is ahead of
    `reference` if both start together.
    """

    id: BenchmarkId
    replicates: int
    import_s: float | None
    import_low_s: float | None
    import_high_s: float | None
    build_s: float | None
    build_low_s: float | None
    build_high_s: float | None
    first_s: float | None
    first_low_s: float | None
    first_high_s: float | None
    compile_s: float | None
    compile_low_s: float | None
    compile_high_s: float | None
    excess_s: float | None
    excess_low_s: float | None
    excess_high_s: float | None
    total_s: float | None
    total_low_s: float | None
    total_high_s: float | None
    reference: str
    reference_variant: str
    ahead: str
    steps: float | None
    steps_low: float | None
    steps_high: float | None


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
        ranges = {part: over(cost[part], machine.study.confidence) for part in COSTS}
        lines.append(
            StartLine(
                benchmark,
                replicates=len(cost),
                **{
                    f"{part}{end}_s": getattr(ranges[part], name)
                    for part in COSTS
                    for end, name in (("", "mean"), ("_low", "low"), ("_high", "high"))
                },
                reference=base.framework if pair else "",
                reference_variant=base.variant if pair else "",
                ahead=pair.outcome if pair else "",
                steps=pair.steps if pair else None,
                steps_low=pair.low if pair else None,
                steps_high=pair.high if pair else None,
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
            "import": imported,
            "build": mine.build_s,
            "first": first,
            "compile": first - median / 1000,
            "excess": sum((seconds * weight)[1:].tolist()) - int(weight[1:].sum()) * median / 1000,
            "step": median / 1000,
        }
    columns = [*(part for part in COSTS if part != "total"), "step"]
    parts = pd.DataFrame.from_dict(table, orient="index").reindex(columns=columns).astype(float)
    parts["total"] = parts[["import", "build", "compile", "excess"]].sum(axis=1, skipna=False)
    return parts


def over(values: "pd.Series[float]", confidence: float) -> Range:
    known = values.dropna().tolist()
    if not known:
        return Range()
    estimate = student(known, confidence)
    return Range(estimate.mean, estimate.low, estimate.high)


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
