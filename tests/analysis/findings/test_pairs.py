"""Every pair of contenders that differ in one thing, with planted ratios."""

import csv
import io
import itertools
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from analysis.data.pairing import AXES, BOTH
from analysis.findings.comparisons import PairLine
from analysis.findings.findings import Findings, tables
from analysis.report.sections.comparing.pairs import pair_table
from analysis.report.sections.comparing.scaling import thread_sentences
from analysis.report.sections.comparing.variants import sentences, variant_table
from tests.analysis.recipe import MS, SECOND_THREAD, Recipe

Found = Callable[[Recipe], Findings]
SMALL = Recipe(workloads=("mlp",), rounds=4, threads=(1,))


def along(findings: Findings, axis: str) -> list[PairLine]:
    return [row for row in findings.pairs if row.axis == axis]


def test_pairs_are_all_that_differ_in_one_thing(findings: Findings) -> None:
    seen = {frozenset((row.id, row.base)) for row in findings.pairs}
    assert len(seen) == len(findings.pairs)
    assert seen == {
        frozenset(pair)
        for pair in itertools.combinations(findings.matched, 2)
        if sum(one != other for one, other in zip(*pair, strict=True)) == 1
        or pair[0]._replace(framework="", variant="") == pair[1]._replace(framework="", variant="")
        if pair[0].workload == pair[1].workload
    }
    for row in findings.pairs:
        if row.axis == BOTH:
            assert row.against == f"{row.base.framework}/{row.base.variant}"
        else:
            assert row.id._replace(**{row.axis: row.against}) == row.base
    order = [AXES.index(row.axis) for row in findings.pairs]
    assert order == sorted(order)


def test_planted_ratios_are_recovered_along_each_axis(findings: Findings) -> None:
    for row in findings.pairs:
        own, base = (
            MS[one.workload, one.framework, one.variant]
            / (SECOND_THREAD[one.workload] if one.threads == 2 else 1)
            for one in (row.id, row.base)
        )
        ratio, low, high = row.estimate.ends
        assert ratio == pytest.approx(own / base, rel=0.06)
        assert ratio and low and high and low < ratio < high
    assert {row.against for row in along(findings, "variant")} == {"default"}
    assert {row.against for row in along(findings, "threads")} == {1}
    assert {row.against for row in along(findings, "framework")} == {"pytorch"}


def test_pairs_with_the_reference_are_as_in_comparisons(findings: Findings) -> None:
    pairs = {(row.id, row.base): row for row in along(findings, "framework")}
    measured = [row for row in findings.comparisons if row.estimate.ratio is not None]
    assert len(measured) == len(pairs) == 8
    for row in measured:
        same = pairs[row.id, row.base]
        assert same.estimate.ends == row.estimate.ends
        assert (same.estimate.verdict, same.certificate) == (row.estimate.verdict, row.certificate)


def test_two_that_are_no_reference_are_paired_too(found: Found) -> None:
    three = replace(SMALL, frameworks=("pytorch", "tensorflow", "jax"), variants=("default",))
    sides = {(row.id.framework, row.against) for row in found(three).pairs}
    assert sides == {("jax", "pytorch"), ("tensorflow", "pytorch"), ("tensorflow", "jax")}


def test_a_refused_certificate_refuses_its_pairs(found: Found) -> None:
    findings = found(replace(SMALL, refused=("pytorch/tuned/cpu/1",)))
    refused = [row for row in findings.pairs if row.estimate.verdict == "refused"]
    assert {(row.axis, row.id.who) for row in refused} == {
        ("variant", "PyTorch tuned"), ("framework", "TensorFlow tuned"),
        ("contender", "PyTorch tuned"),
    }  # fmt: skip
    assert all("pytorch/tuned/cpu/1 refused" in row.reason for row in refused)
    assert len(findings.pairs) == 6
    table = pair_table(findings)
    assert table and len(table.rows) == 3


def test_controls_and_pitfalls_are_in_no_pair(found: Found) -> None:
    slow = {("pytorch", "trap-slow"): ("slow", 2.0, 0.0)}
    findings = found(replace(SMALL, controls=[(0.0, 1.0)], pitfalls=slow))
    assert {one.variant for row in findings.pairs for one in (row.id, row.base)} == {
        "default", "tuned",
    }  # fmt: skip
    assert found(replace(SMALL, controls=[(0.0, 1.0)], alone=True)).pairs == []


def test_workloads_are_paired_if_they_share_contests(found: Found) -> None:
    recipe = Recipe(rounds=4, variants=("default",), frameworks=("pytorch",), threads=(1,))
    assert along(found(recipe), "workload") == []
    findings = found(replace(recipe, together=True))
    (row,) = along(findings, "workload")
    assert (row.id.workload, row.against) == ("mnist-cnn", "mlp")
    assert row.estimate.ratio == pytest.approx(21 / 110, rel=0.1)
    assert pair_table(findings) is None  # workloads alone are not worth a table
    both = found(replace(recipe, together=True, variants=("default", "tuned")))
    table = pair_table(both)
    assert table and {tuple(line[1:3]) for line in table.rows} == {("PyTorch, tuned", "PyTorch")}


def test_the_file_names_what_a_pair_differs_in(findings: Findings) -> None:
    rows = list(csv.DictReader(io.StringIO(tables([findings])["pairs"])))
    assert len(rows) == len(findings.pairs)
    (row,) = (
        row
        for row in rows
        if (row["axis"], row["workload"], row["framework"], row["threads"])
        == ("variant", "mlp", "pytorch", "2")
    )
    assert (row["variant"], row["against"], row["replicates"]) == ("tuned", "default", "7")
    assert float(row["ratio"]) == pytest.approx(50 / 110, rel=0.06)
    assert row["verdict"] == "faster" and row["certificate"].startswith("agrees")


def test_what_tuning_gains_is_said_with_its_times(findings: Findings) -> None:
    torch, tensorflow = sentences(findings)  # the largest gain first
    assert re.fullmatch(
        r"PyTorch, tuned, is 1\.1 to 2\.[12] times as fast as in the tutorials.", torch
    )
    assert tensorflow.startswith("TensorFlow, tuned, takes 0.5")  # slower on the CNN
    assert tensorflow.endswith("times as long as in the tutorials †.")
    table = variant_table(findings)
    assert table and len(table.rows) == 8
    own, other = (float(cell) for cell in table.rows[0][3:6:2])
    assert table.rows[0][:3] == ["MLP, 1 thread", "PyTorch", "tuned"]
    assert (own, other) == (pytest.approx(50, rel=0.05), pytest.approx(110, rel=0.05))


def test_what_a_second_thread_gains_is_said(findings: Findings) -> None:
    (text,) = thread_sentences(findings)
    assert re.match(
        r"With 2 threads, steps are 1\.[23] to 1\.[456] times as fast as with 1\. ", text
    )
    assert text.endswith(" least.") and " on the MNIST CNN gains most, " in text


def test_every_pair_of_one_condition_has_a_row(findings: Findings) -> None:
    table = pair_table(findings)
    assert table and [name for name, _ in table.columns] == [
        "on", "contender", "compared with", "ratio", "interval", "verdict", "same?",
    ]  # fmt: skip
    shown = [tuple(row[:3]) for row in table.rows]
    assert len(shown) == len(set(shown))
    assert ("MLP, 1 thread", "TensorFlow", "PyTorch") in shown
    assert not any(one == base for _, one, base in shown)
