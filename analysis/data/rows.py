"""Mini-batches that cannot be: refused by what is wrong with them, and never averaged.

Each check yields a line for the first fault that it finds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workflows.records.columns import UNIX_NS
from workflows.records.schema import MachineRecords, TurnRecord
from workflows.records.storage import RecordError

CONTEST = ["workload", "replicate"]
PROCESS = [*CONTEST, "contender"]
PARTS = ("data_ns", "transfer_ns", "step_ns")
SLACK_NS = 1_000_000  # turns are stored in whole microseconds, and their clock is read elsewhere

Flags = NDArray[np.bool_]


def require_possible(path: Path, batches: pd.DataFrame, records: MachineRecords) -> None:
    """Raises RecordError for mini-batches that do not belong to the records beside them, or that
    contradict these or each other; the message names the column and the row."""
    for fault in foreign(batches, records):
        raise RecordError(f"{path}: {fault}")
    if batches.empty:
        return
    ordered = batches.sort_values([*PROCESS, "step"], kind="stable").reset_index(drop=True)
    table = Table(ordered, records)
    for check in (named, lasting, counted, placed, marked, alike, sequential, recorded):
        for fault in check(table):
            raise RecordError(f"{path}: {fault}")


@dataclass(frozen=True)
class Table:
    """Mini-batches, those of each process together and by their steps."""

    rows: pd.DataFrame
    records: MachineRecords

    def __getitem__(self, column: str) -> NDArray[Any]:
        return self.rows[column].to_numpy()

    @cached_property
    def process(self) -> NDArray[Any]:
        return self.rows.groupby(PROCESS, sort=False).ngroup().to_numpy()

    @cached_property
    def first(self) -> Flags:
        """Whether a row is the first of its process."""
        return changed(self.process)

    @cached_property
    def begins(self) -> Flags:
        """Whether a row is the first of its turn."""
        return self.first | changed(self["round"])

    @cached_property
    def turn(self) -> NDArray[np.int64]:
        return np.cumsum(self.begins) - 1

    @cached_property
    def place(self) -> NDArray[np.int64]:
        """The place of a row in its turn, from 0."""
        return np.arange(len(self.rows)) - np.flatnonzero(self.begins)[self.turn]

    @cached_property
    def took(self) -> NDArray[np.int64]:
        """Nanoseconds of all parts of a mini-batch."""
        return sum((self[name].astype(np.int64) for name in PARTS), np.zeros(len(self.rows), int))

    @cached_property
    def turns(self) -> pd.DataFrame:
        """A row per turn: that of its first mini-batch, and the time of all of them."""
        begin = np.flatnonzero(self.begins)
        return self.rows.iloc[begin].assign(took=np.add.reduceat(self.took, begin))

    def where(self, row: int) -> str:
        one = self.rows.iloc[row]
        return (
            f"{one['contender']}, contest {one['replicate']} of {one['workload']}, "
            f"round {one['round']}, step {one['step']}"
        )

    def faults(self, column: str, wrong: Flags, text: str) -> Iterator[str]:
        """The first row that is wrong, if there is one."""
        if wrong.any():
            yield f"column {column}: {self.where(int(np.argmax(wrong)))}: {text}"


def changed(values: NDArray[Any]) -> Flags:
    return np.concatenate([[True], values[1:] != values[:-1]])


def foreign(batches: pd.DataFrame, records: MachineRecords) -> Iterator[str]:
    """Rows of another machine or study, or of a contender that no contest has."""
    for column, wanted in (("machine", records.machine), ("study", records.study.name)):
        if strangers := sorted(set(batches[column]) - {wanted}):
            yield f"{column} {strangers[0]}, but the records are of {wanted}"
    known = {
        (contest.workload, contest.replicate, contender.name)
        for contest in records.contests
        for contender in contest.contenders
    }
    found = batches[PROCESS].drop_duplicates()
    if strangers := sorted(set(found.itertuples(index=False, name=None)) - known):
        yield f"mini-batches of {strangers[0]}, which no contest record names"


def named(table: Table) -> Iterator[str]:
    """The parts of a contender's name have columns of their own."""
    rows = table.rows[["contender", "framework", "variant", "device", "threads"]]
    for name, *parts in rows.drop_duplicates().itertuples(index=False, name=None):
        if name != "/".join(map(str, parts)):
            wrong = (table["contender"] == name) & (table["threads"] == parts[-1])
            yield from table.faults("contender", wrong, f"its columns say {parts}")


def lasting(table: Table) -> Iterator[str]:
    start = table["start_ns"]
    never = (start < UNIX_NS[0]) | (start > UNIX_NS[1])
    yield from table.faults("start_ns", never, "no time of a measurement")
    spent = table["transfer_ns"] + table["step_ns"]
    yield from table.faults("step_ns", spent <= 0, "a mini-batch that took no time")


