"""Two studies side by side, for a terminal and in Markdown."""

from collections.abc import Iterator

from analysis.data.occasions import when
from analysis.data.results import BenchmarkId
from analysis.findings.comparisons import ToReference
from analysis.format import count, crossed, few, line, percent, sentence, title
from analysis.repeats.changes import Change, changes, unrecorded
from analysis.repeats.page import Sheet, bullets, ends, table, terminal, written_by
from analysis.repeats.two import MovedRatio, Two
from analysis.report.markup import for_markdown
from analysis.report.prose import DECLARED, two, variant, workload

WIDTH = 100  # columns of output that goes to a file or a pipe
FEW = 6  # unrecorded facts that are named


def heads(found: Two) -> list[str]:
    """Which studies they are: `A: study reference on amd-epyc-2c, 07:58 to 08:33 on ...`"""
    return [
        f"{letter}: study {study.machine.study.name} on {study.machine.name}, {when(study.machine)}"
        for letter, study in (("A", found.first), ("B", found.second))
    ]


def answer(found: Two) -> Iterator[str]:
    """The first sentences: which ratios moved or changed direction, and what chance explains."""
    rows, judged = found.rows, found.judged
    if not rows:
        yield "No ratio can be compared."
        return
    who = f"the {found.series} studies of A's series predict" if found.series > 1 else "A predicts"
    turned = [row for row in rows if row.moved.crossed]
    opposed = [row for row in rows if row.moved.contradicted]
    direction = f"{len(turned) or 'none'} changed direction"
    if opposed:
        direction += f", {len(opposed)} with opposite verdicts"
    if judged:
        moved = f"{len(found.beyond)} of {count(len(judged), 'ratio')} moved further than {who}"
        yield f"{moved}; {direction}."
    else:
        yield f"No ratio has a prediction, which takes two replicates in each study; {direction}."
    sizes = sorted(row.moved.spread for row in rows)
    middle, largest = share(sizes[len(sizes) // 2]), share(sizes[-1])
    yield f"Ratios moved by {middle} typically and by {largest} at most."
    if judged and found.series == 1:
        chance = two((1 - found.confidence) * len(judged))
        yield (
            f"If nothing had changed, about {chance} of {len(judged)} would move so far. Intervals "
            "of one study leave out what changes from day to day: repeat A, and name the repeats "
            "after --earlier."
        )


def share(part: float) -> str:
    return percent(float(f"{part:.2g}"))


def change_sheet(found: Two) -> Sheet:
    return Sheet(
        ["changed", "A", "B"],
        [[one.what, line(one.before), line(one.after)] for one in changed(found)],
    )


def changed(found: Two) -> list[Change]:
    return changes(found.first, found.second)


def left_out(found: Two) -> str:
    """What only one study recorded, in a sentence; "" if there is nothing."""
    names = unrecorded(found.first, found.second)
    return f"Recorded in one of them only: {few(names, FEW)}." if names else ""


def ratio_sheet(found: Two) -> Sheet:
    """The ratios in groups, whose names have rows of their own."""
    rows: list[list[str]] = []
    values = [e.ratio for row in found.rows for e in (row.before, row.after) if e.ratio]
    decimals = 3 if max(values, default=1) < 10 else 2
    heading = ""
    groups = [(row.id.workload, row.id.variant) for row in found.rows]
    for row in sorted(found.rows, key=lambda row: groups.index((row.id.workload, row.id.variant))):
        group = f"{workload(row.id.workload)}, {variant(row.id.variant)}"
        if group != heading:
            rows.append([group, *[""] * 6])
            heading = group
        rows.append(
            [
                f"  {pair(row.moved)}{f' {DECLARED}' * row.declared}, {where(row.id)}",
                f"{row.before.ratio:.{decimals}f}", f"{row.after.ratio:.{decimals}f}",
                f"{100 * row.change:+.1f} %", ends(*row.expected) if row.expected else "",
                {True: "yes", False: "no", None: ""}[row.beyond], turn(row),
            ]
        )  # fmt: skip
    predicts = "series predicts" if found.series > 1 else "A predicts"
    return Sheet(["ratio of", "A", "B", "moved by", predicts, "beyond?", "direction"], rows)


def turn(row: MovedRatio) -> str:
    return "opposite" if row.moved.contradicted else "changed" if row.moved.crossed else ""


def pair(row: ToReference) -> str:
    return f"{title(row.id.framework)} to {row.against}"


def where(one: BenchmarkId) -> str:
    """`2 threads`, after the device if it is not the processor."""
    device = [one.device] * (not one.on_host)
    return crossed([(*device, one.threads)])


def apart(found: Two) -> list[str]:
    """The pairs that are not compared, a line for each reason."""
    groups: dict[str, list[tuple[object, ...]]] = {}
    for one in found.apart:
        same = one.base.framework == one.id.framework
        who = title(one.id.framework) + f" to {title(one.base.framework)}" * (not same)
        device = [one.id.device] * (not one.id.on_host)
        key = (workload(one.id.workload), who, variant(one.id.variant), *device, one.id.threads)
        groups.setdefault(line(one.reason), []).append(key)
    return [f"{crossed(keys)}: {sentence(reason)}" for reason, keys in groups.items()]


def notes(found: Two) -> Iterator[str]:
    if found.rows:
        yield (
            "A ratio is the first framework's time over the second's. B's is expected in the "
            f"{percent(found.confidence)} prediction interval."
        )
    if any(row.declared for row in found.rows):
        yield f"{DECLARED} The two sides differ in one declared thing, which the report names."


def markdown(found: Two, command: str) -> str:
    first, *more = answer(found)
    sheet = ratio_sheet(found)
    sheet.rows[:] = [[text.strip() for text in row] for row in sheet.rows]
    parts = [
        "# Two studies side by side",
        bullets(heads(found)),
        f"**{first}** {' '.join(more)}".strip(),
        *([sheet.markdown(), " ".join(notes(found))] if found.rows else []),
        *(["## Not compared", bullets(apart(found))] if found.apart else []),
        "## What changed around them",
        change_sheet(found).markdown() if changed(found) else "Nothing that was recorded changed.",
        for_markdown(left_out(found)),
        written_by(command),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def show(found: Two) -> None:
    console = terminal(WIDTH)
    first, *more = answer(found)
    for text in [*heads(found), "", first, *[" ".join(more)] * bool(more), ""]:
        console.print(text)
    if found.rows:
        console.print(table(ratio_sheet(found), numbers=4))
        for text in ["", *notes(found)]:
            console.print(text)
    if found.apart:
        console.print("\nNot compared:")
        for text in apart(found):
            console.print(f"- {text}")
    console.print(
        "\nWhat changed around them:"
        if changed(found)
        else "\nNothing that was recorded changed around them."
    )
    if changed(found):
        console.print(table(change_sheet(found)))
    if text := left_out(found):
        console.print(text)
