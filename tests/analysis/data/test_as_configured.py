"""Records that are not of their own configuration are refused: what is left out is named."""

from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError

from analysis.data.as_configured import SAID, SCHEDULE, size_faults
from analysis.data.contradictions import contradictions
from frameworks.description import PARTS
from frameworks.formats import FORMATS
from frameworks.workloads import load
from tests.conftest import ROOT
from workflows.records.machine_folder import read_machine
from workflows.records.machine_records import (
    ChangeRow,
    MachineRecords,
    MissingRow,
    PartRow,
    PitfallRow,
    ReducedRow,
)
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


def without_setting(name: str) -> Callable[[MachineRecords], None]:
    def change(records: MachineRecords) -> None:
        for contest in records.contests:
            for one in contest.contenders:
                if one.name == "jax/default/cpu/1":
                    one.settings.pop(name)

    return change


def without_weights(records: MachineRecords) -> None:
    """Of all contenders, after timed turns. The study itself is older than the round to read."""
    for certificate in records.certificates:
        if certificate.turns:
            certificate.turns.read = 1
    for contest in records.contests:
        for one in contest.contenders:
            one.weights = {}


def sizes(**given: Any) -> Callable[[MachineRecords], None]:
    return lambda records: records.study.configuration["workloads"].update(mlp=given)


def missing(framework: str, threads: int) -> Callable[[MachineRecords], None]:
    row = {"framework": framework, "variant": "default", "device": "cpu", "threads": threads}
    return lambda records: records.missing.append(MissingRow(**row, reason="wrong results"))


def change(variant: str, beside: str) -> Callable[[MachineRecords], None]:
    row = ChangeRow(framework="jax", variant=variant, change="a layer", beside=beside)
    return lambda records: records.changes.append(row)


def beside_in(key: str, kind: type, **more: Any) -> Callable[[MachineRecords], None]:
    row = kind(framework="jax", variant="tuned", beside="default", **more)
    return lambda records: setattr(records, key, [row])


def refer_to(number: int | None, name: str) -> Callable[[MachineRecords], None]:
    def refer(records: MachineRecords) -> None:
        for one in records.certificates[:1] if number == 0 else records.certificates:
            one.reference = name

    return refer


def certified(**parts: Any) -> Callable[[MachineRecords], None]:
    def add(records: MachineRecords) -> None:
        rows = records.certificates[0].rows
        rows.append(rows[0].model_copy(update=parts))

    return add


