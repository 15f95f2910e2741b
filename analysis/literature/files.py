"""The content of every file of `reports/literature`: the claims, the figures and their tables."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from analysis.data.reading import read as read_records
from analysis.data.results import Machine
from analysis.findings.findings import as_csv
from analysis.literature import averages, transfer
from analysis.literature.judging.claims import judge
from analysis.literature.page import page
from analysis.literature.published.peaks import impossible
from analysis.literature.published.then import COLUMNS, then, values
from analysis.literature.spread import apart, speed_ups, spread_figure
from analysis.literature.studies import StudyTables, read
from analysis.literature.threads import divided, gains, threads
from analysis.literature.today import (
    beside,
    defined,
    definitions,
    effects_of,
    shares,
    table,
    then_and_now,
)
from analysis.report.figures.style import Figure


@dataclass
class Drawn:
    """Figures in the order of the page, each with the name of its table, and all tables."""

    figures: list[tuple[str, Figure]] = field(default_factory=list)
    tables: dict[str, list[Sequence[object]]] = field(default_factory=dict)

    def add(self, name: str, rows: Sequence[Any], draw: Callable[[Any], Figure]) -> None:
        """A table and its figure, if there are rows."""
        if rows:
            self.figures.append((name, draw(rows)))
            self.tables[name] = table(rows)


def made(folders: Sequence[Path]) -> dict[str, str]:
    """The content of every file, by its name, from the reports in these folders.

    Raises:
        RecordError: tables or records of a report cannot be read.
    """
    studies = [read(folder) for folder in folders]
    now = shares(studies)
    drawn = Drawn([("then.csv", impossible(now))], {"then.csv": [COLUMNS, *map(values, then())]})
    if now:
        drawn.tables["shares-today.csv"] = table(now)
    others = defined(studies)
    effects = effects_of(others)
    drawn.add("then-and-now.csv", beside(studies, effects), then_and_now)
    drawn.add("spread.csv", apart(studies, effects), spread_figure)
    drawn.figures.append(("then.csv", speed_ups(studies)))
    drawn.add("definitions.csv", others, definitions)
    drawn.add("threads.csv", gains(studies), threads)
    if machine := measured(folders):
        add_averages(drawn, machine, studies[0])
    if machine := measured([own for own in folders if own.name == transfer.STUDY]):
        add_transfers(drawn, machine, [own for own in folders if own.name != transfer.STUDY])
    if shared := divided(studies):
        drawn.tables["parallel.csv"] = table(shared)
    files = {"claims.md": page(judge(studies), studies, drawn.figures)}
    files |= {name: as_csv(numbers) for name, numbers in drawn.tables.items()}
    for _, figure in drawn.figures:
        files |= figure.files
    return files


def measured(folders: Sequence[Path]) -> Machine | None:
    """The records of the first machine of the first report; None if there are none."""
    found = [machine for folder in folders[:1] for machine in folder.glob("machines/*")]
    return read_records(min(found)) if found else None


def add_averages(drawn: Drawn, machine: Machine, study: StudyTables) -> None:
    found = averages.processes(machine)
    orders = averages.orders(found, study)
    rows = averages.averages(found, study)
    drawn.add("averages.csv", rows, lambda rows: averages.figure(rows, orders))
    drawn.tables["orders.csv"] = table(orders)


def add_transfers(drawn: Drawn, machine: Machine, others: Sequence[Path]) -> None:
    """What moving numbers takes, and its share in the steps of the first other report."""
    times = transfer.times(machine)
    lines = transfer.bandwidths(times)
    steps = transfer.shares(others[0]) if others else []
    if moves := transfer.moved(times):
        drawn.add("transfer.csv", moves, lambda rows: transfer.figure(rows, lines, steps))
        drawn.tables["bandwidth.csv"] = table(lines)
        if steps:
            drawn.tables["transfer-shares.csv"] = table(steps)
