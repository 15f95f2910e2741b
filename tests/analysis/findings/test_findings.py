"""From made-up records with planted truths to the rows that should follow."""

import csv
import io
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.data.reading import load
from analysis.data.results import BenchmarkId
from analysis.findings.comparisons import Comparison
from analysis.findings.fairness.settings import agree
from analysis.findings.findings import TABLES, Findings, Table, added, tables
from analysis.report.sections.measuring.missing import gaps
from analysis.report.sections.sameness.certificates import certificate_summary, certificate_table
from analysis.report.sections.sameness.differences import declarations
from tests.analysis.recipe import MS, NO_GPU, Recipe
from tests.analysis.synthetic import copied, write
from workflows.records.schema import OptimiserRow

Found = Callable[[Recipe], Findings]
SMALL = Recipe(workloads=("mnist-cnn",), threads=(1,))


def row(findings: Findings, workload: str, variant: str, threads: int) -> Comparison:
    (found,) = [
        r
        for r in findings.comparisons
        if (r.id.workload, r.id.variant, r.id.threads, r.id.device)
        == (workload, variant, threads, "cpu")
    ]
    return found


def test_ratio_is_the_geometric_mean_of_the_contests_ratios(findings: Findings) -> None:
    """Each of them the median over the pairs of steady mini-batches of a round."""
    batches = findings.batches
    steady = batches[~batches["warmup"] & (batches["workload"] == "mlp")]
    logs = []
    for _, contest in steady.groupby("replicate"):
        one, other = (
            contest[contest["contender"] == f"{name}/tuned/cpu/2"].assign(
                ns=lambda rows: rows["transfer_ns"] + rows["step_ns"]
            )
            for name in ("tensorflow", "pytorch")
        )
        pairs = one.merge(other, on="round")
        logs.append(np.median(np.log(pairs["ns_x"] / pairs["ns_y"])))
    assert row(findings, "mlp", "tuned", 2).estimate.ratio == pytest.approx(math.exp(np.mean(logs)))


@dataclass(frozen=True)
class Turns:
    """A row of a table that a module adds by itself."""

    contender: str
    turns: int


def test_a_module_adds_its_own_table(findings: Findings) -> None:
    counted = added("counted", Table(Turns, lambda f: [Turns("a/b/cpu/1", len(f.turns))]))
    try:
        assert counted.of(findings) is counted.of(findings)
        expected = (
            f"machine,contender,turns\n{findings.machine.name},a/b/cpu/1,{len(findings.turns)}\n"
        )
        assert tables([findings])["counted"] == expected
    finally:
        del TABLES["counted"]


def test_one_replicate_cannot_tell(found: Found) -> None:
    only = row(found(replace(SMALL, replicates=1)), "mnist-cnn", "default", 1)
    assert only.estimate.verdict == "cannot tell" and only.estimate.p_adjusted is None
    assert only.estimate.ratio is not None and only.estimate.ratio_low is None
    assert "two at least" in only.reason


def test_verdicts_follow_from_the_intervals_in_the_table(findings: Findings) -> None:
    table = pd.read_csv(io.StringIO(tables([findings])["comparisons"])).query("device == 'cpu'")
    assert len(table) == 8 and (table["p_adjusted"] >= table["p"]).all()
    for line in table.itertuples():
        inside = line.tost_low >= 1 / 1.03 and line.tost_high <= 1.03
        apart = "faster" if line.ratio_high < 1 else "slower" if line.ratio_low > 1 else ""
        assert line.verdict == ("equivalent" if inside else apart or "cannot tell")
        assert line.ratio_low < line.tost_low < line.ratio < line.tost_high < line.ratio_high


def test_without_certificate_no_ratio(found: Found) -> None:
    findings = found(replace(SMALL, refused=("tensorflow/tuned/cpu/1",)))
    refused = row(findings, "mnist-cnn", "tuned", 1)
    assert refused.estimate.verdict == "refused"
    assert (refused.estimate.ratio, refused.estimate.p, refused.certificate) == (None, None, "")
    assert "loss differs by 2.0e-3 at step 3" in refused.reason
    times = [
        c for c in findings.contenders if c.id.framework == "tensorflow" and c.id.variant == "tuned"
    ]
    assert times[0].time.value and times[0].time.value > 0
    assert any(line.status == "refused" for line in findings.missing)
    # Holm's p of the others is corrected for one row, not for two
    other = row(findings, "mnist-cnn", "default", 1)
    assert other.estimate.p_adjusted == other.estimate.p


