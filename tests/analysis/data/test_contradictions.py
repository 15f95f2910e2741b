"""Records that contradict themselves or their mini-batches are refused by name."""

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pyarrow.compute as pc
import pytest

from analysis.data.reading import load
from tests.analysis.data.conftest import SMALL, WHO, stored
from tests.analysis.synthetic import write
from workflows.records.machine_folder import read_machine
from workflows.records.machine_records import MachineRecords, MissingRow
from workflows.records.schema import ContenderRecord, TurnRecord
from workflows.records.storage import RecordError, write_batches


def measured(records: MachineRecords) -> ContenderRecord:
    return next(one for one in records.contests[0].contenders if one.name == WHO)


def controlled(records: MachineRecords) -> ContenderRecord:
    """The one that is slowed by a tenth."""
    return next(one for one in records.contests[0].contenders if one.variant.endswith("+10%"))


def ask_for(records: MachineRecords, contender: ContenderRecord) -> None:
    """Have the contender in the configuration."""
    names = contender.framework, contender.variant, contender.device
    entry = {"framework": names[0], "variants": [names[1]], "devices": [names[2]]}
    records.study.configuration["contenders"].append({**entry, "threads": [contender.threads]})


def put_loss(records: MachineRecords, distance: float) -> None:
    run = records.certificates[0].rows[0].long
    assert run
    run.loss[3] = distance


def take(turn: TurnRecord, seconds: float) -> None:
    turn.cpu_s = turn.other_s = turn.elsewhere_s = turn.steal_s = seconds


def forget_turns(records: MachineRecords) -> None:
    """Of today's records, which say what compilers' caches held."""
    measured(records).caches["xla"] = "off"
    records.contests[0].turns.clear()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda turns: turns.pop(), "no turn of .* in round 3, which its order has"),
        (lambda turns: turns.append(turns[0]), "two turns of"),
        (lambda turns: setattr(turns[3], "duration_s", 1e-6), "not within its recorded turn"),
        (lambda turns: setattr(turns[3], "start_ns", 10**18), "but its turns were at another time"),
        (lambda turns: setattr(turns[3], "position", 99), "no turn is recorded there"),
        (lambda turns: setattr(turns[-1], "round", 99), "no turn of .* in round 3"),
        (lambda turns: setattr(turns[3], "duration_s", 900.0), "began before that of .* had ended"),
        (lambda turns: setattr(turns[3], "switches", 10**6), "column switches: .* are recorded"),
        (lambda turns: take(turns[3], 0.0), "column cpu_ns: .* far more than is recorded"),
        *(
            (lambda turns, field=field: setattr(turns[3], field, 1e6), f"{key}: 1e.06 ")
            for field, key in (
                ("cpu_s", "cpu_us"),
                ("steal_s", "steal_us"),
                ("other_s", "other_us"),
                ("elsewhere_s", "elsewhere_us"),
                ("pressure_s", "pressure_us"),
                ("waited_s", "waited_us"),
                ("outside_s", "outside_us"),
                ("peak_mib", "peak_mib"),
            )
        ),
        (lambda turns: setattr(turns[3], "package_j", 1e11), "package_j: 1e.11 "),
        (lambda turns: setattr(turns[3], "throttles", 2**60), "throttles: 1.15292e.18 in a turn"),
        (lambda turns: setattr(turns[3], "major_faults", 1e11), "major_faults: 1e.11 in a turn"),
        (lambda turns: setattr(turns[3], "minor_faults", 1e11), "minor_faults: 1e.11 in a turn"),
        (lambda turns: setattr(turns[3], "gpu_j", 1e11), "gpu_j: 1e.11 "),
        (lambda turns: setattr(turns[3], "cores", 99), "cores: 99 in a turn of .*, at most 1 can"),
    ],
)
def test_turns_that_contradict(
    whole: tuple[MachineRecords, pd.DataFrame], tmp_path: Path, change: Callable[..., None],
    said: str,
) -> None:  # fmt: skip
    records = whole[0].model_copy(deep=True)
    change(records.contests[0].turns)
    with pytest.raises(RecordError, match=said):
        load([stored(tmp_path, records, whole[1])])


def test_mini_batches_of_a_contender_that_was_not_measured(
    whole: tuple[MachineRecords, pd.DataFrame], tmp_path: Path
) -> None:
    records = whole[0].model_copy(deep=True)
    one = measured(records)
    one.status, one.reason = "missing", "it is not there"
    with pytest.raises(RecordError, match="which no contest record says was measured"):
        load([stored(tmp_path, records, whole[1])])


