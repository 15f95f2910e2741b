import json
import math
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from workflows.planning.plan import StudyRequest
from workflows.records import storage
from workflows.records.columns import BATCHES, TURNS
from workflows.records.minutes import Spent
from workflows.records.schema import SCHEMA, CertificateRow, Code, Contender, Measured
from workflows.records.storage import (
    RecordError,
    atomic,
    read_batches,
    read_json,
    read_table,
    write_batches,
    write_json,
)


def row(**changes):
    values = dict.fromkeys(BATCHES.names, 0)
    names = {"study": "s", "machine": "m", "workload": "w", "contender": "f/v/cpu/1"}
    parts = {"framework": "f", "variant": "v", "device": "cpu", "threads": 1, "replicate": 1}
    return {**values, **names, **parts, "warmup": False, "loss": 0.5, **changes}


def columns(*rows):
    return {name: [r[name] for r in rows] for name in BATCHES.names}


def test_mini_batches_come_back_as_they_were(tmp_path):
    path = tmp_path / "deep" / "1.parquet"
    write_batches(path, columns(row(step=3, loss=math.nan), row(step_ns=2**40)))
    table = read_batches(path)
    assert table.schema == BATCHES
    assert table["step_ns"].to_pylist() == [0, 2**40]
    assert math.isnan(table["loss"][0].as_py())


@pytest.mark.parametrize("name", ["loss", "workload", "step_ns"])
def test_a_missing_column_is_named(tmp_path, name):
    path = tmp_path / "1.parquet"
    pq.write_table(pa.table(columns(row()), schema=BATCHES).drop([name]), path)
    with pytest.raises(RecordError, match=rf"1\.parquet: column {name} is missing"):
        read_batches(path)


def test_columns_are_read_by_name_and_a_new_one_has_its_default(tmp_path, monkeypatch):
    path = tmp_path / "1.parquet"
    pq.write_table(pa.table(columns(row(step=3)), schema=BATCHES).select(BATCHES.names[::-1]), path)
    assert read_batches(path).schema == BATCHES
    new = BATCHES.append(pa.field("energy_uj", pa.int64()))
    monkeypatch.setitem(storage.DEFAULTS, "energy_uj", 7)
    assert read_table(path, new).to_pylist() == [{**row(step=3), "energy_uj": 7}]


@pytest.mark.parametrize("name", ["other_us", "outside_us", "steal_us", "minor_faults", "peak_mib"])
def test_a_flipped_bit_in_the_name_of_a_column_is_refused(tmp_path, name):
    """No checksum covers names, and the column could be missing in an earlier file."""
    path = tmp_path / "turns.parquet"
    pq.write_table(TURNS.empty_table(), path)
    flipped = chr(ord(name[0]) ^ 1) + name[1:]
    path.write_bytes(path.read_bytes().replace(name.encode(), flipped.encode()))
    with pytest.raises(RecordError, match=rf"turns\.parquet: column '{flipped}' is none of same"):
        read_table(path, TURNS)


def test_rows_that_cannot_be_read_are_missed(tmp_path, monkeypatch):
    path = tmp_path / "1.parquet"
    write_batches(path, columns(row(), row(step=1)))
    read = pq.ParquetFile.iter_batches
    monkeypatch.setattr(
        pq.ParquetFile, "iter_batches", lambda *a, **k: (one.slice(1) for one in read(*a, **k))
    )
    with pytest.raises(RecordError, match=r"1\.parquet: 1 of 2 rows can be read"):
        read_batches(path)


def test_a_table_names_its_schema_and_a_newer_one_is_refused(tmp_path):
    path = tmp_path / "1.parquet"
    write_batches(path, columns(row()))
    assert pq.read_schema(path).metadata[storage.VERSION] == str(SCHEMA).encode()
    later = pa.table(columns(row()), schema=BATCHES).replace_schema_metadata({storage.VERSION: "9"})
    pq.write_table(later, path)
    with pytest.raises(RecordError, match="schema version 9, this samestep reads 2 to 4"):
        read_batches(path)


def test_a_column_of_another_type_is_refused(tmp_path):
    path = tmp_path / "1.parquet"
    table = pa.table(columns(row()), schema=BATCHES)
    index = BATCHES.get_field_index("step")
    pq.write_table(table.set_column(index, "step", table["step"].cast(pa.float64())), path)
    with pytest.raises(RecordError, match=r"column step: types differ \(double in the file, int32"):
        read_batches(path)


@pytest.mark.parametrize("content", [b"", b"PAR1 but not really", b"{}"])
def test_a_file_that_is_not_parquet_is_named(tmp_path, content):
    path = tmp_path / "1.parquet"
    path.write_bytes(content)
    with pytest.raises(RecordError, match=r"1\.parquet: not a readable Parquet file"):
        read_batches(path)


