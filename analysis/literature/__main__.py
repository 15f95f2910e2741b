"""Judge the claims of the literature by the tables of studies, and write down the numbers of 2016.

`python -m analysis.literature reports/reference --out reports/literature`
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from analysis.format import listing
from workflows.output import place, printing
from workflows.records.storage import RecordError, unforeseen
from workflows.records.whole_files import write_together


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m analysis.literature", description=__doc__)
    parser.add_argument(
        "studies", nargs="*", type=Path, metavar="REPORT",
        help="the folder of a study's report, like reports/reference",
    )  # fmt: skip
    parser.add_argument("--out", type=place, default=Path("reports/literature"), help="where to")
    options = parser.parse_args(arguments)
    try:
        with unforeseen(listing(options.studies, "or") or "literature"):
            files = made(options.studies)
        write_together({options.out / name: content for name, content in files.items()})
    except RecordError as error:
        print(f"literature: {error}", file=sys.stderr)
        return 1
    print(f"The claims: {options.out / 'claims.md'}")
    return 0


def made(folders: Sequence[Path]) -> dict[str, str]:
    """The content of every file, from the reports in these folders. Raises RecordError."""
    # Only now: statistics and plotting take seconds to import.
    from analysis.data.reading import read as read_records
    from analysis.findings.findings import as_csv
    from analysis.literature import averages, transfer
    from analysis.literature.judging.claims import judge
    from analysis.literature.page import page
    from analysis.literature.published.peaks import impossible
    from analysis.literature.published.then import COLUMNS, then, values
    from analysis.literature.spread import apart, speed_ups, spread_figure
    from analysis.literature.studies import read
    from analysis.literature.threads import divided, gains, threads
    from analysis.literature.today import (
        beside,
        defined,
        definitions,
        effects_of,
        table,
        then_and_now,
    )

    studies = [read(folder) for folder in folders]
    figures = [("then.csv", impossible())]
    tables: dict[str, list[Sequence[object]]] = {"then.csv": [COLUMNS, *map(values, then())]}
    others = defined(studies)
    effects = effects_of(others)
    if rows := beside(studies, effects):
        figures.append(("then-and-now.csv", then_and_now(rows)))
        tables["then-and-now.csv"] = table(rows)
    if wide := apart(studies, effects):
        figures.append(("spread.csv", spread_figure(wide)))
        tables["spread.csv"] = table(wide)
    figures.append(("then.csv", speed_ups(studies)))
    if others:
        figures.append(("definitions.csv", definitions(others)))
        tables["definitions.csv"] = table(others)
    if more := gains(studies):
        figures.append(("threads.csv", threads(more)))
        tables["threads.csv"] = table(more)
    if records := [one for own in folders[:1] for one in own.glob("machines/*")]:
        found = averages.processes(read_records(min(records)))
        averaged = averages.averages(found, studies[0])
        ordered = averages.orders(found, studies[0])
        figures.append(("averages.csv", averages.figure(averaged, ordered)))
        tables |= {"averages.csv": table(averaged), "orders.csv": table(ordered)}
    others_than = [own for own in folders if own.name != transfer.STUDY]
    for folder in folders:
        if folder.name == transfer.STUDY and (records := [*folder.glob("machines/*")]):
            own = transfer.times(read_records(min(records)))
            moves, lines = transfer.moved(own), transfer.bandwidths(own)
            steps = transfer.shares(others_than[0]) if others_than else []
            if not moves:
                continue
            figures.append(("transfer.csv", transfer.figure(moves, lines, steps)))
            tables |= {"transfer.csv": table(moves), "bandwidth.csv": table(lines)}
            if steps:
                tables["transfer-shares.csv"] = table(steps)
    if shared := divided(studies):
        tables["parallel.csv"] = table(shared)
    files = {"claims.md": page(judge(studies), studies, figures)}
    files |= {name: as_csv(numbers) for name, numbers in tables.items()}
    for _, figure in figures:
        files |= figure.files
    return files


if __name__ == "__main__":
    sys.exit(printing("literature", main))
