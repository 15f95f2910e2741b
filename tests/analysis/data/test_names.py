"""Names become files, and sizes become memory: what is none, or too large, is refused."""

import json
import random
from pathlib import Path
from typing import Any, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import TypeAdapter

from analysis.data import turns
from analysis.data.reading import load
from analysis.findings.machine import machine_lines
from tests.analysis.data.conftest import Refused
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import write
from tests.analysis.turns import stored, with_turns
from tests.conftest import ROOT
from workflows.planning.configfiles import read
from workflows.planning.configuration import Configuration
from workflows.planning.entries import ContenderEntry, ContestEntry, ControlsEntry
from workflows.records import kinds, limits, storage
from workflows.records.columns import BATCHES
from workflows.records.machine_folder import read_machine, write_machine
from workflows.records.machine_records import MachineRecords
from workflows.records.storage import LAST, RecordError, read_json

SMALL = Recipe(
    workloads=("mnist-cnn",), threads=(1,), variants=("default",), replicates=2, rounds=2,
    controls=((0.0, 1.0),), controlled="default",
    pitfalls={("pytorch", "trap-x"): ("label", 1.5, 0)},
)  # fmt: skip
PLACES = {
    "study.name": ("study", "name"),
    "study.reference": ("study", "reference"),
    "machine": ("machine",),
    "workloads.0.name": ("workloads", 0, "name"),
    "datasets.0.workload": ("datasets", 0, "workload"),
    "contests.0.workload": ("contests", 0, "workload"),
    "contests.0.group": ("contests", 0, "group"),
    "contests.0.machine": ("contests", 0, "machine"),
    "contests.0.study": ("contests", 0, "study"),
    "contests.0.order.0.0": ("contests", 0, "order", 0, 0),
    "contests.0.contenders.0.framework": ("contests", 0, "contenders", 0, "framework"),
    "contests.0.contenders.0.variant": ("contests", 0, "contenders", 0, "variant"),
    "contests.0.contenders.0.device": ("contests", 0, "contenders", 0, "device"),
    "certificates.0.framework": ("certificates", 0, "framework"),
    "certificates.0.rows.0.variant": ("certificates", 0, "rows", 0, "variant"),
    "certificates.0.reference": ("certificates", 0, "reference"),
    "pitfalls.0.beside": ("pitfalls", 0, "beside"),
    "missing.0.framework": ("missing", 0, "framework"),
}
CONFIGURED, AROUND = ("study", "configuration"), ("contests", 0, "system_info")
ROW = ("certificates", 0, "rows", 0)
STRANGE = ("../../x", "/etc/x", "..", "a b", "a\nb", "<b>", "=1+1", "-x", "x" * 500)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("names") / "one", SMALL)


