"""The answer, in sentences that each come from one row of a table, and how to read it."""

from collections.abc import Sequence

from analysis.data.results import Machine
from analysis.findings.comparisons import Comparison
from analysis.findings.fairness.certificates import SINGLE, components
from analysis.findings.machine import summary as machine_summary
from analysis.format import alike, count, crossed, listing, percent, sentence, title
from analysis.report.layout import Bullets, Chapter, Claim, Claims, Paragraph, Parts, Rich
from analysis.stats.inference import of_equivalence


def claims(machine: Machine, rows: Sequence[Comparison]) -> list[Claim]:
    """A claim for every comparison that has a ratio."""
    return [claim(machine, row) for row in rows if row.estimate.ratio is not None]


def claim(machine: Machine, row: Comparison) -> Claim:
    study = machine.study
    where = f"{row.id.workload}, {row.id.on}, {row.id.variant}"
    ratio, low, high = alike(*row.estimate.ends)
    finding = f"{title(row.id.framework)} takes {ratio} times as long as {row.against}"
    if row.estimate.ratio_low is None:
        return Claim(where, f"{finding} (one replicate, no interval)", row.estimate.verdict)
    interval = (
        f"({percent(study.confidence)} interval {low} to {high}, "
        f"{count(row.estimate.replicates, 'replicate')})"
    )
    verdict: str = row.estimate.verdict
    verdict += f" within {percent(study.margin)}" * (verdict == "equivalent")
    return Claim(where, f"{finding} {interval}", verdict, note(row, study.margin, study.confidence))


def note(row: Comparison, margin: float, confidence: float) -> str:
    """The narrower interval of an equivalent row, if the interval shown goes beyond the margin."""
    found = row.estimate
    if found.verdict != "equivalent" or found.ratio_low is None or found.ratio_high is None:
        return ""
    if 1 / (1 + margin) <= found.ratio_low and found.ratio_high <= 1 + margin:
        return ""
    _, low, high = alike(found.ratio, found.tost_low, found.tost_high)
    return f"The {percent(of_equivalence(confidence))} interval, {low} to {high}, decides that."


def chance(machine: Machine, rows: Sequence[Comparison]) -> str:
    """How many rows may be wrong by chance alone; "" without an interval."""
    number = sum(row.estimate.ratio_low is not None for row in rows)
    if not number:
        return ""
    alpha = float(f"{1 - machine.study.confidence:.3g}")
    return (
        f"Each row is judged by itself, and may be wrong by chance one time in {1 / alpha:.3g}: "
        f"of {count(number, 'row')} at most {number * alpha:.3g} ({number} x {alpha:g}), on "
        "average."
    )


def summary(machine: Machine, rows: Sequence[Comparison]) -> list[str]:
    """A sentence for each framework and variant over all its rows, the certificates of these
    rows, then the missing comparisons with their reasons."""
    held = [row for row in rows if row.estimate.ratio is not None]
    if not held:
        sentences = ["No two contenders could be compared."]
        if machine.alone:
            sentences = [
                "An A/A study: contenders are held against themselves alone, and no framework is "
                "compared with another. What came of it is above, and in the table of controls."
            ]
        elif not rows:
            sentences = [
                "Only one framework is in this study, in one variant: there is nothing to compare."
            ]
    else:
        groups: dict[tuple[str, str, str], list[Comparison]] = {}
        for row in held:
            groups.setdefault((row.id.framework, row.against, row.id.variant), []).append(row)
        sentences = [tally(found, machine) for found in groups.values()]
        sentences.append(sameness(held, machine))
    for verdict, what in (
        ("refused", "refused"),
        ("no steady state", "without a steady state"),
        ("missing", "not possible"),
    ):
        reasons: dict[str, list[Comparison]] = {}
        for row in rows:
            if row.estimate.verdict == verdict:
                reasons.setdefault(row.reason, []).append(row)
        for reason, found in reasons.items():
            where = crossed(
                [(r.id.workload, r.id.variant, r.id.device, r.id.threads) for r in found]
            )
            was = "was" if len(found) == 1 else "were"
            number = count(len(found), "comparison")
            sentences.append(f"{number} {was} {what}: {where}. {sentence(reason)}")
    return sentences


