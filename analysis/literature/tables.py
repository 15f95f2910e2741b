"""The tables of a study that judging reads: as written, or from the records of a brief report."""

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

from analysis.data.reading import read as read_records
from analysis.findings.findings import TABLES, Findings, comma_separated
from analysis.findings.speed.elementwise import ELEMENTWISE
from analysis.findings.speed.transferred import NAME, TRANSFERRED
from analysis.findings.speed.use import USE
from workflows.records.limits import DEVICE, FILE, FRAMEWORK, MACHINE, VARIANT, WORKLOAD
from workflows.records.storage import RecordError, require_size, shown

NEEDED = ("pairs", "contenders", "missing")
ADDED = {"elementwise": ELEMENTWISE, "use": USE, NAME: TRANSFERRED}  # by importing their modules
OPTIONAL = ("traps", "parts", "settings", "start", "gradients", "shards", *ADDED)
NAMES = {"machine": MACHINE, "workload": WORKLOAD, "framework": FRAMEWORK, "variant": VARIANT,
         "device": DEVICE, "beside": VARIANT,
         "against": r"[A-Za-z0-9][A-Za-z0-9_.+%/-]{0,299}"}  # fmt: skip


def tables_of(folder: Path) -> dict[str, list[dict[str, str]]]:
    """The rows of each table of a report's folder.

    Raises:
        RecordError: the folder has neither tables nor records, or they are damaged.
    """
    paths = {name: folder / "tables" / f"{name}.csv" for name in (*NEEDED, *OPTIONAL)}
    machines = sorted(folder.glob("machines/*"))
    if machines and not all(paths[name].is_file() for name in NEEDED):
        return recorded([Findings(read_records(machine)) for machine in machines])
    return {
        name: table(path) if name in NEEDED or path.is_file() else []
        for name, path in paths.items()
    }


def table(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        raise RecordError(f"{path}: no such table; give a report's folder, like reports/reference")
    try:
        require_size(path, FILE)
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (UnicodeDecodeError, csv.Error) as error:
        raise RecordError(f"{path}: not a readable table ({shown(error)})") from None
    for number, row in enumerate(rows, 2):
        if None in row or None in row.values():
            raise RecordError(f"{path}: line {number} has another number of cells than the first")
        for column, pattern in NAMES.items():
            if column in row and not re.fullmatch(pattern, row[column]):
                raise RecordError(f"{path}: line {number}: {shown(row[column])} is no {column}")
    return rows


def recorded(findings: Sequence[Findings]) -> dict[str, list[dict[str, str]]]:
    """The rows of each table, machine after machine, as a report writes them."""
    found: dict[str, list[dict[str, str]]] = {}
    for name in (*NEEDED, *OPTIONAL):
        rows = [(row, one.machine) for one in findings for row in TABLES[name].of(one)]
        text = comma_separated(TABLES[name].columns, rows)
        found[name] = list(csv.DictReader(io.StringIO(text)))
    return found