def test_a_refused_reference_takes_its_pairs_with_it(found: Found) -> None:
    findings = found(replace(SMALL, refused=("pytorch/tuned/cpu/1",)))
    assert row(findings, "mnist-cnn", "tuned", 1).estimate.verdict == "refused"
    assert row(findings, "mnist-cnn", "default", 1).estimate.ratio is not None


def test_no_certificate_at_all_is_a_refusal(findings: Findings) -> None:
    without = copied(findings)
    without.machine.records.certificates.clear()
    held = [pair for pair in without.comparisons if pair.id.device == "cpu"]
    assert {pair.estimate.verdict for pair in held} == {"refused"}
    assert "has no certificate" in held[0].reason


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow"])
def test_a_certificate_of_other_versions_does_not_count(findings: Findings, framework: str) -> None:
    other = copied(findings)
    for record in other.machine.records.certificates:
        for certificate in record.rows:
            if (certificate.name, record.workload) == (f"{framework}/tuned/cpu/1", "mlp"):
                certificate.versions |= {"torch": "2.12.0", "keras": "3.14.0", "numpy": "1.26.4"}
    old = {"pytorch": "torch 2.12.0, measured with 2.13.0"}
    old["tensorflow"] = "keras 3.14.0, measured with 3.15.1"
    pair = row(other, "mlp", "tuned", 1)
    assert (pair.estimate.verdict, pair.estimate.ratio) == ("refused", None)
    assert pair.reason == f"{framework}/tuned/cpu/1 was certified with {old[framework]}"
    assert row(other, "mlp", "tuned", 2).estimate.ratio
    assert row(other, "mnist-cnn", "tuned", 1).estimate.ratio


def test_a_certificate_of_no_version_does_not_count(findings: Findings) -> None:
    other = copied(findings)
    for record in other.machine.records.certificates:
        for certificate in record.rows:
            certificate.versions = {}
    pair = row(other, "mlp", "tuned", 1)
    assert pair.estimate.ratio is None and "of no version, measured with " in pair.reason


def test_another_numpy_is_no_other_framework(findings: Findings) -> None:
    other = copied(findings)
    for record in other.machine.records.certificates:
        for certificate in record.rows:
            certificate.versions |= {"numpy": "1.26.4", "python": "3.12.0"}
    assert row(other, "mlp", "tuned", 1).estimate.ratio


def test_plain_sgd_at_full_size_is_in_the_certificate_table(findings: Findings) -> None:
    declared = {
        line.id.workload: (line.full_sgd_loss, line.full_sgd_weights)
        for line in findings.certificate
        if line.status == "declared"
    }
    assert declared.keys() == {"mlp", "mnist-cnn"}
    assert all(value and value < 1e-12 for found in declared.values() for value in found)
    shown = certificate_table(findings)
    assert shown
    place = shown.columns.index(("with plain SGD", True))
    assert sum(cells[place] != "" for cells in shown.rows) == 2  # a row for both thread counts


def test_a_certificate_is_a_row_for_each_contender_and_workload(findings: Findings) -> None:
    shown = certificate_table(findings)
    assert shown and len(shown.rows) == 8 and shown.notes == []
    cells = {(row[0], row[1]): row[2:] for row in shown.rows}
    own = cells["TensorFlow", "MLP, 1 and 2 threads"]
    assert own[0] == "† declared: optimiser.adam" and own[2] == "agrees: sgd; failed: momentum"
    tuned = cells["PyTorch, tuned", "MLP, 1 and 2 threads"]
    assert tuned[0].startswith("agrees to 2.") and tuned[3] == "4.0e-7"
    said = certificate_summary(findings)
    assert said[1].startswith("Of 16 certificates, 12 agree with PyTorch within 1e-12 (at most 3")
    assert said[1].endswith(" off); 4 differ as declared.")


def test_an_optimiser_that_is_declined_has_its_reason(findings: Findings) -> None:
    found = copied(findings)
    row = found.machine.records.certificates[0].rows[0]
    row.optimisers["momentum"] = OptimiserRow(status="missing", reason="it has none")
    shown = certificate_table(found)
    assert shown and [note for _, note in shown.notes] == ["missing: momentum. it has none."]


