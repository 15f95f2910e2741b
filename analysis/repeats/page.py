"""The comparison of repeats, for a terminal and in Markdown."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from analysis.format import alike, count, crossed, listing, percent, probability, title
from analysis.repeats.rows import Repeat, gaps_by_chance
from analysis.repeats.runs import Run


@dataclass(frozen=True)
class Sheet:
    """A table: headings, and cells as text."""

    columns: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        lines = [self.columns, ["---"] * len(self.columns), *self.rows]
        return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def run_sheet(runs: Sequence[Run]) -> Sheet:
    return Sheet(
        ["run", "study", "first contest", "last contest", "replicates", "samestep"],
        [
            [
                run.name, run.machine.study.name, moment(run.started[0]), moment(run.started[-1]),
                str(run.machine.study.replicates), listing(commits(run)),
            ]
            for run in runs
        ],
    )  # fmt: skip


def moment(started: str) -> str:
    return f"{started[:16].replace('T', ' ')} UTC"


def commits(run: Run) -> list[str]:
    codes = {(c.code.commit[:7], c.code.dirty) for c in run.machine.records.contests}
    return [f"{commit or 'unknown'}{' with changes' * dirty}" for commit, dirty in sorted(codes)]


def repeat_sheet(rows: Sequence[Repeat], runs: Sequence[Run]) -> Sheet:
    return Sheet(
        ["comparison", *(run.name for run in runs), "verdicts", "intervals", "ratios apart",
         "p between runs (Holm)"],
        [
            [
                f"{named(row)}{other(row)}",
                *(finding(row, index) for index in range(len(runs))),
                row.verdicts,
                intervals(row, runs),
                "" if row.spread is None else percent(row.spread),
                probability(row.p_adjusted),
            ]
            for row in rows
        ],
    )  # fmt: skip


def other(row: Repeat) -> str:
    """` to PyTorch default`, if the variants differ."""
    found = next(one for one in row.found if one)
    return f" to {found.against}" * (found.reference_variant != found.id.variant)


def finding(row: Repeat, index: int) -> str:
    """`0.502 (0.494 to 0.510) faster`"""
    found = row.found[index]
    if found is None:
        return "no ratio"
    ratio, low, high = alike(*found.estimate.ends)
    return f"{ratio} {f'({low} to {high}) ' if low else ''}{found.estimate.verdict}"


def sentences(rows: Sequence[Repeat], runs: Sequence[Run]) -> Iterator[str]:
    """The overall result of the repeats."""
    confidence = runs[0].machine.study.confidence
    if not rows:
        yield "No run has a ratio, so there is nothing to compare."
        return
    agree = sum(row.verdicts == "agree" for row in rows)
    number = f"all {count(len(rows), 'comparison')}" if agree == len(rows) > 1 else (
        f"{agree} of {count(len(rows), 'comparison')}"
    )  # fmt: skip
    yield f"In {number} the {count(len(runs), 'run')} come to the same verdict."
    for row in rows:
        if row.verdicts != "agree":
            yield f"{named(row)}: {row.verdicts}, {listing(verdicts(row, runs))}."
    total, chance = gaps_by_chance(rows, confidence)
    gaps = sum(len(row.apart) for row in rows)
    overlapping = f"{total - gaps} of {total}" if gaps or total < 2 else f"All {total}"
    yield (
        f"{overlapping} pairs of {percent(confidence)} intervals overlap; of so many, "
        f"{chance:.2f} would not by chance alone."
    )
    tested = [row for row in rows if row.p_adjusted is not None]
    beyond = [row for row in tested if (row.p_adjusted or 0) < 1 - confidence]
    if beyond:
        yield (
            "The runs differ by more than their replicates explain in "
            f"{'; '.join(named(row) for row in beyond)}: there something changed from study to "
            "study, and the interval of one study is too narrow for another day."
        )
    elif tested:
        least = min(row.p_adjusted or 0.0 for row in tested)
        yield (
            "No comparison shows more variance between runs than the replicates within them "
            f"explain (smallest p after Holm's correction: {probability(least)})."
        )
    spreads = [row.spread for row in rows if row.spread is not None]
    if spreads:
        ends = dict.fromkeys(percent(end) for end in (min(spreads), max(spreads)))
        yield f"The ratios of the runs are {' to '.join(ends)} apart, largest over smallest."


def verdicts(row: Repeat, runs: Sequence[Run]) -> list[str]:
    """`faster in run 1 and run 3`, for each verdict."""
    where: dict[str, list[str]] = {}
    for run, found in zip(runs, row.found, strict=True):
        where.setdefault(found.estimate.verdict if found else "no ratio", []).append(run.name)
    return [f"{verdict} in {listing(names)}" for verdict, names in where.items()]


def intervals(row: Repeat, runs: Sequence[Run]) -> str:
    if row.apart:
        return "apart: " + "; ".join(f"{runs[i].name} and {runs[j].name}" for i, j in row.apart)
    return "overlap" if row.complete else "not in all runs"


def named(row: Repeat) -> str:
    """`mlp, CPU, 1 thread, default, JAX`"""
    one = row.id
    where = crossed([(one.workload, one.device, one.threads, one.variant)])
    return f"{where}, {title(one.framework)}"


def markdown(rows: Sequence[Repeat], runs: Sequence[Run], command: str) -> str:
    parts = [
        "# The same study at different times",
        f"On `{runs[0].machine.name}`.",
        " ".join(sentences(rows, runs)),
        "A ratio stands with its interval and verdict; p is of Welch's analysis of variance of "
        "the replicates' logarithms over the runs.",
        repeat_sheet(rows, runs).markdown(),
        run_sheet(runs).markdown(),
        f"Made by\n\n```\n{command}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def show(rows: Sequence[Repeat], runs: Sequence[Run]) -> None:
    """The same for a terminal, in its full width."""
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = 200
    for sheet in (run_sheet(runs), repeat_sheet(rows, runs)):
        table = Table(box=None, pad_edge=False, header_style="")
        for heading in sheet.columns:
            table.add_column(heading)
        for cells in sheet.rows:
            table.add_row(*cells)
        console.print(table)
        console.print()
    print(*sentences(rows, runs), sep="\n")
