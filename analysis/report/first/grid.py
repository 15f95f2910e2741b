"""The matrix: a row for each framework in each variant, a column for each workload, device and
number of threads."""

from collections.abc import Sequence

from analysis.data.pairing import DEFAULT
from analysis.findings.findings import Findings
from analysis.findings.matrix import Column, MatrixLine
from analysis.format import alike, count, device, sentence, title
from analysis.report.first import Cell, Matrix, Row
from analysis.report.prose import DECLARED, two, variant, workload
from frameworks.device import HOST

NEAR = 1.1  # below it, two digits of a ratio are too few
TIMES = "\u00d7"
BOLD = "Bold: the fastest, or not significantly slower."


def matrix(findings: Findings) -> Matrix:
    """Columns in which nothing was measured are left out."""
    lines = [] if findings.machine.alone else findings.matrix
    columns = list(dict.fromkeys(line.column for line in lines if line.ms is not None))
    rows: dict[str, dict[str, list[MatrixLine]]] = {}
    for line in lines:
        if line.column in columns:
            own = rows.setdefault(line.id.variant, {})
            own.setdefault(line.id.framework, []).append(line)
    slowest = {one: max(line.ms or 0.0 for line in lines if line.column == one) for one in columns}
    groups = [
        (
            variant(name)[:1].upper() + variant(name)[1:],
            [
                row(framework, own, columns, slowest)
                for framework, own in sorted(held.items(), key=lambda item: total(item[1]))
            ],
        )
        for name, held in sorted(rows.items(), key=lambda item: (item[0] != DEFAULT, item[0]))
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


def total(lines: Sequence[MatrixLine]) -> float:
    """Sorts rows by time; those with gaps come last."""
    return sum(line.ms if line.ms is not None else 1e9 for line in lines)


def heading(column: Column) -> tuple[str, str]:
    name, where, threads = column
    own = "" if where == HOST.name else f"{device(where)}, "
    return workload(name), f"{own}{count(threads, 'thread')}"


def row(
    framework: str,
    lines: Sequence[MatrixLine],
    columns: Sequence[Column],
    slowest: dict[Column, float],
) -> Row:
    by_column = {line.column: line for line in lines}
    mark = f" {DECLARED}" * any(line.declared for line in lines)
    return Row(
        framework,
        title(framework) + mark,
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