def test_a_declared_deviation_has_its_reason_and_its_size(findings: Findings) -> None:
    assert declarations(findings) == [
        "† MLP and MNIST CNN, TensorFlow, as in the tutorials, 1 and 2 threads: Keras puts epsilon "
        "inside the bias correction. Relative effect on the loss: 1.3e-3 within 10 steps. With "
        "plain SGD instead, the two compute the same."
    ]


def test_a_refused_certificate_is_a_row_with_its_reason(found: Found) -> None:
    findings = found(replace(SMALL, refused=("tensorflow/tuned/cpu/1",)))
    shown = certificate_table(findings)
    assert shown and "refused" in [row[2] for row in shown.rows]
    ((who, why),) = shown.notes
    assert who == "MNIST CNN, TensorFlow, tuned, 1 thread"
    assert why.startswith("refused. loss differs by 2.0e-3 at step 3.")


def test_certificates_say_how_far(findings: Findings) -> None:
    assert row(findings, "mlp", "tuned", 1).certificate.startswith("agrees to 2.")
    assert row(findings, "mlp", "default", 1).certificate == (
        "declared: optimiser.adam (loss 1.3e-3 within 10 steps)"
    )


def test_gpu_rows_are_in_every_table_with_their_reason(findings: Findings) -> None:
    alone = ("machine", "pairs", "steady", "start", "as_timed")  # of what was measured
    for name, text in tables([findings]).items():
        if name in alone:
            continue
        rows = [r for r in csv.DictReader(io.StringIO(text)) if r["device"] == "gpu"]
        assert rows, name
        assert {r["reason"] for r in rows} == {NO_GPU}
        assert {r["dataset"] for r in rows} == {"normal", "mnist"}
    gpu = [r for r in findings.comparisons if r.id.device == "gpu"]
    assert {r.estimate.verdict for r in gpu} == {"missing"}
    assert gaps(findings) == [f"No GPU on this machine: 8 comparisons left out. {NO_GPU}."]


def test_a_failed_replicate_leaves_the_others(found: Found) -> None:
    reason = "out of memory:\n ResourceExhaustedError"
    absent = {("mnist-cnn", r, "tensorflow/tuned/cpu/1"): reason for r in (2, 5)}
    findings = found(replace(SMALL, absent=absent))
    pair = row(findings, "mnist-cnn", "tuned", 1)
    assert pair.estimate.replicates == 5 and pair.estimate.ratio is not None
    (failed,) = [line for line in findings.missing if line.status == "failed"]
    assert failed.replicates == "2 5"
    assert failed.reason == "out of memory: ResourceExhaustedError"
    (contender,) = [c for c in findings.contenders if c.status == "incomplete"]
    assert contender.replicates == 5 and contender.reason.startswith("not in 2 of 7 replicates")


def test_rows_of_a_failed_process_do_not_count(findings: Findings) -> None:
    failed = copied(findings)
    for contest in failed.machine.records.contests:
        for contender in contest.contenders:
            if contender.name == "pytorch/default/cpu/1":
                contender.status, contender.reason = "failed", "died in round 7"
    dead = [c for c in failed.contenders if c.id[1:3] == ("pytorch", "default")]
    assert {c.time.value for c in dead if c.id.threads == 1 and c.id.device == "cpu"} == {None}
    assert row(failed, "mlp", "default", 1).reason == "died in round 7"


def test_contests_that_were_not_held_are_missing(findings: Findings) -> None:
    fewer = copied(findings)
    contests = fewer.machine.records.contests
    contests[:] = [c for c in contests if (c.workload, c.replicate) != ("mlp", 7)]
    lines = [line for line in fewer.missing if line.replicates == "7"]
    assert len(lines) == 8
    assert {line.reason for line in lines} == {"there is no record of the contest"}


def test_another_reference_where_the_studys_was_not_measured(found: Found) -> None:
    recipe = replace(SMALL, reference="jax")
    findings = found(recipe)
    assert {pair.reference for pair in findings.comparisons} == {"pytorch"}