@pytest.fixture
def one(whole: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "one"
    folder.mkdir()
    for path in whole.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def put(folder: Path, place: tuple[Any, ...], value: Any) -> None:
    values = json.loads((folder / "records.json").read_text())
    *way, last = place
    here = values
    for key in way:
        here = here[key]
    here[last] = value
    (folder / "records.json").write_text(json.dumps(values))


@pytest.mark.parametrize("key", PLACES)
def test_a_name_that_is_none(one: Path, key: str, refused: Refused) -> None:
    for name in STRANGE:
        put(one, PLACES[key], name)
        assert f"records.json: {key}: " in refused(one)


@pytest.mark.parametrize("column", ["study", "machine", "workload", "contender", "variant"])
def test_a_name_in_a_table(one: Path, column: str, refused: Refused) -> None:
    path = one / "batches.parquet"
    table = pq.read_table(path)
    for name in STRANGE:
        strange = pa.array([name] * table.num_rows)
        at = table.schema.get_field_index(column)
        pq.write_table(table.set_column(at, column, strange), path)
        assert f"batches.parquet: column {column}: " in refused(one)


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("study", "replicates"), 10**6, "study.replicates"),
        (("study", "margin"), float("nan"), "study.margin"),
        (("study", "confidence"), 2, "study.confidence"),
        (("study", "configuration", "x"), "x" * 30_000, "study.configuration: a text of"),
        (("study", "configuration", "x"), 10**400, "study.configuration: a number of more"),
        ((*CONFIGURED, "threads"), -1, "study.configuration.threads: "),
        ((*CONFIGURED, "threads"), [True], "study.configuration.threads.0"),
        ((*CONFIGURED, "devices"), 1e308, "study.configuration.devices: "),
        ((*CONFIGURED, "contenders"), [{"threads": -1}], "study.configuration.contenders.0.thr"),
        ((*CONFIGURED, "contenders"), [{"variants": True}], "study.configuration.contenders.0.v"),
        ((*CONFIGURED, "contenders"), {}, "study.configuration.contenders: "),
        ((*CONFIGURED, "controls"), -1, "study.configuration.controls"),
        ((*CONFIGURED, "controls", "handicaps"), ["x"], "study.configuration.controls"),
        ((*CONFIGURED, "sweeps"), -1, "study.configuration.sweeps: "),
        ((*CONFIGURED, "sweeps", "x"), {}, "study.configuration.sweeps.x: a sweep needs `sizes`"),
        ((*CONFIGURED, "contest", "turn"), -1, "study.configuration.contest.turn: "),
        ((*CONFIGURED, "contest", "turn"), 0, "study.configuration.contest.turn: "),
        ((*CONFIGURED, "contest", "turn"), True, "study.configuration.contest.turn: "),
        ((*CONFIGURED, "contest", "discard"), 10**17, "study.configuration.contest.discard: "),
        ((*CONFIGURED, "contest", "timeout_s"), "soon", "study.configuration.contest.timeout_s: "),
        ((*AROUND, "cpu"), -1, "contests.0.system_info.cpu: "),
        ((*AROUND, "cpu", "model"), {"a": {"b": 1}}, "contests.0.system_info.cpu.model: "),
        ((*AROUND, "cpu", "caches_kib"), {"L2": "1"}, "contests.0.system_info.cpu.caches_kib.L2"),
        ((*AROUND, "system", "boot"), {"a": 1}, "contests.0.system_info.system.boot: "),
        ((*AROUND, "cpu", "available"), [0, -1], "contests.0.system_info.cpu.available.1: "),
        ((*AROUND, "memory", "total_gib"), "24", "contests.0.system_info.memory.total_gib: "),
        ((*AROUND, "memory", "total_gib"), 1e300, "contests.0.system_info.memory.total_gib: "),
        (("study", "title"), "x" * 30_000, "study.title"),
        (("contests", 0, "duration_s"), -1, "contests.0.duration_s"),
        (("contests", 0, "duration_s"), float("inf"), "contests.0.duration_s"),
        (("contests", 0, "started"), "yesterday", "contests.0.started: not a time"),
        (("contests", 0, "started"), "2026-01-01T10:00:00", "contests.0.started: not a time"),
        (("contests", 0, "contenders", 0, "threads"), 10**5, "contests.0.contenders.0.threads"),
        (("contests", 0, "contenders", 0, "took_s"), -3, "contests.0.contenders.0.took_s"),
        (("contests", 0, "contenders", 1), {"$ref": 1}, "contests.0.contenders.1"),
        (("certificates", 0, "rows", 0, "long", "loss", 3), -1, "certificates.0.rows.0.long.loss"),
        ((*ROW, "gradients"), {"a": -1e30}, "certificates.0.rows.0.gradients.a: a distance is not"),
        ((*ROW, "rounding"), {"a": -1e30}, "certificates.0.rows.0.rounding.a: a distance is not"),
        ((*ROW, "attainable"), {"a": -1.0}, "certificates.0.rows.0.attainable.a: a distance is"),
        ((*ROW, "restarted"), [-1e30], "certificates.0.rows.0.restarted.0: a distance is not"),
        ((*ROW, "float32"), [-1e30], "certificates.0.rows.0.float32.0: a distance is not neg"),
        ((*ROW, "again"), [-1e30], "certificates.0.rows.0.again.0: a distance is not negative"),
        (("workloads", 0, "parameters"), -1, "workloads.0.parameters"),
        (("workloads", 0, "description", "dataset", "kind"), ["x"] * 900, "workloads.0.desc"),
        (("workloads", 0, "description", "batch"), 10**12, "workloads.0.description: batch"),
    ],
)
def test_a_value_that_cannot_be(
    one: Path, place: tuple[Any, ...], value: Any, said: str, refused: Refused
) -> None:
    put(one, place, value)
    assert f"records.json: {said}" in refused(one)


def test_the_kinds_are_those_of_a_configuration() -> None:
    """Reading checks the kinds of the configuration's own keys, and changes none of the values."""
    assert get_type_hints(kinds.Configuration).keys() <= Configuration.model_fields.keys()
    assert get_type_hints(kinds.Deal).keys() <= ContestEntry.model_fields.keys()
    assert get_type_hints(kinds.Controls).keys() <= ControlsEntry.model_fields.keys()
    assert get_type_hints(kinds.Contenders).keys() <= ContenderEntry.model_fields.keys()
    for file in (ROOT / "config").glob("*.yaml"):
        asked = read([ROOT / "config" / "study.yaml", file]).measured()
        assert repr(TypeAdapter(kinds.Asked).validate_python(asked)) == repr(asked)


def test_any_other_facts_may_change_between_contests(one: Path) -> None:
    for number, value in enumerate(([[1], [[2]]], [[1], [[3]]])):
        put(one, ("contests", number, "system_info", "else"), value)
    lines = {line.key: line.value for line in machine_lines(load([one])[0])}
    assert lines["else"] == "1, 2 to 3"


def test_what_is_too_deep(one: Path, refused: Refused) -> None:
    put(one, ("study", "configuration", "x"), json.loads("[" * 50 + "]" * 50))
    assert "study.configuration: more than 20 levels deep" in refused(one)
    (one / "records.json").write_text("[" * 10**5)
    assert "records.json: file: Invalid JSON" in refused(one)


