"""How other load on the machine affected the conclusions, in sentences."""

from analysis.findings.comparisons import Comparison
from analysis.findings.findings import Findings
from analysis.findings.interference import OTHER, READ, SLOWED, STEAL, TurnLine
from analysis.format import count, listing, percent
from analysis.report.layout import Blocks, Chapter, File, Paragraph, Rich, Section
from analysis.report.prose import DECLARED, more, places, share, two
from analysis.report.sections.comparing.comparisons import declared

NAMES = {
    "steal_s": "steal time",
    "waited_s": "waiting for a core",
    "other_s": "other load",
    "mhz": "frequency",
}
DECIDED = ("faster", "slower", "equivalent")
NAMED = 3
STILL = 0.005  # a smaller move of a ratio is not worth a number
Pair = tuple[Comparison, Comparison]


def interference_summary(findings: Findings) -> list[str]:
    """How many turns were disturbed, and how ratios move without them."""
    turns = [line for line in findings.turns if line.turn.round > 0]  # round 0 is warm-up
    if not turns:
        return ["These records have no counters of interference."]
    hit = [turn for turn in turns if turn.reasons]
    lost = [name for name in READ if all(getattr(line.turn, name) is None for line in turns)]
    unseen = sum(not contest.turns for contest in findings.machine.records.contests)
    found = [disturbed(turns, hit)]
    if hit:
        found.append(effect(findings.unflagged_pairs))
    found += shares(turns)
    if lost:
        found.append(f"Not readable here: {listing(NAMES[name] for name in lost)}.")
    if unseen:
        found.append(f"{count(unseen, 'contest')} did not record it.")
    return found


def disturbed(turns: list[TurnLine], hit: list[TurnLine]) -> str:
    """`157 of 2,880 turns (5.5 %) were disturbed: steal 144, other load 17.`"""
    if not hit:
        return f"None of {len(turns):,} turns was disturbed."
    reasons = list(dict.fromkeys(reason for turn in hit for reason in turn.reasons))
    numbers = {why: sum(why in turn.reasons for turn in hit) for why in reasons}
    counts = ", ".join(f"{why} {number:,}" for why, number in numbers.items())
    was = "was" if len(hit) == 1 else "were"
    return (
        f"{len(hit):,} of {len(turns):,} turns ({share(len(hit) / len(turns))}) {was} disturbed: "
        f"{counts}."
    )


def shares(turns: list[TurnLine]) -> list[str]:
    """The shares of all turns that the host and other processes took. The kernel's ticks are too
    coarse for one turn."""
    found = []
    for name, who in (("steal_s", "the host took {}"), ("other_s", "other processes {}")):
        known = [line.turn for line in turns if getattr(line.turn, name) is not None]
        if known:
            cores_s = sum(turn.duration_s * turn.cores for turn in known)
            taken = sum(getattr(turn, name) for turn in known) / cores_s
            found.append(who.format(share(max(taken, 0.0))))
    return [f"Of the contenders' cores, {listing(found)} of the time."] if found else []


def effect(pairs: list[Pair]) -> str:
    """`The estimates keep them. Without them, ratios move by at most 3.3 %, and none leaves its
    interval.`"""
    shifts = [
        abs(calm.estimate.ratio / main.estimate.ratio - 1)
        for main, calm in pairs
        if main.estimate.ratio and calm.estimate.ratio
    ]
    left = leaving(pairs)
    if not shifts and not left:
        return "There is no ratio for them to change."
    most = max(shifts, default=0.0)
    size = f"at most {share(most)}" if most >= STILL else f"less than {share(STILL)}"
    moves = f"The estimates keep them. Without them, ratios move by {size}"
    return f"{moves}; {describe(left)}." if left else f"{moves}, and none leaves its interval."


def leaving(pairs: list[Pair]) -> list[Pair]:
    """Ratios that leave their own interval, or disappear, without the flagged turns."""
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
    """`the ratio of MLP, TensorFlow, tuned, 1 thread becomes 2.0 and leaves its interval`. At most
    `NAMED` are named, those whose verdict changes first."""
    texts = []
    for main, calm in sorted(left, key=lambda pair: not reversed_by(pair))[:NAMED]:
        where = places([main.id]) + f" {DECLARED}" * declared(main)
        if calm.estimate.ratio is None:
            texts.append(f"nothing is left to compare in {where}")
            continue
        text = f"the ratio of {where} becomes {two(calm.estimate.ratio)} and leaves its interval"
        if calm.estimate.verdict != main.estimate.verdict:
            text += f" ({main.estimate.verdict} becomes {calm.estimate.verdict})"
        texts.append(text)
    if len(left) > NAMED:
        texts.append(f"the same goes for {len(left) - NAMED} more")
    return "; ".join(texts)


def interference(chapter: Chapter) -> Blocks:
    findings = chapter.findings
    text = " ".join(interference_summary(findings))
    if not findings.turns:
        return [Paragraph(text)]
    rule = (
        f"A turn counts as disturbed if the host took more than {percent(STEAL)} of it, or other "
        f"processes more than {percent(OTHER)}. So does a turn whose cores ran {percent(SLOWED)} "
        f"below their usual frequency. {more('interference')}"
    )
    files = [File("unflagged.csv")] if findings.unflagged else []
    return [Paragraph(text), Paragraph(Rich(rule), style="soft"), *files]


def inside(chapter: Chapter) -> str:
    return interference_summary(chapter.findings)[0]


SECTION = Section("Interference", interference, inside=inside)
