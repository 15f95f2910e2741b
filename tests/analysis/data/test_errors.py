"""What is wrong with the records, in one line."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from analysis.__main__ import main
from analysis.data import reading
from tests.analysis.data.conftest import Refused
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import write
from workflows.records.columns import BATCHES
from workflows.records.machine_records import MachineRecords
from workflows.records.storage import write_batches

SMALL = Recipe(workloads=("mnist-cnn",), threads=(1,), variants=("default",), replicates=2)


@pytest.fixture
def one(tmp_path: Path) -> Path:
    return write(tmp_path / "one", SMALL)


def edit(folder: Path, **values: Any) -> None:
    path = folder / "records.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_no_folder(tmp_path: Path, refused: Refused) -> None:
    assert "nowhere: no such folder" in refused(tmp_path / "nowhere")


@pytest.mark.parametrize("name", ["records.json", "batches.parquet"])
@pytest.mark.parametrize("content", [None, b"", b"{", b"PAR1 not really PAR1"])
def test_damaged_files(one: Path, name: str, content: bytes | None, refused: Refused) -> None:
    (one / name).unlink()
    if content is not None:
        (one / name).write_bytes(content)
    assert name in refused(one)


def test_another_schema(one: Path, refused: Refused) -> None:
    edit(one, schema_version=99)
    assert "schema version 99" in refused(one)


def test_different_studies(one: Path, refused: Refused) -> None:
    there = {**vars(SMALL), "machine": "b", "study": "x"}
    other = write(one.parent / "other", Recipe(**{**there, "fastest": True}))
    assert "different studies: fastest is " in refused(one, other)
    other = write(one.parent / "other", Recipe(**there))
    values = json.loads((other / "records.json").read_text())
    values["workloads"][0]["description"]["batch"] *= 2
    values["workloads"][0]["flops_per_step"] *= 2
    values["datasets"][0]["batches"] //= 2
    (other / "records.json").write_text(json.dumps(values))
    assert "workload mnist-cnn is not the same on " in refused(one, other)


def test_one_machine_twice(one: Path, refused: Refused) -> None:
    other = write(one.parent / "other", SMALL)
    said = refused(one, other)
    assert "given twice" in said and f"{one} and {other}: machine {SMALL.machine}" in said


def test_the_folder_at_fault_is_named(
    one: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one; both, if an error of the analysis could be of either."""
    other = write(one.parent / "other", Recipe(**{**vars(SMALL), "machine": "b", "seed": 2}))

    def contradictions(records: MachineRecords) -> list[str]:
        return [{SMALL.machine: ""}[records.machine]] * 0

    monkeypatch.setattr(reading, "contradictions", contradictions)
    assert f"analysis: {other}: these records cannot be used (KeyError" in refused(one, other)
    monkeypatch.setattr(reading, "contradictions", lambda _: [])
    monkeypatch.setattr("analysis.data.series.check_series", lambda _: {}["x"])
    assert f"analysis: {one} or {other}: these records cannot be used" in refused(one, other)


def test_nothing_measured(tmp_path: Path, refused: Refused) -> None:
    nothing = {
        ("mnist-cnn", replicate, f"{framework}/default/cpu/1"): "ImportError: libcudart"
        for replicate in (1, 2)
        for framework in ("pytorch", "tensorflow")
    }
    empty = write(tmp_path / "empty", Recipe(**{**vars(SMALL), "absent": nothing}))
    assert "nothing measured: ImportError: libcudart" in refused(empty)


def test_no_contest(tmp_path: Path, refused: Refused) -> None:
    empty = write(tmp_path / "empty", Recipe(**{**vars(SMALL), "replicates": 0}))
    assert "nothing measured" in refused(empty)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("machine", "b", "machine b, but the records are of"),
        ("study", "x", "study x, but the records are of"),
        ("round", None, "column round: 1 empty values"),
    ],
)
def test_batches_that_do_not_fit(
    one: Path, column: str, value: Any, said: str, refused: Refused
) -> None:
    path = one / "batches.parquet"
    columns = pq.read_table(path).to_pydict()
    columns[column][3] = value
    write_batches(path, {name: columns[name] for name in BATCHES.names})
    assert said in refused(one)


def test_a_workload_that_cannot_be_built(one: Path, refused: Refused) -> None:
    workloads = json.loads((one / "records.json").read_text())["workloads"]
    workloads[0]["description"]["layers"] = [{"conv3d": {}}]
    edit(one, workloads=workloads)
    assert "unknown kind 'conv3d'" in refused(one)


def test_a_workload_that_is_not_described(one: Path, refused: Refused) -> None:
    edit(one, workloads=[])
    assert "workload mnist-cnn is not described" in refused(one)


def test_samples_of_weights_that_do_not_belong_together(one: Path, refused: Refused) -> None:
    """The fuzz found that a number more in one of the two was a traceback, later."""
    values = json.loads((one / "records.json").read_text())
    turns = {"losses": [[1.0]], "start": {"w": [0.5, 0.5]}, "weights": {"w": [0.4]}}
    values["certificates"][0]["turns"] = turns
    edit(one, certificates=values["certificates"])
    assert "turns.start and turns.weights of pytorch/default/cpu/1 are not" in refused(one)
    values["certificates"][0]["turns"] = {**turns, "weights": {"w": [0.4, 0.4]}, "read": 1}
    edit(one, certificates=values["certificates"])
    assert "turns.read of pytorch/default/cpu/1: round 1, and there are 0 rounds" in refused(one)
    values["certificates"][0]["turns"] |= {"read": 1, "losses": [[1.0], [1.0]]}
    values["certificates"][0]["rows"][0]["turns"] = {
        **values["certificates"][0]["turns"],
        "read": None,
    }
    edit(one, certificates=values["certificates"])
    assert "turns.read differs between contenders" in refused(one)


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([])
    assert stopped.value.code == 2
    assert "FOLDER" in capsys.readouterr().err
