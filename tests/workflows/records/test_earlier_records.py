"""A machine's folder in its forms of today and before."""

import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.data.turns import whole_turns
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import write
from tests.conftest import ROOT
from workflows.planning.configfiles import notes_on_renamed
from workflows.records.columns import BATCHES
from workflows.records.earlier import renamed_keys
from workflows.records.limits import LONGEST_TURN
from workflows.records.machine_folder import (
    FILES,
    machine_files,
    open_machine,
    read_machine,
    write_machine,
)
from workflows.records.machine_records import MachineRecords
from workflows.records.schema import SCHEMA, ContestRecord, Measured, TurnRecord
from workflows.records.storage import (
    RecordError,
    read_batches,
    read_json,
    write_batches,
    write_json,
)
from workflows.stages import collect

SMALL = Recipe(workloads=("mnist-cnn",), replicates=2, rounds=2, controls=((0.0, 1.0), (0.1, 1.1)))


@pytest.fixture
def folder(tmp_path):
    """Records in today's words and in one file, with turns."""
    made = write(tmp_path / "machine", SMALL)
    records = read_json(made / "records.json", MachineRecords)
    for contest in records.contests:
        for position, name in enumerate(contest.order[0]):
            contest.turns.append(
                TurnRecord(
                    round=1, position=position, contender=name, start_ns=10**18 + position,
                    cores=1, duration_s=0.123457, switches=3, cpu_s=1e-06, waited_s=2.000001,
                    other_s=-0.001386, mhz=2000.0,
                )
            )  # fmt: skip
    write_json(made / "records.json", records)
    return made


def test_collect_rewrites_a_folder_in_the_compact_form(folder, monkeypatch):
    records, batches = read_machine(folder)
    assert any(contest.turns for contest in records.contests)
    assert [path.name for path in machine_files(folder)] == ["records.json", "batches.parquet"]
    monkeypatch.setattr("sys.argv", ["collect", str(folder)])
    assert collect.main() == 0
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    assert [path.name for path in machine_files(folder)] == list(FILES)
    again, table = read_machine(folder)
    assert again == records and table.equals(batches)
    with pytest.raises(SystemExit):
        monkeypatch.setattr("sys.argv", ["collect", str(folder / "nowhere")])
        collect.main()


def test_turns_of_a_contest_without_a_record_are_refused(folder, tmp_path):
    records, batches = read_machine(folder)
    write_machine(tmp_path / "compact", records, batches)
    path = tmp_path / "compact" / "turns.parquet"
    table = pq.read_table(path)
    strange = pa.array([9] * table.num_rows, pa.int16())
    pq.write_table(table.set_column(1, "replicate", strange), path)
    with pytest.raises(RecordError, match=r"turns of contest \('mnist-cnn', 9\)"):
        read_machine(tmp_path / "compact")


def repeated(path, rows):
    """The table of a file with its first row so often."""
    table = pq.read_table(path).slice(0, 1)
    pq.write_table(table.take(pa.array([0] * rows)), path, row_group_size=10_000)


def test_more_turns_than_the_contests_can_have_are_refused(folder, tmp_path):
    write_machine(tmp_path / "compact", *read_machine(folder))
    path = tmp_path / "compact" / "turns.parquet"
    table = pq.read_table(path)
    contests = read_json(folder / "records.json", MachineRecords).contests
    possible = sum(len(one.contenders) * (len(one.order) + 1) for one in contests)
    repeated(path, possible + 1)
    with pytest.raises(RecordError, match=rf"turns\.parquet: {possible + 1} turns, the contests"):
        read_machine(tmp_path / "compact")
    pq.write_table(table, path)
    assert read_machine(tmp_path / "compact")


@pytest.mark.parametrize("compact", [True, False])
def test_a_turn_without_end_is_refused_before_it_is_kept(folder, tmp_path, compact):
    if compact:
        write_machine(tmp_path / "compact", *read_machine(folder))
        folder = tmp_path / "compact"
    path = folder / "batches.parquet"
    repeated(path, LONGEST_TURN + 1)
    turns = whole_turns(path, open_machine(folder)[1].tables)
    with pytest.raises(RecordError, match=r"batches\.parquet: a turn of [\d,]+ rows or more"):
        assert sum(table.num_rows for table in turns) <= LONGEST_TURN
    repeated(path, LONGEST_TURN)
    turns = whole_turns(path, open_machine(folder)[1].tables)
    assert sum(table.num_rows for table in turns) == LONGEST_TURN


