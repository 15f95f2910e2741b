"""What the frameworks ran with, and where those that are compared differ: the ledger's rows."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from analysis.data.availability import Availability
from analysis.data.pairing import pairs
from analysis.data.results import BenchmarkId, Machine
from analysis.findings.fairness.certificates import Certificates
from analysis.findings.fairness.checklist import BY_SETTING, ROUNDED, Trap

NONE = "n/a"
UNRECORDED = "not recorded"
SILENT = (NONE, UNRECORDED, "not supported")  # how values begin that nothing is held against
STATUSES = ("mismatched", "declared", "equal", NONE)  # the weightiest first


@dataclass(frozen=True)
class SettingLine:
    """A row of settings.csv. `status` is about the contenders compared with each other, of the
    same workload, device, threads and variant, or of a variant that only one framework has and
    the reference's `default`: `equal`; `declared`, for the `reason` given;
    `mismatched`; or `n/a`, where there is nothing to hold against anything."""

    machine: str
    workload: str
    framework: str
    variant: str
    device: str
    threads: int
    setting: str
    value: str
    trap: str
    status: str
    dataset: str
    reason: str


def setting_lines(machine: Machine, roster: dict[BenchmarkId, Availability]) -> list[SettingLine]:
    values = {seat: effective(machine, seat) for seat in roster if not machine.control(seat)}
    certificates = Certificates(machine)
    bases = pairs(machine, values, dict.fromkeys(machine.workloads, machine.study.reference))
    lines = []
    for seat, own in values.items():
        rivals = [s for s in values if s != seat and s._replace(framework=seat.framework) == seat]
        base = bases.get(seat, seat)
        if base.variant != seat.variant:  # which is not held against each that is held against it
            rivals = [base] if base in values else []
        rivals = [] if machine.trap(seat) else rivals  # held against its own framework only
        for setting in sorted({*own, *BY_SETTING}) if own else [""]:
            trap = BY_SETTING.get(setting)
            value = own.get(setting, UNRECORDED) if own else ""
            others = {rival: values[rival].get(setting, UNRECORDED) for rival in rivals}
            if not own:
                status, reason = "", roster[seat].reason or "no settings were recorded"
            else:
                status, reason = judged(trap, seat, value, others, certificates)
            lines.append(
                SettingLine(
                    machine=machine.name,
                    **seat._asdict(),
                    setting=setting,
                    value=value,
                    trap=trap.title if trap else "",
                    status=status,
                    dataset=machine.dataset(seat.workload),
                    reason=reason,
                )
            )
    return lines


def effective(machine: Machine, seat: BenchmarkId) -> dict[str, str]:
    """Settings by name; values that changed between replicates are joined by ` | `."""
    found: dict[str, dict[str, None]] = {}
    for contest in machine.contests(seat.workload).values():
        for contender in contest.contenders:
            if contender.name == seat.contender:
                for name, value in contender.settings.items():
                    found.setdefault(name, {})[spoken(value)] = None
    return {name: " | ".join(values) for name, values in found.items()}


def judged(
    trap: Trap | None,
    seat: BenchmarkId,
    value: str,
    others: dict[BenchmarkId, str],
    certificates: Certificates,
) -> tuple[str, str]:
    """Status and reason of one value, against those of the others compared with it."""
    others = {rival: other for rival, other in others.items() if not other.startswith(SILENT)}
    if value.startswith(SILENT) or not others:
        return NONE, ""
    tolerance = trap.tolerance if trap else ROUNDED
    differing = [r for r, other in others.items() if not agree(value, other, tolerance)]
    if not differing:
        return "equal", ""
    if trap and trap.rule == "own":
        return "declared", trap.reason
    if trap and trap.component:
        found = [next(deviations(trap, (seat, r), certificates), "") for r in differing]
        if all(found):
            return "declared", found[0]
    other = differing[0]
    if other.variant != seat.variant:
        return "mismatched", f"{other.contender}: {others[other]}"
    return "mismatched", ""


def deviations(
    trap: Trap, seats: Sequence[BenchmarkId], certificates: Certificates
) -> Iterator[str]:
    """What the certificates of two contenders declare of the trap's component."""
    for seat in seats:
        _, row = certificates.found.get(seat, (None, None))
        if row and row.status == "declared" and row.reason.startswith(f"{trap.component}."):
            yield f"by the certificate of {seat.contender}"


def agree(one: str, other: str, tolerance: float = ROUNDED) -> bool:
    """The same words, or numbers that are the same within the tolerance."""
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
