"""The committed noise and the committed page are of this code."""

import re
import shlex
from pathlib import Path

import pytest

from benchmarks.simulation.__main__ import PAGE, main
from benchmarks.simulation.noise import COMMITTED, Fit, Fits
from benchmarks.simulation.page import beginning, noise_section
from benchmarks.simulation.scenarios import PORTION
from benchmarks.simulation.validation import scenarios
from tests.conftest import ROOT
from workflows.records.storage import read_json

TEXT = (ROOT / PAGE).read_text()
REPLICATES = [3, 5, 8, 12]


@pytest.fixture(scope="module")
def fits() -> Fits:
    return read_json(COMMITTED, Fits)


def test_the_noise_is_what_fitting_finds_in_the_records_named(
    fits: Fits, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    _, _, module, command, *folders = shlex.split(fits.command)
    assert (module, command) == ("benchmarks.simulation", "fit")
    assert main(["fit", *folders, "--out", str(tmp_path / "noise.json")]) == 0
    again = read_json(tmp_path / "noise.json", Fits)
    found, committed = by_contender(again), by_contender(fits)
    assert found.keys() == committed.keys() and len(found) == len(again.fits) == len(fits.fits)
    for one, other in ((found[key], committed[key]) for key in found):
        for name, value in vars(one.noise).items():
            assert value == pytest.approx(getattr(other.noise, name), rel=1e-4, abs=1e-6), name
    for check, before in zip(again.checks, fits.checks, strict=True):
        assert check.simulated == pytest.approx(before.simulated, rel=1e-2)


def by_contender(fits: Fits) -> dict[tuple[str, str, str, str], Fit]:
    """The committed fits keep the order in which their studies were once drawn."""
    return {(fit.study, fit.machine, fit.workload, fit.contender): fit for fit in fits.fits}


def test_the_page_tells_of_this_noise(fits: Fits) -> None:
    assert noise_section(fits) in TEXT
    assert fits.command in TEXT


def test_the_page_begins_with_what_these_studies_show(fits: Fits) -> None:
    """The first studies of every scenario, drawn and judged again."""
    outcomes = scenarios([fit.noise for fit in fits.fits], PORTION, REPLICATES)
    assert beginning(outcomes) in TEXT


def test_the_page_is_of_enough_studies_and_all_demands_are_met() -> None:
    (count,) = re.findall(r"([\d,]+) studies are simulated", TEXT)
    assert int(count.replace(",", "")) >= 10_000
    assert re.search(r"All \d+ demands are met\.", TEXT)
    for replicates in REPLICATES:
        assert f"| fitted | {replicates} | " in TEXT


def test_too_few_studies_show_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    assert main(["validate", "--studies", "20", "--replicates", "3", "--out", str(page)]) == 1
    said = capsys.readouterr().err
    assert "not met: fitted, 3 replicates: coverage between 94 and 96 %; seen" in said
    assert "are **not met**" in page.read_text()


def test_mistakes_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit", str(tmp_path / "nowhere")]) == 1
    assert "nowhere: no such folder" in capsys.readouterr().err
    assert main(["validate", "--noise", str(tmp_path / "none.json")]) == 1
    assert "none.json" in capsys.readouterr().err
    for wrong in (["--studies", "1"], ["--replicates", "1"]):
        with pytest.raises(SystemExit):
            main(["validate", *wrong])
        assert "too few, 2 at least are needed" in capsys.readouterr().err
