"""The answer in sentences, each from one row of the tables."""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.certificates import components
from analysis.comparisons import Comparison
from analysis.study import Machine
from analysis.words import alike, count, crossed, device, listing, percent, sentence, title


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
    ratio, low, high = alike(row.ratio, row.ratio_low, row.ratio_high)
    finding = f"{title(row.framework)} takes {ratio} times as long as {title(row.reference)}"
    if row.ratio_low is None:
        return Claim(where, f"{finding} (one replicate, no interval)", row.verdict)
    interval = (
        f"({percent(study.confidence)} interval {low} to {high}, "
        f"{count(row.replicates, 'replicate')})"
    )
    verdict = row.verdict + f" within {percent(study.margin)}" * (row.verdict == "equivalent")
    return Claim(where, f"{finding} {interval}", verdict, note(row, study.margin, family))


def note(row: Comparison, margin: float, family: int) -> str:
    """With "cannot tell" comes what could have been told."""
    if row.verdict != "cannot tell" or row.detectable is None or row.ratio_low is None:
        return ""
    parts = []
    if row.ratio_low > 1 or (row.ratio_high or 1) < 1:
        parts.append(f"The interval leaves out 1, but not after correction for {family} rows.")
    seen = f"The smallest difference this study could have seen is {percent(row.detectable)}"
    if (row.replicates_needed or 0) > row.replicates:
        seen += f"; {row.replicates_needed:,} replicates would see {percent(margin)}"
    return " ".join([*parts, f"{seen}."])


def summary(machine: Machine, rows: Sequence[Comparison]) -> list[str]:
    """A sentence for each framework across its rows, what the certificates say of them, then
    what was not compared and why."""
    held = [row for row in rows if row.ratio is not None]
    if not held:
        sentences = ["No two contenders could be compared."]
        if not rows:
            sentences = ["Only one framework is in this study: there is nothing to compare."]
    else:
        pairs = dict.fromkeys((row.framework, row.reference) for row in held)
        sentences = [
            tally([row for row in held if (row.framework, row.reference) == pair], machine)
            for pair in pairs
        ]
        sentences.append(sameness(held, machine))
    for verdict, what in (("refused", "refused"), ("missing", "not possible")):
        reasons: dict[str, list[Comparison]] = {}
        for row in rows:
            if row.verdict == verdict:
                reasons.setdefault(row.reason, []).append(row)
        for reason, found in reasons.items():
            where = crossed([(r.workload, r.variant, r.device, r.threads) for r in found])
            was = "was" if len(found) == 1 else "were"
            number = count(len(found), "comparison")
            sentences.append(f"{number} {was} {what}: {where}. {sentence(reason)}")
    return sentences


def tally(rows: Sequence[Comparison], machine: Machine) -> str:
    """`TensorFlow was faster than PyTorch in 6 and slower in 1 of 8 comparisons; 1 undecided.`"""
    numbers = {
        verdict: sum(row.verdict == verdict for row in rows)
        for verdict in ("faster", "slower", "equivalent", "cannot tell")
    }
    who, other = title(rows[0].framework), title(rows[0].reference)
    told = {
        "faster": f"faster than {other} in {numbers['faster'] or 'none'}",
        "slower": f"slower in {numbers['slower']}",
        "equivalent": f"equivalent within {percent(machine.study.margin)} in "
        f"{numbers['equivalent']}",
    }
    if len(rows) == numbers["cannot tell"]:
        return f"None of {count(len(rows), 'comparison')} of {who} with {other} could be decided."
    parts = [text for verdict, text in told.items() if numbers[verdict] or verdict == "faster"]
    ratios = [row.ratio for row in rows if row.ratio]
    spread = dict.fromkeys(alike(min(ratios), max(ratios)))
    return (
        f"{who} was {listing(parts)} of {count(len(rows), 'comparison')}; "
        f"{numbers['cannot tell'] or 'none'} undecided. Its mini-batches took "
        f"{' to '.join(spread)} times as long as {other}'s."
    )


def sameness(rows: Sequence[Comparison], machine: Machine) -> str:
    """What was shown in float64 before any of these were timed."""
    deviating = [row.certificate for row in rows if row.certificate.startswith("declared")]
    agreeing, others = len(rows) - len(deviating), len(deviating)
    exact = (
        f"{agreeing or 'None'} of {count(len(rows), 'pair')} compared "
        f"{'was' if agreeing == 1 else 'were'} first shown in float64 to be the same computation "
        f"within {max(record.tolerance for record in machine.records.certificates):g}"
    )
    if not deviating:
        return f"{exact}."
    parts = sorted({part for text in deviating for part in components(text)})
    return f"{exact}; {others} {'has' if others == 1 else 'have'} a declared deviation " + (
        f"({listing(parts)})."
    )
