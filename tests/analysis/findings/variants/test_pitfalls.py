"""What a pitfall costs, from made-up records whose pitfalls cost what is known."""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from itertools import combinations
from pathlib import Path

import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas

from analysis.data.reading import load
from analysis.data.results import Uncompared
from analysis.findings.findings import Findings
from analysis.findings.harness import harness_lines
from analysis.findings.variants.pitfalls import EARLY, PitfallLine
from analysis.report.caveats.registry import caveats
from analysis.report.figures.sameness.pitfalls import pitfall_costs
from analysis.report.figures.style import Theme
from analysis.report.first.headline import headline
from analysis.report.layout import Severity
from analysis.report.page import write
from analysis.report.sections.sameness.certificates import certificate_summary, certificate_table
from analysis.report.sections.sameness.pitfalls import losses, pitfall_summary, pitfall_table
from tests.analysis.recipe import Recipe
from tests.analysis.synthetic import write as write_records
from workflows.records.schema import NOOP

WHY = "does not apply to mlp: no ReLU before a max-pooling"
PITFALLS = {
    ("pytorch", "trap-weights"): ("PyTorch's own initial weights", 1.0, 0.12),
    ("pytorch", "trap-pooled-first"): ("ReLU after the pooling", 0.8, 0.0),
    ("tensorflow", "trap-weights"): ("Keras' own initial weights", 1.0, 0.25),
    ("tensorflow", "trap-eager"): ("eager, without tf.function", 4.0, 0.0),
}
RECIPE = Recipe(
    variants=("default",),
    threads=(1,),
    pitfalls=PITFALLS,
    process_sd=0.005,
    absent={("mlp", r, "pytorch/trap-pooled-first/cpu/1"): WHY for r in range(1, 8)},
)

Make = Callable[[Recipe], Findings]


@pytest.fixture(scope="module")
def trapped(found: Make) -> Findings:
    return found(RECIPE)


def line(findings: Findings, framework: str, variant: str, workload: str) -> PitfallLine:
    (row,) = [
        row for row in findings.pitfalls
        if (row.id.framework, row.id.variant, row.id.workload) == (framework, variant, workload)
    ]  # fmt: skip
    return row


def test_each_is_held_against_the_same_framework_without_it(trapped: Findings) -> None:
    assert len(trapped.pitfalls) == len(PITFALLS) * 2
    for row in trapped.pitfalls:
        label, times, off = PITFALLS[row.id.framework, row.id.variant]
        assert (row.pitfall, row.beside) == (label, "default")
        assert (row.id.device, row.id.threads) == ("cpu", 1)
        if row.reason:
            continue
        assert row.estimate.ratio == pytest.approx(times, rel=0.03) and row.estimate.replicates == 7
        ratio, low, high = row.estimate.ends
        assert ratio and low and high and low < ratio < high
        assert row.estimate.verdict == {4.0: "slower", 0.8: "faster"}.get(times, "equivalent")
        assert row.steps == 100
        for loss in (row.loss_1, row.loss_10, row.loss_100, row.loss_last):
            assert loss == pytest.approx(off, rel=1e-9)
        assert row.end_loss and row.beside_end_loss
        assert row.end_loss / row.beside_end_loss == pytest.approx(1 + off, rel=1e-5)


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Findings:
    """PyTorch does not wait for its work, and reports a fiftieth of its time."""
    pitfalls = {
        ("pytorch", "trap-unsynchronised"): ("no synchronise", 0.02, 0.0),
        ("tensorflow", "trap-unsynchronised"): ("no synchronise", 1.0, 0.0),
    }
    recipe = Recipe(variants=("default",), threads=(1,), pitfalls=pitfalls, process_sd=0.005)
    folder = write_records(tmp_path_factory.mktemp("hasty") / "machine", recipe)
    findings = Findings(load([folder])[0])
    for certificate in findings.machine.records.certificates:
        for row in certificate.rows:
            if (row.framework, row.variant) == ("pytorch", "trap-unsynchronised"):
                row.status, row.unfenced = "refused", 0.97
    return findings


def test_a_time_that_leaves_work_out_is_never_called_fast(hasty: Findings) -> None:
    row = line(hasty, "pytorch", "trap-unsynchronised", "mlp")
    ratio, low, high = row.estimate.ends
    assert ratio == pytest.approx(0.02, rel=0.03) and low and high and low < ratio < high
    assert (row.estimate.verdict, row.reason) == ("refused", EARLY)
    control = line(hasty, "tensorflow", "trap-unsynchronised", "mlp")
    assert (control.estimate.verdict, control.reason) == ("equivalent", "")
    assert {row.id.variant for row in [*hasty.matrix, *hasty.pairs]} == {"default"}
    idle = hasty.machine.batches[hasty.machine.batches["variant"] == "default"]
    idle = idle[idle["framework"] == "pytorch"].assign(framework=NOOP)
    machine = replace(hasty.machine, uncompared=Uncompared(idle))
    fastest = [row.fastest.split()[0] for row in harness_lines(machine, hasty.contenders)]
    assert fastest == ["TensorFlow"] * 2


