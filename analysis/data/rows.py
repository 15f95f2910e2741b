"""Checks mini-batches, so that impossible ones are refused and never averaged.

The checks read a table in chunks, in its order, and remember only what later chunks must
continue. Each check yields a line for each fault.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from analysis.data.turns import TURN, Places, beginnings, numbers
from workflows.records.columns import PHASES, UNIX_NS
from workflows.records.kinds import dealt
from workflows.records.limits import MOST, SLACK_NS, TICK_NS
from workflows.records.machine_records import MachineRecords
from workflows.records.schema import UNCOMPARED, ContestRecord, TurnRecord
from workflows.records.storage import RecordError

CORES = 2**13  # more than any machine has

Flags = NDArray[np.bool_]
Contest = tuple[str, int]  # workload and replicate
Process = tuple[str, int, str]  # and contender


class Turn(NamedTuple):
    """The columns that a turn's rows have in common, as in `TURN`."""

    study: str
    machine: str
    workload: str
    replicate: int
    contender: str
    framework: str
    variant: str
    device: str
    threads: int
    round: int

    @property
    def contest(self) -> Contest:
        return self.workload, self.replicate

    @property
    def process(self) -> Process:
        return *self.contest, self.contender


class Reached(NamedTuple):
    """How far a process has come."""

    steps: int = 0
    round: int = 0
    end_ns: int = 0


@dataclass
class Seen:
    """What the records say, and what the parts so far had."""

    records: MachineRecords
    discard: int | None = None  # mini-batches of warm-up at the start of a turn
    processes: dict[Process, Reached] = field(default_factory=dict)
    positions: set[tuple[str, int, int, int]] = field(default_factory=set)
    contest: Contest = ("", 0)
    contests: set[Contest] = field(default_factory=set)
    batches: dict[int, Places] = field(default_factory=dict)  # of the contest, by round

    @property
    def asked(self) -> dict[str, Any]:
        """What the configuration says about contests; nothing in some made-up records."""
        found: dict[str, Any] = self.records.study.configuration.get("contest", {})
        return found

    @cached_property
    def contenders(self) -> dict[Process, str]:
        """The status of each."""
        return {
            (contest.workload, contest.replicate, one.name): one.status
            for contest in self.records.contests
            for one in contest.contenders
        }

    @cached_property
    def slowed(self) -> set[str]:
        contenders = (one for contest in self.records.contests for one in contest.contenders)
        return {one.name for one in contenders if one.slowed_by or one.idle}

    @cached_property
    def orders(self) -> dict[Contest, list[list[str]]]:
        return {(one.workload, one.replicate): one.order for one in self.records.contests}

    @cached_property
    def cores(self) -> dict[Contest, int]:
        """The number of the machine's cores."""
        return {(one.workload, one.replicate): cores_of(one) for one in self.records.contests}

    @cached_property
    def sizes(self) -> dict[str, int]:
        """The number of mini-batches of each data set."""
        return {one.workload: one.batches for one in self.records.datasets if one.batches}

    @cached_property
    def recorded(self) -> dict[Contest, dict[tuple[int, str], TurnRecord]]:
        """The recorded turns that no chunk has had yet, by round and contender."""
        return {
            (one.workload, one.replicate): {
                (turn.round, turn.contender): turn for turn in one.turns
            }
            for one in self.records.contests
            if one.turns
        }


