"""Against whom a variant is held: its like, or the reference's default where it has none. The
reference is a framework by name, or the fastest."""

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.data.reading import load
from analysis.findings.comparisons import Comparison, comparisons
from analysis.findings.fairness.audit import mismatches
from analysis.findings.findings import Findings, tables
from analysis.repeats.page import Page, markdown
from analysis.repeats.series import all_series
from analysis.report.caveats.registry import caveats
from analysis.report.page import write as write_report
from analysis.report.sections.comparing.comparisons import comparison_table, elsewhere
from analysis.report.sections.comparing.pairs import pair_table
from analysis.report.sections.measuring.start import start_sentences, start_table
from analysis.report.sections.sameness.differences import declarations, difference_table
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import copied, write

Make = Callable[[Recipe], Findings]
FIT = ("keras", "fit")
OPT_IN = Recipe(
    workloads=("mlp",),
    variants=("default",),
    threads=(1,),
    opted=[("pytorch", "compile"), ("tensorflow", "xla"), FIT],
    ms={("mlp", "pytorch", "compile"): 55.0, ("mlp", "tensorflow", "xla"): 220.0},
    timed={FIT: "from hand-over to callback"},
)


@pytest.fixture(scope="module")
def opted(found: Make) -> Findings:
    return found(OPT_IN)


def sides(found: Findings) -> set[tuple[str, str]]:
    return {
        (f"{row.id.framework}/{row.id.variant}", f"{row.reference}/{row.reference_variant}")
        for row in found.comparisons
        if row.id.device == "cpu"
    }


def test_each_variant_has_its_other_side(opted: Findings) -> None:
    assert sides(opted) == {
        ("pytorch/compile", "pytorch/default"),
        ("tensorflow/default", "pytorch/default"),
        ("tensorflow/xla", "pytorch/default"),
        ("keras/fit", "pytorch/default"),
    }
    found = {row.id.variant: row for row in opted.comparisons if row.id.framework != "keras"}
    assert found["compile"].estimate.ratio == pytest.approx(0.5, rel=0.06)
    assert found["xla"].estimate.ratio == pytest.approx(2, rel=0.06)


def test_what_two_frameworks_have_is_paired_by_name(found: Make) -> None:
    both = replace(OPT_IN, variants=("default", "tuned"), opted=())
    assert sides(found(both)) == {
        ("tensorflow/default", "pytorch/default"),
        ("tensorflow/tuned", "pytorch/tuned"),
    }


TWO = replace(OPT_IN, opted=[("tensorflow", "xla"), ("jax", "xla")])


def test_what_the_reference_lacks_is_held_against_its_default(found: Make) -> None:
    assert sides(found(TWO)) == {
        ("tensorflow/default", "pytorch/default"),
        ("tensorflow/xla", "pytorch/default"),
        ("jax/xla", "pytorch/default"),
    }


@pytest.mark.parametrize("fastest", [False, True])
def test_settings_are_held_against_each_other_where_the_reference_lacks_both(
    found: Make, fastest: bool
) -> None:
    findings = copied(found(replace(TWO, fastest=fastest)))
    for contest in findings.machine.records.contests:
        for contender in contest.contenders:
            if contender.variant == "xla":
                contender.settings["restart"] = contender.framework
            else:
                contender.settings.pop("restart", None)
    assert "tensorflow" in str(mismatches(findings.settings))


def test_one_framework_alone_is_held_against_its_default(found: Make) -> None:
    alone = replace(OPT_IN, frameworks=("pytorch",), opted=[("pytorch", "compile")])
    assert sides(found(alone)) == {("pytorch/compile", "pytorch/default")}
    without = replace(alone, variants=("compile",), opted=())
    assert sides(found(without)) == set()


def test_the_other_variant_is_named(opted: Findings) -> None:
    (row,) = comparison_table(opted).rows  # of one variant
    assert row[1] == "TensorFlow to PyTorch †"
    assert elsewhere(opted).startswith(
        "PyTorch, compiled; Keras, fit; TensorFlow, with XLA: 3 more"
    )
    pairs = pair_table(opted)
    assert pairs and {tuple(line[1:3]) for line in pairs.rows} > {
        ("PyTorch, compiled", "PyTorch"), ("TensorFlow, with XLA", "PyTorch"),
        ("Keras, fit", "PyTorch"),
    }  # fmt: skip
    table = start_table(opted)
    assert table and table.columns[-1] == ("beats PyTorch, start-up included", False)
    assert any("PyTorch, compiled, beats PyTorch" in text for text in start_sentences(opted))
    rows = list(csv.DictReader(io.StringIO(tables([opted])["half_width"])))
    assert {(r["variant"], r["reference_variant"]) for r in rows} >= {("xla", "default")}