def test_a_time_that_leaves_work_out_is_shown_as_what_it_is(hasty: Findings) -> None:
    said = (
        "Of 4 pitfalls measured, none cost time and none saved some; 2 timed only a part of the "
        "work."
    )
    assert headline(hasty) == said
    summary = pitfall_summary(hasty.pitfalls)
    assert summary.startswith(f"{said} The shortest: no synchronise, in PyTorch on the ")
    assert summary.endswith(", reports 2.0 % of the true time.")
    table = pitfall_table(hasty)
    assert [row[5] for row in table.rows if row[0] == "PyTorch"] == ["refused", "refused"]
    assert table.notes[0][1] == f"refused. {EARLY}."
    drawn = pitfall_costs(hasty, Theme.of(hasty.matched), "traps")
    assert drawn and "Hollow: the reported time over the true one" in drawn.caption
    assert drawn.finding == "“no synchronise” reports 2.0 % of PyTorch's true time."


def test_what_does_not_apply_is_a_row_with_its_reason(trapped: Findings) -> None:
    row = line(trapped, "pytorch", "trap-pooled-first", "mlp")
    assert (row.estimate.verdict, row.estimate.ratio, row.reason) == ("missing", None, WHY)
    assert not [one for one in trapped.missing if one.status == "failed"]
    assert pitfall_table(trapped).notes == [
        ("ReLU after the pooling (PyTorch, MLP, 1 thread)", f"missing. {WHY}.")
    ]


def test_the_costliest_of_a_framework_comes_first(trapped: Findings) -> None:
    order = [
        (row.id.framework, row.id.workload, row.estimate.ratio or 0) for row in trapped.pitfalls
    ]
    places = [("pytorch", "mlp"), ("pytorch", "mnist-cnn"), ("tensorflow", "mlp")]
    assert list(dict.fromkeys(one[:2] for one in order)) == [*places, ("tensorflow", "mnist-cnn")]
    for place in places:
        ratios = [one[2] for one in order if one[:2] == place]
        assert ratios == sorted(ratios, reverse=True)


def test_pitfalls_are_compared_with_no_other_framework(trapped: Findings, found: Make) -> None:
    without = found(Recipe(rounds=2, variants=("default",), threads=(1,)))
    rows = trapped.comparisons
    assert [(r.id.workload, r.id.variant, r.id.device) for r in rows] == [
        (r.id.workload, r.id.variant, r.id.device) for r in without.comparisons
    ]
    assert {r.id.variant for r in [*rows, *trapped.pairs]} == {"default"}
    assert sum(row.estimate.ratio is not None for row in rows) == 2
    # Holm's families are apart: two rows here, seven there.
    small = [(r.estimate.p, r.estimate.p_adjusted) for r in rows if r.estimate.p]
    assert len(small) == 2 and all(adjusted <= 2 * p for p, adjusted in small if p and adjusted)
    family = [r.estimate for r in trapped.pitfalls if r.estimate.p and r.estimate.p_adjusted]
    hardest = min(one.p for one in family if one.p)
    assert min(one.p_adjusted for one in family if one.p_adjusted) == pytest.approx(7 * hardest)


def test_a_refused_certificate_of_a_pitfall_is_data(trapped: Findings) -> None:
    statuses = {row.id.variant: row.status for row in trapped.certificate if row.id.device == "cpu"}
    assert statuses["trap-weights"] == "refused"
    assert not trapped.loss_check.faults
    said = caveats(trapped, 1)
    assert not [one for one in said if one.severity is Severity.WARNING]
    assert not [one.text for one in said if "efused" in one.text or "trap" in one.text]
    assert "refused" not in " ".join(certificate_summary(trapped))
    table = certificate_table(trapped)
    assert table and not [row for row in table.rows if "trap" in " ".join(row)]


def test_settings_of_a_pitfall_are_nobodys_mismatch(trapped: Findings) -> None:
    mine = [row for row in trapped.settings if row.id.variant == "trap-weights"]
    assert mine and {row.status for row in mine} <= {"equal", "n/a", ""}