def test_a_measured_contender_without_mini_batches(
    whole: tuple[MachineRecords, pd.DataFrame], tmp_path: Path
) -> None:
    records = whole[0].model_copy(deep=True)
    nobody = measured(records).model_copy(update={"variant": "other"})
    for contest in records.contests:
        contest.contenders.append(nobody)
    ask_for(records, nobody)
    with pytest.raises(RecordError, match=r"no mini-batches of .*, which a contest record says"):
        load([stored(tmp_path, records, whole[1])])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: one.contests.append(one.contests[0]), "contests: .* is there twice"),
        (lambda one: one.contests[0].contenders.append(one.contests[0].contenders[0]), "twice"),
        (lambda one: one.workloads.append(one.workloads[0]), "workloads: .* is there twice"),
        (lambda one: one.contests[0].order[0].append("jax/x/cpu/1"), "has jax/x/cpu/1, no cont"),
        (
            lambda one: setattr(one.contests[0].turns[0], "contender", "jax/x/cpu/1"),
            "a turn of jax/x/cpu/1, no contender",
        ),
        (lambda one: setattr(one.contests[0], "machine", "b"), "contests: machine b, but"),
        (lambda one: setattr(one.certificates[0], "study", "b"), "certificates: study b, but"),
        (lambda one: one.certificates[0].rows[0].long.loss.pop(), "none of the 99 steps"),
        (lambda one: forget_turns(one), "no turn of .* in round 1, which its order has"),
        (lambda one: one.contests[0].turns.clear(), "no turn of .* in round 1, which its order"),
        (lambda one: setattr(one.contests[0], "place", 1), r"place: \[1\] of its workloads"),
        (
            lambda one: setattr(measured(one), "reason", "it fell"),
            "is ok, and its reason is 'it fell'",
        ),
        (lambda one: setattr(measured(one), "cores", list(range(99))), "cores: 99 of .* has 2"),
        (lambda one: setattr(measured(one), "cores", [7]), "cores: 7 of .* the contest did not"),
        (lambda one: setattr(measured(one), "idle_mib", 1e9), "idle_mib: 1e.09 of"),
        (lambda one: setattr(measured(one), "import_s", 1e4), f"import_s: 10000 of {WHO}, in"),
        (lambda one: setattr(measured(one), "build_s", 1e4), "build_s: 10000 of"),
        (lambda one: setattr(measured(one), "took_s", 1e4), "took_s: 10000 of"),
        (lambda one: setattr(measured(one), "late_s", 1e4), "late_s: 10000 of"),
        (lambda one: setattr(measured(one), "late_s", -1e4), "late_s: -10000 of"),
        (
            lambda one: setattr(measured(one), "operations", {"a": 6e3, "b": 6e3}),
            f"operations: 12000 of {WHO}, in",
        ),
        (
            lambda one: one.contests[0].system_info["cpu"].update(available=[0] * 9),
            "available: 0 is",
        ),
        (lambda one: setattr(one.certificates[0], "rounding", 0.9), "rounding: 9e-01; no certif"),
        (lambda one: setattr(one.certificates[0], "float32_loss", 0.9), "float32_loss: 9e-01; no"),
        (lambda one: setattr(one.certificates[0], "declared_steps", 0), "declared_steps: 0"),
        (
            lambda one: setattr(one.certificates[0], "reference", "a/b/cpu/1"),
            "reference: a/b/cpu/1",
        ),
        (lambda one: put_loss(one, 0.5), "'agrees', but it is 5.0e-01 off"),
        (lambda one: put_loss(one, math.nan), "'agrees', but it is nan off"),
        (lambda one: setattr(one.certificates[0].rows[0], "long", None), "no step was compared"),
        (lambda one: setattr(one.certificates[0], "tolerance", 1e11), "no certificate allows"),
        (lambda one: setattr(one.certificates[0], "steps", 10**6), "steps is 1000000"),
        (lambda one: one.certificates[0].rows.clear(), "rows: there is none"),
        (lambda one: one.certificates.append(one.certificates[0]), "certificates: .* there twice"),
        (lambda one: one.datasets.append(one.datasets[0]), "datasets: .* is there twice"),
        (lambda one: setattr(one.datasets[0], "batches", 9), "has 9 mini-batches of"),
        (lambda one: setattr(one.datasets[0], "samples", 60_031), "has 60031 samples, but its wor"),
        (
            lambda one: setattr(one.datasets[0], "kind", "normal"),
            "is of kind 'normal', but 'mnist'",
        ),
        (lambda one: setattr(one.datasets[0], "seed", 2), "has seed 2, but the study's is 1"),
        (
            lambda one: one.study.configuration.update(mnist={"source": "stand-in"}),
            "'stand-in' was",
        ),
        (lambda one: setattr(one.workloads[0], "parameters", 0), "parameters: 0, its description"),
        (
            lambda one: setattr(one.study, "titles", {"pytorch": "X", "tensorflow": "X"}),
            "study.titles: X is there twice",
        ),
        (
            lambda one: one.missing.append(MissingRow(**measured(one).identity(), reason="none")),
            "was measured, and is listed as missing",
        ),
        (
            lambda one: setattr(one.contests[0], "started", "2199-01-01T00:00:00+00:00"),
            "started: 2199",
        ),
        (lambda one: setattr(one.contests[0], "duration_s", 5e6), "a day more than its turns"),
        (
            lambda one: setattr(one.contests[0], "duration_s", 1e-3),
            "duration_s: 0, but its turns took",
        ),
        (
            lambda one: setattr(one.workloads[0], "flops_per_step", 7),
            "flops_per_step: 7, its descr",
        ),
        (
            lambda one: setattr(one.workloads[0], "bytes_per_step", 7),
            "bytes_per_step: 7, its descr",
        ),
        (lambda one: one.workloads[0].description.update(name="b"), "name: mnist-cnn, its descr"),
        (lambda one: setattr(controlled(one), "slowed_by", 0.2), "slowed_by, loader: 0.2, '' of"),
        (lambda one: setattr(controlled(one), "slowed_by", 0.0), "slowed_by, loader: 0, '' of"),
        (lambda one: setattr(controlled(one), "loader", "inline"), "slowed_by, loader: 0.1, 'inl"),
        (
            lambda one: setattr(controlled(one), "runs", "default"),
            "runs: 'default' of pytorch/tuned.10%",
        ),
        (
            lambda one: setattr(controlled(one), "runs", ""),
            r"pytorch tuned\+10% cpu: in the records",
        ),
        (
            lambda one: (ask_for(one, controlled(one)), setattr(controlled(one), "runs", "")),
            "runs: '' of pytorch/tuned.10%",
        ),
        (
            lambda one: setattr(measured(one), "slowed_by", 0.1),
            f"slowed_by, loader: 0.1, '' of {WHO}",
        ),
        *(
            (
                lambda one, key=key: one.study.configuration.update({key: 0.9}),
                f"study: its {key} is",
            )
            for key in (
                "margin",
                "confidence",
                "target_precision",
                "replicates",
                "reference",
                "title",
            )
        ),
        (lambda one: setattr(one.study, "confidence", 0.99999), "study.confidence: "),
    ],
)
def test_records_that_contradict(
    whole: tuple[MachineRecords, pd.DataFrame], tmp_path: Path, change: Callable[..., None],
    said: str,
) -> None:  # fmt: skip
    records = whole[0].model_copy(deep=True)
    change(records)
    with pytest.raises(RecordError, match=rf"records\.json\.zst: .*{said}"):
        load([stored(tmp_path, records, whole[1])])


