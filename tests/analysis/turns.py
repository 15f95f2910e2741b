"""Turns of a made-up study, one after the other, as today's records have them."""

import pandas as pd
import pyarrow as pa

from workflows.records.columns import BATCHES
from workflows.records.machine_records import MachineRecords
from workflows.records.schema import TurnRecord

GAP_NS = 1_000_000
HOUR_NS = 3600 * 10**9  # from contest to contest


def with_turns(records: MachineRecords, table: pa.Table) -> pd.DataFrame:
    """The mini-batches with their turns following each other, and a record of each turn in its
    contest."""
    rows = table.to_pandas()
    took = rows["data_ns"] + rows["transfer_ns"] + rows["step_ns"]
    first_ns = int(rows["start_ns"].min())
    for number, contest in enumerate(records.contests):
        here = (rows["workload"] == contest.workload) & (rows["replicate"] == contest.replicate)
        own = rows[here].sort_values(["round", "position", "step"])
        turn = own.groupby(["round", "position"], sort=False).ngroup()
        ends = took[own.index].cumsum()
        begin = first_ns + number * HOUR_NS
        starts = begin + ends - took[own.index] + GAP_NS * turn
        rows.loc[own.index, "start_ns"] = starts
        contest.started = pd.Timestamp(begin, tz="UTC").isoformat()
        for (round_, place, name), batches in own.groupby(["round", "position", "contender"]):
            first, last = starts[batches.index].iloc[[0, -1]]
            contest.turns.append(
                TurnRecord(
                    round=round_, position=place, contender=name, cores=1,
                    switches=int(batches["switches"].sum()),
                    start_ns=first - 1000,
                    duration_s=(last + took[batches.index[-1]] - first + 9000) / 1e9,
                )
            )  # fmt: skip
        contest.duration_s += sum(turn.duration_s for turn in contest.turns)
    return rows[BATCHES.names]


def stored(rows: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(rows[BATCHES.names], BATCHES, preserve_index=False)
