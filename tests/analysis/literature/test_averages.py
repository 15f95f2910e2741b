"""What each rule of 2016 makes of the same steps, and how often two frameworks change places."""

from statistics import median

import pytest

from analysis.data.reading import read as read_records
from analysis.literature.averages import (
    OURS,
    STATISTICS,
    Average,
    Order,
    Process,
    averages,
    finding,
    of_all,
    of_both,
    orders,
    processes,
)
from analysis.literature.published.table7 import rows
from analysis.literature.studies import read
from tests.conftest import ROOT

REFERENCE = ROOT / "reports" / "reference"
# Five steps warm up, the first one longest; then three turns of two.
OWN = Process(
    replicate=1,
    batch=32,
    ms=[100.0, 20.0, 10.0, 10.0, 10.0, 8.0, 8.0, 8.0, 8.0, 12.0, 12.0],
    data_ms=[1.0] * 11,
    warmup=5,
    turns=[[8.0, 8.0], [8.0, 8.0], [12.0, 12.0]],
)
BY_HAND = {
    "mean, with the first step": 206 / 11,
    "the last step alone": 12.0,
    "sum without the first, over all": 106 / 11,
    "mean of printed speeds": 3 / (1 / 8 + 1 / 8 + 1 / 12),  # the harmonic mean
    "mean without the first epoch": 56 / 6,
    "mean without the first, with reading data": 106 / 10 + 1,
    "mean with reading data": 206 / 11 + 1,
    OURS: 8.0,
}


@pytest.mark.parametrize("name", STATISTICS)
def test_each_rule_is_what_its_name_says(name: str) -> None:
    assert STATISTICS[name](OWN) == pytest.approx(BY_HAND[name], rel=1e-5)


def test_speeds_are_printed_with_two_decimals() -> None:
    slow = OWN._replace(batch=1, turns=[[3000.0]])  # 0.333 samples a second
    assert STATISTICS["mean of printed speeds"](slow) == pytest.approx(1e3 / 0.33)


def test_each_rule_but_ours_is_a_tools_of_2016() -> None:
    named = {row["statistic"] for row in rows("timing.csv")}
    assert named == {*STATISTICS} - {OURS}


def test_ours_is_the_figure_of_the_study() -> None:
    (folder,) = (REFERENCE / "machines").iterdir()
    own = processes(read_records(folder))
    found = averages(own, read(REFERENCE))
    ours = [row for row in found if row.statistic == OURS]
    assert len(ours) == len(own) and len(found) == len(ours) * len(STATISTICS)
    # Its median leaves out the slow turns of a noisy host, which the study's figure has.
    assert median(row.over_ours for row in ours) == pytest.approx(1, rel=0.1)
    assert all(row.over_ours == pytest.approx(1, rel=0.2) for row in ours)
    assert all(row.least <= row.over_ours <= row.most for row in found)
    first = [row for row in found if row.statistic == "mean, with the first step"]
    assert max(row.over_ours for row in first) > 2  # tracing and compiling are in it


def test_an_order_changes_if_a_rule_turns_it_round() -> None:
    (folder,) = (REFERENCE / "machines").iterdir()
    own = processes(read_records(folder))
    found = {(row.one, row.other): row for row in orders(own, read(REFERENCE))}
    assert len(found) == len(STATISTICS) ** 2
    assert len({row.compared for row in found.values()}) == 1
    with_first = found["mean, with the first step", "mean, with the first step"]
    assert found[OURS, OURS].changed < 0.02 * with_first.compared  # all but near ties
    assert with_first.changed > 5 * found[OURS, OURS].changed


def test_the_sentence_counts_rules_alike_and_unlike() -> None:
    averaged = [Average("mlp", "jax/default/cpu/1", name, 1, 11, 1.0, over, over, over)
                for name, over in (("the last step alone", 0.5), (OURS, 1.0))]  # fmt: skip
    two = ("the last step alone", "mean, with the first step")
    counted = [Order(one, other, 10, 1 if one == other else 4) for one in two for other in two]
    assert of_all(counted) == 10 / 40
    said = finding(averaged, [*counted, Order(OURS, OURS, 10, 10)])
    assert "0.5 to 1.0 times" in said and "in 10 % of cases" in said and "in 40 %" in said
    assert finding(averaged, []).endswith("times the figure.")


def test_only_replicates_that_both_have_are_compared() -> None:
    some, others = ([OWN._replace(replicate=n) for n in own] for own in ((1, 2, 3), (2, 3, 4)))
    for found in of_both(some, others):
        assert [one.replicate for one in found] == [2, 3]
