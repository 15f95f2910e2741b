"""A report is written where it is asked for, costs nobody a file, and looks alike everywhere."""

from pathlib import Path

import matplotlib
import pytest

from analysis.__main__ import main
from analysis.report.figures.style import Figure, canvas
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import write

SMALL = Recipe(
    workloads=("mnist-cnn",), threads=(1,), variants=("default",), replicates=2, rounds=2
)


@pytest.fixture
def records(tmp_path: Path) -> str:
    return str(write(tmp_path / "records", SMALL))


def test_only_an_earlier_report_loses_files(records: str, tmp_path: Path) -> None:
    out = tmp_path / "paper"
    own = [out / "figures" / "own.svg", out / "tables" / "own.csv"]
    for path in own:
        path.parent.mkdir(parents=True)
        path.write_text("mine")
    assert main([records, "--out", str(out)]) == 0
    assert [path.read_text() for path in own] == ["mine", "mine"]
    assert main([records, "--out", str(out)]) == 0
    assert not any(path.exists() for path in own)


@pytest.mark.parametrize("name", ["tables", "figures"])
def test_no_link_leads_elsewhere(
    name: str, records: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere, out = tmp_path / "elsewhere", tmp_path / "out"
    elsewhere.mkdir()
    out.mkdir()
    (out / name).symlink_to(elsewhere)
    assert main([records, "--out", str(out)]) == 1
    assert f"{out / name}: this leads elsewhere" in capsys.readouterr().err
    assert not list(elsewhere.iterdir()) and [path.name for path in out.iterdir()] == [name]


def test_what_matplotlib_is_told_elsewhere_changes_no_figure() -> None:
    def drawn() -> str:
        with canvas(2) as figure:
            figure.add_subplot().plot([1, 2], [3, 4])
        return Figure(figure, "name", "", "", "").svg

    usual = drawn()
    with matplotlib.rc_context({"text.usetex": True, "lines.linewidth": 9, "font.size": 30}):
        assert drawn() == usual
