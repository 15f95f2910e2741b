"""A study with longer turns: each steady mini-batch is there many times, with times that scatter by
5 %, pauses, and losses that differ in their last digits. So the file is hardly smaller for the
repetition. It is made contest by contest, and each contest has row groups of its own."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from analysis.data.certificate_faults import TURN_STEPS
from workflows.records import storage
from workflows.records.columns import BATCHES
from workflows.records.machine_folder import read_machine, write_machine
from workflows.records.machine_records import MachineRecords
from workflows.records.schema import ContestRecord

SCATTER = {**dict.fromkeys(("data_ns", "transfer_ns", "step_ns", "cpu_ns"), 0.05), "loss": 1e-7}
PAUSE_NS = 20_000  # between mini-batches, at most


def lengthened(source: Path, size: int, out: Path) -> int:
    """Write a folder with about `size` mini-batches, but at least those of the source, and return
    their number."""
    storage.LEVEL = 1  # the usual one takes minutes for a large file
    records, table = read_machine(source)
    steady = table.num_rows - pc.sum(table["warmup"]).as_py()
    times = max((size - table.num_rows + steady) // steady, 1)
    deal = records.study.configuration["contest"]
    deal["turn"] = deal["discard"] + times * (deal["turn"] - deal["discard"])
    for certificate in records.certificates:
        for one in (certificate, *certificate.rows):
            if one.turns:
                one.turns.losses[1:] = [
                    longer_turn(own, deal["discard"], times) for own in one.turns.losses[1:]
                ]
    write_machine(out, records, contests(records, table, times))
    return int(table.num_rows + (times - 1) * steady)


def longer_turn(losses: list[float], discard: int, times: int) -> list[float]:
    """A turn's losses in float64, each steady one `times` times, as far as records have them."""
    steady = np.repeat(losses[discard:], times).tolist()
    return [*losses[:discard], *steady][:TURN_STEPS]


def contests(records: MachineRecords, table: pa.Table, times: int) -> Iterator[pa.Table]:
    """The mini-batches of each contest, one after the other in the order in which they began."""
    random, start_ns = np.random.default_rng(1), table["start_ns"][0].as_py()
    sizes = {one.workload: one.batches for one in records.datasets}
    for contest in sorted(records.contests, key=lambda contest: contest.started):
        of_contest = pc.and_(
            pc.equal(table["workload"], contest.workload),
            pc.equal(table["replicate"], contest.replicate),
        )
        batches = sizes[contest.workload]
        yield longer(contest, table.filter(of_contest), times, batches, start_ns, random)
        start_ns = max(turn.start_ns + round(turn.duration_s * 1e9) for turn in contest.turns)


def longer(
    contest: ContestRecord,
    own: pa.Table,
    times: int,
    batches: int,
    start_ns: int,
    random: np.random.Generator,
) -> pa.Table:
    """A contest's mini-batches, each steady one `times` times, of a data set with so many
    `batches`. The records of its turns are lengthened in place."""
    rows = own.select(["contender", "round", "warmup"]).to_pandas()
    each = np.where(rows["warmup"], 1, times)
    ends = np.cumsum(each)
    before = pd.Series(each).groupby(rows["contender"]).cumsum().to_numpy() - ends
    which = np.repeat(np.arange(len(each)), each)
    found = own.take(pa.array(which))
    changes = {
        name: found[name].to_numpy() * np.exp(random.normal(0, scatter, len(which)))
        for name, scatter in SCATTER.items()
    }
    took = sum(changes[name].astype(np.int64) for name in ("data_ns", "transfer_ns", "step_ns"))
    finished = start_ns + np.cumsum(took + random.integers(0, PAUSE_NS, len(which)))
    steps = before[which] + np.arange(len(which))
    changes |= {"step": steps, "batch": steps % batches, "start_ns": finished - took}
    for name, values in changes.items():
        field = BATCHES.field(name)
        column = pa.array(values.astype(field.type.to_pandas_dtype()))
        found = found.set_column(BATCHES.get_field_index(name), field, column)
    contest.started = datetime.fromtimestamp(start_ns / 1e9, UTC).isoformat()
    places = rows.groupby(["contender", "round"]).indices
    counted = [found[name].to_numpy() for name in ("switches", "cpu_ns")]
    for turn in contest.turns:
        own_places = places[turn.contender, turn.round]
        first, last = ends[own_places[0]] - each[own_places[0]], ends[own_places[-1]] - 1
        turn.start_ns = int(finished[first] - took[first])
        turn.duration_s = int(finished[last] - turn.start_ns) / 1e9
        turn.switches, cpu_ns = (int(one[first : last + 1].sum()) for one in counted)
        turn.cpu_s = None if turn.cpu_s is None else cpu_ns / 1e9
    contest.duration_s = max(contest.duration_s, sum(turn.duration_s for turn in contest.turns))
    return found
