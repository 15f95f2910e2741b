"""Caveats that the times themselves reveal."""

from collections.abc import Iterator
from typing import cast

from analysis.findings.findings import Findings
from analysis.format import count, crossed, listing, percent, three
from analysis.report.layout import Caveat, note, warning
from analysis.report.sections.interference import changes, describe_changes, lost_claims
from analysis.steady_state.drift import drifts
from frameworks.device import HOST

APART = 1.5  # slowest over fastest replicate
SWITCHES = 100  # involuntary, per second of steady state
DRIFT = 0.02  # of the time per mini-batch, between the halves of a turn
ONE = 1  # process without a steady state may be a false alarm
STARVED, ALONE = 0.9, 1.1  # of one processor's time


def no_steady_state(findings: Findings) -> Iterator[Caveat]:
    restless = [line for line in findings.steady if not line.steady]
    if restless:
        keys = [s.id for s in restless]
        yield warning(
            "No steady state",
            f"{count(len(restless), 'contender')} whose times went on changing in most "
            f"processes, so they are given as a range and not compared: {crossed(keys)}.",
        )


def interference(findings: Findings) -> Iterator[Caveat]:
    """A warning if a decided verdict changes without the flagged turns; a note if only an
    undecided verdict changes."""
    if lost := lost_claims(findings.unflagged_pairs):
        text = "without the turns flagged for steal time, other load or frequency, claims change: "
        yield warning("Weather", f"{text}{describe_changes(lost)}.")
    elif changed := changes(findings.unflagged_pairs):
        yield note(
            "Without the turns flagged for their weather verdicts change: "
            f"{describe_changes(changed)}."
        )


def scatter(findings: Findings) -> Iterator[Caveat]:
    medians = {benchmark: rows["median"] for benchmark, rows in findings.measured.items()}
    spread = {benchmark: times.max() / times.min() for benchmark, times in medians.items()}
    wide = [benchmark for benchmark, ratio in spread.items() if ratio > APART]
    if wide:
        worst = max(wide, key=lambda benchmark: spread[benchmark])
        yield note(
            f"Replicates disagree in {crossed(wide)}: the slowest process took more than {APART} "
            f"times as long as the fastest, up to {three(spread[worst])} times "
            f"({three(medians[worst].min())} and {three(medians[worst].max())} ms)."
        )


def unsteady_processes(findings: Findings) -> Iterator[Caveat]:
    few = [line for line in findings.steady if line.none > ONE and line.steady]
    if few:
        keys = [s.id for s in few]
        number = sum(line.none for line in few)
        yield note(
            f"{count(number, 'process', 'processes')} of {sum(line.processes for line in few)} "
            f"without a steady state count all the same, in {crossed(keys)}: a noisy machine makes "
            "some of them, and to leave out the worst would be to choose."
        )


def drift(findings: Findings) -> Iterator[Caveat]:
    machine = findings.machine
    found = [
        one
        for one in drifts(machine, findings.batches)
        if abs(one.size) > DRIFT and one.p_adjusted < 1 - machine.study.confidence
    ]
    sizes = [
        f"{percent(abs(one.size))} {'longer' if one.size > 0 else 'shorter'} in "
        f"{one.id.contender} on {one.id.workload}"
        for one in sorted(found, key=lambda one: machine.order(one.id))
    ]
    if sizes:
        yield note(
            "Steady state may not be reached inside the turns: from the first to the second half "
            f"of a turn's steady-state mini-batches times get {listing(sizes)} (significant after "
            "Holm's correction over all contenders). Longer turns, or more of each set aside, "
            "would tell."
        )


def starved(findings: Findings) -> Iterator[Caveat]:
    on_host = findings.batches["device"] == HOST.name
    steady = findings.batches[~findings.batches["warmup"] & on_host]
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
            yield note(
                f"{count(len(low), 'contender')} had {what}, down to {percent(low.min())} "
                f"({contender} on {workload})."
            )


def switched(findings: Findings) -> Iterator[Caveat]:
    steady = findings.batches[~findings.batches["warmup"]]
    groups = steady.groupby(["workload", "contender"])
    rates = 1000 * groups["switches"].sum() / groups["ms"].sum()
    high = rates[rates > SWITCHES]
    if len(high):
        workload, contender = cast("tuple[str, str]", high.idxmax())
        yield note(
            f"Many involuntary context switches: more than {SWITCHES} a second in {len(high)} of "
            f"{len(rates)} contenders, up to {high.max():,.0f} ({contender} on {workload}). Other "
            "processes, or a framework's own threads, competed for the cores."
        )
