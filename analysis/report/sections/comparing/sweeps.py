"""From which size on one contender is faster than another, if the study has sweeps."""

from analysis.findings.findings import Findings
from analysis.findings.sweeps import CROSSOVERS, CrossoverLine
from analysis.format import count, device, percent
from analysis.report.figures.comparing.sweeps import sweep_ratios
from analysis.report.layout import Blocks, Chapter, Section
from analysis.report.prose import condition, contender, pair, size, two
from analysis.report.tables import Table


def sides(row: CrossoverLine) -> str:
    """`JAX, 2 threads to 1`, `TensorFlow to PyTorch, 2 threads`"""
    own, named = row.id, contender(row.id)
    if row.axis == "threads":
        return f"{named}, {condition(own)} to {row.base.threads}"
    if row.axis == "device":
        return f"{named}, {device(own.device)} to {device(row.base.device)}, {condition(own)}"
    return f"{pair(own, row.base)}, {condition(own)}"


def says(row: CrossoverLine) -> str:
    """`slower below, faster above`, `faster at 6 of 8 sizes`, `changes places 3 times`"""
    found = row.crossing
    if found.changes > 1:
        return f"changes places {count(found.changes, 'time')}"
    if found.changes:
        return f"{row.below} below, {row.above} above"
    if not found.below:
        return "no significant difference"
    return f"{row.below} at {found.decided} of {count(len(row.points), 'size')}"


def crossover_table(findings: Findings) -> Table | None:
    rows = CROSSOVERS.of(findings)
    if not rows:
        return None
    level = percent(findings.machine.study.confidence)
    return Table(
        "Sizes at which two contenders change places",
        [
            ("sweep", False), ("pair", False), ("the first is", False), ("at", True),
            (f"{level} interval", True), ("operations there", True),
        ],
        [
            [
                f"{row.sweep.name}, {row.sweep.parameter} {row.smallest:,} to {row.largest:,}",
                sides(row), says(row),
                two(row.crossing.at) if row.crossing.at else "",
                f"{two(row.crossing.low)} to {two(row.crossing.high)}"
                if row.crossing.low and row.crossing.high else "",
                size(row.at_flops) if row.at_flops else "",
            ]
            for row in rows
        ],
        "crossovers.csv",
    )  # fmt: skip


def sweeps(chapter: Chapter) -> Blocks:
    return [chapter.figure(sweep_ratios), crossover_table(chapter.findings)]


SECTION = Section(
    "From which size on",
    sweeps,
    about="The same network in several sizes, all in the same contests. Where the ratio crosses 1, "
    "the two change places. Sizes count as faster or slower if the difference is significant over "
    "all sizes together (Holm), however small it is. Between sizes the ratio is interpolated, and "
    "the interval holds the sizes at which equality is not rejected. Operations: the "
    "floating-point operations of a mini-batch there.",
    in_markdown=True,
)
