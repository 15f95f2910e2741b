"""The settings each framework ran with, and how compared contenders differ: rows of the audit."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from analysis.data.availability import Availability
from analysis.data.pairing import pairs
from analysis.data.results import BenchmarkId, Machine
from analysis.findings.fairness.certificates import Certificates
from analysis.findings.fairness.checklist import BY_SETTING, CHECKLIST, ROUNDED, Item
from analysis.format import listing
from frameworks.workloads import from_dict

NONE = "n/a"
UNRECORDED = "not recorded"
SILENT = (NONE, UNRECORDED, "not supported")  # prefixes of values that are not compared
STATED = " (stated)"  # mark of a value that the adapter states and nothing has read back
STATUSES = ("mismatched", "declared", "equal", NONE)  # the most serious first


class OfMachine(Protocol):
    @property
    def machine(self) -> Machine: ...


Own = TypeVar("Own", bound=OfMachine)


@dataclass(frozen=True)
class SettingLine:
    """A row of settings.csv. `item` is the checklist's item that the setting belongs to. `status`
    is about contenders that are compared with each other: `equal`; `declared`, for the `reason`
    given; `mismatched`; or `n/a`, if there is nothing to compare. If most are equal, only the
    others are mismatched. Values that an adapter only states end with `STATED`, and so does a
    stated "n/a" if the setting changes what is computed and others have a value."""

    id: BenchmarkId
    setting: str
    value: str
    item: str
    status: str
    reason: str


def setting_lines(
    machine: Machine, availability: Mapping[BenchmarkId, Availability]
) -> list[SettingLine]:
    values = {one: effective(machine, one) for one in availability if not machine.control(one)}
    certificates = Certificates(machine)
    bases = pairs(machine, values, lambda one: machine.study.reference)
    lines = []
    for one, own in values.items():
        known = stated(machine, one)
        rivals = [r for r in values if r != one and r._replace(framework=one.framework) == one]
        base = bases.get(one, one)
        if base.variant != one.variant and base in values:
            rivals.append(base)
        rivals = rivals if machine.compares(one) else []  # else only within its framework
        asked = {setting for setting, item in BY_SETTING.items() if not item.new}
        for setting in sorted({*own, *asked}) if own else [""]:
            item = BY_SETTING.get(setting)
            value = own.get(setting, UNRECORDED) if own else ""
            others = {rival: values[rival].get(setting, UNRECORDED) for rival in rivals}
            if not own:
                status, reason = "", availability[one].reason or "no settings were recorded"
            else:
                status, reason = judged(item, setting, one, value, others, certificates)
            doubtful = item and item.computes and value == NONE
            heard = [r for r, other in others.items() if not other.startswith(SILENT)]
            if setting in known and (heard if doubtful else not value.startswith(SILENT)):
                value += STATED
            lines.append(
                SettingLine(one, setting, value, item.title if item else "", status, reason)
            )
    return lines


def effective(machine: Machine, benchmark: BenchmarkId) -> dict[str, str]:
    """Settings by name; values that changed between replicates are joined by ` | `."""
    found: dict[str, dict[str, None]] = {}
    for contest in machine.contests(benchmark.workload).values():
        for contender in contest.contenders:
            if contender.name == benchmark.contender:
                for name, value in contender.settings.items():
                    found.setdefault(name, {})[spoken(value)] = None
    return {name: " | ".join(values) for name, values in found.items()}


def stated(machine: Machine, benchmark: BenchmarkId) -> set[str]:
    """The settings that the adapter states and nothing has read back."""
    return {
        name
        for contest in machine.contests(benchmark.workload).values()
        for contender in contest.contenders
        if contender.name == benchmark.contender
        for name in contender.stated
    }


def judged(
    item: Item | None,
    setting: str,
    benchmark: BenchmarkId,
    value: str,
    others: dict[BenchmarkId, str],
    certificates: Certificates,
) -> tuple[str, str]:
    """Status and reason of one value, compared with the values of the other contenders."""
    others = {rival: other for rival, other in others.items() if not other.startswith(SILENT)}
    if value.startswith(SILENT) or not others:
        return NONE, ""
    tolerance = item.tolerance if item else ROUNDED
    differing = [r for r, other in others.items() if not agree(value, other, tolerance)]
    if not differing:
        return "equal", ""
    if item and (item.rule == "own" or benchmark.threads > item.threads):
        return "declared", item.reason
    if item and item.component:
        couples = ({benchmark: value, r: others[r]} for r in differing)
        found = [excuse(item, setting, pair, certificates) for pair in couples]
        if all(found):
            return "declared", found[0]
    other = differing[0]
    everybody = [value, *others.values()]

    def alike(one: str) -> int:
        return sum(agree(one, other, tolerance) for other in everybody)

    most = alike(value)
    if 2 * most > len(everybody) and all(alike(others[r]) < most for r in differing):
        return "equal", f"but for {listing(f'{r.contender}: {others[r]}' for r in differing)}"
    if other.variant != benchmark.variant:
        return "mismatched", f"{other.contender}: {others[other]}"
    return "mismatched", ""


def unequal(one: BenchmarkId, other: BenchmarkId, certificates: Certificates) -> Iterator[str]:
    """A reason for each setting that changes what is computed and differs undeclared."""
    if one.workload != other.workload:
        return
    known = certificates.settings
    for side in {one, other} - {*known}:
        known[side] = effective(certificates.machine, side)
    own, theirs = known[one], known[other]
    for item in CHECKLIST:
        for setting in item.settings if item.computes else ():
            value = own.get(setting, UNRECORDED)
            rival = {other: theirs.get(setting, UNRECORDED)}
            if judged(item, setting, one, value, rival, certificates)[0] == "mismatched":
                yield (
                    f"{setting}: {value} ({one.contender}), {rival[other]} ({other.contender}), "
                    "and no certificate declares it"
                )


def excuse(
    item: Item, setting: str, values: Mapping[BenchmarkId, str], certificates: Certificates
) -> str:
    """Why two contenders may differ: the certificate of one declares the item's component, and the
    other has the number that the workload asks for, if this is one. "" if they may not."""
    for one in values:
        _, row = certificates.found.get(one, (None, None))
        parts = row.reason.split("; ") if row and row.status == "declared" else []
        if any(part.startswith(f"{item.component}.") for part in parts):
            asked = wanted(certificates.machine, one.workload, setting)
            others = [value for other, value in values.items() if other != one]
            if not asked or all(agree(value, asked) for value in others):
                return f"by the certificate of {one.contender}"
    return ""


def wanted(machine: Machine, workload: str, setting: str) -> str:
    """The number of the workload's optimiser, "" if the setting is none."""
    optimiser = from_dict(machine.workload(workload).description).optimiser
    number = getattr(optimiser, setting, None)
    return "" if number is None else str(number)


def agree(one: str, other: str, tolerance: float = ROUNDED) -> bool:
    """Whether values are the same words, or numbers within the tolerance."""
    if one == other:
        return True
    try:
        return math.isclose(float(one), float(other), rel_tol=tolerance)
    except ValueError:
        return False


def spoken(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def changed_settings(found: Sequence[Own]) -> dict[tuple[str, str], dict[str, list[Own]]]:
    """Settings that are not the same in all studies or on all machines: by framework and setting,
    the studies or machines with each value."""
    known: dict[tuple[str, ...], dict[str, list[Own]]] = {}
    for one in found:
        values = {
            ((contender.framework, setting, contest.workload, contender.name), spoken(value))
            for contest in one.machine.records.contests
            for contender in contest.contenders
            for setting, value in contender.settings.items()
        }
        for key, value in sorted(values):
            known.setdefault(key, {}).setdefault(value, []).append(one)
    changed: dict[tuple[str, str], dict[str, list[Own]]] = {}
    for (framework, name, *_), by_value in known.items():
        if len(by_value) > 1:
            changed.setdefault((framework, name), by_value)
    return changed
