"""The matrix: a row for each framework in each variant, a column for each workload, device and
number of threads."""

from collections.abc import Sequence

from analysis.data.results import USUAL, order
from analysis.findings.findings import Findings
from analysis.findings.matrix import Column, MatrixLine
from analysis.format import alike, count, device, sentence, title
from analysis.report.first import Cell, Matrix, Row
from analysis.report.prose import DECLARED, contender, two, variant, workload
from frameworks.device import HOST

NEAR = 1.1  # below it, two digits of a ratio are too few
TIMES = "\u00d7"
BOLD = "Bold: the fastest, or not significantly slower."
OPT_IN = "Opt-in variants"  # of one framework each, in one group


def matrix(findings: Findings) -> Matrix:
    """Columns in which nothing was measured are left out."""
    lines = [] if findings.machine.alone else findings.matrix
    columns = list(dict.fromkeys(line.column for line in lines if line.ms is not None))
    slowest = {one: max(line.ms or 0.0 for line in lines if line.column == one) for one in columns}
    rows: dict[str, dict[tuple[str, str], list[MatrixLine]]] = {}
    for line in lines:
        if line.column in columns:
            own = rows.setdefault(group(line, lines), {})
            own.setdefault((line.id.framework, line.id.variant), []).append(line)
    groups = [
        (
            name if name == OPT_IN else variant(name)[:1].upper() + variant(name)[1:],
            [row(own, columns, slowest, name) for own in sorted(rows[name].values(), key=total)],
        )
        for name in sorted(rows, key=place)
    ]
    marked = any(DECLARED in own.title for _, held in groups for own in held)
    note = f" {DECLARED} computes something that is declared to differ." * marked
    return Matrix(
        "Milliseconds per mini-batch, and how many times the fastest of the whole column "
        f"({TIMES}). Ratios are taken within turns, so they are not quite quotients of the times. "
        f"{BOLD}{note}",
        [heading(one) for one in columns],
        groups,
    )


def group(line: MatrixLine, lines: Sequence[MatrixLine]) -> str:
    """The variant; opt-in variants that one framework has share a group."""
    own = line.id.variant
    owners = {one.id.framework for one in lines if one.id.variant == own}
    return own if own in USUAL or len(owners) > 1 else OPT_IN


def place(name: str) -> tuple[bool, int, str]:
    """The tutorials' way first, then tuned; what is opt-in comes last."""
    return (name == OPT_IN, *order(name, *USUAL))


def total(lines: Sequence[MatrixLine]) -> float:
    """Sorts rows by time; those with gaps come last."""
    return sum(line.ms if line.ms is not None else 1e9 for line in lines)


def heading(column: Column) -> tuple[str, str]:
    name, where, threads = column
    own = "" if where == HOST.name else f"{device(where)}, "
    return workload(name), f"{own}{count(threads, 'thread')}"


def row(
    lines: Sequence[MatrixLine], columns: Sequence[Column], slowest: dict[Column, float], name: str
) -> Row:
    by_column = {line.column: line for line in lines}
    who = lines[0].id
    mark = f" {DECLARED}" * any(line.declared for line in lines)
    return Row(
        who.framework,
        (contender(who) if name == OPT_IN else title(who.framework)) + mark,
        [
            cell(by_column[one], slowest[one]) if one in by_column else Cell("", about="not run")
            for one in columns
        ],
    )


def cell(line: MatrixLine, slowest: float) -> Cell:
    if line.ms is None:
        return Cell("", about=sentence(line.reason or "not measured"))
    return Cell(
        alike(line.ms)[0],
        relative(line),
        line.ms / slowest,
        line.first,
        interval(line) or line.reason,
    )


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
