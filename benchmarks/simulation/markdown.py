"""Tables and rates in Markdown."""

from collections.abc import Iterable, Sequence

from benchmarks.simulation.demands import interval
from benchmarks.simulation.rates import Rate


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def told(rate: Rate | None) -> str:
    return interval(rate) if rate and rate.of else "none"


def share(value: float) -> str:
    return f"{100 * value:.2f} %"
