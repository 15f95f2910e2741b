"""docs/solo.md, from records."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.data.results import BenchmarkId
from analysis.format import alike, count, listing, titled
from analysis.stats.estimator import log_ratio
from analysis.stats.inference import Mean, student
from benchmarks.solo.records import Run, Solo, Way

CONFIDENCE = 0.95

ABOUT = """# Do turns change the answer?

{finding}

In a contest all contenders are alive together and take turns of a few mini-batches. Each turn
begins with the initial weights, and with caches that the other contenders have used. A user's
training has the cores alone and runs without a break. This page compares the two, with the same
worker processes, data and clock.

- **In turns**: a contest as studies run it, without controls.
- **Alone**: a process for each contender, one after another. No other contender is alive. After
  the same warm-up it trains on as many mini-batches as its turns have together, in one turn.

A cycle measures both ways, in an order drawn anew, and the unit of every interval is the cycle. In
turns, a ratio is estimated as in reports, from pairs of mini-batches of the same round. Alone, the
two sides never ran at the same time, so it is estimated from all pairs of their mini-batches. It
therefore scatters more.

```sh
{command}
```
"""


@dataclass(frozen=True)
class BothWays:
    """A contender's ratio to the reference's, or its own time, both ways; `change` is alone over in
    turns. All are means of logarithms over cycles."""

    id: BenchmarkId
    turns: Mean
    alone: Mean
    change: Mean


def by_cycle(solo: Solo) -> dict[tuple[BenchmarkId, Way], dict[int, Run]]:
    found: dict[tuple[BenchmarkId, Way], dict[int, Run]] = {}
    for run in solo.runs:
        key = (BenchmarkId.of(run.workload, run.contender), run.way)
        found.setdefault(key, {})[run.cycle] = run
    return found


def benchmarks(solo: Solo) -> list[BenchmarkId]:
    found = dict.fromkeys(BenchmarkId.of(run.workload, run.contender) for run in solo.runs)
    return sorted(found, key=lambda one: (one.workload, one.threads, one.variant, one.framework))


def ratios(solo: Solo) -> list[BothWays]:
    """Each contender's time over that of the reference framework in the same variant."""
    runs, rows = by_cycle(solo), []
    for one in benchmarks(solo):
        base = one._replace(framework=solo.reference)
        if base == one or (base, "turns") not in runs:
            continue
        logs = {
            way: [
                float(log_ratio(run.logs, runs[base, way][cycle].logs))
                for cycle, run in runs[one, way].items()
            ]
            for way in ("turns", "alone")
        }
        rows.append(row(one, logs["turns"], logs["alone"]))
    return rows


def times(solo: Solo) -> list[BothWays]:
    """The median time of each contender."""
    runs = by_cycle(solo)
    logs = {key: [float(np.median(run.logs)) for run in own.values()] for key, own in runs.items()}
    return [row(one, logs[one, "turns"], logs[one, "alone"]) for one in benchmarks(solo)]


def row(one: BenchmarkId, turns: Sequence[float], alone: Sequence[float]) -> BothWays:
    changes = [apart - together for together, apart in zip(turns, alone, strict=True)]
    return BothWays(one, *(student(logs, CONFIDENCE) for logs in (turns, alone, changes)))


def ratio_table(solo: Solo) -> Iterator[str]:
    yield "| workload | threads | variant | ratio of | in turns | alone | alone over in turns |"
    yield "|---|---|---|---|---|---|---|"
    names = solo.titles
    for row in ratios(solo):
        pair = f"{names[row.id.framework]} to {names[solo.reference]}"
        yield (
            f"| {row.id.workload} | {row.id.threads} | {row.id.variant} | {pair} "
            f"| {shown(row.turns)} | {shown(row.alone)} | {shown(row.change)} |"
        )


