"""The committed reports follow from the committed records, byte for byte."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.all


@pytest.mark.parametrize("name", ["reference", "aa", "traps"])
def test_a_committed_report_is_rebuilt_from_its_records(name: str, tmp_path: Path) -> None:
    committed = ROOT / "reports" / name
    folders = sorted((committed / "machines").iterdir())
    subprocess.run(
        [sys.executable, "-m", "analysis", *map(str, folders), "--out", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    rebuilt = files(tmp_path)
    assert rebuilt.keys() == files(committed).keys()
    for file, content in files(committed).items():
        assert rebuilt[file] == content, f"{name}/{file} is not what its records say"


def files(report: Path) -> dict[str, str]:
    """The pages without their drawings, all tables, and the names of the figures. The last digit
    of a coordinate may depend on the processor, so the drawings' bytes are left out."""
    found = {path.relative_to(report).as_posix(): "" for path in report.glob("figures/*")}
    for path in [report / "report.md", report / "report.html", *report.glob("tables/*.csv")]:
        text = re.sub(r"<svg.*?</svg>", "", path.read_text(), flags=re.DOTALL)
        found[path.relative_to(report).as_posix()] = text
    return found
