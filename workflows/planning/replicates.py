"""How many replicates a study has: as configured, or as many as fit in its `minutes`.

With `minutes` the number is fixed after the first contest of each group, by what the contest cost
and before any ratio is known. `workflows/stages/replicates.py` fixes it.
"""

import math
from collections.abc import Iterator, Mapping

from workflows.planning import needs, provenance
from workflows.planning.code import content_hash
from workflows.planning.configuration import MOST, Configuration
from workflows.records.folders import Folders
from workflows.records.minutes import ReplicatesRecord, Spent
from workflows.records.storage import RecordError, read_json

LEAST = 5  # with four, Student's interval is 1.3 times as wide
# Measured in a default study on two cores: 0.7 s between the clocks of two contests, 1.2 s until
# Snakemake's first job, and 10 s from the last contest to the report. The allowance is about twice
# the last two, because they grow with the study.
COMMAND_S = 1.0
AROUND_S = 25.0


def fitting(study: Configuration, before_s: float, each_s: float) -> int:
    """As many replicates of `each_s` seconds as fit in the study's `minutes` after `before_s`,
    but never fewer than `LEAST`, nor more than the study's `replicates` or its records hold."""
    assert study.minutes is not None
    left_s = 60 * study.minutes - before_s - AROUND_S
    most = min(study.replicates or MOST, needs.room(study))
    return min(max(math.floor(left_s / each_s), LEAST), most)


def fewest(study: Configuration) -> int:
    """The least number of replicates of a study with `minutes`."""
    return min(LEAST, study.replicates or LEAST)


def choose(
    study: Configuration,
    key: str,
    before_s: float,
    contests_s: Mapping[str, float],
    earlier: ReplicatesRecord | None = None,
) -> ReplicatesRecord:
    """Fix the number of replicates, from the cost of the first contest of each group. `key`
    identifies the contests.

    A number that was fixed `earlier` for the same contests stays. It may only grow, if `minutes`
    or `replicates` was changed since, or fall to the study's `replicates`.
    """
    assert study.minutes is not None
    each_s = sum(contests_s.values()) + COMMAND_S * len(contests_s)
    number = fitting(study, before_s, each_s)
    if earlier:
        if (earlier.minutes, earlier.most) == (study.minutes, study.replicates):
            return earlier
        number = min(max(number, earlier.replicates), study.replicates or MOST)
    total_s = before_s + number * each_s + AROUND_S
    text = f"{counted(number)}, {why(study, number, total_s)}, fixed after the first contest"
    text += " of each group" * (len(contests_s) > 1)
    if earlier:
        text += f"; {earlier.replicates} had been fixed for {shown(earlier.minutes)} before"
    return ReplicatesRecord(
        replicates=number,
        minutes=study.minutes,
        most=study.replicates,
        key=key,
        before_s=round(before_s, 1),
        contests_s=dict(contests_s),
        around_s=AROUND_S,
        total_s=round(total_s, 1),
        sentence=f"{text}.",
    )


def why(study: Configuration, number: int, total_s: float) -> str:
    """Why it is this number."""
    limit = shown(study.minutes or 0)
    if total_s > 60 * (study.minutes or 0):
        least = "the fewest there may be, " * (number == LEAST)
        return f"{least}which take about {shown(math.ceil(total_s / 60))} rather than {limit}"
    if number == study.replicates:
        return f"the most asked for, which fit in {limit}"
    if number == needs.room(study):
        return "the most that records can hold"
    return f"as many as fit in {limit}"


def reckoning(record: ReplicatesRecord) -> str:
    """`312 s before, 108 s a contest, ...`: how the number came about."""
    contests = " and ".join(f"{seconds:.0f} s" for seconds in record.contests_s.values())
    each = "a contest" if len(record.contests_s) == 1 else "for the contests of a replicate"
    return (
        f"{record.before_s:.0f} s before, {contests} {each}, {record.around_s:.0f} s for the "
        f"report: about {shown(math.ceil(record.total_s / 60))} in all"
    )


def announcement(folders: Folders, study: Configuration) -> str:
    """What a study with `minutes` says when it starts; "" without them."""
    if study.minutes is None:
        return ""
    if found := fixed(folders, study):
        return found.sentence
    most = f", at most {study.replicates}" if study.replicates else ""
    group = " of each group" * (len(study.groups) > 1)
    return (
        f"As many replicates as fit in {shown(study.minutes)} (at least {fewest(study)}{most}): "
        f"fixed after the first contest{group}."
    )


def contests_key(study: Configuration) -> str:
    """Identifies what the contests measure. A number fixed for other contests says nothing."""
    return content_hash([provenance.contest_key(study, group) for group in study.groups])


def recorded(folders: Folders, study: Configuration) -> ReplicatesRecord | None:
    """The number that was fixed, perhaps for contests of before; None without `minutes`."""
    if study.minutes is None or not folders.replicates.exists():
        return None
    try:
        return read_json(folders.replicates, ReplicatesRecord)
    except RecordError as error:
        raise RecordError(f"{error}; remove this file, and it is made again") from None


def fixed(folders: Folders, study: Configuration) -> ReplicatesRecord | None:
    """The number that was fixed for the contests as they are configured now."""
    found = recorded(folders, study)
    return found if found and found.key == contests_key(study) else None


def counting(folders: Folders, study: Configuration) -> range:
    """The numbers of the replicates that belong to the study. Before their number is fixed, all
    that it may have."""
    found = recorded(folders, study)
    most = found.replicates if found else study.replicates or MOST
    return range(1, most + 1)


def commands(study: Configuration) -> Iterator[str]:
    """The commands before the contests, but for building environments, by the name under which
    their time is recorded."""
    frameworks = list(dict.fromkeys(entry.framework for entry in study.contenders))
    yield from (f"detect-{name}" for name in frameworks)
    for workload in study.workloads:
        yield from (f"{workload}-prepare", certifying(workload, None))
        yield from (certifying(workload, name) for name in frameworks)


def certifying(workload: str, name: str | None) -> str:
    """The command that certifies a framework, or that trains the reference for `None`."""
    return f"{workload}-certificate-{name}" if name else f"{workload}-reference"


def spent_s(folders: Folders, study: Configuration) -> float:
    """Seconds that the commands before the contests took, as far as recorded."""
    files = [folders.spent(name) for name in commands(study)]
    there = [path for path in files if path.exists()]
    return sum(read_json(path, Spent).seconds for path in there) + COMMAND_S * len(there)


def counted(number: int) -> str:
    return f"{number} replicate" + "s" * (number != 1)


def shown(minutes: float) -> str:
    return f"{minutes:g} minute" + "s" * (minutes != 1)