def tally(rows: Sequence[Comparison], machine: Machine) -> str:
    """`Variant default: TensorFlow takes 0.500 to 0.600 times as long as PyTorch, faster
    in 3 and undecided in 1 of 4 comparisons.`"""
    words = {
        "faster": "faster",
        "slower": "slower",
        "equivalent": f"equivalent within {percent(machine.study.margin)}",
        "cannot tell": "undecided",
    }
    numbers = {name: sum(row.estimate.verdict == name for row in rows) for name in words}
    outcomes = [f"{words[name]} in {number}" for name, number in numbers.items() if number]
    ratios = [row.estimate.ratio for row in rows if row.estimate.ratio]
    spread = dict.fromkeys(alike(min(ratios), max(ratios)))
    return (
        f"Variant {rows[0].id.variant}: {title(rows[0].id.framework)} takes "
        f"{' to '.join(spread)} times as long as {rows[0].against}, {listing(outcomes)} of "
        f"{count(len(rows), 'comparison')}."
    )


def sameness(rows: Sequence[Comparison], machine: Machine) -> str:
    """The result of the certificates, which precede the timing."""
    deviating = [row.certificate for row in rows if row.certificate.startswith("declared")]
    single = sum(SINGLE in row.certificate for row in rows if row.certificate not in deviating)
    agreeing, others = len(rows) - len(deviating) - single, len(deviating)
    exact = (
        f"{agreeing or 'None'} of {count(len(rows), 'pair')} compared "
        f"{'was' if agreeing == 1 else 'were'} first shown in float64 to be the same computation "
        f"within {max(record.tolerance for record in machine.records.certificates):g}"
    )
    if single:
        exact += f"; {single} {SINGLE}, as a framework has no float64, which shows less"
    if not deviating:
        return f"{exact}."
    parts = sorted({part for text in deviating for part in components(text)})
    return f"{exact}; {others} {'has' if others == 1 else 'have'} a declared deviation " + (
        f"({listing(parts)})."
    )


def answer(chapter: Chapter) -> Parts:
    findings, machine = chapter.findings, chapter.findings.machine
    first, *others = summary(machine, findings.comparisons)
    data = "; ".join(f"{one.workload}: {one.source}" for one in machine.records.datasets)
    where = f"Measured on `{machine.name}`: {machine_summary(machine)}. Data: {data}."
    return [
        Paragraph(first, style="lead"),
        *map(Paragraph, others),
        Claims(claims(machine, findings.comparisons)),
        Paragraph(chance(machine, findings.comparisons)),
        Paragraph(Rich(where), style="soft"),
    ]


def reading(chapters: Sequence[Chapter]) -> Parts:
    study = chapters[0].findings.machine.study
    selected = [
        Rich(
            "The reference is the fastest contender of each workload, device, thread count and "
            "variant, chosen from the measurements of this study. That choice makes the ratios of "
            "contenders about as fast slightly too large. Compare those two by name with "
            "`reference: NAME` in a new study."
        )
    ]
    return [
        Bullets(
            [
                Rich(
                    "A ratio is a framework's time per mini-batch over the reference's, in the "
                    "same contest: 0.5 is twice as fast, 2 half as fast."
                ),
                *selected * study.fastest,
                Rich(
                    f"The {percent(study.confidence)} interval says which true ratios fit what "
                    "was seen. It rests on replicates, contests in fresh processes, not on the "
                    "number of mini-batches."
                ),
                Rich(
                    f"*Faster*, *slower*: the {percent(study.confidence)} interval leaves out 1. "
                    f"*Equivalent*: the {percent(of_equivalence(study.confidence))} interval lies "
                    f"within {percent(study.margin)} of equal, even if the difference is certain. "
                    "*Cannot tell*: neither."
                ),
                Rich(
                    "Compare within a variant. `default` is what a framework's tutorial has "
                    "people write, `tuned` the fastest way known to run the same mathematics."
                ),
            ]
        )
    ]
