"""One row per process: one contender in one replicate of one contest."""

from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd

from analysis.data.availability import Availability
from analysis.data.results import PHASES, BenchmarkId, Machine, keyed
from analysis.stats.estimator import log_ratio
from analysis.stats.rounds import Floats

COLUMNS = list(BenchmarkId._fields)


@dataclass(frozen=True)
class Measurements:
    """The measurements of one machine. `processes` has a row for each measured replicate of a
    benchmark; `unsteady` says why a benchmark has no steady state, and so no ratio."""

    machine: Machine
    availability: dict[BenchmarkId, Availability]
    processes: dict[BenchmarkId, pd.DataFrame]
    unsteady: dict[BenchmarkId, str]


def sound(machine: Machine) -> pd.DataFrame:
    """Mini-batches of processes that lived to the end of their contest."""
    ok = [
        (contest.workload, contest.replicate, contender.name)
        for contest in machine.records.contests
        for contender in contest.contenders
        if contender.status == "ok"
    ]
    keys = pd.MultiIndex.from_frame(machine.batches[["workload", "replicate", "contender"]])
    return machine.batches[keys.isin(ok)]


def uncontrolled(machine: Machine) -> pd.DataFrame:
    """The sound mini-batches without controls, because several controls share one process."""
    batches = sound(machine)
    return batches[~keyed(batches).isin(list(machine.controls))]


def processes(batches: pd.DataFrame) -> pd.DataFrame:
    """Steady state (`warmup` false) summarised per process, in milliseconds: `median`, `q25`,
    `q75` and `mean` of transfer and step, medians of each part, and the number of `batches`. For
    warm-up, their number and the very `first` mini-batch. `logs` has the logarithms of the steady
    times, (rounds, places)."""
    keys, parts = [*COLUMNS, "replicate"], [f"{part}_ms" for part in PHASES]
    process = batches.groupby(keys).ngroup().to_numpy()
    order = np.lexsort((batches["step"].to_numpy(), process))
    rows = batches[[*keys, "round", "warmup", "weight", "ms", *parts]].iloc[order]
    rows = rows.assign(process=process[order], total=rows["ms"] * rows["weight"])
    kept = rows[~rows["warmup"]]
    steady, everything = kept.groupby("process"), rows.groupby("process")
    sums = steady[["total", "weight"]].sum()
    logs = np.empty(len(sums), dtype=object)
    for place, own in enumerate(grid(kept, ["process"])):
        logs[place] = own
    table = everything[keys].first().loc[sums.index]
    warmup = rows["weight"].where(rows["warmup"], 0).groupby(rows["process"]).sum()
    # loc: without any steady mini-batch, the table would take over a longer index.
    return table.assign(
        median=steady["ms"].median(),
        q25=steady["ms"].quantile(0.25),
        q75=steady["ms"].quantile(0.75),
        mean=sums["total"] / sums["weight"],
        batches=sums["weight"],
        **{part: steady[part].median() for part in parts},
        warmup=warmup.loc[sums.index],
        first=everything["ms"].first().loc[sums.index],
        logs=logs,
    ).reset_index(drop=True)


def grid(steady: pd.DataFrame, keys: list[str]) -> Floats:
    """Logarithms of the times of processes, which `keys` identify, (processes, rounds, places):
    sorted by the keys, NaN in places without a steady mini-batch."""
    process = steady.groupby(keys).ngroup().to_numpy()
    number = steady["round"].to_numpy()
    place = steady.groupby([process, number]).cumcount().to_numpy()
    sizes = [values.max(initial=-1) + 1 for values in (process, number, place)]
    found = np.full(sizes, np.nan)
    found[process, number, place] = np.log(steady["ms"].to_numpy(float))
    return found


def by_benchmark(table: pd.DataFrame) -> dict[BenchmarkId, pd.DataFrame]:
    """The rows of each benchmark, indexed by replicate."""
    return {identity(key): rows.set_index("replicate") for key, rows in table.groupby(COLUMNS)}


def identity(key: object) -> BenchmarkId:
    """The benchmark that the values of `COLUMNS` identify."""
    workload, framework, variant, device, threads = cast("tuple[str, str, str, str, int]", key)
    return BenchmarkId(workload, framework, variant, device, int(threads))


def paired(one: pd.DataFrame, other: pd.DataFrame) -> "pd.Series[float]":
    """Logarithms of the ratios of two benchmarks' times, by replicate: Hodges and Lehmann's
    estimate over the rounds in which both were steady, so that interference is on both sides or
    on neither."""
    shared = one.index.intersection(other.index)
    if shared.empty:
        return pd.Series(dtype=float)
    sides = (np.stack(side.loc[shared, "logs"].tolist()) for side in (one, other))
    return pd.Series(log_ratio(*sides), index=shared).dropna()


def logs(rows: pd.DataFrame, column: str = "median") -> "pd.Series[float]":
    """Natural logarithms by replicate: ratios become differences."""
    return pd.Series(np.log(rows[column].to_numpy(float)), index=rows.index)
