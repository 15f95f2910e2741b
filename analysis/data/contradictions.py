"""Finds records that contradict themselves or each other; the report refuses them by key."""

import math
from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain, pairwise
from typing import Any

from analysis.data.as_configured import (
    dataset_faults,
    plan_faults,
    size_faults,
    study_faults,
    variant_faults,
)
from analysis.data.certificate_faults import (
    certificate_faults,
    fewer_steps,
    required_keys,
    row_faults,
    turn_faults,
    unread_weights,
)
from analysis.data.rows import CORES, cores_of
from analysis.format import line
from frameworks.conditions import SETTINGS
from frameworks.workloads import Workload, WorkloadError, from_dict
from workflows.records.kinds import GIB
from workflows.records.limits import DAY_S, EVENTS, SLACK_NS, TIMEOUT_S
from workflows.records.machine_records import MachineRecords, StudyRecord
from workflows.records.schema import (
    UNCOMPARED,
    CertificateRecord,
    ContenderRecord,
    ContestRecord,
    TurnRecord,
    percentage,
)
from workflows.records.storage import shown

# Counters are read a little outside a turn, and the kernel adds to some every few seconds.
BESIDE_S = 10
WATTS = 1e6  # more than any machine takes, also if a counter starts again within a turn
CHANCE = math.log(1e9)  # two contests may draw the same orders by chance if there are fewer
ASKED = 8  # requests to a contender beside its turns, at most


def contradictions(records: MachineRecords) -> Iterator[str]:
    """Each fault of the records, with its key."""
    works = yield from described(records)
    yield from study_faults(records.study)
    yield from plan_faults(records)
    yield from belonging(records)
    yield from variant_faults(records)
    yield from certified(records, works)
    # Earlier records have neither turns nor the state of compilers' caches.
    turnless = not any(
        one.turns or any(each.caches for each in one.contenders) for one in records.contests
    )
    for contest in records.contests:
        measured = {one.name for one in contest.contenders if one.status == "ok"}
        in_turn = () if turnless else in_rounds(contest, measured)
        for fault in chain(contested(contest, measured, records), in_turn, unanswered(contest)):
            yield f"contests: {contest.workload}, replicate {contest.replicate}: {fault}"
    yield from in_groups(records.contests, patience_s(records.study))
    yield from references(records)


def described(records: MachineRecords) -> Generator[str, None, dict[str, Workload]]:
    """Check workloads and their data sets. Returns the workloads whose descriptions are valid."""
    works: dict[str, Workload] = {}
    for number, workload in enumerate(records.workloads):
        try:
            works[workload.name] = from_dict(workload.description)
        except (WorkloadError, TypeError, ValueError, OverflowError) as error:
            yield f"workloads.{number}.description: {shown(error)}"
            continue
        own = works[workload.name]
        for key, true in (
            ("name", own.name),
            ("parameters", own.parameters),
            ("flops_per_step", own.flops_per_step),
            ("bytes_per_step", own.bytes_per_step()),
        ):
            if (said := getattr(workload, key)) != true:
                yield f"workloads.{number}.{key}: {said}, its description has {true}"
        for fault in size_faults(own, records.study):
            yield f"workloads.{number}.description: {own.name:.40} {fault}"
    named: list[tuple[str, Iterable[Any]]] = [
        ("workloads", [one.name for one in records.workloads]),
        ("datasets", [one.workload for one in records.datasets]),
        ("missing", [one.name for one in records.missing]),
        ("contests", [(one.workload, one.replicate) for one in records.contests]),
        ("certificates", [(one.workload, one.framework) for one in records.certificates]),
        ("study.titles", records.study.titles.values()),
    ]
    for key, names in named:
        if twice := repeated(names):
            yield f"{key}: {twice[0]} is there twice"
    timed = dict.fromkeys(contest.workload for contest in records.contests)
    prepared = {dataset.workload for dataset in records.datasets}
    yield from (f"datasets: {name} has none" for name in timed if name not in prepared)
    for dataset in records.datasets:
        if dataset.workload not in {one.name for one in records.workloads}:
            yield f"datasets: workload {dataset.workload} is not described"
        elif dataset.workload in works:
            for fault in dataset_faults(dataset, works[dataset.workload], records.study):
                yield f"datasets: {dataset.workload} {fault}"
    return works