def counted(table: Table) -> Iterator[str]:
    """A process counts its steps from 0, and its rounds never go back."""
    begin = np.flatnonzero(table.first)[table.process]
    expected = np.arange(len(table.rows)) - begin
    yield from table.faults("step", table["step"] < expected, "this step is there twice")
    yield from table.faults("step", table["step"] > expected, "a step before it is missing")
    back = np.concatenate([[False], np.diff(table["round"].astype(int)) < 0]) & ~table.first
    yield from table.faults("round", back, "a later round came before it")


def placed(table: Table) -> Iterator[str]:
    """A turn has one position, which no other turn of the round has, and its order says so."""
    begin = np.flatnonzero(table.begins)[table.turn]
    wrong = table["position"] != table["position"][begin]
    yield from table.faults("position", wrong, "its turn began at another position")
    turns = table.turns
    twice = turns.duplicated([*CONTEST, "round", "position"]).to_numpy()[table.turn]
    yield from table.faults("position", twice, "another contender had this position")
    orders = {(one.workload, one.replicate): one.order for one in table.records.contests}
    columns = ["round", "position", "contender"]
    contests = zip(turns["workload"], turns["replicate"], strict=True)
    own = [
        not turn[0] or not orders[contest] or right(orders[contest], *turn)
        for contest, turn in zip(
            contests, turns[columns].itertuples(index=False, name=None), strict=True
        )
    ]
    wrong = ~np.array(own)[table.turn]
    yield from table.faults("position", wrong, "the contest's order has another one there")


def right(order: list[list[str]], number: int, position: int, name: str) -> bool:
    """Whether a round's order has this contender in this position."""
    here = order[number - 1] if number <= len(order) else []
    return position < len(here) and here[position] == name


def marked(table: Table) -> Iterator[str]:
    """All of round 0 is warm-up, and as many mini-batches at the start of every later turn."""
    flags, later = table["warmup"].astype(bool), table["round"] > 0
    yield from table.faults("warmup", ~flags & ~later, "round 0 is warm-up")
    if not later.any():
        return
    contest = table.records.study.configuration.get("contest")
    asked = contest.get("discard") if isinstance(contest, dict) else None
    if not isinstance(asked, int):
        asked = int(flags[table.turn == table.turn[np.argmax(later)]].sum())
    wrong = later & (flags != (table.place < asked))
    yield from table.faults("warmup", wrong, f"the first {asked} of a turn are warm-up")


def alike(table: Table) -> Iterator[str]:
    """All contenders train on the same mini-batches of a round, which the data set has."""
    keys = [table["workload"], table["replicate"], table["round"], table.place]
    same = table.rows.groupby(keys)["batch"].transform("first").to_numpy()
    yield from table.faults("batch", table["batch"] != same, "others had another mini-batch")
    number = {one.workload: one.batches for one in table.records.datasets if one.batches}
    most = np.array([number.get(name, np.inf) for name in table["workload"]])
    yield from table.faults("batch", table["batch"] >= most, "the data set has fewer mini-batches")


def sequential(table: Table) -> Iterator[str]:
    """A process does one thing after another.

    The harness has lengthened the steps of a slowed control after each turn, so that only its
    turns follow each other.
    """
    start, took = table["start_ns"], table.took
    slowed = {
        one.name
        for contest in table.records.contests
        for one in contest.contenders
        if one.slowed_by or one.idle
    }
    free = ~np.isin(table["contender"].astype(str), sorted(slowed))
    early = start[1:] < start[:-1] + took[:-1] - SLACK_NS
    wrong = np.concatenate([[False], early]) & ~table.begins & free
    yield from table.faults("start_ns", wrong, "it began before the one before had ended")
    begin = np.flatnonzero(table.begins)
    end = start[begin] + table.turns["took"].to_numpy()
    early = np.concatenate([[False], start[begin][1:] < end[:-1] - SLACK_NS]) & ~table.first[begin]
    wrong = early[table.turn]
    yield from table.faults("start_ns", wrong, "its turn began before the one before had ended")


def recorded(table: Table) -> Iterator[str]:
    """Each turn has its record, within whose time its mini-batches are."""
    known: dict[tuple[str, int, int, str], TurnRecord] = {}
    for contest in table.records.contests:
        for turn in contest.turns:
            key = (contest.workload, contest.replicate, turn.round, turn.contender)
            if key in known:
                yield f"two turns of {key} are recorded"
            known[key] = turn
    having = {key[:2] for key in known}
    columns = [*CONTEST, "round", "contender", "position", "start_ns", "took"]
    for number, *values in table.turns[columns].itertuples(name=None):
        workload, replicate, of_round, name, position, start, took = values
        if (workload, replicate) not in having:
            continue
        one = known.pop((workload, replicate, of_round, name), None)
        if one is None or one.position != position:
            yield f"column position: {table.where(number)}: no turn is recorded there"
            return
        last = one.start_ns + round(one.duration_s * 1e9) + SLACK_NS
        if start < one.start_ns - SLACK_NS or start + took > last:
            yield f"column start_ns: {table.where(number)}: it is not within its recorded turn"
            return
    if known:
        yield f"a turn of {min(known)} is recorded, without mini-batches"
