"""Turns of many steps: how far float32 may lead after so many, by what most contenders show."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from analysis.data.results import BenchmarkId
from analysis.findings.fairness.long_turns import LONG, Away
from analysis.findings.fairness.loss_check import LossCheck
from analysis.findings.fairness.timed_turns import Expected
from analysis.findings.fairness.turn_weights import with_limits
from tests.analysis.findings.fairness.test_loss_check import (
    BASE,
    DEFAULT,
    RECIPE,
    TUNED,
    Make,
    changed,
    off,
)
from tests.analysis.synthetic import copied
from workflows.records.schema import Float64Turns

ALL = ("pytorch/default/cpu/1", "pytorch/tuned/cpu/1", DEFAULT, TUNED)


def test_a_contender_counts_once_in_the_room_of_long_turns() -> None:
    """Whether its weights were read in one replicate or in two."""
    turns = Float64Turns(losses=[[1.0] * (LONG + 1)], start={}, weights={})
    expected = Expected(turns, "its own", 1e-5)
    right, wrong = (BenchmarkId("mlp", name, "default", "cpu", 1) for name in ("pytorch", "jax"))
    near, far = {"kernel": Away(0.001, 0.0)}, {"kernel": Away(0.02, 0.0)}
    found = [(right, expected, near), (wrong, expected, far), (wrong, expected, far)]
    rooms = [allowed["kernel"][:2] for *_, allowed in with_limits(found, (0.0, 0.0))]
    assert rooms == [(pytest.approx(0.01), 0.0)] * 3


def test_variants_that_share_a_mistake_do_not_make_room_for_it() -> None:
    """A framework has one vote, however many of its contenders are wrong."""
    turns = Float64Turns(losses=[[1.0] * (LONG + 1)], start={}, weights={})
    expected = Expected(turns, "its own", 1e-5)
    right = BenchmarkId("mlp", "pytorch", "default", "cpu", 1)
    wrong = [BenchmarkId("mlp", "jax", str(number), "cpu", 1) for number in range(5)]
    near, far = {"kernel": Away(0.001, 0.0)}, {"kernel": Away(0.02, 0.0)}
    found = [(right, expected, near), *((one, expected, far) for one in wrong)]
    rooms = [allowed["kernel"].typical for *_, allowed in with_limits(found, (0.0, 0.0))]
    assert rooms == [pytest.approx(0.01)] * 6


def test_in_long_turns_ten_times_as_much_is_allowed_as_most_are_off(found: Make) -> None:
    """Up to a limit. From there on nothing is compared, and the report says of how many steps. One
    contender alone, be it the reference, cannot move the limit."""
    recipe = replace(RECIPE, float64_turns=True, turn=20, rounds=4)
    findings, late = found(recipe), 15

    def check(own: float, others: float, many: Sequence[str] = ALL) -> LossCheck:
        moved = findings
        for who in many:
            moved = changed(moved, off(own), who=who, within=late)
        return changed(moved, off(others), who=TUNED, within=late + 1).loss_check

    assert (findings.loss_check.faults, findings.loss_check.first) == ({}, None)
    assert [one.contender for one in check(0.0, 0.1).faults] == [TUNED]
    assert check(0.02, 0.1).faults == {} and check(0.02, 0.1).late == pytest.approx(0.2, rel=1e-3)
    assert [one.contender for one in check(0.005, 0.1).faults] == [TUNED]
    assert [one.contender for one in check(0.2, 0.0, [BASE]).faults] == [BASE]
    one_round = check(0.1, 0.9)  # in the others, all steps were compared
    assert one_round.faults == {} and "the first 15 steps of each turn" in str(one_round)


@pytest.mark.parametrize(
    ("most", "other", "refused"),
    [(1.0, 1.05, True), (1.01, 1.05, False), (1.05, 9.0, False), (1.05, math.inf, True)],
)
def test_so_it_is_with_the_weights_after_a_long_turn(
    found: Make, most: float, other: float, refused: bool
) -> None:
    findings = copied(found(replace(RECIPE, float64_turns=True, turn=20, rounds=4)))
    records = findings.machine.records
    for certificate in records.certificates:
        for own in certificate.rows:
            own.turns, own.status = None, "agrees"
    start = records.certificates[0].turns.start["dense1.kernel"]
    for row in records.contests[0].contenders:
        if row.status == "ok":
            move = 1e-3 * (other if row.name == TUNED else most)
            row.weights = {"dense1.kernel": [w + move for w in start]}
    check = findings.loss_check
    assert [one.contender for one in check.faults] == [TUNED] * refused
    assert check.weights is (most < 1.05)
