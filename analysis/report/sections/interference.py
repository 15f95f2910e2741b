"""How other load on the machine affected the conclusions, in sentences."""

from analysis.findings.comparisons import Comparison
from analysis.findings.findings import Findings
from analysis.findings.interference import OTHER, READ, SLOWED, STEAL, SWITCHES, TurnLine
from analysis.format import alike, count, crossed, listing, percent

NAMES = {
    "steal_s": "steal time",
    "waited_s": "waiting for a core",
    "other_s": "other load",
    "mhz": "frequency",
}
DECIDED = ("faster", "slower", "equivalent")
STILL = 0.005  # a smaller move of a ratio has no direction worth telling
Pair = tuple[Comparison, Comparison]


def interference_summary(findings: Findings) -> str:
    """How many turns were flagged, and how ratios move without them."""
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
        f"({counts}); the estimates above keep them all. {effect(findings.unflagged_pairs)}{rest}"
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


def effect(pairs: list[Pair]) -> str:
    """Which way ratios move without the flagged turns, by cores, and which leave their interval:
    `Without them, ratios on CPU, 2 threads fall by 1.4 % to 3.3 %. None leaves its interval.`"""
    shifts: dict[str, list[float]] = {}
    for main, calm in pairs:
        if main.estimate.ratio and calm.estimate.ratio:
            shift = calm.estimate.ratio / main.estimate.ratio - 1
            shifts.setdefault(main.id.on, []).append(shift)
    left = leaving(pairs)
    if not shifts and not left:
        return "There is no comparison for them to change."
    moves = "; ".join(direction(where, found) for where, found in shifts.items())
    rest = describe(left) if left else "no ratio leaves its interval"
    return f"Without them, {'; '.join(filter(None, [moves, rest]))}."


def direction(where: str, shifts: list[float]) -> str:
    """`ratios on CPU, 2 threads fall by 1.4 % to 3.3 %`"""
    sizes = [abs(shift) for shift in shifts]
    if max(sizes) < STILL:
        return f"ratios on {where} move by less than {percent(STILL)}"
    for verb, same in (("fall", max(shifts) < 0), ("rise", min(shifts) > 0)):
        if same:
            ends = dict.fromkeys(percent(end) for end in (min(sizes), max(sizes)))
            return f"ratios on {where} {verb} by {' to '.join(ends)}"
    down, up = (sum(sign * shift > 0 for shift in shifts) for sign in (-1, 1))
    return (
        f"of {count(len(shifts), 'ratio')} on {where} {down} fall and {up} rise, by at most "
        f"{percent(max(sizes))}"
    )


def leaving(pairs: list[Pair]) -> list[Pair]:
    """Ratios that are outside their own interval without the flagged turns, or not there."""
    return [
        (main, calm)
        for main, calm in pairs
        if main.estimate.ratio_low is not None
        and main.estimate.ratio_high is not None
        and not (
            calm.estimate.ratio is not None
            and main.estimate.ratio_low <= calm.estimate.ratio <= main.estimate.ratio_high
        )
    ]


def reversed_by(pair: Pair) -> bool:
    """Whether a decided verdict changes."""
    main, calm = pair
    return main.estimate.verdict in DECIDED and calm.estimate.verdict != main.estimate.verdict


def describe(left: list[Pair]) -> str:
    """`the ratio of mlp, TensorFlow, default, CPU, 1 thread is 2.03 and leaves its interval, 2.04
    to 2.16`"""
    texts = []
    for main, calm in left:
        where = crossed([main.id])
        if calm.estimate.ratio is None:
            texts.append(f"nothing is left to compare in {where}")
            continue
        ratio, low, high = alike(calm.estimate.ratio, *main.estimate.ends[1:])
        text = f"the ratio of {where} is {ratio} and leaves its interval, {low} to {high}"
        if calm.estimate.verdict != main.estimate.verdict:
            text += f" ({main.estimate.verdict} becomes {calm.estimate.verdict})"
        texts.append(text)
    return "; ".join(texts)


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
        "cores is recorded and raises none, nor does what the GPU did, which is not read."
    )