def test_json_keeps_numbers_that_are_not_finite(tmp_path):
    path = tmp_path / "row.json"
    who = {"framework": "f", "variant": "default", "device": "cpu", "threads": 1}
    measured = Measured(loss=[math.inf], weights={3: {"w": math.nan}})
    write_json(path, CertificateRow(**who, status="refused", long=measured, losses=[math.nan]))
    again = read_json(path, CertificateRow)
    assert again.long.loss == [math.inf] and math.isnan(again.losses[0])
    assert again.name == "f/default/cpu/1"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"version": "1", "commit": "c"}', "dirty: Field required"),
        ('{"version": "1", "commit": "c", "dirty": false, "more": 1}', "more: Extra inputs"),
        ('{"version": "1"', "Invalid JSON"),
        ("", "Invalid JSON"),
    ],
)
def test_damaged_json_is_named_with_its_field(tmp_path, content, message):
    path = tmp_path / "code.json"
    path.write_text(content)
    with pytest.raises(RecordError, match=message) as caught:
        read_json(path, Code)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[" + b"{}," * 5_000_000 + b"{}]", r"10,000,002 values, at most 9,000,000 are read"),
        (b" " * 150_000_001, r"unpacks to more than 150,000,000 bytes"),
        (b"{%s}" % b",".join(b'"%d":0' % i for i in range(100_001)), "an object of 100,001 keys"),
    ],
    ids=["values", "bytes", "keys"],
)
def test_a_small_file_that_becomes_too_much_is_refused(tmp_path, content, message):
    path = tmp_path / "code.json.zst"
    path.write_bytes(pa.Codec("zstd").compress(content, asbytes=True))
    with pytest.raises(RecordError, match=rf"code\.json\.zst: {message}"):
        read_json(path, Code)


@pytest.mark.parametrize("name", ["a\nb", "\x1b[31mred", "a\u202eb", "a\rb\u2028c"])
def test_a_folder_of_any_name_is_one_printable_line(tmp_path, name):
    (tmp_path / name).mkdir()
    for read in (read_batches, lambda path: read_json(path, Code)):
        with pytest.raises(RecordError) as caught:
            read(tmp_path / name / "code.json")
        assert str(caught.value).isprintable()


def test_a_missing_record_is_named(tmp_path):
    with pytest.raises(RecordError, match=r"none\.json: No such file"):
        read_json(tmp_path / "none.json", Code)


def test_a_failed_write_leaves_what_was_there_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "code.json"
    write_json(path, Code(version="1", commit="", dirty=False))
    before = path.read_bytes()
    monkeypatch.setattr(Contender, "model_dump", lambda *_, **__: 1 / 0)
    contender = Contender(framework="f", variant="v", device="cpu", threads=1)
    with pytest.raises(ZeroDivisionError):
        write_json(path, contender)
    assert path.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["code.json"]


def test_checks_stop_at_the_first_fault_of_a_list_and_of_an_object() -> None:
    """The descriptions of a million faults would take gigabytes."""
    row = {"losses": [None] * 1000, "gradients": {str(number): None for number in range(1000)}}
    with pytest.raises(ValidationError) as caught:
        CertificateRow.model_validate(row)
    assert caught.value.error_count() < 10


def test_only_files_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "pipe", tmp_path / "folder", Path(), Path("/"), Path("/dev/stdout")):
        with pytest.raises(OSError, match="this is no file"), atomic(path):
            raise AssertionError
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe"]
    (tmp_path / "link").symlink_to("pipe")
    with pytest.raises(OSError, match="this is no file"), atomic(tmp_path / "link"):
        raise AssertionError


@pytest.mark.parametrize("seconds", ["NaN", "-1", "1e300", "Infinity", "null"])
def test_times_that_cannot_be_are_refused(tmp_path, seconds):
    path = tmp_path / "spent.json"
    path.write_text(f'{{"seconds": {seconds}}}')
    with pytest.raises(RecordError, match=r"spent\.json: seconds: "):
        read_json(path, Spent)


@pytest.mark.parametrize(
    ("key", "value"), [("machine", "../x"), ("machine", ""), ("cores", 0), ("cores", 10**6)]
)
def test_a_request_that_no_machine_can_have_made_is_refused(tmp_path, key, value):
    path = tmp_path / "study.json"
    values = {"machine": "m", "cores": 2, "command": "c", "configuration": {}}
    path.write_text(json.dumps({**values, key: value}))
    with pytest.raises(RecordError, match=rf"study\.json: {key}: "):
        read_json(path, StudyRequest)


def test_a_path_that_is_no_text_is_said(tmp_path):
    path = tmp_path / "a\udcff" / "1.parquet"
    write_batches(tmp_path / "1.parquet", columns(row()))
    path.parent.mkdir()
    (tmp_path / "1.parquet").rename(path)
    with pytest.raises(RecordError, match="is no UTF-8: rename it"):
        read_batches(path)
