"""The matrix: a row for each framework in each variant, a column for each workload, device and
number of threads."""

from collections.abc import Sequence

from analysis.data.results import DEFAULT, TUNED, USUAL, BenchmarkId, Column, order
from analysis.findings.findings import Findings
from analysis.findings.matrix import MatrixLine
from analysis.findings.speed.movement import MOVEMENT
from analysis.format import alike, sentence, title
from analysis.report.first import Cell, Matrix, MatrixRow
from analysis.report.prose import CROSSED, DECLARED, condition, contender, two, variant, workload

Key = tuple[str, str]  # a framework and its variant
Turned = set[tuple[BenchmarkId, BenchmarkId]]  # pairs with another direction in another study

NEAR = 1.2  # below it, two digits of a ratio are too few
TIMES = "\u00d7"
BOLD = "Bold: the fastest, or equivalent to it, or not significantly slower."
OPT_IN = "Opt-in variants"  # of one framework each, in one group
STEPS = "On the way to tuned"
MEANING = {
    DEFAULT: "the loop that its own tutorial shows",
    TUNED: "the fastest way that we know",
    STEPS: "each row also has the changes of the rows above it",
}


def matrix(findings: Findings) -> Matrix:
    """Columns in which nothing was measured are left out."""
    lines = [] if findings.machine.alone else findings.matrix
    columns = list(dict.fromkeys(line.column for line in lines if line.ms is not None))
    slowest = {one: max(line.ms or 0.0 for line in lines if line.column == one) for one in columns}
    turned = {(row.id, row.base) for row in MOVEMENT.of(findings) if row.crossed}
    steps = {key(row.id): row for row in findings.steps if row.id.variant != TUNED}
    groups: dict[str, dict[Key, list[MatrixLine]]] = {}
    for line in lines:
        if line.column in columns:
            name = STEPS if key(line.id) in steps else group(line, lines)
            groups.setdefault(name, {}).setdefault(key(line.id), []).append(line)

    def order_of(own: Sequence[MatrixLine]) -> tuple[str, float]:
        """Sort key: rows by time; steps by framework, and in their order."""
        who = own[0].id
        return (who.framework, steps[key(who)].position) if key(who) in steps else ("", total(own))

    def row(own: Sequence[MatrixLine], name: str) -> MatrixRow:
        by_column, who = {line.column: line for line in own}, own[0].id
        named = contender(who) if name == OPT_IN else title(who.framework)
        if name == STEPS:
            named += f" + {steps[key(who)].change}"
        return MatrixRow(
            who.framework,
            named + f" {DECLARED}" * any(line.declared for line in own),
            [
                cell(by_column[one], slowest[one], turned)
                if one in by_column
                else Cell("", about="not run")
                for one in columns
            ],
        )

    shown = [
        (titled(name), [row(own, name) for own in sorted(groups[name].values(), key=order_of)])
        for name in sorted(groups, key=place)
    ]
    rows = [one for _, held in shown for one in held]
    notes = [BOLD]
    if any(one.declared for one in rows):
        notes += [f"{DECLARED} and a hollow bar: computes something that is declared to differ."]
    if any(own.relative.endswith(CROSSED) for one in rows for own in one.cells):
        notes += [f"{CROSSED}: in another study, the other was faster."]
    return Matrix(
        "Milliseconds per mini-batch, and how many times the fastest of the whole column "
        f"({TIMES}). Ratios are taken within turns, so they are not quite quotients of the times. "
        + " ".join(notes),
        [heading(one) for one in columns],
        shown,
    )


def key(one: BenchmarkId) -> Key:
    return one.framework, one.variant


def group(line: MatrixLine, lines: Sequence[MatrixLine]) -> str:
    """The variant; opt-in variants that one framework has share a group."""
    own = line.id.variant
    owners = {one.id.framework for one in lines if one.id.variant == own}
    return own if own in USUAL or len(owners) > 1 else OPT_IN


def titled(name: str) -> str:
    """`Tuned: the fastest way that we know`"""
    words = variant(name)
    return f"{words[:1].upper()}{words[1:]}" + (f": {MEANING[name]}" if name in MEANING else "")


def place(name: str) -> tuple[bool, bool, int, str]:
    """Sort key: the tutorials' way, tuned, other variants, the steps to tuned, opt-in variants."""
    return (name == OPT_IN, name == STEPS, *order(name, *USUAL))


def total(lines: Sequence[MatrixLine]) -> float:
    """Sort key: the sum of the row's times; rows with gaps come last."""
    return sum(line.ms if line.ms is not None else 1e9 for line in lines)


def heading(column: Column) -> tuple[str, str]:
    return workload(column.workload), condition(column)


def cell(line: MatrixLine, slowest: float, turned: Turned) -> Cell:
    if line.ms is None:
        return Cell("", about=sentence(line.reason or "not measured"))
    return Cell(
        alike(line.ms)[0],
        relative(line) + f" {CROSSED}" * crossed(line, turned),
        line.ms / slowest,
        line.first,
        interval(line) or line.reason,
    )


def crossed(line: MatrixLine, turned: Turned) -> bool:
    """Whether its comparison with the fastest had another direction in another study; for the
    fastest, whether any of its comparisons had."""
    if line.id == line.base:
        return any(line.id in sides for sides in turned)
    return bool({(line.id, line.base), (line.base, line.id)} & turned)


def relative(line: MatrixLine) -> str:
    if line.id == line.base:
        return "fastest"
    ratio = line.estimate.ratio
    if ratio is None:
        return "no ratio"
    digits = alike(ratio)[0] if ratio < NEAR else two(ratio)
    return f"{digits}{TIMES}"


def interval(line: MatrixLine) -> str:
    ratio, low, high = alike(*line.estimate.ends)
    return f"{ratio} times the fastest ({low} to {high})" if low else ""
