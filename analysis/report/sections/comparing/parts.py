"""Where a step's time goes: forward pass, gradients and update, if the study has parts of a
step."""

from analysis.findings.variants.parts import PartLine
from analysis.format import listing, percent, sentence, title
from analysis.report.figures.comparing.parts import shares_of_steps
from analysis.report.figures.panels import than
from analysis.report.layout import Blocks, Bullets, Chapter, Section
from analysis.report.prose import place, share, two
from analysis.report.sections.comparing.comparisons import same
from analysis.report.tables import Table, intervals
from analysis.stats.intervals import Interval


def summary(row: PartLine) -> str:
    """`PyTorch, MLP, 1 thread: the forward pass takes 31 % of a step, ...`"""
    who = f"{title(row.id.framework)}, {place(row.id)}"
    forward, over_forward = row.forward.value, row.over_forward.value
    if forward is None or over_forward is None:
        return f"{who}: no shares. {sentence(row.reason)}"
    if row.exceeds:
        more = than(row.over_step.value or 1.0).replace("takes", "take", 1)
        return (
            f"{who}: the parts do not add up. Loss and gradients without an update {more} the "
            f"whole step, and the forward pass alone takes {share(forward)} of it."
        )
    if row.inverted:
        return (
            f"{who}: the parts do not add up. Loss and gradients take less time than the loss "
            f"alone, which takes {share(forward)} of a step."
        )
    gradients, update = share(row.gradient.value or 0.0), share(row.update.value or 0.0)
    return (
        f"{who}: the forward pass takes {share(forward)} of a step, the gradients "
        f"{gradients} and the update {update}. Loss and gradients take "
        f"{two(over_forward)} times as long as the loss.{unsure(row)}"
    )


def unsure(row: PartLine) -> str:
    """The shares whose intervals include zero, in a sentence; "" if there are none."""
    shares = {"forward pass": row.forward, "gradients": row.gradient, "update": row.update}
    found = [
        f"the {name}"
        for name, (_, low, high) in shares.items()
        if low is not None and high is not None and low <= 0 <= high
    ]
    if not found:
        return ""
    share_is = "share is" if len(found) == 1 else "shares are"
    return f" The {share_is} not significant for {listing(found)}."


def cell(own: Interval) -> str:
    """A share and its interval in percent: `31.2 (29.8 to 32.6)`"""
    numbers = [f"{100 * one:.1f}" for one in own if one is not None]
    return f"{numbers[0]} ({' to '.join(numbers[1:])})" if len(numbers) == 3 else "".join(numbers)


def part_table(rows: list[PartLine], confidence: float) -> Table | None:
    shown = [row for row in rows if row.forward.value is not None]
    if not rows:
        return None
    over = intervals(row.over_forward for row in shown)
    interval = f"{percent(confidence)} interval"
    return Table(
        f"Shares of a step in percent, with their {interval}",
        [
            ("framework", False), ("on", False), ("forward", True), ("gradients", True),
            ("update", True), ("loss and gradients over loss", True), (interval, True),
            ("same?", False),
        ],
        [
            [
                title(row.id.framework),
                place(row.id),
                *map(cell, (row.forward, row.gradient, row.update)),
                *ratio,
                same(row.certificate),
            ]
            for row, ratio in zip(shown, over, strict=True)
        ],
        "parts.csv",
        [
            (f"{title(row.id.framework)}, {place(row.id)}", sentence(row.reason))
            for row in rows
            if row.forward.value is None
        ],
    )  # fmt: skip


def parts(chapter: Chapter) -> Blocks:
    rows = chapter.findings.parts
    return [
        Bullets([summary(row) for row in rows]),
        chapter.figure(shares_of_steps, "parts"),
        part_table(rows, chapter.findings.machine.study.confidence),
    ]


SECTION = Section(
    "Where a step's time goes",
    parts,
    about="The forward part computes the loss, the gradient part the loss and all gradients. Each "
    "is a program of its own and is compared only with its framework's whole step, in the same "
    "contests. The share of the gradients is the difference of the two parts, and that of the "
    "update is the rest. PyTorch records the forward pass for a backward pass, as in training. The "
    "compilers of TensorFlow and JAX see the forward pass alone, and keep nothing.",
    in_markdown=True,
)
