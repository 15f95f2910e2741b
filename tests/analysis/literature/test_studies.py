"""The tables of a study are read as they stand, and what cannot be compared is refused."""

import csv
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.literature.__main__ import main
from analysis.literature.studies import Pair, evidence, read
from analysis.literature.studies import study as of_tables
from analysis.literature.tables import tables_of
from tests.conftest import ROOT
from workflows.records.storage import RecordError


def test_ratios_are_read_from_a_study_as_they_stand() -> None:
    study = read(ROOT / "reports" / "reference")
    with (ROOT / "reports/reference/tables/pairs.csv").open(newline="") as file:
        own = [one for one in csv.DictReader(file) if one["axis"] == "framework"]
    found = study.of(Pair("framework", "tensorflow", "pytorch"))
    assert sorted(f"{one.estimate.ratio:.6g}" for one in found if one.estimate.ratio) == sorted(
        one["ratio"]
        for one in own
        if {one["framework"], one["against"]} == {"tensorflow", "pytorch"}
    )
    threads = study.of(Pair("threads", "2", "1"))
    assert threads and all(one.known.ratio < 1.1 for one in threads)
    assert study.missing["gpu"] and study.hardware == {"cpu"}
    assert replace(found[0], certificate="").usable is False


def test_more_threads_than_cores_say_only_what_these_bring() -> None:
    found = of_tables("oversubscribed", tables_of(ROOT / "reports" / "reference"))
    assert {one.pair.axis for one in found.ratios} == {"threads"}
    assert not found.times and not found.memory


def test_pitfalls_are_read_from_a_study_as_they_stand() -> None:
    study = read(ROOT / "reports" / "traps")
    flushed = study.of(Pair("variant", "trap-denormals", "default"))
    assert [one.id.workload for one in flushed if one.usable] == ["mlp", "mnist-cnn"]
    assert not any(one.usable for one in study.of(Pair("variant", "trap-weights", "default")))
    missing = study.of(Pair("variant", "trap-unsynchronised", "default"))
    assert {one.id.device for one in missing} == {"gpu"} and not any(one.usable for one in missing)


@pytest.mark.parametrize(
    ("verdict", "off", "proven", "reason"),
    [
        ("refused", 0.0, "the same losses; work was left", ""),
        ("equivalent", 0.0, "the same losses", ""),
        ("refused", 1e-9, "", "not shown to have the losses of default"),
        ("refused", None, "", "not shown to have the losses of default"),
        ("faster", 0.0, "", "is faster, but no work was left"),
    ],
)
def test_what_a_ratio_of_a_pitfall_rests_on(
    verdict: str, off: float | None, proven: str, reason: str
) -> None:
    loss = "" if off is None else str(off)
    own = dict.fromkeys(("loss_1", "loss_10", "loss_100", "loss_last"), loss)
    names = {"framework": "jax", "variant": "trap-unsynchronised", "beside": "default"}
    found = evidence({**own, **names, "verdict": verdict})
    assert found[0].startswith(proven) and bool(found[0]) == bool(proven) and reason in found[1]


def test_a_folder_without_tables_is_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="give a report's folder"):
        read(tmp_path)
    assert main([str(tmp_path), "--out", str(tmp_path / "out")]) == 1


def test_intervals_at_another_confidence_are_refused(tmp_path: Path) -> None:
    """A narrower interval would make rows look more certain than they are."""
    shutil.copytree(ROOT / "reports/reference/tables", tmp_path / "tables")
    pairs = tmp_path / "tables" / "pairs.csv"
    assert "1.07421,1.16638" in pairs.read_text()
    pairs.write_text(pairs.read_text().replace("1.07421,1.16638", "1.093,1.146"))
    with pytest.raises(RecordError, match="not at 95%"):
        read(tmp_path)