def belonging(records: MachineRecords) -> Iterator[str]:
    """Check that contests and certificates are of this study, machine and workloads."""
    known = {workload.name for workload in records.workloads}
    parts: list[tuple[str, ContestRecord | CertificateRecord]]
    parts = [("contests", one) for one in records.contests]
    parts += [("certificates", one) for one in records.certificates]
    for key, part in parts:
        if part.workload not in known:
            yield f"{key}: workload {part.workload} is not described"
        for name, own, wanted in (
            ("study", part.study, records.study.name),
            ("machine", part.machine, records.machine),
        ):
            if own != wanted:
                yield f"{key}: {name} {own}, but the records are of {wanted}"
        rows = part.contenders if isinstance(part, ContestRecord) else part.rows
        if twice := repeated(row.name for row in rows):
            yield f"{key}: {twice[0]} is there twice, in {part.workload}"


def references(records: MachineRecords) -> Iterator[str]:
    """Check that all certificates refer to the same contender, which was there."""
    named = dict.fromkeys(one.reference for one in records.certificates)
    kinds: list[Any] = [*records.pitfalls, *records.parts, *records.reduced]
    unranked = {f"{one.framework}/{one.variant}" for one in kinds}
    for one in named:
        if one.rpartition("/")[0].rpartition("/")[0] in unranked:
            yield f"certificates: reference: {one} is no whole step in float32"
    if len(named) > 1:
        yield f"certificates: reference: {' and '.join(named)}, and a study has one"
    absent = {one.name for one in records.missing}
    yield from (f"certificates: reference: {one} is missing" for one in named if one in absent)


def certified(records: MachineRecords, works: Mapping[str, Workload]) -> Iterator[str]:
    parts = {(one.framework, one.variant) for one in records.parts}
    pitfalls = {(one.framework, one.variant) for one in records.pitfalls}
    looked = [*required_keys(records.certificates)]
    everybody = {one.name for contest in records.contests for one in contest.contenders}
    if everybody:
        everybody |= {one.name for one in records.missing}
    for certificate in (one for one in records.certificates if one.workload in works):
        own, where = works[certificate.workload], f"on {certificate.workload}"
        schedule = records.study.configuration.get("contest", {})
        for fault in chain(
            certificate_faults(certificate, own, everybody), turn_faults(certificate, schedule)
        ):
            yield f"certificates: {certificate.framework} {where}: {fault}"
        for row in certificate.rows:
            if everybody and row.name not in everybody:
                yield f"certificates: {row.name} {where} is no contender"
            named = (row.framework, row.variant)
            whole = () if named in parts | pitfalls else looked
            for fault in row_faults(row, certificate, own, named in parts, whole):
                yield f"certificates: {row.name} {where}: {fault}"
    for fault in fewer_steps(records.certificates, parts | pitfalls):
        yield f"certificates: {fault}"
    yield from unread_weights(records, parts | pitfalls)


def contested(contest: ContestRecord, measured: set[str], records: MachineRecords) -> Iterator[str]:
    if twice := repeated((turn.round, turn.contender) for turn in contest.turns):
        yield f"two turns of {twice[0]}"
    available = contest.system_info.get("cpu", {}).get("available", [])
    if twice := repeated(available):
        yield f"system_info.cpu.available: {twice[0]} is there twice"
    everybody = {one.name for one in contest.contenders}
    if strangers := {name for order in contest.order for name in order} - everybody:
        yield f"its order has {min(strangers)}, no contender"
    if strangers := {turn.contender for turn in contest.turns} - everybody:
        yield f"a turn of {min(strangers)}, no contender"
    absent = {one.name for one in records.missing}
    if both := measured & absent:
        yield f"{min(both)} was measured, and is listed as missing"
    for one in contest.contenders:
        yield from as_named(one)
        if one.status == "failed" and one.name in absent:
            yield f"missing: {one.name} has failed, so it was there"
        if (one.status == "ok") is bool(one.reason):
            yield f"reason: {one.name} is {one.status}, and its reason is {line(one.reason)!r}"
        if len(one.cores) > (most := cores_of(contest)):
            yield f"cores: {len(one.cores)} of {one.name}, but the machine has {most}"
        elif available and (others := {*one.cores} - {*available}):
            yield f"cores: {min(others)} of {one.name}, which the contest did not have"
        if (one.idle_mib or 0) > memory_of(contest):
            yield f"idle_mib: {one.idle_mib:g} of {one.name}, the machine has less"