def test_a_time_with_something_else_in_it_is_declared(opted: Findings) -> None:
    (fit,) = (
        row for row in opted.comparisons if (row.id.framework, row.id.device) == ("keras", "cpu")
    )
    assert "declared: timed region (from hand-over to callback)" in fit.certificate
    said = [text for text in declarations(opted) if "the timed part differs" in text]
    assert len(said) == 1 and said[0].startswith("† MLP, Keras, fit, ")
    table = pair_table(opted)
    assert table and any("† timed region" in cell for line in table.rows for cell in line)


def test_settings_are_held_against_the_same_side(opted: Findings) -> None:
    by_variant = {
        (line.id.framework, line.id.variant): line
        for line in opted.settings
        if line.setting == "mode" and line.id.device == "cpu"
    }
    assert by_variant["pytorch", "compile"].status == "equal"
    changed = copied(opted)
    for contest in changed.machine.records.contests:
        for contender in contest.contenders:
            if contender.variant == "xla":
                contender.settings["precision"] = "float16"
    said = str(mismatches(changed.settings))
    assert "pytorch/default/cpu/1: float32" in said
    table = difference_table(changed)
    assert table and table.rows


def test_repeats_find_the_other_side(tmp_path: Path) -> None:
    folders = [
        write(tmp_path / str(year), replace(OPT_IN, year=year, seed=year)) for year in (2026, 2027)
    ]
    (series,) = all_series(folders)
    assert all(row.studies == 2 for row in series.rows)
    assert "PyTorch to PyTorch default" in markdown(Page.of([series]), "", "")


# TensorFlow leads in `default`, PyTorch in `tuned`; TensorFlow's `xla` has no like.
FASTEST = replace(
    OPT_IN,
    fastest=True,
    variants=("default", "tuned"),
    opted=[("tensorflow", "xla")],
    ms={("mlp", "pytorch", "tuned"): 40.0, ("mlp", "tensorflow", "xla"): 60.0},
)


def on_cpu(found: Findings) -> list[Comparison]:
    return [row for row in found.comparisons if row.id.device == "cpu"]


def test_the_fastest_of_each_variant_is_the_reference(found: Make) -> None:
    findings = found(FASTEST)
    assert sides(findings) == {
        ("pytorch/default", "tensorflow/default"),
        ("tensorflow/tuned", "pytorch/tuned"),
        ("tensorflow/xla", "tensorflow/default"),
    }
    ratios = {row.id.variant: row.estimate.ratio for row in on_cpu(findings)}
    assert ratios["default"] == pytest.approx(110 / 77, rel=0.06)
    assert not any("Other reference" in one.heading for one in caveats(findings, machines=1))


def test_the_fastest_is_one_that_may_be_compared(found: Make) -> None:
    findings = found(replace(FASTEST, refused=("tensorflow/default/cpu/1",)))
    refused = {row.id.framework: row for row in on_cpu(findings) if row.id.variant == "default"}
    assert refused["tensorflow"].base.framework == "pytorch"
    assert refused["tensorflow"].estimate.verdict == "refused"


def test_the_same_reference_counts_without_the_flagged_turns(found: Make) -> None:
    """Even if another contender is the fastest in the turns that are left."""
    findings = found(replace(FASTEST, ms={("mlp", "pytorch", "default"): 78.5}))
    (name,) = {row.reference for row in on_cpu(findings) if row.id.variant == "default"}
    rows = findings.machine.batches.copy()
    rows.loc[rows["contender"] == f"{name}/default/cpu/1", "ms"] *= 2
    again = Findings(replace(findings.machine, batches=rows))
    calm = comparisons(again.measurements, again.loss_check, findings.bases)
    assert {row.base for row in calm} == {row.base for row in findings.comparisons}
    assert {row.reference for row in on_cpu(again) if row.id.variant == "default"} != {name}


def test_the_reader_is_told_that_the_fastest_was_chosen(tmp_path: Path) -> None:
    for name, recipe in (("fastest", FASTEST), ("named", replace(FASTEST, fastest=False))):
        write_report(load([write(tmp_path / name, recipe)]), tmp_path / f"{name} report")
    for page in ("report.md", "report.html"):
        said = [
            "Each ratio refers to the fastest contender of its workload"
            in (tmp_path / f"{name} report" / page).read_text()
            for name in ("fastest", "named")
        ]
        assert said == [True, False]