def fallen(records: MachineRecords) -> None:
    one = records.missing[0]
    contender = records.contests[0].contenders[0]
    update = {
        **one.identity(),
        "status": "failed",
        "reason": "it fell",
        "runs": "",
        "slowed_by": 0.0,
    }
    records.contests[0].contenders.append(contender.model_copy(update=update))


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
        (missing("mxnet", 1),
         "contenders: mxnet default cpu: in the records, and not in the configuration"),
        (missing("jax", 77), "contenders: jax default cpu is there with threads [77]"),
        (lambda one: one.missing.append(one.missing[0]),
         "missing: pytorch/default/gpu/1 is there twice"),
        (fallen, "missing: pytorch/default/gpu/1 has failed, so it was there"),
        (change("default", "default"), "changes: jax default is beside default, which is beside"),
        (change("default", "tuned"), "changes: jax default is beside tuned, which is beside it"),
        (change("tuned", "default"), "changes: jax tuned is there twice"),
        (change("ghost", "default"), "changes: jax ghost: jax ghost is no contender"),
        (change("default", "ghost"), "changes: jax default: jax ghost is no contender"),
        (certified(variant="ghost"), "/ghost/cpu/1 on mlp is no contender"),
        (certified(threads=7), "/cpu/7 on mlp is no contender"),
        (lambda one: one.study.configuration.update(threads=[1, 64]), "with threads [64]"),
        (lambda one: one.study.configuration.update(threads=[1, "all"]), "with threads [2]"),
        (other_titles(pytorch="TensorFlow", tensorflow="PyTorch"),
         "'TensorFlow' is a name of tensorflow, too"),
        (other_titles(mine="Py Torch"), "study.titles: 'Py Torch' is a name of pytorch, too"),
        (other_titles(mine="\uff2a\uff21\uff38"), "is a name of jax, too"),
        (other_titles(pytorch="Tensor\u200cFlow", tensorflow="Py\u2060Torch"),
         "is a name of tensorflow, too"),
        (other_titles(mine="\u3164JAX"), "is a name of jax, too"),
        (other_titles(pytorch="J\u0410X", jax="PyT\u043erch"), "is a name of "),
        (other_titles(mine="\u03a1yT0rch"), "is a name of pytorch, too"),
        (other_titles(jax=" \u3164"), "study.titles: jax has none"),
        (without_setting("precision"), "settings: jax/default/cpu/1 lacks precision, which others"),
        (without_setting("input_gradient"), "jax/default/cpu/1 lacks input_gradient, which others"),
        (without_weights, "replicate 1: nobody has weights after a turn"),
        (lambda one: one.datasets.pop(), "datasets: mnist-cnn has none"),
        (lambda one: one.study.configuration.update(controls=None),
         "is a control, and the configuration has none"),
        (beside_in("pitfalls", PitfallRow, pitfall="forgets to wait"),
         "pitfalls: jax tuned is a whole step in float32, and ranked in every study"),
        (beside_in("parts", ChangeRow, change="forward"), "parts: jax tuned is a whole step"),
        (beside_in("reduced", ReducedRow, change="bfloat16"), "reduced: jax tuned is a whole"),
        (refer_to(0, "tensorflow/tuned/cpu/1"), " and a study has one"),
        (refer_to(None, "pytorch/default/gpu/1"), "reference: pytorch/default/gpu/1 is missing"),
        (sizes(batch=256), "mlp has 32 samples in a mini-batch, but 256 in its configuration"),
        (sizes(samples=12_800), "mlp has 10000 samples, but 12800 in its configuration"),
        (sizes(hidden=[64]), "mlp has 11003001 parameters, but 640129 in its configuration"),
        (lambda one: setattr(one.contests[3], "order", one.contests[0].order), "its order is that"),
        (lambda one: setattr(one.contests[0].turns[0], "cores", 2), "cores: 2 in a turn of"),
        (lambda one: one.study.configuration["contenders"].append({"framework": 10**1500}),
         f"and 1{39 * '0'}: in the configuration, and not in the records"),
        (lambda one: one.study.configuration["contenders"][0].update(devices=["cpu", "9" * 1500]),
         f"contenders: pytorch default {24 * '9'}, "),
        *((lambda one, key=key: one.study.configuration.pop(key), f"configuration: without {key},")
          for key in SAID),
        *((lambda one, key=key: one.study.configuration["contest"].pop(key),
           f"configuration: without contest.{key}, which every study records") for key in SCHEDULE),
        (lambda one: one.study.configuration.clear(),
         "configuration: without certificate, confidence, contenders and 14 more, which every"),
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


def test_what_a_configuration_leaves_to_the_catalogue_is_not_compared(
    measured: MachineRecords,
) -> None:
    """A catalogue of another day may have another size, as this one of `mlp` then has."""
    records = measured.model_copy(deep=True)
    work = replace(load("mlp", {"hidden": [64]}), batch=256)
    assert len([*size_faults(work, records.study)]) == 0
    records.study.configuration["workloads"]["mlp"] = [["batch", 32]]
    assert [*size_faults(work, records.study)] == [
        "has 256 samples in a mini-batch, but 32 in its configuration"
    ]


def test_sizes_without_parameters_are_compared(measured: MachineRecords) -> None:
    """An operation has none, and its work shows how often it is repeated."""
    records = measured.model_copy(deep=True)
    records.study.configuration["workloads"]["divide"] = {"repeat": 7}
    assert not [*size_faults(load("divide", {"repeat": 7}), records.study)]
    (fault,) = size_faults(load("divide", {"repeat": 9}), records.study)
    assert "operations a sample" in fault


@pytest.mark.parametrize(("kind", "known"), [(PartRow, PARTS), (ReducedRow, FORMATS)])
def test_parts_and_formats_are_those_that_frameworks_have(
    kind: type[ChangeRow], known: Collection[str]
) -> None:
    rest = {"framework": "jax", "variant": "some", "beside": "default"}
    assert [kind(**rest, change=one).change for one in known] == [*known]
    with pytest.raises(ValidationError, match="change"):
        kind(**rest, change="int4")
