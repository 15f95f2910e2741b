from pathlib import Path

from analysis.data.reading import read
from analysis.findings.findings import Findings, tables
from tests.conftest import ROOT


def write_tables(study: str, folder: Path) -> None:
    """All tables of a committed study whose report is brief, as a whole report has them."""
    (machine,) = (ROOT / "reports" / study / "machines").iterdir()
    (folder / "tables").mkdir(parents=True)
    for name, text in tables([Findings(read(machine))]).items():
        (folder / "tables" / f"{name}.csv").write_text(text)