def test_a_bomb_is_refused_before_it_is_unpacked(
    one: Path, tmp_path: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half a gigabyte of spaces takes 50 kB."""
    folder = tmp_path / "compact"
    write_machine(folder, *read_machine(one))
    bomb = pa.Codec("zstd").compress(b"[" + b" " * (storage.BYTES + 1), asbytes=True)
    assert len(bomb) < storage.BYTES / 1000
    (folder / "records.json.zst").write_bytes(bomb)
    assert "records.json.zst: unpacks to more than" in refused(folder)
    (folder / "records.json.zst").write_bytes(bomb[:100])
    assert "records.json.zst: " in refused(folder)


def test_a_file_that_is_too_large(
    one: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(storage, "BYTES", 1000)
    assert "records.json: " in refused(one)
    monkeypatch.setattr(storage, "BYTES", (one / "records.json").stat().st_size)
    with (one / "batches.parquet").open("ab") as file:
        file.truncate(limits.TABLE + 1)  # without taking space
    assert "batches.parquet: 17,179,869,185 bytes, at most" in refused(one)


def test_too_many_rows(one: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(storage, "ROWS", 10)
        with pytest.raises(RecordError, match=r"batches\.parquet: .* rows, at most 10 .* at once"):
            read_machine(one)
    monkeypatch.setattr(storage, "READ", 2)
    monkeypatch.setattr(turns, "LONGEST_TURN", 3)
    assert "batches.parquet: a turn of 4 rows or more, at most 3 are read" in refused(one)
    monkeypatch.setattr(storage, "ALL_ROWS", 10)
    assert "batches.parquet: " in (said := refused(one)) and "rows, at most 10" in said


def test_a_long_text_in_every_row_takes_no_memory(one: Path, refused: Refused) -> None:
    table = pq.read_table(one / "batches.parquet")
    long = pa.DictionaryArray.from_arrays(pa.array([0] * table.num_rows), ["x" * 10**6])
    columns = [long if name == "machine" else table[name] for name in BATCHES.names]
    pq.write_table(pa.table(columns, names=BATCHES.names), one / "batches.parquet")
    assert "column machine: a text of 1,000,000 bytes" in refused(one)


def test_what_is_no_file(one: Path, refused: Refused) -> None:
    (one / "records.json").unlink()
    (one / "records.json").mkdir()
    assert "records.json: not a file" in refused(one)


def test_a_changed_byte_of_a_page_is_found(one: Path, tmp_path: Path, refused: Refused) -> None:
    """By its checksum: the table could be read, with other numbers."""
    folder = tmp_path / "compact"
    records, table = read_machine(one)
    write_machine(folder, records, stored(with_turns(records, table)))
    path = folder / "batches.parquet"
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(BATCHES.names.index("loss") - 7)
    content = bytearray(path.read_bytes())
    content[chunk.data_page_offset + chunk.total_compressed_size - 5] ^= 1
    path.write_bytes(content)
    assert "batches.parquet: not a readable Parquet file" in refused(folder)


def test_a_changed_byte_of_the_records_is_found(
    one: Path, tmp_path: Path, refused: Refused
) -> None:
    """By the digest of their content; records of before it are read without."""
    folder = tmp_path / "compact"
    write_machine(folder, *read_machine(one))
    path = folder / "records.json.zst"
    content = path.read_bytes()
    whole = read_json(path, MachineRecords)
    draw = random.Random(1)
    for place in (*range(-LAST, 0), *draw.sample(range(len(content)), 200)):
        changed = bytearray(content)
        changed[place] ^= 1 << draw.randrange(8)
        path.write_bytes(changed)
        try:
            assert read_json(path, MachineRecords) == whole  # some bits mean nothing
        except RecordError as error:
            assert str(error).startswith(f"{path}: ")
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert "records.json.zst: damaged: it does not unpack to what was written" in refused(folder)
    path.write_bytes(pa.Codec("zstd").compress((one / "records.json").read_bytes(), asbytes=True))
    assert read_json(path, MachineRecords).study == whole.study


def test_versions_and_types_of_any_length(one: Path, refused: Refused) -> None:
    path = one / "batches.parquet"
    table = pq.read_table(path)
    for version in ("-1", "1", "99", "9" * 4000):
        metadata = {storage.VERSION: version.encode()}
        pq.write_table(table.replace_schema_metadata(metadata), path)
        assert f"batches.parquet: schema version {version[:50]}" in refused(one)
    long = pa.array([{"x" * 60_000: 1}] * table.num_rows)
    at = table.schema.get_field_index("step_ns")
    pq.write_table(table.set_column(at, "step_ns", long), path)
    assert "column step_ns: types differ (struct<xxx" in refused(one)


def test_an_error_that_nobody_has_thought_of_is_one_line(
    one: Path, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("analysis.data.reading.part_of", lambda *_, **__: {}["x\ny"])
    assert "these records cannot be used (KeyError: 'x\\ny')" in refused(one)