def unanswered(contest: ContestRecord) -> Iterator[str]:
    """Check that nobody lacks a setting that another has: a worker fails without its answer. Later
    versions ask for more settings."""
    measured = [
        one for one in contest.contenders if one.status == "ok" and one.framework not in UNCOMPARED
    ]
    answered = {name for name in SETTINGS if any(name in one.settings for one in measured)}
    for one in measured:
        if absent := sorted(answered - one.settings.keys()):
            yield f"settings: {one.name} lacks {absent[0]}, which others have"


def as_named(one: ContenderRecord) -> Iterator[str]:
    """Check that a control's name says what it runs, and how it is slowed or loaded."""
    base, _, label = one.variant.partition("+")
    if one.built != base or bool(one.runs) != bool(label):
        yield f"runs: {one.runs!r} of {one.name}"
    done = "paused" if one.idle else "twin" if one.runs else ""  # `idle` in earlier records
    done = percentage(one.slowed_by) if one.slowed_by else done
    if (one.loader or done) != label or (one.loader and one.slowed_by):
        yield f"slowed_by, loader: {one.slowed_by:g}, {one.loader!r} of {one.name}"


def in_rounds(contest: ContestRecord, measured: set[str]) -> Iterator[str]:
    """Check that measured contenders have all their turns, and counters possible values."""
    turns = {(turn.round, turn.contender) for turn in contest.turns}
    for number, order in enumerate(contest.order, 1):
        if absent := [name for name in order if name in measured and (number, name) not in turns]:
            yield f"no turn of {absent[0]} in round {number}, which its order has"
    cores, mib = cores_of(contest), memory_of(contest)
    pinned = {one.name: one.threads for one in contest.contenders if one.on_host and not one.loader}
    for turn in contest.turns:
        own = min(pinned.get(turn.contender, cores), cores)
        for key, value, most in counted(turn, cores, own, mib):
            if (value or 0) > most:
                yield (
                    f"{key}: {value:g} in a turn of {turn.contender} of {turn.duration_s:.3g} s, "
                    f"at most {most:.3g} can be"
                )


def counted(
    turn: TurnRecord, cores: int, own: int, mib: float
) -> Iterator[tuple[str, float | None, float]]:
    """The counters of a turn: key, value, and the largest possible value. `own` is the number of
    the contender's cores. All threads of a process may wait at once."""
    most = longest(turn.duration_s)
    yield "cores", turn.cores, own
    yield "cpu_us", turn.cpu_s, cores * most
    yield "waited_us", turn.waited_s, CORES * most
    yield "steal_us", turn.steal_s, cores * most
    yield "other_us", turn.other_s, cores * most
    yield "elsewhere_us", turn.elsewhere_s, cores * most
    yield "pressure_us", turn.pressure_s, most
    yield "peak_mib", turn.peak_mib, mib
    for key in ("throttles", "minor_faults", "major_faults"):
        yield key, getattr(turn, key), EVENTS * cores * most
    yield "package_j", turn.package_j, WATTS * most
    yield "gpu_j", turn.gpu_j, WATTS * most


def longest(seconds: float) -> float:
    """The most seconds that a counter of one core may show after this time."""
    return 3 * seconds + BESIDE_S


def patience_s(study: StudyRecord) -> float:
    """The configured time-out of an answer, in seconds, or the default."""
    return float(study.configuration.get("contest", {}).get("timeout_s", TIMEOUT_S))


def in_its_time(own: Sequence[ContestRecord], timeout_s: float) -> Iterator[str]:
    """Check that turns are within their contest, whose clock may be off by a day, and that the
    contest took no longer than its turns and the time-outs of other requests."""
    whole, took = sum(one.duration_s for one in own), 0.0
    for contest in own:
        begun = datetime.fromisoformat(contest.started).timestamp()
        mine = sum(turn.duration_s for turn in contest.turns)
        took += mine
        for turn in contest.turns:
            start = turn.start_ns / 1e9
            if not begun - DAY_S < start < begun + whole + DAY_S:
                yield f"started: {contest.started}, but its turns were at another time"
                break
        if mine > contest.duration_s + 1:
            yield f"duration_s: {contest.duration_s:.0f}, but its turns took {mine:.0f}"
    most = took + DAY_S + ASKED * timeout_s * sum(len(one.contenders) for one in own)
    if took and whole > most:
        yield f"duration_s: {whole:.0f}, a day more than its turns and all else can take"


