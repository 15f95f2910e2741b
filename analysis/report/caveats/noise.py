"""What the times themselves say against them."""

from collections.abc import Iterator
from typing import cast

from analysis.findings.findings import Findings
from analysis.format import count, crossed, listing, percent, three
from analysis.report.interference import changes, spoken
from analysis.steady_state.drift import drifts

APART = 1.5  # slowest over fastest replicate
SWITCHES = 100  # involuntary, per second of steady state
DRIFT = 0.02  # of the time per mini-batch, between the halves of a turn
ONE = 1  # process without a steady state may be a false alarm
STARVED, ALONE = 0.9, 1.1  # of one processor's time


def weather(findings: Findings) -> Iterator[str]:
    if changed := changes(findings.weathered):
        yield f"Without the turns flagged for their weather verdicts change: {spoken(changed)}."


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