def test_contenders(findings: Findings) -> None:
    (line,) = [c for c in findings.contenders if c.id == ("mlp", "pytorch", "default", "cpu", 1)]
    median, low, high = line.time
    assert median == pytest.approx(110, rel=0.05)
    assert low and high and line.q25_ms and line.q75_ms and median
    assert low < median < high
    assert line.q25_ms < median < line.q75_ms
    assert line.first_batch_ms == pytest.approx(660, rel=0.2)
    assert line.batches == 7 * 8 * 4 and line.warmup_batches == 7 * (5 + 8 * 2)


def test_samples_per_second_are_what_was_trained_over_the_time_it_took(findings: Findings) -> None:
    """A slow mini-batch in fifty costs throughput, and leaves the median alone."""
    batches = findings.batches
    for line in findings.contenders:
        if line.time.value is None:
            assert line.samples_per_s is None
            continue
        own = batches[
            (batches["workload"] == line.id.workload)
            & (batches["contender"] == line.id.contender)
            & ~batches["warmup"]
        ]
        seconds = (own["transfer_ns"] + own["step_ns"]).sum() / 1e9
        batch = {"mlp": 32, "mnist-cnn": 64}[line.id.workload]
        assert line.samples_per_s == pytest.approx(batch * len(own) / seconds)
        assert line.samples_per_s < 1000 * batch / line.time.value


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("0.9", "0.8999999761581421", True),
        ("0.001", "0.0010000000474974513", True),
        ("1e-08", "9.99999993922529e-09", True),
        ("0.9", "0.90001", False),
        ("1e-08", "1e-07", False),
        ("NCHW", "NHWC", False),
        ("1", "1 | 2", False),
        ("0", "1e-30", False),
    ],
)
def test_numbers_that_are_equal_but_for_rounding(one: str, other: str, same: bool) -> None:
    assert agree(one, other) is agree(other, one) is same


def test_machine_is_flattened_and_changes_are_said(findings: Findings) -> None:
    values = {line.key: line for line in findings.system_info}
    assert values["cpu.model"].value == "AMD EPYC"
    assert values["cpu.caches_kib.L3"].value == "32768"
    assert values["load_average"].value == "0.1 to 0.7, 0.1, 0.1"
    assert values["load_average"].changed == "yes"
    assert values["versions.tensorflow.keras"].value == "3.15.1"


def test_two_machines_are_never_pooled(tmp_path: Path) -> None:
    fast = replace(SMALL, machine="a", seed=1)
    slow = replace(
        SMALL, machine="b", seed=2, ms={key: 3 * ms for key, ms in MS.items()}, replicates=4
    )
    folders = [write(tmp_path / recipe.machine, recipe) for recipe in (slow, fast)]
    both = tables([Findings(machine) for machine in load(folders)])
    alone = [tables([Findings(machine)]) for folder in folders[::-1] for machine in load([folder])]
    for name, text in both.items():
        first, second = (one[name].splitlines() for one in alone)
        assert text.splitlines() == [*first, *second[1:]], name
        assert {line.split(",")[0] for line in text.splitlines()[1:]} == {"a", "b"}


def test_columns(findings: Findings) -> None:
    wanted = {
        "contenders": "workload framework variant device threads replicates batches median_ms "
        "low_ms high_ms q25_ms q75_ms first_batch_ms warmup_batches samples_per_s status reason",
        "comparisons": "workload device threads variant framework reference ratio ratio_low "
        "ratio_high tost_low tost_high p p_adjusted verdict certificate",
    }
    written = {name: pd.read_csv(io.StringIO(t)) for name, t in tables([findings]).items()}
    assert {*written} == {n for n, table in TABLES.items() if not table.optional} | {"as_timed"}
    for name, columns in wanted.items():
        assert set(columns.split()) <= set(written[name].columns)
    assert all("machine" in table.columns for table in written.values())
    assert all("dataset" in t.columns for n, t in written.items() if n != "machine")


def test_order_is_that_of_the_study(findings: Findings) -> None:
    found = list(findings.availability)
    assert found[0] == BenchmarkId("mlp", "pytorch", "default", "cpu", 1)
    assert found[1] == BenchmarkId("mlp", "tensorflow", "default", "cpu", 1)
    assert found[2].variant == "tuned" and found[4].threads == 2 and found[8].device == "gpu"
    assert found[-1].workload == "mnist-cnn"
