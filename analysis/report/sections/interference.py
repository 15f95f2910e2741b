"""How other load on the machine affected the conclusions: sentences and a table."""

from analysis.findings.comparisons import Comparison
from analysis.findings.findings import Findings
from analysis.findings.interference import OTHER, READ, SLOWED, STEAL, SWITCHES, TurnLine
from analysis.format import count, crossed, listing, percent, title
from analysis.report.tables import Table, estimate

NAMES = {
    "steal_s": "steal time",
    "waited_s": "waiting for a core",
    "other_s": "other load",
    "mhz": "frequency",
}
DECIDED = ("faster", "slower", "equivalent")
Pair = tuple[Comparison, Comparison]


def interference_summary(findings: Findings) -> str:
    """How many turns were flagged, and whether the conclusions survive without them."""
    turns = counted(findings)
    if not turns:
        return "The weather of the turns was not recorded."
    unseen = sum(not contest.turns for contest in findings.machine.records.contests)
    rest = f" In {count(unseen, 'contest')} it was not recorded." if unseen else ""
    rest = f"{shares(turns)}{rest}"
    lost = [name for name in READ if all(getattr(line.turn, name) is None for line in turns)]
    if lost:
        rest += f" Not readable here: {listing(NAMES[name] for name in lost)}."
    hit = [turn for turn in turns if turn.reasons]
    if not hit and len(lost) == len(READ):
        return (
            "The weather of the turns could not be read on this system, but for involuntary "
            f"switches, which flag none of {count(len(turns), 'turn')}.{rest}"
        )
    if not hit:
        return f"None of {count(len(turns), 'turn')} was flagged.{rest}"
    reasons = list(dict.fromkeys(reason for turn in hit for reason in turn.reasons))
    numbers = {why: sum(why in turn.reasons for turn in hit) for why in reasons}
    counts = ", ".join(f"{why} {number}" for why, number in numbers.items())
    return (
        f"{len(hit)} of {count(len(turns), 'turn')} {'was' if len(hit) == 1 else 'were'} flagged "
        f"({counts}); the estimates above keep them all. {survival(findings.unflagged_pairs)}{rest}"
    )


def counted(findings: Findings) -> list[TurnLine]:
    """The turns that estimates come from; round 0 is warm-up."""
    return [line for line in findings.turns if line.turn.round > 0]


def shares(turns: list[TurnLine]) -> str:
    """The share of all turns that other processes took. The kernel's ticks are too coarse for one
    turn."""
    found = []
    for name, what in (
        ("steal_s", "the host took {} of the time from the contenders' cores"),
        ("other_s", "others worked on these for {}"),
        ("elsewhere_s", "anybody on the other cores for {}"),
    ):
        known = [line.turn for line in turns if getattr(line.turn, name) is not None]
        if known:
            cores_s = sum(turn.duration_s * turn.cores for turn in known)
            share = sum(getattr(turn, name) for turn in known) / cores_s
            found.append(what.format(percent(max(share, 0.0))))
    return f" Over all turns {listing(found)}." if found else ""


def changes(pairs: list[Pair]) -> list[Pair]:
    return [(main, calm) for main, calm in pairs if main.estimate.verdict != calm.estimate.verdict]


def lost_claims(pairs: list[Pair]) -> list[Pair]:
    """Decided verdicts that change without the flagged turns."""
    return [(main, calm) for main, calm in changes(pairs) if main.estimate.verdict in DECIDED]


def survival(pairs: list[Pair]) -> str:
    """`Without them every verdict stays the same, and ratios move by at most 0.4 %.`"""
    if not pairs:
        return "There is no comparison for them to change."
    if changed := changes(pairs):
        return f"Without them these verdicts change: {describe_changes(changed)}."
    moved = max(abs((c.estimate.ratio or 1) / (m.estimate.ratio or 1) - 1) for m, c in pairs)
    return (
        "Without them every verdict stays the same, and "
        f"{f'ratios move by at most {percent(moved)}' if moved else 'no ratio moves'}."
    )


def describe_changes(pairs: list[Pair]) -> str:
    """`mlp, TensorFlow, default, CPU, 1 thread (faster becomes cannot tell)`."""
    groups: dict[str, list[tuple[object, ...]]] = {}
    for main, calm in pairs:
        verdict = calm.estimate.verdict
        left = verdict if verdict != "missing" else "nothing left to compare"
        groups.setdefault(f"{main.estimate.verdict} becomes {left}", []).append(main.id)
    return "; ".join(f"{crossed(keys)} ({what})" for what, keys in groups.items())


def interference_table(findings: Findings) -> Table | None:
    """Each estimate beside the same without the flagged turns; None if no turn is flagged."""
    if not any(turn.reasons for turn in counted(findings)) or not findings.unflagged_pairs:
        return None
    interval = f"{percent(findings.machine.study.confidence)} interval"
    return Table(
        "Without the flagged turns",
        [
            ("workload", False), ("on", False), ("ratio of", False),
            ("ratio, all turns", True), (interval, True), ("verdict", False),
            ("without flagged", True), (interval, True), ("verdict", False), ("replicates", True),
        ],
        [
            [
                main.id.workload, main.id.on,
                f"{title(main.id.framework)} to {main.against}, {main.id.variant}",
                *estimate(*main.estimate.ends), main.estimate.verdict,
                *estimate(*calm.estimate.ends),
                "nothing left" if calm.estimate.verdict == "missing" else calm.estimate.verdict,
                str(calm.estimate.replicates),
            ]
            for main, calm in findings.unflagged_pairs
        ],
        [],
        "unflagged.csv",
    )  # fmt: skip


def interference_method(findings: Findings) -> str:
    """The meaning of a flag; "" if the records have no turns."""
    if not findings.turns:
        return ""
    return (
        "Right before and after each turn, while the worker sleeps, the harness reads the kernel's "
        f"counters. A turn is flagged where the host stole more than {percent(STEAL)} of it, other "
        f"processes took more than {percent(OTHER)} of it from the contender's cores, or these "
        f"ran {percent(SLOWED)} below the contender's median frequency of the contest or were "
        "slowed for their heat. What others took is, on one core, the time that threads waited "
        "in its queue beyond what this contender's own threads usually make each other wait; on "
        "several it is busy time that is not the contender's. Ticks of 10 ms count only for what "
        "is certain of them. Involuntary switches are recorded, and raise a flag (over "
        f"{SWITCHES} a second more than usual, and twice as many) only where the queue cannot be "
        "read: a framework's own threads cause more than a busy neighbour does. Load on other "
        "cores is recorded and raises none, nor does what the GPU did, which is not read. A row "
        "per turn: turns.csv."
    )