class Checks:
    """The checks of one machine's mini-batches, which are in the file `path`."""

    def __init__(self, path: Path, records: MachineRecords) -> None:
        self.path, self.seen = path, Seen(records)
        self.seen.discard = self.seen.asked.get("discard")

    def check(self, table: pa.Table) -> None:
        """Check the next chunk (turns.py).

        Raises:
            RecordError: mini-batches do not belong to the records beside them, or contradict them
                or each other; the message names the column and the row.
        """
        chunk = Chunk(table)
        for check in (foreign, named, lasting, counted, placed, marked, alike, whole, recorded):
            for fault in check(chunk, self.seen):
                raise RecordError(f"{self.path}: {fault}")

    def end(self) -> None:
        """Raises RecordError if the parts lack a recorded turn, or a measured contender."""
        seen = self.seen
        for contest, left in seen.recorded.items() if seen.processes else ():
            if left:
                text = f"a turn of {(*contest, *min(left))} is recorded, without mini-batches"
                raise RecordError(f"{self.path}: {text}")
        measured = {name for name, status in seen.contenders.items() if status == "ok"}
        if absent := measured - {*seen.processes}:
            text = f"no mini-batches of {min(absent)}, which a contest record says was measured"
            raise RecordError(f"{self.path}: {text}")
        if {"warmup", "rounds", "turn"} <= seen.asked.keys():
            first, count = dealt(seen.asked["warmup"], seen.asked["turn"], seen.asked["rounds"])
            if brief := [one for one in measured if seen.processes[one].steps != first + count]:
                steps = f"{seen.processes[min(brief)].steps} mini-batches, of {first + count}"
                raise RecordError(f"{self.path}: {min(brief)} has {steps}")


@dataclass(frozen=True)
class Chunk:
    """Whole turns, in the order in which they ran."""

    table: pa.Table

    def __getitem__(self, column: str) -> NDArray[Any]:
        return numbers(self.table, column)

    @cached_property
    def begin(self) -> Places:
        """The place of each turn's first row."""
        return beginnings(self.table, TURN)

    @cached_property
    def sizes(self) -> Places:
        found: Places = np.diff(self.begin, append=self.table.num_rows)
        return found

    @cached_property
    def turns(self) -> list[Turn]:
        columns = self.table.select(TURN).take(self.begin).to_pydict()
        return [Turn(*values) for values in zip(*columns.values(), strict=True)]

    @cached_property
    def place(self) -> Places:
        """The place of a row in its turn, from 0."""
        found: Places = np.arange(self.table.num_rows) - self.each(self.begin)
        return found

    @cached_property
    def took(self) -> NDArray[np.int64]:
        """Nanoseconds of all parts of a mini-batch."""
        return sum((self[name] for name in PHASES), np.zeros(self.table.num_rows, np.int64))

    @cached_property
    def ends(self) -> NDArray[np.int64]:
        """When each turn would have ended without a pause."""
        starts: NDArray[np.int64] = self["start_ns"][self.begin]
        return starts + np.add.reduceat(self.took, self.begin)

    def each(self, values: Any) -> NDArray[Any]:
        """Values of turns, for each of their rows."""
        return np.repeat(np.asarray(values), self.sizes)

    def faults(self, column: str, wrong: Flags, text: str) -> Iterator[str]:
        """The first row that is wrong, if there is one."""
        if wrong.any():
            yield self.fault(column, int(np.argmax(wrong)), text)

    def fault(self, column: str, row: int, text: str) -> str:
        turn = self.turns[int(np.searchsorted(self.begin, row, side="right")) - 1]
        return (
            f"column {column}: {turn.contender}, contest {turn.replicate} of {turn.workload}, "
            f"round {turn.round}, step {self['step'][row]}: {text}"
        )


def foreign(chunk: Chunk, seen: Seen) -> Iterator[str]:
    """Rows of another machine or study, or of a contender that no contest has."""
    for turn in chunk.turns:
        records = seen.records
        for column, own, wanted in (
            ("machine", turn.machine, records.machine),
            ("study", turn.study, records.study.name),
        ):
            if own != wanted:
                yield f"{column} {own}, but the records are of {wanted}"
        if seen.contenders.get(turn.process, "missing") == "missing":
            yield f"mini-batches of {turn.process}, which no contest record says was measured"


def named(chunk: Chunk, seen: Seen) -> Iterator[str]:
    """A contender's name that differs from the columns with its parts."""
    for row, turn in zip(chunk.begin, chunk.turns, strict=True):
        parts = [turn.framework, turn.variant, turn.device, turn.threads]
        if turn.contender != "/".join(map(str, parts)):
            yield chunk.fault("contender", row, f"its columns say {parts}")


