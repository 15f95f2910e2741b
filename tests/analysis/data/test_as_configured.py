"""Records that are not of their own configuration are refused: what is left out is named."""

from collections.abc import Callable

import pytest

from analysis.data.contradictions import contradictions
from tests.conftest import ROOT
from workflows.records.machine_folder import read_machine
from workflows.records.machine_records import MachineRecords, MissingRow
from workflows.records.schema import ContenderRecord

STUDY = ROOT / "reports" / "ablation"
TUNED = "tensorflow/tuned/cpu/1"


@pytest.fixture(scope="module")
def measured() -> MachineRecords:
    (folder,) = (STUDY / "machines").iterdir()
    return read_machine(folder)[0]


def leave_out(records: MachineRecords, gone: Callable[[ContenderRecord], bool]) -> None:
    for contest in records.contests:
        names = {one.name for one in contest.contenders if gone(one)}
        contest.contenders = [one for one in contest.contenders if one.name not in names]
        contest.order = [[one for one in order if one not in names] for order in contest.order]
        contest.turns = [turn for turn in contest.turns if turn.contender not in names]


def without_workload(records: MachineRecords) -> None:
    records.contests = [one for one in records.contests if one.workload != "mlp"]
    for contest in records.contests:
        contest.place, contest.group = 0, ""
    records.certificates = [one for one in records.certificates if one.workload != "mlp"]
    records.datasets = [one for one in records.datasets if one.workload != "mlp"]
    records.workloads = [one for one in records.workloads if one.name != "mlp"]


def without_third(records: MachineRecords) -> None:
    records.contests = [one for one in records.contests if one.replicate != 3]


def other_titles(**titles: str) -> Callable[[MachineRecords], None]:
    return lambda records: records.study.titles.update(titles)


def unasked(records: MachineRecords) -> None:
    row = {"framework": "mxnet", "variant": "default", "device": "cpu", "threads": 1}
    records.missing.append(MissingRow(**row, reason="wrong results"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: leave_out(one, lambda c: c.name == TUNED),
         "contenders: tensorflow tuned cpu: in the configuration, and not in the records"),
        (lambda one: leave_out(one, lambda c: c.framework == "jax"), "contenders: jax "),
        (lambda one: leave_out(one, lambda c: c.variant.endswith("+10%")),
         "contests: without the controls 10%"),
        (lambda one: one.contests[0].contenders.remove(
            next(c for c in one.contests[0].contenders if c.name == TUNED)),
         "without tensorflow/tuned/cpu/1, which others have"),
        (without_workload, "workloads: mlp: in the configuration, and not in the records"),
        (without_third, "has the replicates [1, 2, 4, 5], of 5"),
        (unasked, "contenders: mxnet default cpu: in the records, and not in the configuration"),
        (lambda one: one.study.configuration.update(threads=[1, 64]), "with threads [64]"),
        (lambda one: one.study.configuration.update(threads=[1, "all"]), "with threads [2]"),
        (other_titles(pytorch="TensorFlow", tensorflow="PyTorch"),
         "'TensorFlow' is a name of tensorflow, too"),
        (other_titles(mine="Py Torch"), "study.titles: 'Py Torch' is a name of pytorch, too"),
        (other_titles(mine="\uff2a\uff21\uff38"), "is a name of jax, too"),
        (lambda one: setattr(one.contests[3], "order", one.contests[0].order), "its order is that"),
        (lambda one: setattr(one.contests[0].turns[0], "cores", 2), "cores: 2 in a turn of"),
        (lambda one: one.study.configuration["contenders"].append({"framework": 10**1500}),
         f"and 1{39 * '0'}: in the configuration, and not in the records"),
        (lambda one: one.study.configuration["contenders"][0].update(devices=["cpu", "9" * 1500]),
         f"contenders: pytorch default {24 * '9'}, "),
    ],
)  # fmt: skip
def test_what_the_configuration_does_not_say(
    measured: MachineRecords, change: Callable[[MachineRecords], None], said: str
) -> None:
    assert not [*contradictions(measured)]
    records = measured.model_copy(deep=True)
    change(records)
    faults = [*contradictions(records)]
    assert any(said in fault for fault in faults), faults
    assert max(map(len, faults)) <= 200
