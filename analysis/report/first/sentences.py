"""The findings: who is fastest in each variant, and what tuning gains."""

from collections.abc import Iterator, Sequence

from analysis.data.pairing import DEFAULT
from analysis.data.results import BenchmarkId
from analysis.findings.comparisons import PairLine
from analysis.findings.fairness.certificates import components
from analysis.findings.findings import Findings
from analysis.findings.matrix import Column, MatrixLine
from analysis.format import count, device, listing, percent, title
from analysis.report.first.headline import rows, size, tuned
from analysis.report.prose import DECLARED, NEAR, spread, two, variant, workload
from analysis.stats.inference import Estimate
from frameworks.device import HOST

Sides = tuple[BenchmarkId, BenchmarkId]
Result = tuple[str, list[tuple[str, float | None]]]  # the fastest, and what each other one takes


def sentences(findings: Findings) -> list[str]:
    if findings.machine.alone:
        return []
    pairs = estimates(findings)
    variants = sorted(
        {line.id.variant for line in findings.matrix}, key=lambda v: (v != DEFAULT, v)
    )
    found = [
        f"{variant(name)[:1].upper()}{variant(name)[1:]}: {' '.join(own)}"
        for name in variants
        if (own := list(of_variant(findings, name, pairs)))
    ]
    gains = tuning(findings)
    return [*found, *[gains] * bool(gains)]


def estimates(findings: Findings) -> dict[Sides, tuple[Estimate, bool]]:
    """Of both directions of each pair of frameworks, and whether it rests on a declared
    deviation."""
    found: dict[Sides, tuple[Estimate, bool]] = {}
    for row in findings.pairs:
        if row.axis == "framework" and row.estimate.ratio is not None:
            declared = bool(components(row.certificate))
            found[row.id, row.base] = row.estimate, declared
            found[row.base, row.id] = row.estimate.inverse, declared
    return found


def of_variant(
    findings: Findings, name: str, pairs: dict[Sides, tuple[Estimate, bool]]
) -> Iterator[str]:
    """A sentence for each workload, or for each fastest framework of a workload."""
    for work in findings.machine.workloads:
        results: dict[str, list[tuple[Column, Result]]] = {}
        for column in dict.fromkeys(line.column for line in findings.matrix):
            own = [
                line
                for line in findings.matrix
                if line.column == column and line.id.variant == name and line.ms is not None
            ]
            if column[0] == work and (result := in_column(own, pairs)):
                results.setdefault(result[0], []).append((column, result))
        for fastest, held in results.items():
            where = f"On the {workload(work)}"
            if len(results) > 1:
                where += f" with {listing(places([column for column, _ in held]))}"
            others = "; ".join(taken([result for _, result in held]))
            yield f"{where}, {fastest} is fastest; {others}."


def places(columns: Sequence[Column]) -> list[str]:
    return [
        ("" if where == HOST.name else f"{device(where)} and ") + count(threads, "thread")
        for _, where, threads in columns
    ]


def in_column(
    lines: Sequence[MatrixLine], pairs: dict[Sides, tuple[Estimate, bool]]
) -> Result | None:
    """None if nothing is to be compared."""
    ordered = sorted(lines, key=lambda line: line.ms or 0.0)
    if not ordered:
        return None
    best = ordered[0].id
    others = []
    for line in ordered[1:]:
        if (line.id, best) in pairs:
            estimate, declared = pairs[line.id, best]
            slower = estimate.verdict == "slower"
            name = title(line.id.framework) + DECLARED * declared
            others.append((name, estimate.ratio if slower else None))
    return (title(best.framework), others) if others else None


def taken(results: Sequence[Result]) -> Iterator[str]:
    """`PyTorch takes 1.7 to 1.9 times as long`, for each other framework."""
    names = dict.fromkeys(name for _, others in results for name, _ in others)
    for name in names:
        ratios = [ratio for _, others in results for own, ratio in others if own == name]
        known = [ratio for ratio in ratios if ratio is not None]
        if len(known) < len(ratios):
            yield f"{name} is not significantly slower" + " everywhere" * bool(known)
        elif max(known) < NEAR:
            low, high = (percent(float(f"{r - 1:.2g}")) for r in (min(known), max(known)))
            span = low if low == high else f"{low.removesuffix(' %')} to {high}"
            yield f"{name} takes {span} longer"
        else:
            yield f"{name} takes {spread(min(known), max(known))} times as long"


def tuning(findings: Findings) -> str:
    """What tuning gains most in each framework, in milliseconds."""
    ms = {line.id: line.ms for line in findings.matrix}
    best: dict[str, PairLine] = {}
    for name in findings.machine.workloads:
        for row in filter(tuned, rows(findings, "variant", name)):
            kept = best.setdefault(row.id.framework, row)
            if size(row) > size(kept):
                best[row.id.framework] = row
    told = [
        f"{title(framework)}'s step on the {workload(row.id.workload)} from "
        f"{two(ms[row.base] or 0)} to {two(ms[row.id] or 0)} ms"
        for framework, row in best.items()
    ]
    return f"Tuning: it cuts {listing(told)}." if told else ""
