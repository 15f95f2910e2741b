"""What is timed is what was proven: the timed turns are held against the same turns in float64."""

import pytest

from tests.workflows.conftest import findings_once, several


@pytest.fixture(scope="session")
def findings(surroundings, tmp_path_factory):
    def measure(study, machine):
        made = study(contenders=several("default", "rounded", "unwatched"))
        made.certificate()
        made.contest()
        made.findings(machine)

    return findings_once(tmp_path_factory, "timed turns", measure)


def test_a_contender_that_trains_less_when_it_is_timed_gets_no_ratio(findings):
    (record,) = findings.machine.records.certificates
    statuses = {row.variant: row.status for row in record.rows}
    assert statuses == {"default": "agrees", "rounded": "declared", "unwatched": "agrees"}
    check = findings.loss_check
    assert [one.variant for one in check.faults] == ["unwatched"]
    assert check.in_float64 and check.compared == 3 * (2 + 4 * 4)
    assert 0 < check.worst < 1e-5


def test_weights_are_read_in_two_replicates(study):
    """The second process may find what the first has left."""
    made = study(contest={"warmup": 2, "rounds": 1, "turn": 4, "discard": 1})
    read = [bool(made.contest(number)[0].contenders[0].weights) for number in (1, 2, 3)]
    assert read == [True, True, False]


def test_weights_are_read_after_a_drawn_turn(findings):
    (record,) = findings.machine.records.certificates
    assert record.turns.read == 3  # of four rounds
    (contest,) = findings.machine.records.contests
    (own,) = (one.weights for one in contest.contenders if one.variant == "default")
    for name, right in record.turns.weights.items():
        assert own[name] == pytest.approx(right, rel=1e-5, abs=1e-6)


def test_the_turns_in_float64_are_in_the_records(findings):
    (record,) = findings.machine.records.certificates
    assert [len(turn) for turn in record.turns.losses] == [2, 4, 4, 4, 4]
    own = {row.variant: row.turns for row in record.rows}
    assert own["default"] is None and own["rounded"].losses[0] == pytest.approx(
        record.turns.losses[0], rel=1e-6
    )
    (contest,) = findings.machine.records.contests
    for contender in contest.contenders:
        assert {name: len(values) for name, values in contender.weights.items()} == {
            "dense1.kernel": 64, "dense1.bias": 8, "dense2.kernel": 8, "dense2.bias": 1,
        }  # fmt: skip