def lasting(chunk: Chunk, seen: Seen) -> Iterator[str]:
    start = chunk["start_ns"]
    never = (start < UNIX_NS[0]) | (start > UNIX_NS[1])
    yield from chunk.faults("start_ns", never, "no time of a measurement")
    spent = chunk["transfer_ns"] + chunk["step_ns"]
    # A contender that computes nothing may take no time on a coarse clock; it is not compared.
    compared = chunk.each([turn.contender.split("/")[0] not in UNCOMPARED for turn in chunk.turns])
    yield from chunk.faults("step_ns", spent < compared, "a mini-batch that took no time")
    # Threads are pinned, but some adapter may free them.
    cores = chunk.each([seen.cores[turn.contest] for turn in chunk.turns])
    most = cores * (3.0 * chunk.took + TICK_NS)
    yield from chunk.faults("cpu_ns", chunk["cpu_ns"] > most, "more than any processor has")


def counted(chunk: Chunk, seen: Seen) -> Iterator[str]:
    """A process counts its steps from 0, never goes back to an earlier round, and does one thing
    after another.

    The harness lengthens the steps of a slowed control after each turn, so only turns are checked
    for overlap there.
    """
    before = []
    for turn, size, end in zip(chunk.turns, chunk.sizes, chunk.ends, strict=True):
        reached = seen.processes.get(turn.process, Reached())
        before.append(reached)
        steps = reached.steps + int(size)
        seen.processes[turn.process] = Reached(steps, turn.round, int(end))
    steps, rounds, ends = np.array(before).T
    expected = chunk.each(steps) + chunk.place
    yield from chunk.faults("step", chunk["step"] < expected, "this step is there twice")
    yield from chunk.faults("step", chunk["step"] > expected, "a step before it is missing")
    back = chunk.each(np.array([turn.round for turn in chunk.turns]) < rounds)
    yield from chunk.faults("round", back, "a later round came before it")
    start = chunk["start_ns"]
    early = np.concatenate([[False], start[1:] < start[:-1] + chunk.took[:-1] - SLACK_NS])
    early[chunk.begin] = False
    early &= chunk.each([turn.contender not in seen.slowed for turn in chunk.turns])
    yield from chunk.faults("start_ns", early, "it began before the one before had ended")
    early = chunk.each(start[chunk.begin] < ends - SLACK_NS)
    yield from chunk.faults("start_ns", early, "its turn began before the one before had ended")


def placed(chunk: Chunk, seen: Seen) -> Iterator[str]:
    """A turn has the position that the contest's order gives it, and no other turn has it."""
    positions = chunk["position"][chunk.begin]
    wrong = chunk["position"] != chunk.each(positions)
    yield from chunk.faults("position", wrong, "its turn began at another position")
    for row, turn, position in zip(chunk.begin, chunk.turns, positions.tolist(), strict=True):
        key = (*turn.contest, turn.round, position)
        if key in seen.positions:
            yield chunk.fault("position", row, "another contender had this position")
        seen.positions.add(key)
        order = seen.orders[turn.contest]
        if turn.round and order and not right(order, turn.round, position, turn.contender):
            yield chunk.fault("position", row, "the contest's order has another one there")


def right(order: list[list[str]], number: int, position: int, name: str) -> bool:
    """Whether a round's order has this contender in this position."""
    here = order[number - 1] if number <= len(order) else []
    return position < len(here) and here[position] == name


def marked(chunk: Chunk, seen: Seen) -> Iterator[str]:
    """Round 0 is warm-up, and later turns begin with the same number of warm-up mini-batches."""
    flags, later = chunk["warmup"], chunk["round"] > 0
    yield from chunk.faults("warmup", ~flags & ~later, "round 0 is warm-up")
    if seen.discard is None and later.any():  # in earlier records
        first = chunk.turns.index(next(turn for turn in chunk.turns if turn.round))
        seen.discard = int(np.add.reduceat(flags, chunk.begin, dtype=int)[first])
    asked = seen.discard or 0
    wrong = later & (flags != (chunk.place < asked))
    yield from chunk.faults("warmup", wrong, f"the first {asked} of a turn are warm-up")