def as_schema_3(values):
    """The JSON of today's records in the words of schema 3, with `noop` under its former name."""
    was = {"slowed_by": "spin", "idle": "pause"}
    values = json.loads(json.dumps(values).replace("tensorflow", "nothing"))
    for contest in values["contests"]:
        contest["schema_version"] = 3
        contest["environment"] = contest.pop("system_info")
        contest["contenders"] = [
            {was.get(key, key): value for key, value in one.items()}
            for one in contest["contenders"]
        ]
    for certificate in values["certificates"]:
        certificate["schema_version"] = 3
    values["study"]["precision"] = values["study"].pop("target_precision")
    values["study"]["configuration"] = {
        "precision": 0.02, "harness": False, "contest": {"settle": 1, "rounds": 3},
    }  # fmt: skip
    values["traps"] = [
        {"framework": "pytorch", "variant": "v", "trap": "a trap", "beside": "default"}
    ]
    del values["pitfalls"]
    return {**values, "schema_version": 3}


def test_schema_3_is_read_in_the_words_of_today(folder, capsys):
    path = folder / "records.json"
    today = json.loads(path.read_text())
    path.write_text(json.dumps(as_schema_3(today)))
    table = read_batches(folder / "batches.parquet").to_pandas()
    for column in ("framework", "contender"):
        table[column] = table[column].str.replace("tensorflow", "nothing")
    write_batches(folder / "batches.parquet", pa.Table.from_pandas(table, preserve_index=False))
    records, batches = read_machine(folder)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{folder}: its records have schema 3, in which some fields had other")
    assert records.schema_version == SCHEMA
    assert records.study.target_precision == today["study"]["target_precision"]
    assert records.study.configuration == {
        "target_precision": 0.02, "noop": False, "contest": {"discard": 1, "rounds": 3},
    }  # fmt: skip
    assert [row.pitfall for row in records.pitfalls] == ["a trap"]
    contest, before = records.contests[0], today["contests"][0]
    assert contest.system_info == before["system_info"]
    assert [one.slowed_by for one in contest.contenders] == [
        one["slowed_by"] for one in before["contenders"]
    ]
    names = {one.name for one in contest.contenders}
    assert any(name.startswith("noop/") for name in names)
    assert {name for order in contest.order for name in order} <= names
    assert {turn.contender for turn in contest.turns} <= names
    assert set(batches["contender"].to_pylist()) <= names
    assert batches.schema == BATCHES


def test_a_contest_of_schema_3_is_read_alone(folder, tmp_path, capsys):
    values = as_schema_3(json.loads((folder / "records.json").read_text()))["contests"][0]
    (tmp_path / "1.json").write_text(json.dumps(values))
    assert read_json(tmp_path / "1.json", ContestRecord).schema_version == SCHEMA
    assert capsys.readouterr().err == ""  # which a study has by the hundred


@pytest.mark.parametrize("name", ["reference", "traps", "aa", "earlier"])
def test_committed_records_are_read(name):
    (folder,) = (ROOT / "reports" / name / "machines").iterdir()
    records, batches = read_machine(folder)
    assert records.schema_version == SCHEMA and batches.num_rows > 1000


def test_distances_are_recorded_to_ten_digits():
    run = Measured(loss=[1 / 3, math.inf], weights={0: {"dense1.bias": 2 / 3e15}})
    assert run.loss == [0.3333333333, math.inf]
    assert run.weights == {0: {"dense1.bias": 6.666666667e-16}}


def test_no_mini_batches_are_stored_too(folder, tmp_path):
    records, batches = read_machine(folder)
    write_machine(tmp_path / "empty", records, batches.slice(0, 0))
    assert read_machine(tmp_path / "empty")[1].equals(batches.slice(0, 0))


def test_a_former_key_takes_precedence_over_the_files_that_it_is_laid_over():
    values, used = renamed_keys({"noop": True, "harness": False, "contest": {"discard": 2}})
    assert values == {"noop": False, "contest": {"discard": 2}} and used == ["harness"]


def test_a_compact_folder_with_a_former_name_is_read():
    """It was collected by a samestep that called the no-op `nothing`."""
    (folder,) = (ROOT / "reports/repeats/other-host/first/machines").iterdir()
    records, batches = read_machine(folder)
    known = {one.name for contest in records.contests for one in contest.contenders}
    assert "noop/default/cpu/1" in set(batches["contender"].to_pylist()) <= known
    assert {turn.contender for contest in records.contests for turn in contest.turns} <= known


def test_a_key_that_is_gone_is_left_out_and_said():
    values = {"budget_minutes": 60, "harness": False}
    assert renamed_keys(values)[0] == {"noop": False}
    gone, renamed = notes_on_renamed(values, "my.yaml")
    assert gone.startswith("my.yaml: `budget_minutes` does nothing any more: `minutes`")
    assert renamed.startswith("my.yaml: `harness` is now called `noop`")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"contests": 5, "study": {}}, "contests: a list is wanted, got 5"),
        ({"contests": [], "study": 4}, "study: a dict is wanted, got 4"),
        ({"contests": []}, "study: this key is missing"),
    ],
)
def test_a_value_of_another_kind_is_named(tmp_path, values, said):
    path = tmp_path / "records.json"
    path.write_text(json.dumps({"schema_version": 3, **values}))
    with pytest.raises(RecordError, match=rf"records\.json: {said}"):
        read_json(path, MachineRecords)
