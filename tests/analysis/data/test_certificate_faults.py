"""Certificates whose distances contradict their status are refused; what is certified is not."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from analysis.data.certificate_faults import REQUIRED, REQUIRED_LATER, row_faults
from analysis.data.contradictions import contradictions
from frameworks.formats import FORMATS
from frameworks.workloads import load
from tests.analysis.contests import float64_turns
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import write
from workflows.records.machine_folder import read_machine
from workflows.records.machine_records import MachineRecords, ReducedRow
from workflows.records.schema import CertificateRecord, CertificateRow, Measured, OptimiserRow

RECIPE = Recipe(workloads=("mnist-cnn",), threads=(1,), replicates=1, rounds=2)
FAR = Measured(loss=[0.5] * 100, weights={})


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> MachineRecords:
    return read_machine(write(tmp_path_factory.mktemp("certificates") / "one", RECIPE))[0]


@pytest.mark.parametrize("status", ["agrees", "declared"])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("gradients", {"dense1.kernel": 0.5}),
        ("gradients", {"dense1.kernel": math.nan}),
        ("unfenced", 1.0),
        ("float32", [0.0] * 9 + [0.5]),
        ("restarted", [0.9]),
        ("again", [0.0, 0.9]),
        ("astray", {2: {"conv2d1.kernel": (0.9, 0.0)}}),
        ("astray", {2: {"dense1.kernel": (5e-4, 0.0)}}),  # of 9,216 numbers
        ("astray", {10: {"dense1.kernel": (0.0, 0.9)}}),
        ("rounding", {"dense1.kernel": 0.9}),
        ("rounding", {"dense1.kernel": 1e11}),
        ("room", (0.39, 0.39)),  # in no reduced precision
        ("ulp", 3.0),
        ("optimisers", {"adam": OptimiserRow(status="agrees", run=FAR)}),
    ],
)
def test_distances_that_contradict_a_status(
    certified: MachineRecords, status: str, field: str, value: object
) -> None:
    records = certified.model_copy(deep=True)
    row = next(one for one in rows_of(records) if one.status == status)
    setattr(row, field, with_others(getattr(row, field), value))
    (fault,) = contradictions(records)
    assert f"{row.name} on mnist-cnn: {field}" in fault and f"is {status!r}, but it is" in fault


def test_a_certificate_in_float32_only_says_so(certified: MachineRecords) -> None:
    records = certified.model_copy(deep=True)
    row = next(one for one in rows_of(records) if one.status == "agrees")
    kept = {name: getattr(row, name) for name in ("framework", "variant", "device", "threads")}
    less = CertificateRow(**kept, status="agrees", precision="float32", float32=[0.0])
    for record in records.certificates:
        record.rows = [less if one is row else one for one in record.rows]
    (fault,) = contradictions(records)
    assert "reason: it was certified in float32 only, and does not say so: ''" in fault
    less.reason = "in float32 only, since it has no float64"
    assert not [*contradictions(records)]


def test_no_precision_is_so_reduced(certified: MachineRecords) -> None:
    records = certified.model_copy(deep=True)
    row = next(one for one in rows_of(records) if one.status == "agrees")
    row.reduced, row.room = "bfloat16", (0.1, 1e11)
    (fault,) = contradictions(records)
    assert ": room: its status is 'agrees', but it is 1.0e+11 off (allowed 4e-01)" in fault


def test_a_reduced_precision_is_one_of_ours(certified: MachineRecords) -> None:
    values = rows_of(certified)[0].model_dump()
    for title in [one.title for one in FORMATS.values()]:
        for named in ("", title, f"{title} (tf32_matmul, tf32_convolution)"):
            assert CertificateRow.model_validate(values | {"reduced": named}).reduced == named
    with pytest.raises(ValidationError, match="reduced"):
        CertificateRow.model_validate(values | {"reduced": "half of it"})


def test_only_a_refusal_has_a_cause(certified: MachineRecords) -> None:
    records = certified.model_copy(deep=True)
    row = next(one for one in rows_of(records) if one.status == "agrees")
    row.cause = "a sum"
    (fault,) = contradictions(records)
    assert fault.endswith(
        f"{row.name} on mnist-cnn: cause: its status is 'agrees', and only a refusal has one"
    )


def test_no_loss_of_a_network_is_negative(certified: MachineRecords) -> None:
    records = certified.model_copy(deep=True)
    row = others_of(records)[0]
    row.losses[3] = -5.0
    (fault,) = contradictions(records)
    assert f"{row.name} on mnist-cnn: losses: its status is 'agrees', but a loss is nega" in fault


@pytest.mark.parametrize("field", [*REQUIRED, *REQUIRED_LATER])
def test_what_was_not_compared_is_not_believed(certified: MachineRecords, field: str) -> None:
    records = certified.model_copy(deep=True)
    row = next(one for one in rows_of(records) if one.status == "agrees")
    setattr(row, field, None if field == "unfenced" else type(getattr(row, field))())
    (fault,) = contradictions(records)
    assert f": {field}: its status is 'agrees', but it was not compared" in fault


@pytest.mark.parametrize("field", ["substituted", "substituted_full", "followed"])
def test_what_is_declared_explains_all(certified: MachineRecords, field: str) -> None:
    records = certified.model_copy(deep=True)
    row = next(one for one in rows_of(records) if one.status == "declared")
    setattr(row, field, FAR)
    (fault,) = contradictions(records)
    assert f": {field}: its status is 'declared', but it is 5.0e-01 off" in fault


@pytest.mark.parametrize(
    "found",
    [
        {"gradients": {"dense1.kernel": 9e-12}},
        {"gradients": {"dense1.kernel": 1e-8}, "attainable": {"dense1.kernel": 0.9}},
        {"gradients": {"dense1.kernel": 1e-8}, "attainable_first": {"dense1.kernel": 0.9}},
        {"rounding": {"dense1.kernel": 9e-5}},
        {"rounding": {"dense1.kernel": 0.39}, "attainable": {"dense1.kernel": 0.9}},
        {
            "rounding": {"dense1.kernel": 0.3},
            "room": (0.1, 0.3),
            "float32": [0.3] * 10,
            "reduced": "bfloat16",
        },
        {"astray": {2: {"conv2d1.kernel": (2.9, 0.7)}}, "reduced": "bfloat16"},
        {"astray": {2: {"conv2d1.kernel": (5e-4, 0.0)}}},
        {"float32": [1e-4, 0.3, *[0.9] * 8], "float32_attainable": [1e-5, 0.04, *[0.06] * 8]},
        {
            "astray": {10: {"dense1.kernel": (0.4, 1.0)}},
            "astray_attainable": {10: {"dense1.kernel": (0.05, 0.5)}},
        },
        {
            "long": None,
            "precision": "float32",
            "reason": "in float32 only",
            "restarted": [9e-5],
            "float32": [1e-4],
            "losses": [],
        },
        {"again": [9e-5], "unfenced": 0.2},
    ],
)
def test_what_a_certificate_may_find(certified: MachineRecords, found: dict[str, object]) -> None:
    records = certified.model_copy(deep=True)
    row = next(one for one in rows_of(records) if one.status == "agrees")
    for field, value in found.items():
        setattr(row, field, with_others(getattr(row, field), value))
    assert not [*contradictions(records)]


def with_others(there: Any, value: Any) -> Any:
    """A value with what else is there: other tensors, other steps."""
    if isinstance(value, dict):
        there = there or {}
        return {**there, **{key: with_others(there.get(key), own) for key, own in value.items()}}
    if isinstance(value, list):
        return [*value, *there[len(value) :]]
    return value


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda row: row.long.weights.clear(), "long.weights: none were compared"),
        (lambda row: row.long.weights[5].pop("dense1.bias"), "long.weights.5: dense1.bias was not"),
        (lambda row: row.full.weights.clear(), "full.weights: none were compared"),
        (lambda row: row.full.loss.pop(), "full: 2 steps, but full_steps is 3"),
        (lambda row: setattr(row, "full", None), "full: 0 steps, but full_steps is 3"),
        (lambda row: row.gradients.pop("dense1.bias"), "gradients: dense1.bias was not compared"),
        (lambda row: row.rounding.pop("conv2d1.kernel"), "rounding: conv2d1.kernel was not comp"),
        (lambda row: row.restarted.pop(), "restarted: 9 steps were compared, and 10 of another"),
        (lambda row: row.again.pop(), "again: 9 steps were compared, and 10 of another"),
        (lambda row: row.astray.pop(10), "astray: 1 steps were compared, and 2 of another"),
    ],
)
def test_all_that_whole_steps_have_is_compared(
    certified: MachineRecords, change: Callable[[CertificateRow], object], said: str
) -> None:
    records = certified.model_copy(deep=True)
    row = others_of(records)[0]
    change(row)
    assert any(f"{row.name} on mnist-cnn: {said}" in fault for fault in contradictions(records))


def test_what_is_declared_was_compared_with_something(certified: MachineRecords) -> None:
    records = certified.model_copy(deep=True)
    row = next(one for one in rows_of(records) if one.status == "declared")
    row.substituted, row.long = None, records.certificates[0].rows[0].long
    (fault,) = contradictions(records)
    assert "followed: it declares a deviation, and nothing was compared with that" in fault


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda one: setattr(one, "parameters", 1), "parameters: 1, mnist-cnn has "),
        (
            lambda one: (setattr(one, "narrowed", False), setattr(one, "parameters_long", 1)),
            "narrowed: it is not, with 1 parameters in the long run",
        ),
        (lambda one: setattr(one, "declared_steps", 101), "declared_steps: 101, of 100 steps"),
        (lambda one: one.turns.losses.pop(), "turns.losses of pytorch/default/cpu/1 do not have"),
        (lambda one: one.turns.losses[1].pop(), "turns.losses of pytorch/default/cpu/1 do not"),
        (
            lambda one: one.turns.losses[1].__setitem__(0, math.nan),
            "turns.losses of pytorch/default/cpu/1: only the end of a turn may have no numbers",
        ),
        (
            lambda one: one.turns.start["dense1.kernel"].__setitem__(3, math.nan),
            "turns.start of pytorch/default/cpu/1: no initial weight is larger than 100",
        ),
        (
            lambda one: one.turns.start["dense1.kernel"].__setitem__(3, -101.0),
            "turns.start of pytorch/default/cpu/1: no initial weight is larger than 100",
        ),
    ],
)
def test_turns_and_limits_are_those_of_the_study(
    certified: MachineRecords, change: Callable[[CertificateRecord], object], said: str
) -> None:
    records = certified.model_copy(deep=True)
    records.certificates[0].turns = float64_turns(RECIPE).model_copy(update={"read": None})
    assert not [*contradictions(records)]
    change(records.certificates[0])
    assert any(f": {said}" in fault for fault in contradictions(records))


def test_the_reference_is_a_whole_step(certified: MachineRecords) -> None:
    records = certified.model_copy(deep=True)
    own = {"framework": "pytorch", "variant": "default", "beside": "tuned"}
    records.reduced.append(ReducedRow(**own, change="bfloat16"))
    said = "certificates: reference: pytorch/default/cpu/1 is no whole step in float32"
    assert said in [*contradictions(records)]


def test_a_tensor_that_the_network_does_not_have(certified: MachineRecords) -> None:
    records = certified.model_copy(deep=True)
    row = others_of(records)[0]
    row.gradients["no.such.tensor"] = 0.0
    (fault,) = contradictions(records)
    assert "it compares 'no.such.tensor', which is no tensor of mnist-cnn" in fault


def test_fewer_steps_as_timed_than_of_others(certified: MachineRecords) -> None:
    records = certified.model_copy(deep=True)
    row = others_of(records)[0]
    del row.float32[1:]
    (fault,) = contradictions(records)
    assert f"{row.name} on mnist-cnn: float32: 1 steps were compared, and 10 of" in fault


def others_of(records: MachineRecords) -> list[CertificateRow]:
    """The rows that agree with another."""
    (certificate,) = {one.reference for one in records.certificates}
    return [r for r in rows_of(records) if r.status == "agrees" and r.name != certificate]


def rows_of(records: MachineRecords) -> list[CertificateRow]:
    return [row for certificate in records.certificates for row in certificate.rows]


@pytest.mark.parametrize(("ulp", "faults"), [(2.0, 0), (3.0, 1)])
def test_a_single_operation_is_as_exact_as_float32(
    certified: MachineRecords, ulp: float, faults: int
) -> None:
    row = CertificateRow(
        framework="pytorch", variant="default", device="gpu", threads=1, status="agrees", ulp=ulp,
        long=Measured(loss=[1e-9], weights={1: {"result": 1e-7}}), unfenced=0.4,
    )  # fmt: skip
    found = row_faults(row, certified.certificates[0], load("divide", None), False, ())
    assert len([*found]) == faults
