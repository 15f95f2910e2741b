"""What the frameworks said they ran with, and where those that are compared differ."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from analysis.roster import Attendance
from analysis.study import Machine, Seat

NONE = "n/a"
ROUNDED = 1e-6  # relative; a framework that keeps 0.9 in float32 answers 0.8999999761581421


@dataclass(frozen=True)
class SettingLine:
    """A row of settings.csv. `equal` is about the contenders compared with each other: same
    workload, device, threads and variant; "n/a" where this one has no such setting."""

    machine: str
    workload: str
    framework: str
    variant: str
    device: str
    threads: int
    setting: str
    value: str
    equal: str
    dataset: str
    reason: str


def setting_lines(machine: Machine, roster: dict[Seat, Attendance]) -> list[SettingLine]:
    values = {seat: effective(machine, seat) for seat in roster}
    lines = []
    for seat, own in values.items():
        rivals = [other for other in values if other._replace(framework=seat.framework) == seat]
        rivals = [] if machine.trap(seat) else rivals  # held against its own framework only
        for setting in sorted(own) or [""]:
            others = {values[rival].get(setting, NONE) for rival in rivals} - {NONE}
            value = own.get(setting, "")
            lines.append(
                SettingLine(
                    machine=machine.name,
                    **seat._asdict(),
                    setting=setting,
                    value=value,
                    equal="" if not own else NONE if value == NONE else yes(agree(value, others)),
                    dataset=machine.dataset(seat.workload),
                    reason="" if own else roster[seat].reason or "no settings were recorded",
                )
            )
    return lines


def effective(machine: Machine, seat: Seat) -> dict[str, str]:
    """Settings by name; values that changed between replicates are joined by ` | `."""
    found: dict[str, dict[str, None]] = {}
    for contest in machine.contests(seat.workload).values():
        for contender in contest.contenders:
            if contender.name == seat.contender:
                for name, value in contender.settings.items():
                    found.setdefault(name, {})[spoken(value)] = None
    return {name: " | ".join(values) for name, values in found.items()}


def agree(value: str, others: Iterable[str]) -> bool:
    """The same words, or numbers that are the same but for rounding."""
    return all(value == other or close(value, other) for other in others)


def close(one: str, other: str) -> bool:
    try:
        return math.isclose(float(one), float(other), rel_tol=ROUNDED)
    except ValueError:
        return False


def spoken(value: object) -> str:
    return yes(value) if isinstance(value, bool) else str(value)


def yes(truth: bool) -> str:
    return "yes" if truth else "no"
