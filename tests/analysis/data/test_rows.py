"""Rows that cannot be are refused by name, and never averaged."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from analysis.data.reading import load
from tests.analysis.data.conftest import SMALL, WHO, stored
from tests.analysis.synthetic import write
from tests.conftest import ROOT
from workflows.records.columns import BATCHES
from workflows.records.machine_folder import read_machine
from workflows.records.machine_records import MachineRecords
from workflows.records.storage import RecordError, write_batches


def of(rows: pd.DataFrame, step: int, replicate: int = 1) -> "pd.Series[bool]":
    return (rows["contender"] == WHO) & (rows["step"] == step) & (rows["replicate"] == replicate)


def last_round(rows: pd.DataFrame) -> "pd.Series[bool]":
    return (rows["replicate"] == 1) & (rows["round"] == rows["round"].max())


def put(column: str, value: object, step: int = 9) -> Callable[[pd.DataFrame], pd.DataFrame]:
    def change(rows: pd.DataFrame) -> pd.DataFrame:
        rows.loc[of(rows, step), column] = value
        return rows

    return change


def test_what_can_be_is_read(whole: tuple[MachineRecords, pd.DataFrame], tmp_path: Path) -> None:
    (machine,) = load([stored(tmp_path, *whole)])
    assert len(machine.batches) == len(whole[1])


CHANGES: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], str]] = {
    "a negative time": (put("transfer_ns", -5), "column transfer_ns: -5 is not within 0"),
    "an absurd time": (put("step_ns", 10**15), "column step_ns: 1e+15 is not within"),
    "no time at all": (
        lambda rows: put("step_ns", 0)(put("transfer_ns", 0)(rows)),
        f"column step_ns: {WHO}, contest 1 of mnist-cnn, round 1, step 9: a mini-batch that took",
    ),
    "a step repeated": (
        lambda rows: pd.concat([rows, rows[of(rows, 9)]]), "step 9: this step is there twice",
    ),
    "a step missing": (lambda rows: rows[~of(rows, 9)], "step 10: a step before it is missing"),
    "a first step missing": (lambda rows: rows[~of(rows, 0)], "a step before it is missing"),
    "steps beyond all": (put("step", 2**30), "a step before it is missing"),
    "rounds that go back": (put("round", 0), "column round: "),
    "a position that changes": (put("position", 4), "its turn began at another position"),
    "another's position": (
        lambda rows: rows.assign(
            position=rows["position"].where(
                (rows["round"] != 2) | (rows["contender"] != WHO), (rows["position"] + 1) % 5
            )
        ),
        "column position: ",
    ),
    "flags that are shuffled": (
        lambda rows: rows.assign(warmup=rows["warmup"].sample(frac=1, random_state=3).tolist()),
        "column warmup: ",
    ),
    "a flag turned": (put("warmup", True, step=10), "column warmup: "),
    "warm-up counted": (put("warmup", False, step=2), "round 0 is warm-up"),
    "another mini-batch": (put("batch", 3), "column batch: "),
    "a contest that comes back": (
        lambda rows: pd.concat([rows[~last_round(rows)], rows[last_round(rows)]]),
        "this contest had ended before",
    ),
    "a mini-batch that is none": (
        lambda rows: rows.assign(batch=rows["batch"] + 10**6), "the data set has fewer",
    ),
    "a last mini-batch missing": (
        lambda rows: rows[~of(rows, int(rows["step"].max()))], "mini-batches in this round",
    ),
    "a last mini-batch missing everywhere": (
        lambda rows: rows[rows["step"] < rows["step"].max()],
        "round 3, step 17: its turn has 5, and 6 are configured",
    ),
    "a mini-batch of the warm-up missing everywhere": (
        lambda rows: rows[rows["step"] > 0].assign(step=rows["step"] - 1),
        "round 0, step 0: its turn has 4, and 5 are configured",
    ),
    "the same mini-batch in a whole round": (
        lambda rows: rows.assign(batch=rows["batch"].where(rows["round"] != 2, 0)),
        "round 2, step 11: its round was dealt another",
    ),
    "a round missing everywhere": (
        lambda rows: rows[rows["round"] < 3], "is recorded, without mini-batches",
    ),
    "processor time of no machine": (put("cpu_ns", 10**15), "column cpu_ns: "),
    "a contender of nobody": (
        lambda rows: rows.assign(contender=rows["contender"].replace(WHO, "jax/eager/cpu/1")),
        "which no contest record says was measured",
    ),
    "a replicate of nobody": (put("replicate", 7), "which no contest record says was measured"),
    "a step that is faster than it was": (
        lambda rows: put("step_ns", 1)(rows.assign(start_ns=rows["start_ns"] - 10**12)),
        "column start_ns: ",
    ),
    "a step that is slower than it was": (
        lambda rows: rows.assign(step_ns=rows["step_ns"] * 3), "column start_ns: ",
    ),
    "time that begins before time": (
        lambda rows: rows.assign(start_ns=-rows["start_ns"]), "column start_ns: ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_what_cannot_be_is_refused(
    whole: tuple[MachineRecords, pd.DataFrame], tmp_path: Path, change: str
) -> None:
    records, rows = whole
    made, said = CHANGES[change]
    with pytest.raises(RecordError) as error:
        load([stored(tmp_path, records, made(rows.copy()))])
    assert said in str(error.value) and str(tmp_path / "batches.parquet") in str(error.value)
    assert "\n" not in str(error.value)


def test_columns_that_contradict_the_name(tmp_path: Path) -> None:
    """Earlier folders have the parts of a contender's name in columns of their own."""
    folder = write(tmp_path / "one", SMALL)
    rows = read_machine(folder)[1].to_pandas()
    rows.loc[of(rows, 3), "threads"] = 2
    write_batches(folder / "batches.parquet", pa.Table.from_pandas(rows, BATCHES))
    with pytest.raises(RecordError, match=rf"column contender: {WHO}.*step 3: its columns say"):
        load([folder])


def test_steps_that_overlap(tmp_path: Path) -> None:
    folder = write(tmp_path / "one", SMALL)
    rows = read_machine(folder)[1].to_pandas()
    rows.loc[of(rows, 9), "step_ns"] *= 5
    write_batches(folder / "batches.parquet", pa.Table.from_pandas(rows, BATCHES))
    with pytest.raises(RecordError, match="step 10: it began before the one before had ended"):
        load([folder])


def test_what_computes_nothing_may_take_no_time(tmp_path: Path) -> None:
    """A clock may be too coarse for it, and it is compared with nothing."""
    (source,) = (ROOT / "reports/aa/machines").iterdir()
    records, table = read_machine(source)
    for contender, fine in (("noop/default/cpu/1", True), ("pytorch/default/cpu/1", False)):
        rows = table.to_pandas()
        own = rows.index[(rows["contender"] == contender) & ~rows["warmup"]][0]
        rows.loc[own, ["transfer_ns", "step_ns", "cpu_ns"]] = 0
        folder = stored(tmp_path / contender.partition("/")[0], records, rows)
        if fine:
            load([folder])
        else:
            with pytest.raises(RecordError, match="a mini-batch that took no time"):
                load([folder])
