"""Interference: which turns were disturbed by other load on the machine.

The main estimates keep the flagged turns. Thresholds are shares of a turn's length. They come from
768 turns (PyTorch and TensorFlow, one thread, 10 to 700 ms each) on a core that other processes
used occasionally; a busy loop ran beside half of them, started at random. All 114 turns that the
loop overlapped by a tenth or more are flagged. Flagged turns waited for other processes for 6 to
94 % of their length (at least 30 % in all but four of 579), the rest for at most 8 %.
"""

from dataclasses import dataclass, replace

import pandas as pd

from analysis.data.results import Machine
from analysis.findings.comparisons import Comparison
from analysis.stats.inference import Estimate
from workflows.records.schema import TurnRecord

STEAL = 0.01  # of the turn, taken by the host from the contender's cores
OTHER = 0.05  # of the turn, taken by other processes
SLOWED = 0.05  # of the contender's median frequency in its contest
SWITCHES = 100  # per second, more than usual; used only if `waited_s` was not read
TICK_S = 0.01  # of the counters of steal and other load
# What the harness itself takes of a turn: it reads the counters and wakes the worker. In turns of
# 6 ms it took 0.7 ms, and up to 1.4 ms in nine of ten.
UNRESOLVED_S = 0.002
OWN_QUEUE = 0.1  # of the turn; a contender's threads lost up to 0.08 to each other on one core
USUAL = 0.1  # quantile of the turns in which no other process was seen
READ = ("steal_s", "waited_s", "other_s", "mhz")  # the columns that flags are based on

KEYS = ["workload", "replicate", "contender", "round"]
OWN = ["workload", "contender"]


@dataclass(frozen=True)
class TurnLine:
    """A recorded turn, and the reasons why it is flagged."""

    workload: str
    replicate: int
    turn: TurnRecord
    reasons: list[str]

    @property
    def flags(self) -> str:
        return "; ".join(self.reasons)


def turn_lines(machine: Machine) -> list[TurnLine]:
    """Every recorded turn, including round 0, contest by contest in the order of the schedule."""
    kept = [
        (contest.workload, contest.replicate, turn)
        for contest in sorted(
            machine.records.contests,
            key=lambda contest: (machine.workloads.index(contest.workload), contest.replicate),
        )
        for turn in contest.turns
    ]
    if not kept:
        return []
    table = pd.DataFrame([turn.model_dump() for _, _, turn in kept])
    table["workload"] = [workload for workload, _, _ in kept]
    table["replicate"] = [replicate for _, replicate, _ in kept]
    signs = flagged(table)
    return [
        TurnLine(*turn, [str(name) for name, seen in zip(signs, row, strict=True) if seen])
        for turn, row in zip(kept, signs.itertuples(index=False), strict=True)
    ]


def flagged(turns: pd.DataFrame) -> pd.DataFrame:
    """A column of booleans for each reason, a row for each turn. A missing value flags nothing."""
    numbers = [name for name in turns if name not in ("workload", "contender")]
    turns = turns.astype(dict.fromkeys(numbers, float))  # None becomes NaN, which exceeds nothing
    length, ticks = turns["duration_s"], TICK_S * turns["cores"]
    slow = turns["mhz"] < (1 - SLOWED) * turns.groupby([*OWN, "replicate"])["mhz"].transform(
        "median"
    )
    return pd.DataFrame(
        {
            # ticks are truncated: a difference is less than one tick too large per core
            "steal": turns["steal_s"] - ticks > STEAL * length,
            "other load": (turns["other_s"] - 2 * ticks > OTHER * length) | queued(turns),
            "switches": turns["waited_s"].isna() & switched(turns),
            "frequency": slow | (turns["throttles"] > 0),
        }
    )


def queued(turns: pd.DataFrame) -> "pd.Series[bool]":
    """Whether a turn on one core waited for other processes, resolved far below a tick.

    Threads also wait for each other. So the time taken by other processes is at most this waiting,
    and at most the core time that the threads did not use. It must also exceed this contender's
    usual value in turns without other load in the ticks (short turns may all have had some,
    unseen), and more than the harness itself takes (`UNRESOLVED_S`). On several cores, threads that
    wait for each other beside an idle core look the same, so only the ticks count there.
    """
    lost = turns["waited_s"].clip(upper=turns["duration_s"] - turns["cpu_s"]) / turns["duration_s"]
    alone = ~(turns["other_s"] > 2 * TICK_S * turns["cores"])
    usual = lost.where(alone).groupby([turns[name] for name in OWN]).transform("quantile", q=USUAL)
    seen = (turns["cores"] == 1) & (lost * turns["duration_s"] > UNRESOLVED_S)
    return seen & (lost - usual.fillna(0).clip(upper=OWN_QUEUE) > OTHER)


def switched(turns: pd.DataFrame) -> "pd.Series[bool]":
    rate = turns["switches"] / turns["duration_s"]
    usual = rate.groupby([turns[name] for name in OWN]).transform("quantile", q=USUAL)
    return (rate > 2 * usual) & (rate - usual > SWITCHES)


def without_flagged(machine: Machine, lines: list[TurnLine]) -> Machine:
    hit = [
        (line.workload, line.replicate, line.turn.contender, line.turn.round)
        for line in lines
        if line.reasons
    ]
    if not hit:
        return machine
    keys = pd.MultiIndex.from_frame(machine.batches[KEYS])
    return replace(machine, batches=machine.batches[~keys.isin(hit)])


def side_by_side(
    main: list[Comparison], again: list[Comparison]
) -> list[tuple[Comparison, Comparison]]:
    """Pair each comparison that has a ratio or no steady state with the same comparison without
    the flagged turns, which has no ratio if every round was flagged."""
    found = {(row.id, row.base): row for row in again if shown(row)}
    return [(row, found.get((row.id, row.base)) or gone(row)) for row in main if shown(row)]


def shown(row: Comparison) -> bool:
    return row.estimate.ratio is not None or row.estimate.verdict == "no steady state"


def gone(row: Comparison) -> Comparison:
    reason = "no replicate is left with a round in which neither was flagged"
    return Comparison(row.id, row.base, Estimate(), row.certificate, reason)
