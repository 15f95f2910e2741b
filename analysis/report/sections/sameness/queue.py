"""What a clock shows of steps that nobody waits for, if the study has such contenders."""

from analysis.data.results import grouped
from analysis.findings.findings import Findings
from analysis.format import count, percent, title, with_ends
from analysis.report.figures.sameness.queue import queue as figure
from analysis.report.layout import Blocks, Chapter, Section
from analysis.report.prose import place
from analysis.report.tables import Table

SHOWN = 5  # numbers of steps in the table


def queue_table(findings: Findings) -> Table | None:
    rows = grouped((row.id, row) for row in findings.queue)
    if not rows:
        return None
    numbers = list(dict.fromkeys(row.steps for own in rows.values() for row in own))
    every = -(-len(numbers) // SHOWN)
    numbers = numbers[:-1:every] + numbers[-1:]
    level = percent(findings.machine.study.confidence)
    return Table(
        "Reported over true time of the first steps after a fence that nobody waits for, with "
        f"{level} intervals",
        [("framework", False), ("on", False), *((count(own, "step"), True) for own in numbers)],
        [
            [
                title(one.framework), place(one),
                *(with_ends(*row.estimate.ends) for row in own if row.steps in numbers),
            ]
            for one, own in rows.items()
        ],
        "queue.csv",
    )  # fmt: skip


def queue(chapter: Chapter) -> Blocks:
    return [chapter.figure(figure), queue_table(chapter.findings)]


SECTION = Section(
    "Steps that nobody waits for",
    queue,
    about="A framework may return from a step before its work is done, and keep the rest in a "
    "queue. Here nobody waits for a step, and no loss is read before the end of a turn. The queue "
    "is empty when a turn begins, so its first steps show what a clock reports of as many steps "
    "between two fences. Once the queue is full, each further step waits for an earlier one.",
    in_markdown=True,
)
