"""The slowest over the fastest, in 2016 and today, and what GPUs brought."""

from dataclasses import replace
from statistics import median

import pytest

from analysis.literature.published.table7 import spreads
from analysis.literature.spread import apart, finding, speed_ups, spread_figure
from analysis.literature.studies import KnownRatio, Pair, StudyTables
from tests.analysis.literature.judging.test_rules import row

JAX = Pair("framework", "jax", "pytorch")
BETWEEN = Pair("framework", "tensorflow", "jax")


def studies(*found: object) -> list[StudyTables]:
    return [StudyTables("planted", tuple(found), frozenset({"cpu"}), {})]  # type: ignore[arg-type]


def test_the_widest_pair_of_three_frameworks_counts() -> None:
    rows = [
        row(0.8, workload="fcn-s"),
        row(2.0, workload="fcn-s", pair=JAX, framework="jax"),
        row(0.4, workload="fcn-s", pair=BETWEEN, framework="tensorflow"),
    ]
    (own,) = apart(studies(*rows), {})
    assert (own.network, own.slowest, own.fastest) == ("FCN-S", "jax", "tensorflow")
    assert own.ratio.ratio == pytest.approx(2.5, rel=0.02)
    assert own.ratio.low < own.ratio.ratio < own.ratio.high
    then = [over.value for over in spreads() if over.one.network == "FCN-S"]
    assert (own.then, own.then_least, own.then_most) == (median(then), min(then), max(then))
    assert own.two_tools < own.then
    refused = [replace(one, certificate="") for one in rows]
    assert apart(studies(*refused), {}) == []


def test_tools_that_trained_another_network_are_set_right() -> None:
    one = row(2.0, workload="lstm", pair=JAX, framework="jax")
    (published,) = apart(studies(one), {})
    (fair,) = apart(studies(one), {("LSTM", "CNTK"): KnownRatio(1 / 32, 1 / 40, 1 / 30)})
    assert fair.same_network < published.same_network / 5
    assert fair.then == published.then == published.same_network


def test_three_are_not_said_to_be_closer_than_five() -> None:
    near = row(1.5, workload="fcn-s", pair=JAX, framework="jax")
    far = row(9.0, workload="fcn-s", pair=JAX, framework="jax", threads=2)
    both = apart(studies(near, far), {})
    assert finding(both).startswith("Three frameworks are 1.5 to 9.0 times apart on a network")
    assert finding(both).endswith("number alone: TensorFlow and Torch were 4.6 times apart.")
    assert "FCN-S" in spread_figure(both).svg


def test_gpus_of_2016_stand_alone_until_one_is_here() -> None:
    alone = speed_ups([])
    assert "373 times as fast" in alone.finding and "No GPU of today" in alone.finding
    gpu = row(8.0, workload="fcn-s", pair=Pair("device", "gpu", "cpu"), device="gpu").inverse
    other = replace(
        gpu, id=gpu.id._replace(workload="mlp")
    )  # of the default study: no network of 2016
    found = speed_ups(studies(gpu, other))
    assert "No GPU of today" not in found.finding and found.svg.count("today") == 1
