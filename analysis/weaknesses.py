"""What weakens the conclusions, each said only because it was seen in the records."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import cast

from analysis.certificates import size
from analysis.drift import drifts
from analysis.ledger import entries, mismatches
from analysis.machine import virtual
from analysis.settings import UNRECORDED
from analysis.study import Seat
from analysis.tables import Findings
from analysis.weather_claims import changes, spoken
from analysis.words import count, crossed, listing, percent, sentence, three, title
from workflows.records import CertificateRow

FEW = 5  # replicates; below, Student's t is more than 2.8 standard errors
APART = 1.5  # slowest over fastest replicate
SWITCHES = 100  # involuntary, per second of steady state
DRIFT = 0.02  # of the time per mini-batch, between the halves of a turn
ONE = 1  # process without a steady state may be a false alarm
STARVED, ALONE = 0.9, 1.1  # of one processor's time


def weaknesses(findings: Findings, machines: int) -> list[str]:
    """In the order of their weight."""
    found = [told for look in LOOKS for told in look(findings)]
    if machines == 1:
        found.append("One machine: nothing here says that the ratios hold on another.")
    return found


def smoke(findings: Findings) -> Iterator[str]:
    if findings.machine.study.smoke:
        yield "A smoke run: so small a budget shows that everything works, and little else."


def stand_in(findings: Findings) -> Iterator[str]:
    for record in findings.machine.records.datasets:
        if record.kind == "stand-in":
            yield (
                f"{record.workload} ran on stand-in data, not MNIST: times should hardly depend on "
                "pixels, but the losses do."
            )


def other_reference(findings: Findings) -> Iterator[str]:
    wanted = findings.machine.study.reference
    used = {row.reference for row in findings.comparisons} - {wanted}
    for name in sorted(used):
        yield f"{title(wanted)} was not measured; ratios refer to {title(name)} instead."


def few_replicates(findings: Findings) -> Iterator[str]:
    numbers = [row.replicates for row in findings.comparisons if row.ratio is not None]
    if numbers and min(numbers) < FEW:
        yield (
            f"Few replicates ({count(min(numbers), 'replicate')} in the smallest comparison): "
            "intervals are wide, and Student's assumptions weigh more."
        )


def gaps(findings: Findings) -> Iterator[str]:
    failed = [line for line in findings.missing if line.status == "failed"]
    if failed:
        keys = [(s.workload, s.framework, s.variant, s.device, s.threads) for s in failed]
        yield f"Contenders failed: {crossed(keys)}. The reasons are below."
    frameworks = {seat.framework for seat in findings.roster}
    absent = frameworks - {seat.framework for seat in findings.measured}
    if absent:
        yield f"Not measured at all: {listing(title(name) for name in sorted(absent))}."


def refused(findings: Findings) -> Iterator[str]:
    pairs = [row for row in findings.comparisons if row.verdict == "refused"]
    if pairs:
        keys = [(r.workload, r.framework, r.variant, r.device, r.threads) for r in pairs]
        yield f"Refused comparison, not shown to compute the same: {crossed(keys)}."


def deviations(findings: Findings) -> Iterator[str]:
    found: dict[str, list[tuple[Seat, CertificateRow]]] = {}
    for record in findings.machine.records.certificates:
        for row in record.rows:
            if row.status == "declared":
                found.setdefault(row.reason, []).append((Seat.of(record.workload, row), row))
    for reason, rows in found.items():
        yield (
            f"Declared deviation in {crossed([seat for seat, _ in rows])}: {reason}. Its size: "
            f"{size([row for _, row in rows])}. With plain SGD in its place the certificate holds."
        )


def otherwise_timed(findings: Findings) -> Iterator[str]:
    found: dict[str, list[Seat]] = {}
    for record in findings.machine.records.certificates:
        for row in record.rows:
            if row.timed:
                found.setdefault(row.timed, []).append(Seat.of(record.workload, row))
    for text, seats in found.items():
        yield f"Not timed as all others, {crossed(seats)}: {sentence(text)}"


def uncertified(findings: Findings) -> Iterator[str]:
    """Those whose times are shown, with nobody to be compared with."""
    decided = [r for r in findings.comparisons if r.ratio is not None or r.verdict == "refused"]
    paired = {(r.workload, r.framework, r.variant) for r in decided}
    for row in findings.machine.matched_rows(findings.certificate):
        alone = (row.workload, row.framework, row.variant) not in paired
        if alone and row.status in ("refused", "failed"):
            who = f"{title(row.framework)} {row.variant} on {row.workload}"
            yield f"Certificate {row.status}, {who}: {sentence(row.reason)}"


def other_optimisers(findings: Findings) -> Iterator[str]:
    """Not a reason to refuse a workload that does without them, but to be known."""
    found: dict[str, list[tuple[Seat, str]]] = {}
    for record in findings.machine.records.certificates:
        for row in record.rows:
            for kind, other in row.optimisers.items():
                if other.status == "refused":
                    reasons = found.setdefault(kind, [])
                    reasons.append((Seat.of(record.workload, row), other.reason))
    for kind, rows in found.items():
        where = crossed([seat for seat, _ in rows])
        yield f"Refused with {kind}, which is not timed here, in {where}: {sentence(rows[0][1])}"


def unequal(findings: Findings) -> Iterator[str]:
    for setting, where in mismatches(findings.compared_settings):
        yield f"Should be equal and is not: {setting}, {where}; see the ledger under Settings."
    unknown = [one.title for one in entries(findings.compared_settings) if one.status == UNRECORDED]
    if unknown:
        yield f"Not read back in these records: {listing(unknown)}."
    changing = {line.setting for line in findings.compared_settings if " | " in line.value}
    if changing:
        yield f"Settings that changed between replicates: {listing(sorted(changing))}."


def virtual_machine(findings: Findings) -> Iterator[str]:
    if kind := virtual(findings.machine):
        yield (
            f"The machine is a {kind}: neighbours and the host's clock are out of sight. They need "
            "not slow all contenders alike, so intervals speak of the machine as it was meanwhile."
        )


def boots(findings: Findings) -> Iterator[str]:
    """Older records do not know their boot, so nothing is said of them."""
    found: dict[str, set[int]] = {}
    for contest in findings.machine.records.contests:
        system = contest.environment.get("system")
        if boot := system.get("boot") if isinstance(system, Mapping) else None:
            found.setdefault(boot, set()).add(contest.replicate)
    if len(found) > 1:
        numbers = listing(str(len(replicates)) for replicates in found.values())
        yield (
            f"The machine was started anew between replicates ({numbers} of them): what changed "
            "with that, a virtual machine's host for instance, is in the intervals as far as "
            "these few starts show it."
        )


def pages(findings: Findings) -> Iterator[str]:
    """A core whose freed pages another core keeps has to ask the host for others:
    docs/noise.md."""
    facts = {line.key: line.value for line in findings.environment}
    kernel = re.match(r"Linux (\d+)\.(\d+)", facts.get("system.kernel", ""))
    may_grow = kernel is not None and tuple(map(int, kernel.groups())) >= (6, 7)
    several = any(seat.device == "cpu" and seat.threads > 1 for seat in findings.measured)
    kept = facts.get("memory.pages_kept_by_core") == "0"
    if kept and may_grow and several and facts.get("virtualisation.hypervisor") == "yes":
        yield (
            "Cores may keep much freed memory to themselves (vm.percpu_pagelist_high_fraction is "
            "0): in a virtual machine, contenders of several threads that give memory back can "
            "have slow turns. docs/noise.md has how that looks and what to do."
        )


def frequency(findings: Findings) -> Iterator[str]:
    unknown = [
        line.key.rpartition(".")[2]
        for line in findings.environment
        if line.key.endswith((".governor", ".turbo")) and line.value in ("unknown", "not readable")
    ]
    if unknown:
        yield (
            f"Not readable here: {listing(unknown)}. The processor's frequency may have changed "
            "while measuring; the turns spread that over all contenders."
        )


def code(findings: Findings) -> Iterator[str]:
    contests = findings.machine.records.contests
    if any(contest.code.dirty for contest in contests):
        yield "The code differed from its commit while measuring, so it cannot be looked up."
    if any(not contest.code.commit for contest in contests):
        yield "The commit of the code is not known: samestep ran outside a clone."
    if len({(contest.code.version, contest.code.commit) for contest in contests}) > 1:
        yield "Contests ran with different versions of the code."
    if len({contest.configuration for contest in contests}) > 1:
        yield "Contests ran under different configurations."


def versions(findings: Findings) -> Iterator[str]:
    changed = [line.key for line in findings.environment if line.changed == "yes"]
    names = sorted(key for key in changed if key.startswith("versions."))
    if names:
        yield f"Versions changed between contests: {listing(names)}."


def scatter(findings: Findings) -> Iterator[str]:
    medians = {seat: rows["median"] for seat, rows in findings.measured.items()}
    spread = {seat: times.max() / times.min() for seat, times in medians.items()}
    wide = [seat for seat, ratio in spread.items() if ratio > APART]
    if wide:
        worst = max(wide, key=lambda seat: spread[seat])
        yield (
            f"Replicates disagree in {crossed(wide)}: the slowest process took more than {APART} "
            f"times as long as the fastest, up to {three(spread[worst])} times "
            f"({three(medians[worst].min())} and {three(medians[worst].max())} ms)."
        )


def restless(findings: Findings) -> Iterator[str]:
    few = [line for line in findings.steady if line.none > ONE and line.steady]
    none = [line for line in findings.steady if not line.steady]
    if none:
        keys = [(s.workload, s.framework, s.variant, s.device, s.threads) for s in none]
        yield f"No steady state in most processes of {crossed(keys)}: their times are not compared."
    if few:
        keys = [(s.workload, s.framework, s.variant, s.device, s.threads) for s in few]
        number = sum(line.none for line in few)
        yield (
            f"{count(number, 'process', 'processes')} of {sum(line.processes for line in few)} "
            f"without a steady state count all the same, in {crossed(keys)}: a noisy machine makes "
            "some of them, and to leave out the worst would be to choose."
        )


def unsteady(findings: Findings) -> Iterator[str]:
    machine = findings.machine
    found = [
        drift
        for drift in drifts(machine, findings.batches)
        if abs(drift.size) > DRIFT and drift.p_adjusted < 1 - machine.study.confidence
    ]
    told = [
        f"{percent(abs(drift.size))} {'longer' if drift.size > 0 else 'shorter'} in "
        f"{drift.seat.contender} on {drift.seat.workload}"
        for drift in sorted(found, key=lambda drift: machine.order(drift.seat))
    ]
    if told:
        yield (
            "Steady state may not be reached inside the turns: from the first to the second half "
            f"of a turn's steady-state mini-batches times get {listing(told)} (significant after "
            "Holm's correction over all contenders). Longer turns, or more of each set aside, "
            "would tell."
        )


def switched(findings: Findings) -> Iterator[str]:
    steady = findings.batches[~findings.batches["warmup"]]
    groups = steady.groupby(["workload", "contender"])
    rates = 1000 * groups["switches"].sum() / groups["ms"].sum()
    high = rates[rates > SWITCHES]
    if len(high):
        workload, contender = cast("tuple[str, str]", high.idxmax())
        yield (
            f"Many involuntary context switches: more than {SWITCHES} a second in {len(high)} of "
            f"{len(rates)} contenders, up to {high.max():,.0f} ({contender} on {workload}). Other "
            "processes, or a framework's own threads, competed for the cores."
        )


def weather(findings: Findings) -> Iterator[str]:
    if changed := changes(findings.weathered):
        yield f"Without the turns flagged for their weather verdicts change: {spoken(changed)}."


def starved(findings: Findings) -> Iterator[str]:
    steady = findings.batches[~findings.batches["warmup"] & (findings.batches["device"] == "cpu")]
    keys = ["workload", "contender", "threads"]
    parts = steady.groupby(keys)[["data_ns", "transfer_ns", "step_ns", "cpu_ns"]].sum()
    share = parts["cpu_ns"] / parts[["data_ns", "transfer_ns", "step_ns"]].sum(axis=1)
    threads = share.index.get_level_values("threads")
    for low, what in (
        (share[(threads == 1) & (share < STARVED)], "less than a whole processor"),
        (share[(threads > 1) & (share < ALONE)], "hardly more than one processor for all threads"),
    ):
        if len(low):
            workload, contender, _ = cast("tuple[str, str, int]", low.idxmin())
            yield (
                f"{count(len(low), 'contender')} had {what}, down to {percent(low.min())} "
                f"({contender} on {workload})."
            )


def losses(findings: Findings) -> Iterator[str]:
    matched = findings.machine.matched(findings.batches)
    wild = matched[~matched["loss"].map(lambda x: abs(x) < float("inf"))]
    if len(wild):
        yield f"Losses that are not finite: {listing(sorted(set(wild['contender'])))}."


LOOKS: tuple[Callable[[Findings], Iterator[str]], ...] = (
    smoke, stand_in, refused, gaps, other_reference, few_replicates, deviations,
    otherwise_timed,
    uncertified, other_optimisers, unequal,
    losses, weather, scatter, restless, unsteady, starved, switched, virtual_machine, boots, pages,
    frequency, code, versions,
)  # fmt: skip
