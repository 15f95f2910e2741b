"""Caveats that the times themselves reveal."""

from collections.abc import Iterator, Sequence
from typing import cast

from analysis.findings.findings import Findings
from analysis.findings.steady_state import SteadyLine
from analysis.format import count, crossed, listing, percent, three
from analysis.report.layout import Caveat, note, warning
from analysis.report.sections.interference import describe, leaving, reversed_by
from frameworks.device import HOST

APART = 1.5  # slowest over fastest replicate
SWITCHES = 100  # involuntary, per second of steady state
STARVED, ALONE = 0.9, 1.1  # of one processor's time


def no_steady_state(findings: Findings) -> Iterator[Caveat]:
    """A warning about contenders without a ratio, because they alone drifted; a note about those
    that may have."""
    margin = findings.machine.study.margin
    drifting = [line for line in findings.steady if not line.steady]
    if drifting:
        yield warning(
            "No steady state",
            f"from the first to the last third of the rounds, mini-batches of {drifted(drifting)} "
            f"while the others on the same cores did not. That is more than {percent(margin)}, so "
            "these contenders have no ratio. Longer warm-up (`contest.warmup`) may help.",
        )
    if perhaps := [line for line in findings.steady if line.steady and line.suspect(margin)]:
        yield note(
            "From the first to the last third of the rounds, mini-batches of "
            f"{drifted(perhaps)} while the others on the same cores did not. Ratios of these "
            "contenders are means over that drift."
        )


def drifted(lines: Sequence[SteadyLine]) -> str:
    """`tensorflow/tuned/cpu/1 on mlp took 12 % more time`"""
    return listing(f"{line.id.contender} on {line.id.workload} took {line.size}" for line in lines)


def interference(findings: Findings) -> Iterator[Caveat]:
    """Ratios that leave their interval without the flagged turns: a warning if a decided verdict
    changes with one of them, else a note."""
    left = leaving(findings.unflagged_pairs)
    if not left:
        return
    text = f"without the turns flagged for steal time, other load or frequency, {describe(left)}."
    if any(reversed_by(pair) for pair in left):
        yield warning("Weather", text)
    else:
        yield note(text[0].upper() + text[1:])


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
