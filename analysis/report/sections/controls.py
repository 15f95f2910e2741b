"""The controls: sentences and a table."""

from collections.abc import Iterator, Sequence

from analysis.findings.controls import ControlLine, of_outcome
from analysis.findings.findings import Findings
from analysis.format import alike, count, device, listing, percent, probability, sentence, title
from analysis.report.tables import Table, absent, estimate

NONE = (
    "none in this study. No contender was held against itself, so nothing here shows what the "
    "study says where nothing differs."
)


def control_summary(findings: Findings) -> str:
    """The line on the first screen: the kinds of controls, and whether they are right."""
    rows = [row for row in findings.controls if row.outcome != "measured"]
    if not rows:
        return NONE
    asked = ["against itself"] * any(not row.spin for row in rows)
    if spins := sorted({row.spin for row in rows} - {0.0}):
        asked.append(f"slowed by {listing(map(percent, spins))}")
    workloads = list(dict.fromkeys(row.id.workload for row in rows))
    text = f"{originals(rows)} once more, {listing(asked)}, in {listing(workloads)}: {tally(rows)}."
    if measured := [ratio for spin in [0.0, *spins] if (ratio := seen(rows, spin))]:
        text += f" {'; '.join(measured)}."
    return " ".join([text, *unresolved(rows), *pauses(findings.controls)])


def originals(rows: Sequence[ControlLine]) -> str:
    """The contenders that have controls: `PyTorch tuned (CPU, 1 thread)`, or how many."""
    found = list(dict.fromkeys((r.id.framework, r.of, r.id.device, r.id.threads) for r in rows))
    if len(found) > 1:
        return f"each of {len(found)} contenders"
    ((framework, variant, on, threads),) = found
    return f"{title(framework)} {variant} ({device(on)}, {count(threads, 'thread')})"


def tally(rows: Sequence[ControlLine]) -> str:
    """`all 8 came out right`, or the number of each outcome."""
    words = {
        "right": "came out right",
        "wrong": "came out wrong, see above",
        "not resolved": "slowed by less than this study sees",
        "not judged": "not judged",
    }
    if len(of_outcome(rows, "right")) == len(rows):
        return f"all {len(rows)} came out right" if len(rows) > 1 else "it came out right"
    numbers = {outcome: sum(row.outcome == outcome for row in rows) for outcome in words}
    found = [f"{number or 'none'} {words[outcome]}" for outcome, number in numbers.items()
            if number or outcome == "right"]  # fmt: skip
    return f"of {count(len(rows), 'control')} {listing(found)}"


def seen(rows: Sequence[ControlLine], spin: float) -> str:
    """`It took 0.998 and 1.003 times as long as itself`, `slowed by 5 %, 1.05 times`."""
    ratios = [row.estimate.ratio for row in rows if row.spin == spin and row.estimate.ratio]
    if not ratios:
        return ""
    texts = alike(*ratios)
    spread = listing(texts) if len(ratios) < 3 else " to ".join(alike(min(ratios), max(ratios)))
    if not spin:
        return f"It took {spread} times as long as itself"
    return f"slowed by {percent(spin)}, {spread} times"


def pauses(rows: Sequence[ControlLine]) -> Iterator[str]:
    """How much untimed pauses slow the next step, if it is more than the margin."""
    for row in rows:
        ratio = row.estimate.ratio
        if row.outcome == "measured" and ratio and row.estimate.verdict in ("slower", "faster"):
            yield (
                f"Pauses between steps alone made them {percent(abs(ratio - 1))} "
                f"{'slower' if ratio > 1 else 'faster'} in {row.id.workload}, which is "
                "taken out of the slowed ones."
            )


def unresolved(rows: Sequence[ControlLine]) -> Iterator[str]:
    """The slowed controls that were not called slower."""
    found: dict[str, list[ControlLine]] = {}
    for row in of_outcome(rows, "not resolved"):
        found.setdefault(place(row), []).append(row)
    for where, own in found.items():
        yield (
            f"{listing(percent(row.spin) for row in sorted(own, key=lambda row: row.spin))} could "
            f"not be told from nothing in {where}."
        )


def place(row: ControlLine) -> str:
    who = f"{title(row.id.framework)} {row.of}"
    return f"{row.id.workload} ({who}, {row.id.on})"


def rough(share: float) -> str:
    return percent(float(f"{share:.2g}"))


def control_table(findings: Findings) -> Table | None:
    if not findings.controls:
        return None
    rows = [row for row in findings.controls if row.estimate.ratio is not None]
    return Table(
        "Controls: time over that of the same contender, and what it should be. The slowed ones' "
        "is over the same with pauses off the clock; their verdict is on the contender itself",
        [
            ("workload", False), ("on", False), ("control", False), ("against", False),
            ("should be", True),
            ("ratio", True), (f"{percent(findings.machine.study.confidence)} interval", True),
            ("p that it is not (Holm)", True), ("verdict", False), ("came out", False),
        ],
        [
            [
                row.id.workload, row.id.on,
                row.id.who, row.against,
                f"{row.truth:g}" if row.truth else "",
                *estimate(*row.estimate.ends), probability(row.estimate.p_adjusted),
                row.estimate.verdict, row.outcome,
            ]
            for row in rows
        ],
        absent(
            [row for row in findings.controls if row.reason],
            lambda row: f"{row.outcome}. {sentence(row.reason)}",
        ),
        "controls.csv",
    )  # fmt: skip


def control_method(findings: Findings) -> str:
    """The kinds of controls, and their share of the contests' time."""
    rows, machine = findings.controls, findings.machine
    if not rows:
        return "None."
    judged = sum(row.estimate.p is not None for row in rows)
    text = (
        "A control is a contender once more, in another process, with turns like all others: a "
        "twin as it is, the others slowed by the harness, which goes on watching its clock after "
        "the step, inside the timed region, until transfer and step have taken longer by a known "
        "share. Pauses can make the next step slower as well, where others use the processor's "
        "caches meanwhile, so all slowed ones spin for as long in all, partly off the clock, and "
        "their size is that against one that spins for as long off the clock alone; whether the "
        "study sees them is told against the contender itself. The controls of one contender "
        "share a process, as starting it costs most. Each ratio is held against what it should be, "
        "by the rule of all other pairs and with Holm's correction over "
        f"{count(judged, 'control')}: where nothing is wrong, at most "
        f"{percent(1 - machine.study.confidence)} of studies find a wrong one. A slowed one that "
        "is not told from its contender shows what the study can see, and is not wrong."
    )
    took = [
        (one.took_s, bool(one.runs))
        for contest in machine.records.contests
        for one in contest.contenders
        if one.took_s is not None
    ]
    if took:
        share = sum(s for s, control in took if control) / sum(s for s, _ in took)
        text += f" Controls took {percent(share)} of the contenders' time, starting included."
    return text
