"""A declared mistake is followed by NumPy to the last step, and any other one is refused."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Lock

import pytest

from frameworks.contract import Deviation
from frameworks.registry import framework
from tests.workflows.conftest import rows
from workflows.certify.diagnosis import (
    ALL_WELL,
    AS_DECLARED,
    AT_SIZE,
    ENOUGH,
    IN_FLOAT32,
    Diagnosis,
)
from workflows.certify.following import against, once
from workflows.certify.judge import NotComparable, more_than_declared, wrong_beside
from workflows.certify.runs import Result, Runner
from workflows.records.schema import Measured


def test_what_two_contenders_ask_for_is_computed_once() -> None:
    """And nothing beside anything else, because a large network takes gigabytes."""
    computing, computed = Lock(), []

    @once
    def compute(number: int) -> int:
        assert computing.acquire(blocking=False), "something else is computed now"
        time.sleep(0.02)
        computed.append(number)
        computing.release()
        return 10 * number

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(compute, [1, 1, 2, 2])) == [10, 10, 20, 20]
    assert sorted(computed) == [1, 2]


def test_a_declared_difference_is_measured(certified):
    row = certified["rounded"]
    assert row.status == "declared"
    assert "beta1 is rounded to float32" in row.reason
    assert 1e-12 < row.long.worst_loss < 1e-3
    assert row.substituted.worst_loss <= 1e-12


def test_a_declared_mistake_must_be_the_one_that_is_made(certified):
    row = certified["mislabelled"]
    assert row.status == "refused" and row.reason.startswith("not what is declared: ")
    assert "beta1 rounded to float32" in row.cause


def test_a_declared_mistake_is_followed_to_the_last_step(certified):
    right, strays = certified["rounded"], certified["strays"]
    assert right.status == "declared", right.reason
    assert len(right.followed.loss) == 50 and right.followed.worst_loss < 1e-12
    assert strays.status == "refused"
    assert "beside the declared mistake, loss differs by" in strays.reason
    assert "at step 22 (allowed 1e-09)" in strays.reason
    assert strays.cause == AS_DECLARED  # and not how to mend what is declared


def test_turns_of_a_declared_deviation_are_followed_too(certified):
    """They are what its timed turns are compared with, and nobody else has trained them."""
    row = certified["relaxed"]
    assert row.status == "refused" and row.long.weights[1] == certified["rounded"].long.weights[1]
    assert "in float64 the losses of its turns are" in row.reason
    assert "off NumPy's with the declared mistake (allowed 1e-07)" in row.reason


@pytest.mark.parametrize(
    ("reason", "cause"),
    [
        (wrong_beside(Measured(loss=[0.0] * 12 + [1e-3], weights={}), 1e-12), AS_DECLARED),
        (wrong_beside(Measured(loss=[0.0] * 11 + [1e-3], weights={}), 1e-12), AT_SIZE),
        (wrong_beside(Measured(loss=[0.0], weights={1: {"w": 1.7e-9}}), 1e-12), IN_FLOAT32),
        ("after restart() the loss of step 20 differs by 1.0e-03 from before", AT_SIZE),
        (more_than_declared("loss", 8e-3, 0.0), ENOUGH.format("loss")),
    ],
)
def test_a_fault_comes_later_only_if_it_is_seen_later_than_in_a_miniature(reason, cause):
    own = [Deviation("optimiser.adam", "another", mistake="beta1-in-float32")]
    assert Diagnosis("it trains like one", ("beta1-in-float32",)).cause(own, reason) == cause
    assert Diagnosis("something else", wrong=True).cause(own, reason) == "something else"
    state = more_than_declared("state", 8e-3, 0.0)
    assert Diagnosis(ALL_WELL).cause([], state) == ENOUGH.format("state")


@pytest.mark.parametrize(("other", "bound", "status"), [(0.0, 1e-3, "declared"),
                                                        (1e-3, 0.0, "refused")])  # fmt: skip
def test_the_bound_is_that_of_the_deviation_that_the_run_follows(
    study, monkeypatch, other, bound, status
):
    variants = framework("abacus").variants
    (own,) = variants["rounded"].deviations
    both = (replace(own, mistake="amsgrad", reason="another", loss_within=other),
            replace(own, loss_within=bound))  # fmt: skip
    monkeypatch.setitem(variants, "rounded", replace(variants["rounded"], deviations=both))
    row = rows(study, "rounded", certificate={"steps": 10, "optimisers": []})["rounded"]
    assert row.status == status
    if status == "declared":
        assert row.reason == f"optimiser.adam: {own.reason}"
    else:
        assert row.reason.startswith("more than declared: loss off by")
        assert row.cause == ENOUGH.format("loss")


def test_a_deviation_without_a_mistake_that_numpy_can_make_is_refused(certified):
    row = certified["unnamed"]
    assert row.status == "refused" and row.followed is None
    assert row.reason.startswith("a deviation that nothing can follow: ")


def test_a_mistake_that_nobody_knows_is_said_so(study, monkeypatch):
    variants = framework("abacus").variants
    unknown = replace(variants["rounded"].deviations[0], mistake="beta1-in-float23")
    changed = replace(variants["rounded"], deviations=(unknown,))
    monkeypatch.setitem(variants, "rounded", changed)
    row = rows(study, "rounded", certificate={"steps": 10, "optimisers": []})["rounded"]
    assert row.status == "refused" and "did you mean 'beta1-in-float32'" in row.reason


@pytest.mark.parametrize("mistake", ["first-batch-only", "loss-averaged", "sum-for-mean"])
def test_a_deviation_of_an_optimiser_is_no_other_mistake(study, mistake):
    """It would be made under this optimiser alone, and so agree with plain SGD."""
    made = study()
    folder, workload = made.folders.data / "mlp", made.plan.study.workload("mlp")
    with pytest.raises(NotComparable, match="none of an optimiser; optimiser"):
        against(Result([1.0], {}, []), [mistake], {}, workload, folder)


def test_a_deviation_of_another_optimiser_does_not_count(study):
    mlp = {"features": 20, "hidden": [8], "samples": 400, "batch": 4, "optimiser": "sgd"}
    assert rows(study, "rounded", workloads={"mlp": mlp})["rounded"].status == "agrees"


def test_plain_sgd_in_place_of_a_declared_optimiser_is_trained_once(study, monkeypatch):
    """It proves that the rest agrees, and that plain SGD does."""
    train, trained = Runner.train, []

    def counted(self, worker, contender, run, out):
        trained.append((contender.variant, *(run.optimiser or {"own": {}})))
        return train(self, worker, contender, run, out)

    monkeypatch.setattr(Runner, "train", counted)
    row = rows(study, "rounded", certificate={"steps": 10, "optimisers": ["sgd"]})["rounded"]
    assert row.status == "declared"
    assert row.optimisers["sgd"].run == row.substituted and row.substituted.worst_loss <= 1e-12
    assert trained.count(("rounded", "sgd")) == trained.count(("default", "sgd")) - 1 == 1