def in_groups(contests: Sequence[ContestRecord], timeout_s: float) -> Iterator[str]:
    """Check contests by group: the workloads of a group share time and processes."""
    found: dict[tuple[str, int], list[ContestRecord]] = defaultdict(list)
    for contest in contests:
        found[contest.group or contest.workload, contest.replicate].append(contest)
    begun: dict[int, tuple[str, int]] = {}
    for (group, replicate), own in found.items():
        for fault in chain(
            in_turns(own), in_its_time(own, timeout_s), lasting(own), in_places(own)
        ):
            yield f"contests: {group}, replicate {replicate}: {fault}"
        starts = [turn.start_ns for one in own for turn in one.turns]
        if copied := [begun[start] for start in starts if start in begun]:
            other = "{}, replicate {}".format(*copied[0])
            yield f"contests: {group}, replicate {replicate}: its turns are those of {other}"
        begun |= dict.fromkeys(starts, (group, replicate))
    yield from drawn_again(contests)
    yield from one_by_one(found)
    models = dict.fromkeys(one.system_info.get("cpu", {}).get("model") for one in contests)
    if len(models) > 1:
        yield f"contests: processors {', '.join(map(str, models))}, of one machine"


def one_by_one(groups: Mapping[tuple[str, int], Sequence[ContestRecord]]) -> Iterator[str]:
    """Check that a machine has one contest at a time. Each node of a cluster has its own boot."""
    spans: dict[str, list[tuple[int, float, str]]] = defaultdict(list)
    for (group, replicate), own in groups.items():
        turns = [turn for one in own for turn in one.turns]
        if turns and (boot := own[0].system_info.get("system", {}).get("boot", "")):
            start = min(turn.start_ns for turn in turns)
            end = max(turn.start_ns + turn.duration_s * 1e9 for turn in turns)
            spans[boot].append((start, end, f"{group}, replicate {replicate}"))
    for own_spans in spans.values():
        for (_, end, before), (start, _, name) in pairwise(sorted(own_spans)):
            if start + SLACK_NS < end:
                yield f"contests: {name}: it began before that of {before} had ended"


def drawn_again(contests: Sequence[ContestRecord]) -> Iterator[str]:
    """Find contests with copied orders: each contest draws the orders of its rounds anew."""
    drawn: dict[tuple[tuple[str, ...], ...], ContestRecord] = {}
    for contest in contests:
        if sum(math.lgamma(1 + len(order)) for order in contest.order) < CHANCE:
            continue
        other = drawn.setdefault(tuple(map(tuple, contest.order)), contest)
        if other.replicate != contest.replicate:
            yield (
                f"contests: {contest.workload}, replicate {contest.replicate}: its order is that "
                f"of replicate {other.replicate}"
            )


def in_places(own: Sequence[ContestRecord]) -> Iterator[str]:
    """Check that each workload of a group has its own place in the warm-up."""
    if (places := sorted(one.place for one in own)) != [*range(len(own))]:
        yield f"place: {places} of its workloads"


def in_turns(own: Sequence[ContestRecord]) -> Iterator[str]:
    """Check that only one contender computes at a time."""
    turns = sorted((turn for one in own for turn in one.turns), key=lambda turn: turn.start_ns)
    for one, after in pairwise(turns):
        if one.start_ns / 1e9 + one.duration_s > (after.start_ns + SLACK_NS) / 1e9:
            yield (
                f"the turn of {after.contender} in round {after.round} began before that of "
                f"{one.contender} had ended"
            )
            break


def lasting(own: Sequence[ContestRecord]) -> Iterator[str]:
    """Check that nothing takes longer than the contest. Processes may compute outside turns."""
    whole = sum(one.duration_s for one in own)
    for contest in own:
        for one in contest.contenders:
            took = {key: getattr(one, key) for key in ("import_s", "build_s", "took_s", "late_s")}
            took["operations"] = sum(one.operations.values())
            for key, seconds in took.items():
                if abs(seconds or 0) > whole + 1:
                    yield f"{key}: {seconds:g} of {one.name}, in {whole:g} s"
        most = cores_of(contest) * longest(whole)
        for turn in contest.turns:
            if (turn.outside_s or 0) > most:
                yield f"outside_us: {turn.outside_s:g} of {turn.contender}, in {whole:g} s"


def memory_of(contest: ContestRecord) -> float:
    """The most MiB that a process may show: ten times the machine's memory, because the kernel
    counts what is mapped twice twice."""
    found = contest.system_info.get("memory", {}).get("total_gib")
    return 10 * 1024 * found if found else 1024 * GIB


def repeated(names: Iterable[Any]) -> list[Any]:
    return [name for name, times in Counter(names).items() if times > 1]