def test_rounds_that_are_nowhere(
    whole: tuple[MachineRecords, pd.DataFrame], tmp_path: Path
) -> None:
    """Neither in the orders, nor among the turns and mini-batches, but in the configuration. With
    earlier records, which have no orders of their own, mini-batches are counted."""
    records = whole[0].model_copy(deep=True)
    for contest in records.contests:
        contest.order.pop()
        contest.turns = [turn for turn in contest.turns if turn.round < 3]
    rows = whole[1][whole[1]["round"] < 3]
    with pytest.raises(RecordError, match=r"replicate 1: its order has 2 rounds, of 3"):
        load([stored(tmp_path, records, rows)])
    folder = write(tmp_path / "earlier", SMALL)
    write_batches(folder / "batches.parquet", read_machine(folder)[1].filter(pc.field("round") < 3))
    with pytest.raises(RecordError, match=r"batches\.parquet: .* has 17 mini-batches, of 23"):
        load([folder])


@pytest.mark.parametrize("timeout_s", [600, 86_400])
def test_a_contest_may_wait_for_an_answer(
    whole: tuple[MachineRecords, pd.DataFrame], tmp_path: Path, timeout_s: float
) -> None:
    """Of each contender, a day if the configuration says so."""
    records = whole[0].model_copy(deep=True)
    records.study.configuration["contest"]["timeout_s"] = timeout_s
    contest = records.contests[0]
    contest.duration_s = 3.5 * 86_400
    began = datetime.fromtimestamp(contest.turns[0].start_ns / 1e9, UTC)
    contest.started = (began - timedelta(days=2)).isoformat(timespec="seconds")
    folder = stored(tmp_path, records, whole[1])
    if timeout_s > 600:
        assert load([folder])
    else:
        with pytest.raises(RecordError, match="duration_s: 302400, a day more than its turns"):
            load([folder])


@pytest.mark.parametrize(
    "counted",
    [
        {"waited_s": 27.0, "cpu_s": 0.0, "other_s": None},  # many threads; none are left
        {"cpu_s": 0.0, "other_s": 9.0, "elsewhere_s": 0.0, "steal_s": 0.0},
        {"pressure_s": 2.1, "other_s": -0.3, "steal_s": 1.0},
        {"package_j": 262_144.0},  # its counter started again, as after a pause
    ],
)
def test_what_a_turn_may_count(
    whole: tuple[MachineRecords, pd.DataFrame], tmp_path: Path, counted: dict[str, float | None]
) -> None:
    records = whole[0].model_copy(deep=True)
    for turn in records.contests[0].turns:
        for field, value in counted.items():
            setattr(turn, field, value)
    assert load([stored(tmp_path, records, whole[1])])