def test_sentences(trapped: Findings) -> None:
    shown = {tuple(row[:3]): row[3:] for row in pitfall_table(trapped).rows}
    weights = shown["PyTorch", "MNIST CNN, 1 thread", "PyTorch's own initial weights"]
    assert weights[2:] == ["equivalent", "12 % at step 1"]
    eager = shown["TensorFlow", "MLP, 1 thread", "eager, without tf.function"]
    assert eager[2:] == ["slower", "same"]
    summary = pitfall_summary(trapped.pitfalls)
    assert summary.startswith("Of 7 pitfalls measured, 2 cost time and 1 saved some. The costliest")
    assert "eager, without tf.function, in TensorFlow on the " in summary
    assert summary.endswith(
        "takes 4.0 times as long. 4 trained something else; the time does not show 4 of these."
    )


def test_what_chance_explains_among_many_is_not_counted(trapped: Findings) -> None:
    """Holm's p decides, and the table's own verdicts stay."""
    rows = [
        replace(row, estimate=replace(row.estimate, p_adjusted=0.06))
        if row.estimate.verdict == "faster"
        else row
        for row in trapped.pitfalls
    ]
    assert pitfall_summary(rows).startswith(
        "Of 7 pitfalls measured, 2 cost time and none saved some. 1 more has a verdict that chance "
        "may explain among 7. The costliest"
    )
    assert [row.estimate.verdict for row in rows].count("faster") == 1


def test_one_replicate_has_no_interval(found: Make) -> None:
    findings = found(Recipe(replicates=1, rounds=2, threads=(1,), pitfalls=PITFALLS))
    row = line(findings, "tensorflow", "trap-eager", "mlp")
    ratio, low, _ = row.estimate.ends
    assert ratio and low is None and row.estimate.verdict == "cannot tell"
    drawn = pitfall_costs(findings, Theme.of(findings.matched), "traps")
    assert drawn and "1, 10 and 100" in drawn.alt


def test_a_certificate_that_is_not_there_leaves_the_loss_open(found: Make) -> None:
    findings = found(Recipe(replicates=2, rounds=2, threads=(1,), pitfalls=PITFALLS))
    findings.machine.records.certificates.clear()
    row = line(findings, "tensorflow", "trap-eager", "mlp")
    assert row.steps == 0 and row.losses == [] and row.estimate.ratio
    assert losses(row) == "not measured"
    assert "effect of 8 on the loss was not measured" in pitfall_summary(findings.pitfalls)


def test_the_report_has_the_part_only_where_there_are_pitfalls(
    trapped: Findings, found: Make, tmp_path: Path
) -> None:
    ordinary = found(Recipe(replicates=2, rounds=2, workloads=("mlp",), threads=(1,)))
    write([trapped.machine], tmp_path / "with")
    write([ordinary.machine], tmp_path / "without")
    for name in ("report.md", "report.html"):
        page = (tmp_path / "with" / name).read_text()
        assert "What each pitfall costs" in page and "ReLU after the pooling" in page
        assert "pitfall costs" not in (tmp_path / "without" / name).read_text()
    assert not (tmp_path / "without/tables/traps.csv").exists()
    assert not (tmp_path / "without/figures/traps.svg").exists()
    table = pd.read_csv(tmp_path / "with/tables/traps.csv")
    assert len(table) == 8 and table["ratio"].notna().sum() == 7


def test_nothing_in_the_figure_lies_on_anything_else(
    trapped: Findings, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: list[Canvas] = []
    module = import_module("analysis.report.figures.sameness.pitfalls")
    monkeypatch.setattr(module, "Figure", lambda drawn, *words, **more: kept.append(drawn))
    module.pitfall_costs(trapped, Theme.of(trapped.matched), "traps")
    (drawn,) = kept
    renderer = FigureCanvasAgg(drawn).get_renderer()
    drawn.canvas.draw()
    time, loss = (axes.get_window_extent(renderer) for axes in drawn.axes)
    numbers = [text.get_window_extent(renderer) for text in drawn.axes[0].texts]
    words = [text.get_window_extent(renderer) for text in drawn.axes[1].texts]
    labels = [one for one in words if one.x0 < loss.x0]
    shares = [one for one in words if one.x0 > loss.x1]
    assert len(labels) == 7 + 4 and len(numbers) == len(shares) == 7
    assert len(labels) + len(shares) == len(words)
    assert all(one.x1 <= drawn.bbox.x1 for one in words)
    assert all(time.x1 < one.x0 and one.x1 < loss.x0 for one in numbers)
    assert not any(a.overlaps(b) for a, b in combinations([*words, *numbers], 2))
    assert min(time.width, loss.width) > drawn.bbox.width / 4