def time_table(solo: Solo) -> Iterator[str]:
    yield "| workload | threads | contender | ms in turns | ms alone | alone over in turns |"
    yield "|---|---|---|---|---|---|"
    for row in times(solo):
        who = f"{solo.titles[row.id.framework]} {row.id.variant}"
        yield (
            f"| {row.id.workload} | {row.id.threads} | {who} "
            f"| {shown(row.turns)} | {shown(row.alone)} | {shown(row.change)} |"
        )


def shown(mean: Mean) -> str:
    """`0.583 [0.571, 0.596]`, on the scale of times"""
    ends = [None if end is None else float(np.exp(end)) for end in (mean.mean, mean.low, mean.high)]
    middle, low, high = alike(*ends)
    return f"{middle} [{low}, {high}]"


def known(solo: Solo) -> list[BothWays]:
    return [row for row in ratios(solo) if row.change.low is not None]


def unchanged(rows: Iterable[BothWays]) -> list[BothWays]:
    return [row for row in rows if row.change.low <= 0 <= row.change.high]  # type: ignore[operator]


def finding(solos: Sequence[Solo]) -> str:
    rows = [row for solo in solos for row in known(solo)]
    return (
        f"Of {count(len(rows), 'ratio')} {len(unchanged(rows))} were the same in turns and alone, "
        "as far as intervals show."
    )


def sentences(solo: Solo) -> str:
    rows = known(solo)
    if not rows:
        return "No other framework has a variant of the reference, so there is no ratio."
    within = unchanged(rows)
    changes = [row.change.mean for row in rows]
    halves = [(row.change.high - row.change.low) / 2 for row in rows]  # type: ignore[operator]
    middle = float(np.exp(np.mean(changes)))
    text = (
        f"For {len(within)} of {count(len(rows), 'ratio')}, the interval of alone over in turns "
        "contains 1. By chance alone, one in 20 would not. The geometric mean of alone over in "
        f"turns is {middle:.3f}; the rows are between {np.exp(min(changes)):.3f} and "
        f"{np.exp(max(changes)):.3f}, and half of them are known to within "
        f"{100 * np.expm1(np.median(halves)):.1f} % or better."
    )
    opposite = [row for row in rows if row.turns.mean * row.alone.mean < 0 and not_one(row)]
    if opposite:
        where = listing(f"{row.id.workload} {row.id.contender}" for row in opposite)
        text += f" The direction is another alone: {where}."
    return text


def not_one(row: BothWays) -> bool:
    """Whether both intervals of a ratio leave out 1."""
    return all(
        mean.low is not None and mean.high is not None and (mean.low > 0 or mean.high < 0)
        for mean in (row.turns, row.alone)
    )


def section(solo: Solo) -> Iterator[str]:
    cycles = max(run.cycle for run in solo.runs)
    places = ", ".join(f"{name} {version}" for name, version in solo.versions.items())
    yield f"## {solo.started[:16].replace('T', ' ')} to {solo.ended[11:16]} UTC"
    yield (
        f"{count(cycles, 'cycle')} on `{solo.machine}`: {solo.summary}. {places}. Contests have "
        f"{solo.warmup} mini-batches of warm-up and {solo.rounds} turns of {solo.turn}, of which "
        f"the first {solo.discard} do not count; alone it is one turn of "
        f"{solo.rounds * solo.turn}. "
        f"Brackets are {100 * CONFIDENCE:g} % intervals over cycles (Student)."
    )
    yield sentences(solo)
    yield "### Ratios\n\n" + "\n".join(ratio_table(solo))
    yield (
        "### Times\n\nA contender's own time may differ between the two ways without consequence, "
        "if all contenders differ alike.\n\n" + "\n".join(time_table(solo))
    )


def page(records: Iterable[Solo], command: str) -> str:
    """The whole page, a section for each record, in the order given."""
    solos = list(records)
    parts = [ABOUT.format(command=command, finding=finding(solos)).strip()]
    for solo in solos:
        with titled(solo.titles):
            parts += section(solo)
    return "\n\n".join(parts) + "\n"
