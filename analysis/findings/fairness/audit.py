"""The settings audit: for each item of the checklist, what each framework did and its status."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from analysis.data.results import grouped
from analysis.findings.fairness.checklist import CHECKLIST
from analysis.findings.fairness.settings import NONE, STATED, STATUSES, UNRECORDED, SettingLine
from analysis.format import count, crossed, short, title

NAMED = 6  # contenders that are named with their values; if there are more, only those that differ
Where = tuple[object, ...]  # workload, variant, device, threads
Naming = Callable[[Where], Where]


@dataclass(frozen=True)
class Entry:
    """One item: each framework's answer, and the most serious status with its places (`where`),
    which are "" if the status is the same everywhere."""

    title: str
    values: dict[str, str]
    status: str
    where: str
    matters: str


def entries(lines: Sequence[SettingLine], named: Naming = tuple) -> list[Entry]:
    """Entries by severity; items that no framework recorded come last. `named` puts the parts of a
    place into words."""
    said = [line for line in lines if line.setting]
    frameworks = list(dict.fromkeys(line.id.framework for line in said))
    of_settings = grouped((line.setting, line) for line in said)
    found = [
        entry(
            topic,
            matters,
            {s: own for s, own in of_settings.items() if s in settings},
            frameworks,
            named,
        )
        for topic, matters, settings in topics(said)
    ]
    order = (*STATUSES, UNRECORDED)
    return sorted((one for one in found if one), key=lambda one: order.index(one.status))


def topics(said: Iterable[SettingLine]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Every item of the checklist, and every other setting that an adapter reported."""
    for item in CHECKLIST:
        yield item.title, item.question, item.settings
    for setting in dict.fromkeys(line.setting for line in said if not line.item):
        yield setting, "", (setting,)


def entry(
    topic: str,
    matters: str,
    of_settings: dict[str, list[SettingLine]],
    frameworks: list[str],
    named: Naming,
) -> Entry | None:
    lines = [line for own in of_settings.values() for line in own]
    recorded = {line.setting for line in lines if line.value != UNRECORDED}
    if not recorded:
        values = dict.fromkeys(frameworks, UNRECORDED)
        return Entry(topic, values, UNRECORDED, "", matters) if lines else None
    values = {
        name: "; ".join(
            (f"{setting.replace('_', ' ')}: " if len(recorded) > 1 else "") + answer
            for setting, own in of_settings.items()
            if setting in recorded
            and (answer := placed([line for line in own if line.id.framework == name], named))
        )
        for name in frameworks
    }
    status = min((line.status for line in lines), key=STATUSES.index)
    within = {named(place(line)) for line in lines}
    there = {named(place(line)) for line in lines if line.status == status}
    return Entry(topic, values, status, "" if there == within else shown(there, within), matters)


def placed(lines: Sequence[SettingLine], named: Naming) -> str:
    """The value, or each value with the places that have it."""
    found: dict[str, set[Where]] = {}
    for line in lines:
        found.setdefault(brief(line.value), set()).add(named(place(line)))
    if len(found) < 2:
        return "".join(found)
    everywhere = {named(place(line)) for line in lines}
    return ", ".join(f"{value} ({shown(there, everywhere)})" for value, there in found.items())


def place(line: SettingLine) -> Where:
    return (line.id.workload, line.id.variant, line.id.device, line.id.threads)


def shown(some: set[Where], every: set[Where]) -> str:
    """The shortest description that separates some places from the rest: `default`."""
    rest = every - some
    for number in range(1, 5):
        for axes in combinations((1, 3, 0, 2), number):  # variant first, then threads
            inside = {tuple(where[axis] for axis in axes) for where in some}
            if not inside & {tuple(where[axis] for axis in axes) for where in rest}:
                return crossed(sorted(inside, key=str))
    return crossed(sorted(some, key=str))


def brief(value: str) -> str:
    """Numbers rounded to hide float32's rounding error; words unchanged."""
    number = value.removesuffix(STATED)
    try:
        shown = number if number.isdigit() else short(float(f"{float(number):.4g}"))
    except ValueError:
        return value
    return shown + value.removeprefix(number)


def whose(lines: Sequence[SettingLine]) -> str:
    """`PyTorch: yes; TensorFlow: no`; if there are many, the majority is counted."""
    odd = [line for line in lines if line.status == "mismatched"]
    shown = lines if len(lines) <= NAMED or len(odd) == len(lines) else odd
    parts = [
        f"{title(line.id.framework)}: {brief(line.value)}"
        + (f"; {line.reason}" if line in odd and line.reason else "")
        for line in shown
    ]
    others = grouped((brief(line.value), line) for line in lines if line not in shown)
    parts += [f"{count(len(own), 'other')}: {value}" for value, own in others.items()]
    return "; ".join(parts)


def mismatches(lines: Sequence[SettingLine], named: Naming = tuple) -> list[tuple[str, str]]:
    """Each setting that should be equal and is not, between two of these lines or with another
    variant: the frameworks' values, and where they differ."""
    found: dict[tuple[str, str], set[Where]] = {}
    wrong = [line for line in lines if line.status == "mismatched"]
    for setting, where in dict.fromkeys((line.setting, place(line)) for line in wrong):
        here = [
            line
            for line in lines
            if (line.setting, place(line)) == (setting, where) and line.value != NONE
        ]
        if len(here) > 1 or here[0].reason:  # a reason names a rival of another variant
            found.setdefault((setting, whose(here)), set()).add(named(where))
    return [
        (f"{setting.replace('_', ' ')} ({said})", crossed(sorted(places, key=str)))
        for (setting, said), places in found.items()
    ]
