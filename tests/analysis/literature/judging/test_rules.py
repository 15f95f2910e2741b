"""Rules judge rows as written, and only rows that are certified and certain enough."""

import math
from dataclasses import replace
from typing import Any

import pytest

from analysis.data.results import BenchmarkId
from analysis.literature.judging.rules import Answer, Rule, answers, most, rule, together
from analysis.literature.studies import MeasuredRatio, Pair
from analysis.stats.inference import estimate

SPREAD = [-0.01, 0.0, 0.01, 0.004]


def row(ratio: float, spread: float = 1.0, **changed: Any) -> MeasuredRatio:
    """A pair whose replicates scatter by about 1 % times `spread` around `ratio`. What is changed
    is a field of the row, of its `id` or of its estimate."""
    found = MeasuredRatio(
        "study",
        "machine",
        Pair("framework", "pytorch", "tensorflow"),
        BenchmarkId("mlp", "pytorch", "default", "cpu", 1),
        estimate([math.log(ratio) + spread * one for one in SPREAD], 0.05, 0.95),
        "agrees to 1e-14",
        "",
    )
    side = {name: changed.pop(name) for name in BenchmarkId._fields if name in changed}
    own = {name: changed.pop(name) for name in [*changed] if hasattr(found.estimate, name)}
    given = {"id": found.id._replace(**side), "estimate": replace(found.estimate, **own)}
    return replace(found, **given | changed)


def holds(text: str, *found: MeasuredRatio) -> list[bool | None]:
    own = rule(text)
    assert own
    return [answer.holds for answer in answers([(own, one) for one in found])]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FASTER(1)", Rule("all rows", 1.0)),
        ("all rows FASTER(10)", Rule("all rows", 0.1)),
        ("not FASTER(1/0.97)", Rule("not", 0.97)),
        ("no row FASTER(1/0.97)", Rule("no row", 0.97)),
        ("EXISTS slower", Rule("EXISTS", None)),
        ("FASTER(1/0.65) of the median", Rule("all rows", 0.65, median=True)),
        ("not REACHES(1.9)", Rule("not", None, 1.9)),
        ("EXISTS DIFFERS(3 %)", Rule("EXISTS", None, margin=0.03)),
        ("EXACT", None),
    ],
)
def test_a_rule_is_read_whole_or_not_at_all(text: str, expected: Rule | None) -> None:
    assert rule(text) == expected


def test_a_ratio_reaches_what_its_interval_includes() -> None:
    assert holds("REACHES(1.9)", row(1.895), row(2.5), row(1.5)) == [True, True, False]


def test_a_ratio_differs_if_its_whole_interval_is_outside_the_margin() -> None:
    sides = [row(0.5), row(1.06), row(1.0, spread=0.5), row(1.025), row(1.1, spread=20)]
    assert holds("DIFFERS(3 %)", *sides) == [True, True, False, None, None]
    assert holds("DIFFERS(3 %)", row(0.96, spread=0.5)) == [True]
    assert holds("DIFFERS(3 %)", *[row(1.06, spread=2.0)] * 40) == [None] * 40


def test_faster_by_a_factor_needs_the_whole_interval_beyond_it() -> None:
    assert holds("FASTER(2)", row(0.4), row(0.6), row(0.5)) == [True, False, None]
    assert holds("FASTER(1/2)", row(1.5), row(3.0)) == [True, False]


def test_faster_and_slower_follow_the_verdict() -> None:
    same, fast, slow, wide = row(1.01), row(0.8), row(1.3), row(1.1, spread=20)
    assert holds("FASTER(1)", same, fast, slow, wide) == [False, True, False, None]
    assert holds("slower", same, fast, slow, wide) == [False, False, True, None]
    assert holds("slower", slow.inverse) == [False]


def test_a_row_without_certificate_or_interval_tells_nothing() -> None:
    refused = row(0.5, certificate="", reason="jax/default/cpu/1 differs")
    alone = row(0.5, ratio_low=None, ratio_high=None)
    assert holds("FASTER(1)", refused, alone) == [None, None]


def test_many_tests_of_one_study_are_corrected_together() -> None:
    barely = row(0.982, spread=1.0, verdict="faster", ratio_high=0.9995)
    assert holds("FASTER(1)", barely) == [True]
    assert holds("FASTER(1)", *[barely] * 40) == [None] * 40


def test_p_is_that_of_the_replicates() -> None:
    from scipy import stats

    one = row(0.8)
    logs = [math.log(0.8) + shift for shift in SPREAD]
    for limit in (1.0, 0.81):
        assert one.p(limit) == pytest.approx(stats.ttest_1samp(logs, math.log(limit)).pvalue)


def test_a_median_needs_more_than_half_of_the_rows() -> None:
    assert most([True, True, False]) is True
    assert most([False, None, False]) is False
    assert most([True, None, False]) is None
    assert most([True, False]) is None


def test_what_rows_say_together() -> None:
    assert together("all rows", [True, True], complete=True) is True
    assert together("all rows", [True, True], complete=False) is None
    assert together("all rows", [True, False], complete=False) is False
    assert together("all rows", [True, None], complete=True) is None
    assert together("EXISTS", [None, True], complete=False) is True
    assert together("EXISTS", [False, False], complete=True) is False
    assert together("EXISTS", [False], complete=False) is None
    assert together("not", [False], complete=False) is True
    assert together("not", [True], complete=True) is False
    assert together("no row", [False, True], complete=False) is False
    assert together("no row", [False, False], complete=True) is True
    assert together("no row", [False, None], complete=True) is None
    assert Answer(Rule("all rows", 1.0), row(0.8)).holds is None  # untested
