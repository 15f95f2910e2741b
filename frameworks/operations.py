"""What a step's time goes to, by the names that frameworks' own profilers give operations.

Each adapter has a table of regular expressions, each with its category. The first expression that
is found in a name decides. A name without any is `unaccounted`.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from math import inf
from typing import NamedTuple

PRODUCT = "matrix product"
FORWARD, DATA, WEIGHTS, BACKWARD = (
    f"convolution {part}" for part in ("forward", "data", "weights", "backward")
)
POOLING, ELEMENTWISE, OPTIMISER = "pooling", "element-wise", "optimiser"
COPIES, DISPATCH, UNACCOUNTED = "copies", "dispatch", "unaccounted"
# `data` and `weights` are the two gradients of a convolution, `backward` is both if the profiler
# does not separate them. Element-wise also has reductions, normalisation and the loss. Dispatch is
# the time in which no operation ran: Python, looking up, launching, waiting.
CATEGORIES = (
    PRODUCT, FORWARD, DATA, WEIGHTS, BACKWARD, POOLING, ELEMENTWISE, OPTIMISER, COPIES, DISPATCH,
    UNACCOUNTED,
)  # fmt: skip

Table = Sequence[tuple[str, str]]


class Event(NamedTuple):
    """One operation on one thread, from `begin` to `end` on any clock."""

    name: str
    begin: float
    end: float


def category(name: str, table: Table) -> str:
    return next((found for pattern, found in table if matcher(pattern).search(name)), UNACCOUNTED)


@cache
def matcher(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def by_category(seconds: Mapping[str, float], table: Table, total_s: float) -> dict[str, float]:
    """The seconds of each category. What is left of `total_s` is dispatch."""
    found: dict[str, float] = defaultdict(float)
    for name, spent in seconds.items():
        found[category(name, table)] += spent
    found[DISPATCH] += max(total_s - sum(seconds.values()), 0.0)
    return {name: found[name] for name in CATEGORIES if found[name] > 0}


def seconds(threads: Iterable[Iterable[Event]], unit: float) -> dict[str, float]:
    """The seconds of each name, from times in units of `unit` seconds.

    On each thread the innermost operation counts. Threads that compute at the same time share that
    time, so that all add up to the time that passed.
    """
    changes: list[tuple[float, int, str]] = []
    for events in threads:
        for event in innermost(events):
            changes += [(event.begin, 1, event.name), (event.end, -1, event.name)]
    running: Counter[str] = Counter()
    spent: dict[str, float] = defaultdict(float)
    for (begin, change, name), (end, _, _) in pairwise(sorted(changes)):
        running[name] += change
        if end > begin and (threads_running := sum(running.values())):
            for one, count in running.items():
                spent[one] += unit * (end - begin) * count / threads_running
    return {name: own for name, own in spent.items() if own > 0}


def innermost(events: Iterable[Event]) -> Iterator[Event]:
    """The events of a thread, each without the time of events within it."""
    around: list[Event] = []
    at = -inf
    last = Event("", inf, inf)
    for event in [*sorted(events, key=lambda one: (one.begin, -one.end)), last]:
        while around and around[-1].end <= event.begin:
            done = around.pop()
            if done.end > at:
                yield Event(done.name, at, done.end)
                at = done.end
        if around and event.begin > at:
            yield Event(around[-1].name, at, event.begin)
        at = max(at, event.begin)
        around.append(event)
