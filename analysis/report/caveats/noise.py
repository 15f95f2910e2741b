"""Caveats that the times themselves reveal."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import cast

import numpy as np
import pandas as pd

from analysis.data.results import grouped
from analysis.findings.findings import Findings
from analysis.findings.speed.elementwise import ELEMENTWISE
from analysis.findings.speed.off_clock import OFF_CLOCK, OffClockLine
from analysis.findings.speed.use import too_fast
from analysis.findings.steady_state import SteadyLine
from analysis.format import count, few, listing, percent
from analysis.report.layout import Caveat, note, warning
from analysis.report.prose import place, places, share, subject, two
from analysis.report.sections.measuring.interference import describe, leaving, reversed_by
from frameworks.device import HOST

APART = 1.5  # slowest over fastest replicate
SWITCHES = 100  # involuntary, per second of steady state
STARVED, ALONE = 0.9, 1.1  # of one processor's time
# Processor time outside the timed region: as a share of that inside it, where right contenders took
# up to 0.10, and in milliseconds for each mini-batch.
OUTSIDE, OUTSIDE_MS = 0.15, 1.0
# Threads that wait for more work spin before they sleep. With 16 threads on 16 cores, PyTorch's
# OpenMP took up to 8.6 ms of each after a turn; with one or two it stays within the above. Beside a
# GPU all threads may spin, although they compute for moments of a step only.
SPUN, SPUN_MS = 2, 10.0
NAMED = 3  # contenders
# By how much longer than others between timed steps: share of a step, and milliseconds. Above
# 0.1 ms, right contenders took up to 2.3 % of a step on the processor. Copying the loss from a GPU
# took JAX 0.35 ms.
BETWEEN, BETWEEN_MS, COPYING_MS = 0.03, 0.2, 0.5
# By how much longer the first reading of weights takes than the second: share of a step, and
# milliseconds. Right contenders took up to 0.6 of a step, with a large embedding. JAX keeps what it
# has copied from a GPU.
LATE, LATE_MS = 1.0, 2.0
# Times the others' median processor time (right contenders: 0.28 to 4.8), and the fewest others.
FAR, LIKE = 6.0, 2
TAKEN = 4.0  # times the median time of taking up a mini-batch (right contenders: 2.0)
APART_ALONE = 8.0  # times, of the only two contenders; right ones are up to 5.7 times apart
CACHED = 10.0  # times the memory stream; the fastest of all committed studies: 2.6
# Share of the processor time that exceeds the cores' (right contenders: 0.03), and the least time.
AWAY, ENOUGH_S = 0.2, 1.0
SETS_CORES = "Look for what sets the cores of a process or thread after its import."
MOSTLY, SPARED = 0.5, 0.1  # disturbed turns: of all contenders, and of a spared contender
OVERHEAD_NS = 2e6  # of a mini-batch: below it, most processor time is Python and dispatch


def no_steady_state(findings: Findings) -> Iterator[Caveat]:
    """A warning about contenders that have no ratio because they alone drifted, and a note about
    contenders that may have drifted."""
    margin = findings.machine.study.margin
    if drifting := [line for line in findings.steady if not line.steady]:
        yield warning(
            "No steady state",
            f"{drifted(drifting)} That is more than {percent(margin)}, so there is no ratio.",
            "Set a longer warm-up (`contest.warmup`).",
        )
    if perhaps := [line for line in findings.steady if line.steady and line.suspect(margin)]:
        yield note(
            f"{drifted(perhaps)} Ratios are means over that drift.",
            "Set a longer warm-up (`contest.warmup`) to see whether it ends.",
        )


def drifted(lines: Sequence[SteadyLine]) -> str:
    """The contender that drifted most, and the number of the others that drifted."""
    worst = max(lines, key=lambda line: abs(line.drift.value or 0.0))
    others = len(lines) - 1
    return (
        f"From the first to the last third of the rounds, {subject(worst.id)} came to take "
        f"{worst.size} ({place(worst.id)}), and the others did not."
        + f" {count(others, 'more contender')} drifted, too."
        * bool(others)
    )


def interference(findings: Findings) -> Iterator[Caveat]:
    """A warning if most turns were disturbed, so that hardly any others are left to compare with
    them. And ratios that leave their interval without the disturbed turns: a warning if a decided
    verdict changes, else a note."""
    do = "Repeat the study while nothing else runs."
    most, left = mostly_disturbed(findings), leaving(findings.unflagged_pairs)
    if most:
        yield warning("Interference", most, do)
    if not left:
        return
    text = f"Without the turns that other load disturbed, {describe(left)}."
    if any(reversed_by(pair) for pair in left):
        yield warning("Interference", text, do)
    else:
        yield note(text, do)


def mostly_disturbed(findings: Findings) -> str:
    """The share of the turns that other load disturbed, if it is most of them, and whose turns it
    spared: that contender may be what disturbs the others."""
    by_contender = grouped((one.turn.contender, bool(one.reasons)) for one in findings.turns)
    hit = [found for own in by_contender.values() for found in own]
    if not hit or fmean(hit) <= MOSTLY:
        return ""
    # Waiting for a core is seen with one thread only.
    alone = {name: fmean(own) for name, own in by_contender.items() if name.endswith("/1")}
    like = alone and fmean(alone.values()) > MOSTLY
    # A contender that has failed has hardly a turn.
    least = max(map(len, by_contender.values())) / 2
    spared = [name for name, share in alone.items()
              if like and share < SPARED and len(by_contender[name]) > least]  # fmt: skip
    but = f", but hardly one of {listing(spared)}, whose processes may be that load"
    return f"Other load disturbed {percent(fmean(hit))} of the turns{but * bool(spared)}."


def at_work(row: OffClockLine) -> float:
    """The number of threads that computed in timed steps; beside a GPU, all that may have."""
    if not row.id.on_host:
        return row.id.threads
    if not row.processor_ms or not row.share or not row.step_ms:
        return 0.0
    return min(row.id.threads, row.processor_ms / row.share / row.step_ms)


def off_the_clock(findings: Findings) -> Iterator[Caveat]:
    """Contenders whose processes work, or wait longer than others, while nothing is timed, or that
    compute weights when they are read."""
    rows = findings.machine.matched_rows(OFF_CLOCK.of(findings))
    contest = findings.machine.study.configuration.get("contest")
    turn = contest.get("turn") if isinstance(contest, dict) else None
    # Of a thread, for each mini-batch; records of others may lack the turn.
    spun_ms = SPUN_MS / turn if isinstance(turn, int) and turn > 0 else 0.0
    worked = {
        row.id: used
        for row in rows
        if (used := row.share or 0.0) > OUTSIDE
        and (row.processor_ms or 0.0) > OUTSIDE_MS + spun_ms * max(at_work(row) - SPUN, 0)
    }
    waited = {
        row.id: more / row.step_ms
        for row in rows
        if (more := row.longer_ms or 0.0)
        > max(BETWEEN_MS if row.id.on_host else COPYING_MS, BETWEEN * row.step_ms)
    }
    read = {
        row.id: late / row.step_ms
        for row in rows
        if (late := beyond_others(row, rows)) > max(LATE_MS, LATE * row.step_ms) and row.id.on_host
    }
    for found, what, whole in (
        (worked, "worked while nothing was timed, for up to", "the processor time of timed steps"),
        (waited, "took longer than others between timed steps, by up to", "a step"),
        (read, "took longer to give their weights after a turn than again, by up to", "a step"),
    ):
        if found:
            worst = sorted(found, key=found.__getitem__, reverse=True)
            names = [f"`{one.contender} on {one.workload}`" for one in worst]
            yield warning(
                "Off the clock",
                f"{count(len(found), 'contender')} {what} {share(found[worst[0]])} of {whole} "
                f"({few(names, NAMED)}).",
                "Look for work in loss(), in threads and in what is computed only when it is read.",
            )


def beyond_others(row: OffClockLine, rows: Sequence[OffClockLine]) -> float:
    """Milliseconds by which the first reading of weights took longer than the second, beyond the
    least in other frameworks: new memory takes time (over a second for 250 MB on one machine)."""
    others = [
        other.late_ms or 0.0
        for other in rows
        if other.id.framework != row.id.framework
        and (other.id.workload, other.id.device) == (row.id.workload, row.id.device)
    ]
    return (row.late_ms or 0.0) - min(others, default=0.0)


def other_cores(findings: Findings) -> Iterator[Caveat]:
    """Contenders that may run on other cores than most with as many threads in their contest."""
    left: dict[str, None] = {}
    for contest in findings.machine.records.contests:
        allowed = defaultdict[int, dict[str, tuple[int, ...]]](dict)
        for one in contest.contenders:
            if one.status == "ok" and one.on_host and one.cores and not one.loader:
                allowed[one.threads][one.name] = tuple(one.cores)
        for own in allowed.values():
            (given, _), *_ = sorted(
                Counter(own.values()).items(), key=lambda found: (-found[1], len(found[0]))
            )
            others = [name for name, cores in own.items() if cores != given]
            left |= dict.fromkeys(f"`{name} on {contest.workload}`" for name in others)
    if left:
        yield warning(
            "Other cores",
            f"{count(len(left), 'contender')} had other cores at the end of a contest than the "
            f"others with as many threads ({few([*left], NAMED)}).",
            SETS_CORES,
        )


def computed_elsewhere(findings: Findings) -> Iterator[Caveat]:
    spent: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for contest in findings.machine.records.contests:
        here = {c.name for c in contest.contenders if c.on_host and not c.runs}
        for turn in contest.turns:
            cpu_s, other_s = turn.cpu_s, turn.other_s
            if turn.contender in here and cpu_s is not None and other_s is not None:
                own = spent[f"`{turn.contender} on {contest.workload}`"]
                own[0] += cpu_s
                # Some kernels count what the host takes as the thread's.
                own[1] -= other_s + max(turn.steal_s or 0.0, 0.0)
    shares = {who: away / cpu for who, (cpu, away) in spent.items() if cpu > ENOUGH_S}
    if left := {who: one for who, one in shares.items() if one > AWAY}:
        yield warning(
            "Other cores",
            f"{count(len(left), 'contender')} computed on other cores than their own for up to "
            f"{share(max(left.values()))} of the processor time ({few([*left], NAMED)}).",
            SETS_CORES,
        )


def faster_than_arithmetic(findings: Findings) -> Iterator[Caveat]:
    if fast := too_fast(findings):
        yield warning(
            "Too fast",
            "Steps take less time than their arithmetic takes in the machine's own matrix product, "
            "at least a quarter of those of one process, up to "
            f"{two(max(fast.values()))} times less: {places(fast)}.",
            "Look for work that is left out, or that another process or device does.",
        )


def faster_than_memory(findings: Findings) -> Iterator[Caveat]:
    rows = findings.machine.matched_rows(ELEMENTWISE.of(findings))
    if fast := {row.id: share for row in rows if (share := row.share or 0.0) > CACHED}:
        yield warning(
            "Too fast",
            "Single operations move their vectors faster than caches do, up to "
            f"{two(max(fast.values()))} times the machine's memory stream: {places(fast)}.",
            "Look for operations that are left out, or results that are none.",
        )


def processor_time(findings: Findings) -> Iterator[Caveat]:
    """Contenders that spend far less or far more processor time on the same arithmetic than the
    median of the others on this workload with as many threads."""
    batches = findings.machine.matched(findings.batches)
    steady = batches[~batches["warmup"] & (batches["device"] == HOST.name)]
    if steady.empty:
        return
    steady = steady.assign(cpu_ns=steady["cpu_ns"] * steady["weight"])
    sums = steady.groupby(["workload", "contender", "threads"])[["cpu_ns", "weight"]].sum()
    each = sums["cpu_ns"] / sums["weight"]
    others = each.groupby(["workload", "threads"], group_keys=False).apply(medians_of_others)
    ratios = (each / others)[others > OVERHEAD_NS]
    if len(less := ratios[ratios * FAR < 1]):
        yield warning(
            "Processor time",
            f"{count(len(less), 'contender')} spent far less processor time on the same arithmetic "
            f"than the others, down to {share(float(less.min()))} of theirs "
            f"(`{name(less.idxmin())}`).",
            "Look for work that is left out, or that another process or device does.",
        )
    if len(more := ratios[ratios > FAR]):
        yield note(
            f"{count(len(more), 'contender')} spent far more processor time on the same arithmetic "
            f"than the others, up to {two(float(more.max()))} times as much "
            f"(`{name(more.idxmax())}`).",
            "Look for a debug mode, and for threads that wait busily.",
        )
    yield from two_apart(each)


def taken_up(findings: Findings) -> Iterator[Caveat]:
    """Contenders that took far longer than others to take up the same mini-batches: time that is in
    no ratio."""
    records = findings.machine.records
    loading = {one.name for contest in records.contests for one in contest.contenders if one.loader}
    rows = [(row.data_ms, row) for row in findings.contenders if row.data_ms
            and row.id.workload in records.trained and row.id.contender not in loading]  # fmt: skip
    for own in grouped((row.id.workload, (ms, row)) for ms, row in rows).values():
        usual = float(np.median([ms for ms, _ in own]))
        far = [(ms / usual, row) for ms, row in own
               if ms > TAKEN * usual + BETWEEN * (row.step_ms or 0.0)]  # fmt: skip
        if far and len(own) > LIKE:
            times, worst = max(far, key=lambda one: one[0])
            yield warning(
                "Time in no ratio",
                f"{subject(worst.id)} took {two(times)} times as long as the median contender to "
                "take up the same mini-batches.",
                "Look for work that was recorded as taking up data.",
            )


def two_apart(each: "pd.Series[float]") -> Iterator[Caveat]:
    for _, own in each.groupby(["workload", "threads"]):
        if len(own) == 2 and own.min() * APART_ALONE < own.max() - OVERHEAD_NS:
            yield note(
                f"`{name(own.idxmin())}` spent far less processor time on the same arithmetic than "
                f"`{name(own.idxmax())}`: {share(float(own.min() / own.max()))}. There is no third "
                "contender to compare them with.",
                "Look for work that is left out in the one, or for a debug mode and threads that "
                "wait busily in the other.",
            )


def medians_of_others(own: "pd.Series[float]") -> "pd.Series[float]":
    """For each contender, the median of all others; NaN with fewer than `LIKE` others."""
    found = [own.drop(key).median() if len(own) > LIKE else np.nan for key in own.index]
    return pd.Series(found, own.index)


def scatter(findings: Findings) -> Iterator[Caveat]:
    medians = {benchmark: rows["median"] for benchmark, rows in findings.matched.items()}
    spread = {benchmark: times.max() / times.min() for benchmark, times in medians.items()}
    wide = [benchmark for benchmark, ratio in spread.items() if ratio > APART]
    if wide:
        worst = max(spread[benchmark] for benchmark in wide)
        yield note(
            f"Processes of one contender differ by up to {two(worst)} times: {places(wide)}.",
            "Add replicates; intervals already cover the scatter.",
        )


def starved(findings: Findings) -> Iterator[Caveat]:
    batches = findings.machine.matched(findings.batches)
    on_host = batches["device"] == HOST.name
    steady = batches[~batches["warmup"] & on_host]
    keys = ["workload", "contender", "threads"]
    times = steady[["data_ns", "transfer_ns", "step_ns", "cpu_ns"]].mul(steady["weight"], axis=0)
    parts = times.groupby([steady[key] for key in keys]).sum()
    used = parts["cpu_ns"] / parts[["data_ns", "transfer_ns", "step_ns"]].sum(axis=1)
    threads = used.index.get_level_values("threads")
    for low, what in (
        (used[(threads == 1) & (used < STARVED)], "less than a whole processor"),
        (used[(threads > 1) & (used < ALONE)], "hardly more than one processor for all threads"),
    ):
        if len(low):
            yield note(
                f"{count(len(low), 'contender')} had {what}, down to {share(float(low.min()))} "
                f"(`{name(low.idxmin())}`).",
                "Free the cores of other work, or allow the process more of them.",
            )


def switched(findings: Findings) -> Iterator[Caveat]:
    batches = findings.machine.matched(findings.batches)
    steady = batches[~batches["warmup"]]
    steady = steady.assign(total_ms=steady["ms"] * steady["weight"])
    sums = steady.groupby(["workload", "contender"])[["switches", "total_ms"]].sum()
    rates = 1000 * sums["switches"] / sums["total_ms"]
    high = rates[rates > SWITCHES]
    if len(high):
        yield note(
            f"{len(high)} of {count(len(rates), 'contender')} lost a core more than {SWITCHES} "
            f"times a second, up to {two(float(high.max()))} (`{name(high.idxmax())}`).",
            "Other processes do that, or a framework's own threads; see Interference.",
        )


def name(key: object) -> str:
    """`tensorflow/tuned/cpu/2 on mnist-cnn`"""
    workload, own, *_ = cast("tuple[str, ...]", key)
    return f"{own} on {workload}"