def alike(chunk: Chunk, seen: Seen) -> Iterator[str]:
    """All contenders train on the same mini-batches in a round, and the data set has them."""
    numbers = chunk["batch"]
    for row, size, turn in zip(chunk.begin, chunk.sizes, chunk.turns, strict=True):
        if turn.contest != seen.contest:
            if turn.contest in seen.contests:
                yield chunk.fault("replicate", row, "this contest had ended before")
            seen.contest, seen.batches = turn.contest, {}
            seen.contests.add(turn.contest)
        own = numbers[row : row + size]
        known = seen.batches.get(turn.round, own[:0])
        both = min(len(own), len(known))
        if (wrong := own[:both] != known[:both]).any():
            at = row + int(np.argmax(wrong))
            yield chunk.fault("batch", at, "others had another mini-batch")
        if len(known) and len(known) != len(own):
            yield chunk.fault("batch", row, f"others had {len(known)} mini-batches in this round")
        if not len(known):
            seen.batches[turn.round] = own.copy()
    most = chunk.each([seen.sizes.get(turn.workload, np.inf) for turn in chunk.turns])
    yield from chunk.faults("batch", numbers >= most, "the data set has fewer mini-batches")


def whole(chunk: Chunk, seen: Seen) -> Iterator[str]:
    """Each turn has all mini-batches that the configuration deals to its round."""
    if not {"warmup", "turn"} <= seen.asked.keys():
        return
    warmup, turn = seen.asked["warmup"], seen.asked["turn"]
    deals = np.array([dealt(warmup, turn, one.round) for one in chunk.turns], np.int64)
    firsts, counts = deals.T
    for row, size, count in zip(chunk.begin, chunk.sizes, counts, strict=True):
        if size != count:
            yield chunk.fault("batch", row, f"its turn has {size}, and {count} are configured")
    sizes = chunk.each([seen.sizes.get(one.workload, MOST - 1) for one in chunk.turns])
    expected = (chunk.each(firsts) + chunk.place) % sizes
    yield from chunk.faults("batch", chunk["batch"] != expected, "its round was dealt another")


# In a file with `gap_ns`, a start is the sum of all gaps and times before it in its contest.
OUTSIDE = "it is not within its recorded turn, or earlier times or gap_ns are wrong"


def recorded(chunk: Chunk, seen: Seen) -> Iterator[str]:
    """Each turn has a record that agrees in position, time, context switches and processor time."""
    switched, spent = (
        np.add.reduceat(chunk[name], chunk.begin, dtype=np.int64) for name in ("switches", "cpu_ns")
    )
    starts, positions = (chunk[name][chunk.begin] for name in ("start_ns", "position"))
    counts = zip(switched.tolist(), spent.tolist(), strict=True)
    turns = zip(chunk.begin, chunk.turns, positions, starts, chunk.ends, counts, strict=True)
    for row, turn, position, start, end, (switches, cpu_ns) in turns:
        if turn.contest not in seen.recorded:
            continue
        one = seen.recorded[turn.contest].pop((turn.round, turn.contender), None)
        if one is None or one.position != position:
            yield chunk.fault("position", row, "no turn is recorded there")
        elif (
            start < one.start_ns - SLACK_NS
            or end > one.start_ns + round(one.duration_s * 1e9) + SLACK_NS
        ):
            yield chunk.fault("start_ns", row, OUTSIDE)
        elif switches != one.switches:
            text = f"its turn has {switches}, and {one.switches} are recorded"
            yield chunk.fault("switches", row, text)
        elif cpu_ns > one.most_cpu_ns:
            text = f"its turn has {cpu_ns / 1e9:.3g} s, far more than is recorded"
            yield chunk.fault("cpu_ns", row, text)


def cores_of(contest: ContestRecord) -> int:
    """The cores of the machine; `CORES` if its record does not say."""
    cpu = contest.system_info.get("cpu", {})
    return min(max(cpu.get("logical") or 0, len(cpu.get("available", []))), CORES) or CORES
