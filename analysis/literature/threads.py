"""What a second thread gains on the networks of 2016, then and today, and what it gains as a second
worker."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from analysis.format import count, title
from analysis.literature.dots import HEIGHT, interval_on, legend, rows_on
from analysis.literature.judging.double_ratios import SECOND
from analysis.literature.published.table7 import networks, threads_over
from analysis.literature.studies import WORKERS, KnownRatio, StudyTables
from analysis.literature.today import certified
from analysis.report.figures.style import INK, PALETTE, PAPER, Figure, canvas
from analysis.report.prose import two

EACH = 0.2  # of a row, from one framework's mark to the next
FRAMEWORKS = tuple(PALETTE)  # in the order of the marks
WAYS = {
    "pytorch": "DistributedDataParallel",
    "tensorflow": "MirroredStrategy",
    "jax": "jax.jit over a sharded batch",
}


@dataclass(frozen=True)
class Gain:
    """A row of threads.csv: how many times as fast two threads are as one, with the 95 % interval.
    `efficiency` is half of that. `serial_share` is the share of the step that would have to run on
    one thread to explain it (Amdahl); below 0, something else gains, like a second cache. The last
    three: the least, the median and the most of the tools of 2016 on both processors."""

    network: str
    framework: str
    speedup: KnownRatio
    efficiency: float
    serial_share: float
    then_least: float
    then_median: float
    then_most: float


@dataclass(frozen=True)
class Divided:
    """A row of parallel.csv: workers of one thread each, which share each mini-batch in a `way` of
    the framework's, beside one worker with all their `threads`. `median_ms` and `one_worker_ms` are
    the times of a mini-batch. `speedup`: how many times as fast the workers are, with the 95 %
    interval. `efficiency`: that over how many times as many threads they have, which is 1. Without
    `certificate`, `reason` says why they are not compared."""

    network: str
    framework: str
    way: str
    workers: int
    threads: int
    median_ms: float | None
    one_worker_ms: float | None
    speedup: KnownRatio | None
    efficiency: float | None
    certificate: str
    reason: str


def divided(studies: Sequence[StudyTables]) -> list[Divided]:
    return [one for study in studies for one in divided_in(study)]


def divided_in(study: StudyTables) -> Iterator[Divided]:
    medians = {time.id: time.median for time in study.times}
    for row in study.of(WORKERS):
        one, base = (row.id._replace(variant=own) for own in WORKERS[1:])
        speedup = row.inverse.known if row.usable else None
        yield Divided(
            one.workload, one.framework, WAYS.get(one.framework, ""), one.threads, one.threads,
            medians.get(one), medians.get(base), speedup, speedup and speedup.ratio,
            row.certificate, row.reason,
        )  # fmt: skip


def gains(studies: Sequence[StudyTables]) -> list[Gain]:
    """By network. If several studies have a network, the first one counts."""
    found: dict[tuple[str, str], Gain] = {}
    then: dict[str, list[float]] = {}
    for over in threads_over(2, 1):
        then.setdefault(over.one.network, []).append(1 / over.value)
    names = {name.lower(): name for name in networks()}
    for row in certified(studies, SECOND):
        name = names.get(row.id.workload)
        if not name or not row.id.on_host:
            continue
        speedup, own = row.inverse.known, then.get(name, [])
        ends = (min(own), median(own), max(own)) if own else (float("nan"),) * 3
        times = speedup.ratio
        gain = Gain(name, row.id.framework, speedup, times / 2, 2 / times - 1, *ends)
        found.setdefault((name, row.id.framework), gain)
    return sorted(found.values(), key=lambda gain: networks().index(gain.network))


def threads(rows: Sequence[Gain]) -> Figure:
    names = list(dict.fromkeys(row.network for row in rows))
    frameworks = [name for name in FRAMEWORKS if name in {row.framework for row in rows}]
    then = {
        name: [1 / over.value for over in threads_over(2, 1) if over.one.network == name]
        for name in names
    }
    with canvas(1.2 + 1.5 * HEIGHT * len(names)) as drawn:
        axes = drawn.add_subplot()
        for place in (1, 2):
            axes.axvline(place, color=INK, linewidth=1.1, linestyle="-" if place == 1 else "--")
        for row in rows:
            height = names.index(row.network) + EACH * (frameworks.index(row.framework) - 1.5)
            colour = PALETTE[row.framework]
            interval_on(axes, row.speedup, height, colour)
        for place, name in enumerate(names):
            height = place + EACH * (len(frameworks) - 1.5)
            axes.plot(then[name], [height] * len(then[name]), "o", color=INK, markersize=3.5,
                      markerfacecolor=PAPER, alpha=0.6)  # fmt: skip
        rows_on(axes, names, "times as fast with two threads as with one")
        marks = [(title(name), PALETTE[name], PALETTE[name]) for name in frameworks]
        legend(drawn, [*marks, ("tools of 2016", INK, PAPER)], columns=2)
        return Figure(
            drawn,
            "threads",
            "What a second thread brings, 2016 and today",
            "How many times as fast a step is with two threads as with one: today's frameworks as "
            "in their tutorials, with 95 % intervals, on two cores, and every tool of Table 7 of "
            "Shi et al. (2016) with readable cells for both, on two processors with more cores. "
            "Today's batch sizes are smaller. Solid line: no gain; dashed: twice as fast.",
            "Dot plot of the speed-up by a second thread, by network.",
            finding(rows),
            inlined=False,
        )


def finding(rows: Sequence[Gain]) -> str:
    least, most = (choose(rows, key=lambda row: row.speedup) for choose in (min, max))
    return (
        f"A second thread makes a step {two(least.speedup.ratio)} ({title(least.framework)} on "
        f"{least.network}) to {two(most.speedup.ratio)} times as fast ({title(most.framework)} on "
        f"{most.network}); the median of {count(len(rows), 'pair')} is "
        f"{two(median(row.speedup.ratio for row in rows))}, and was {two(then_median())} in 2016."
    )


def then_median() -> float:
    return median(1 / over.value for over in threads_over(2, 1))
