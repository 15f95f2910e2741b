"""The answer in sentences, each from one row of the tables."""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.comparisons import Comparison
from analysis.study import Machine
from analysis.words import capital, count, crossed, device, listing, percent, three, title


@dataclass(frozen=True)
class Claim:
    """`where`: `finding`: `verdict`. `note`"""

    where: str
    finding: str
    verdict: str
    note: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.finding}: {self.verdict}.{self.note and ' ' + self.note}"


def claims(machine: Machine, rows: Sequence[Comparison]) -> list[Claim]:
    """One for every comparison that has a ratio."""
    family = sum(row.p_adjusted is not None for row in rows)
    return [claim(machine, row, family) for row in rows if row.ratio is not None]


def claim(machine: Machine, row: Comparison, family: int) -> Claim:
    study = machine.study
    where = f"{row.workload}, {device(row.device)}, {count(row.threads, 'thread')}, {row.variant}"
    ratio = f"{title(row.framework)} takes {three(row.ratio)} times as long as " + (
        title(row.reference)
    )
    if row.ratio_low is None:
        return Claim(where, f"{ratio} (one replicate, no interval)", row.verdict)
    interval = (
        f"({percent(study.confidence)} interval {three(row.ratio_low)} to "
        f"{three(row.ratio_high)}, {count(row.replicates, 'replicate')})"
    )
    verdict = row.verdict + f" within {percent(study.margin)}" * (row.verdict == "equivalent")
    return Claim(where, f"{ratio} {interval}", verdict, note(row, study.margin, family))


def note(row: Comparison, margin: float, family: int) -> str:
    """With "cannot tell" comes what could have been told."""
    if row.verdict != "cannot tell" or row.detectable is None or row.ratio_low is None:
        return ""
    parts = []
    if row.ratio_low > 1 or (row.ratio_high or 1) < 1:
        parts.append(f"The interval leaves out 1, but not after correction for {family} rows.")
    parts.append(f"The smallest difference it could have seen is {percent(row.detectable)};")
    parts.append(f"{row.replicates_needed} replicates would see {percent(margin)}.")
    return " ".join(parts)


def summary(machine: Machine, rows: Sequence[Comparison]) -> list[str]:
    """A sentence for each framework across its rows, then what was not compared and why."""
    sentences = []
    for pair in dict.fromkeys((row.framework, row.reference) for row in rows):
        held = [row for row in rows if (row.framework, row.reference) == pair and row.ratio]
        if held:
            sentences.append(tally(held, machine.study.margin))
    if not sentences:
        sentences.append("No two contenders could be compared.")
    for verdict, what in (("refused", "refused"), ("missing", "not possible")):
        reasons: dict[str, list[Comparison]] = {}
        for row in rows:
            if row.verdict == verdict:
                reasons.setdefault(row.reason, []).append(row)
        for reason, found in reasons.items():
            where = crossed([(r.workload, r.variant, r.device, r.threads) for r in found])
            number = count(len(found), "comparison")
            was = "was" if len(found) == 1 else "were"
            sentences.append(f"{capital(number)} ({where}) {was} {what}: {reason}.")
    return sentences


def tally(rows: Sequence[Comparison], margin: float) -> str:
    """`TensorFlow was faster than PyTorch in 6 of 8 comparisons, slower in 1; 1 undecided.`"""
    numbers = {
        verdict: sum(row.verdict == verdict for row in rows)
        for verdict in ("faster", "slower", "equivalent", "cannot tell")
    }
    who, other = title(rows[0].framework), title(rows[0].reference)
    ratios = [row.ratio for row in rows if row.ratio]
    told = {
        "faster": f"faster than {other} in {numbers['faster'] or 'none'}",
        "slower": f"slower in {numbers['slower']}",
        "equivalent": f"equivalent within {percent(margin)} in {numbers['equivalent']}",
    }
    parts = [text for verdict, text in told.items() if numbers[verdict] or verdict == "faster"]
    undecided = numbers["cannot tell"]
    spread = (
        f"Its mini-batches took {three(min(ratios))} to {three(max(ratios))} times as long"
        if len(ratios) > 1
        else f"Its mini-batches took {three(ratios[0])} times as long"
    )
    return (
        f"{who} was {listing(parts)} of {count(len(rows), 'comparison')}; "
        f"{undecided or 'none'} could not be told. {spread}."
    )
