"""Whole studies through Snakemake, in copies of the clone."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from itertools import pairwise
from pathlib import Path

import pandas as pd
import pytest
import yaml

from tests.conftest import PACKAGES, ROOT, built_once
from tests.studies import FINISHED, MEASURE, OUTPUT, Clone
from workflows.stages.captions import caption


@pytest.fixture(scope="session")
def finished(surroundings, tmp_path_factory):
    """A clone in which the small study has run from nothing, and what it printed."""

    def build(folder):
        output = Clone(folder, FINISHED).snakemake()
        (folder / OUTPUT).write_text(output)

    return built_once(tmp_path_factory, "finished study", build)


@pytest.fixture
def done(finished, tmp_path):
    """A copy of the finished study."""
    return Clone(tmp_path / "a clone", FINISHED, of=finished)


@pytest.fixture
def clone(tmp_path, small):
    def make(**changes):
        return Clone(tmp_path / "a clone", {**small, "replicates": 2, **changes})

    return make


def edit(path: Path) -> None:
    path.write_text(path.read_text() + "\n# edited\n")


def test_a_study_from_nothing_to_its_report(done):
    output = (done.folder / OUTPUT).read_text()
    assert "contest 2 of 2 · " in output and "certificate 2 of 2 · MLP, Abacus · same as" in output
    for name in ("report.html", "report.md", "tables/contenders.csv", "tables/comparisons.csv",
                 "tables/missing.csv", "tables/certificate.csv",
                 "tables/settings.csv", "tables/machine.csv"):  # fmt: skip
        assert (done.report / name).stat().st_size > 0, name
    assert list(done.report.glob("figures/*.svg"))
    missing = pd.read_csv(done.report / "tables" / "missing.csv")
    assert "an abacus has no GPU" in set(missing.reason)


def test_nothing_is_done_twice(done):
    assert "Nothing to be done" in done.snakemake()


def test_editing_analysis_renders_the_report_and_measures_nothing(done):
    edit(done.folder / "analysis" / "format.py")
    assert done.would_run() == {"report", "failures", "all"}


@pytest.mark.all
def test_the_report_says_how_it_was_made_with_overrides(done):
    done.snakemake("--config", "margin=0.1")
    assert "--config margin=0.1" in (done.report / "report.html").read_text()


def test_only_new_replicates_are_measured(done):
    before = {path: path.stat().st_mtime_ns for path in done.results.glob("contests/*/*")}
    done.change(replicates=3)
    done.snakemake(*MEASURE)
    assert len(done.contests()) == 3
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    assert len({contest["configuration"] for contest in done.contests()}) == 1


@pytest.mark.all
def test_a_clock_that_was_set_back_costs_nothing(done):
    for path in [*done.results.rglob("*"), *done.report.rglob("*")]:
        os.utime(path, ns=(0, path.stat().st_mtime_ns + 3600 * 10**9))
    before = (done.results / "contests/mlp/1.parquet").read_bytes()
    done.change(replicates=3)
    done.snakemake()
    assert done.would_run() == set()
    assert len(done.contests()) == 3
    assert (done.results / "contests/mlp/1.parquet").read_bytes() == before


def test_editing_an_adapter_measures_and_certifies_again(done, tmp_path):
    """A framework in a folder beside the others, so that the edit touches no shared file."""
    beside = tmp_path / "beside"
    shutil.copytree(PACKAGES / "abacus", beside)
    done.variables["PYTHONPATH"] = str(beside)
    assert done.would_run() == set()
    edit(beside / "abacus.py")
    found = done.would_run()
    assert {"contest", "certify", "reference", "report"} <= found
    assert "prepare" not in found


def test_adding_a_contender_measures_its_contests_again(done):
    done.change(contenders=[{"framework": "abacus", "variants": ["default", "slow"]}])
    assert {"contest", "certify"} <= done.would_run()
    done.snakemake(*MEASURE)
    assert set(done.rows().variant) == {"default", "slow"}


@pytest.mark.all
def test_a_new_workload_is_measured_together_with_the_others(done, small):
    wide = {"from": "mlp", "features": 30, "hidden": [8], "samples": 400, "batch": 4}
    done.change(workloads={**small["workloads"], "wide": wide}, replicates=1)
    done.snakemake()
    assert set(done.rows("mlp+wide").workload) == {"mlp", "wide"}
    assert [contest["workload"] for contest in done.contests("mlp+wide")] == ["mlp", "wide"]
    report = (done.report / "report.html").read_text()
    assert "1 contest of MLP and wide took" in report  # the former contests of mlp do not count
    assert "Nothing to be done" in done.snakemake()


@pytest.mark.all
def test_cores_change_nothing_that_is_measured(clone, finished, tmp_path, small):
    contenders = [{"framework": "abacus", "variants": ["default", "slow"]}]
    workloads = {
        "mlp": small["workloads"]["mlp"],
        "other": {"from": "mlp", "features": 30, "hidden": [8], "samples": 400, "batch": 4},
    }
    apart = {**small["contest"], "together": False}
    study = clone(contenders=contenders, workloads=workloads, contest=apart)
    study.snakemake(*MEASURE, cores=2)
    rows = pd.concat([study.rows("mlp"), study.rows("other")])
    spans = rows.groupby(["workload", "replicate"]).start_ns.agg(["min", "max"]).sort_values("min")
    assert len(spans) == 4
    assert (spans["min"].to_numpy()[1:] > spans["max"].to_numpy()[:-1]).all(), spans
    alone = Clone(tmp_path / "alone", FINISHED, of=finished)
    alone.change(contenders=contenders, devices=["cpu"], replicates=1)
    alone.snakemake(f"{alone.results.relative_to(alone.folder)}/contests/mlp/1.json", cores=1)

    def settings(contest):
        return [(c["variant"], c["settings"], c["cores"]) for c in contest["contenders"]]

    assert settings(study.contests()[0]) == settings(alone.contests()[0])


@pytest.mark.all
def test_two_studies_on_one_machine_take_turns(finished, tmp_path):
    """Both certify, and measure their third and fourth replicate, at the same time."""
    clones = [Clone(tmp_path / name, FINISHED, of=finished) for name in ("one", "two")]
    for clone in clones:
        shutil.rmtree(clone.results / "certificates")
        (clone.report / "report.html").unlink()
        clone.change(replicates=4)
    running = [
        subprocess.Popen(
            clone.command(), cwd=clone.folder, env=clone.variables,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for clone in clones
    ]  # fmt: skip
    assert [process.wait(300) for process in running] == [0, 0]
    spans = []
    for clone in clones:
        rows = clone.rows()
        new = rows[rows.replicate > 2].groupby("replicate").start_ns.agg(["min", "max"])
        spans += [(row["min"], row["max"]) for _, row in new.iterrows()]
        assert (clone.report / "report.html").exists()
        assert (clone.results / "certificates" / "mlp" / "abacus.json").exists()
    spans.sort()
    assert len(spans) == 4
    assert all(later[0] > earlier[1] for earlier, later in pairwise(spans))


@pytest.mark.all
def test_a_failed_contender_costs_neither_the_report_nor_the_others(clone, small):
    """`divide` has its own contest, in which nobody fails."""
    contenders = [
        {"framework": "abacus", "variants": ["default", "raises"]},
        {"framework": "faulty", "variants": ["opening-dies"]},
    ]
    study = clone(
        contenders=contenders,
        replicates=1,
        workloads={**small["workloads"], "divide": {"elements": 5000, "samples": 3, "repeat": 1}},
        contest={**small["contest"], "together": False},
    )
    study.variables["PYTHONPATH"] += f"{os.pathsep}{PACKAGES / 'faulty'}"
    output = study.snakemake(fails=True)
    assert "faulty failed when it was opened: killed by SIGSEGV" in output
    assert "To have it tried again, delete results/here/small/detections/faulty.json" in output
    end = output.rpartition("Some contenders failed")[2]
    assert "no beads left" in end
    assert end.endswith("Repeat only those:\n  snakemake --cores 1\n")
    assert output.count("reports/small/report.html") == 2  # in the opening and after the answer
    contenders = pd.read_csv(study.report / "tables" / "contenders.csv")
    contenders = contenders.set_index(["workload", "variant"])
    assert contenders.loc[("mlp", "default"), "median_ms"] > 0
    assert contenders.loc[("divide", "raises"), "median_ms"] > 0
    assert "no beads left" in contenders.loc[("mlp", "raises"), "reason"]
    assert "no beads left" in (study.report / "report.html").read_text()
    kept = study.results / "contests" / "divide" / "1.json"
    measured = kept.stat().st_mtime_ns
    # What failed, and nothing else, is to be done again.
    again = study.would_run()
    assert {"contest", "certify"} <= again and not {"prepare", "detect", "reference"} & again
    # What fails in the same way again is kept, and with it what the others measured.
    assert "failed as before" in study.snakemake(fails=True)
    assert kept.stat().st_mtime_ns == measured
    assert study.would_run() == {"failures", "all"}
    (study.results / "detections" / "faulty.json").unlink()  # as the message said
    assert {"detect", "contest", "certify", "report"} <= study.would_run()


@pytest.mark.all
def test_a_killed_study_goes_on_where_it_was(done):
    done.change(replicates=5)
    process = subprocess.Popen(
        done.command(*MEASURE), cwd=done.folder, env=done.variables, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 120
    while len(done.contests()) < 4:  # then the third is done for Snakemake too
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    oldest = sorted(done.results.glob("contests/mlp/*.json"), key=lambda p: p.stat().st_mtime)[:3]
    kept = {path: path.stat().st_mtime_ns for path in oldest}
    locked = done.snakemake(fails=True)
    assert locked.endswith("run these:\n  snakemake --unlock\n  snakemake --cores 1\n")
    done.snakemake("--unlock")
    done.snakemake(*MEASURE)
    assert len(done.contests()) == 5
    assert {path: path.stat().st_mtime_ns for path in kept} == kept


@pytest.mark.all
def test_as_many_replicates_as_fit_are_measured_after_the_first_contest(clone):
    study = clone(minutes=0.01, replicates=2)
    first = study.snakemake("--dry-run", "--quiet", "host")
    assert first.count("rule contest:") == 1 and first.count("checkpoint replicates:") == 1
    override = ("--config", "margin=0.1")
    output = study.snakemake(*override)
    said = [
        "As many replicates as fit in 0.01 minutes (at least 2, at most 2): fixed after",
        "contest 1 of 2 · ",
        "2 replicates, which take about 1 minute rather than 0.01 minutes, fixed after the",
        "contest 2 of 2 · ",
    ]
    assert [text for text in said if text not in output] == []
    assert len(study.contests()) == 2
    page = (study.report / "report.html").read_text()
    assert f"{said[2]} first contest." in page and "--config margin=0.1" in page
    assert "Nothing to be done" in study.snakemake(*override)


@pytest.mark.all
def test_a_number_of_replicates_stays_when_a_study_goes_on(done):
    done.change(minutes=0.01, replicates=4)
    process = subprocess.Popen(
        done.command(), cwd=done.folder, env=done.variables, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    number = done.results / "replicates.json"
    deadline = time.monotonic() + 120
    while not number.exists():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    fixed = json.loads(number.read_text())
    assert fixed["replicates"] == 4
    # What is certified and measured again does not fix another number.
    (done.results / "certificates" / "mlp" / "abacus.json").unlink()
    (done.results / "contests" / "mlp" / "1.json").unlink()
    done.snakemake("--unlock")
    done.snakemake()
    assert len(done.contests()) == 4 and json.loads(number.read_text()) == fixed
    # More time may add some, and less leaves out none.
    before = {path: path.stat().st_mtime_ns for path in done.results.glob("contests/*/*")}
    done.change(minutes=60, replicates=5)
    assert "5 replicates, the most asked for" in done.snakemake()
    done.change(minutes=0.01, replicates=6)
    assert "5 replicates, the fewest there may be, which take" in done.snakemake()
    assert len(done.contests()) == 5
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    assert "4 had been fixed" not in (done.report / "report.html").read_text()


@pytest.mark.all
def test_results_of_another_machine_join_the_report(done):
    done.variables["SAMESTEP_MACHINE"] = "elsewhere"
    done.snakemake()
    contenders = pd.read_csv(done.report / "tables" / "contenders.csv")
    measured = contenders[contenders.median_ms.notna()]
    assert sorted(measured.machine) == ["elsewhere", "here"]
    assert sorted(contenders.machine) == ["elsewhere"] * 2 + ["here"] * 2  # with the missing GPU


def test_a_bad_configuration_ends_before_anything_is_done(clone):
    study = clone(replicats=2)
    output = study.snakemake(fails=True)
    assert "did you mean 'replicates'" in output
    assert "Traceback" not in output and len(output.splitlines()) < 25
    assert not (study.folder / "results").exists()


def test_a_required_contender_that_is_missing_ends_the_study_early(clone):
    entry = {"framework": "abacus", "devices": ["gpu"], "required": True}
    output = clone(contenders=[{"framework": "abacus"}, entry]).snakemake(fails=True)
    assert "abacus/default/gpu/1 is required, but: an abacus has no GPU" in output


@pytest.mark.all
def test_the_smoke_study_with_the_real_frameworks(tmp_path):
    """`snakemake --cores 1 --configfile config/smoke.yaml`, as in the README."""
    pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("tensorflow", reason="TensorFlow is not installed")
    default = yaml.safe_load((ROOT / "config" / "study.yaml").read_text())
    study = Clone(tmp_path / "clone", default, machine="here")
    study.results = study.folder / "results" / "here" / "smoke"
    begin = time.monotonic()
    study.snakemake("--configfile", "config/smoke.yaml")
    print(f"\nsmoke study: {time.monotonic() - begin:.0f} s")
    report = study.folder / "reports" / "smoke"
    html = (report / "report.html").read_text()
    assert "smoke" in html.lower()
    comparisons = pd.read_csv(report / "tables" / "comparisons.csv")
    measured = comparisons[(comparisons.device == "cpu")]
    assert set(measured.workload) == {"mlp", "mnist-cnn"}
    assert (measured.ratio.between(0.01, 100) | drifted(measured)).all()
    controls = pd.read_csv(report / "tables" / "controls.csv")
    assert set(controls.variant) == {"tuned+twin", "tuned+10%"}
    assert (controls.ratio.notna() | drifted(controls)).all()
    certificates = pd.read_csv(report / "tables" / "certificate.csv")
    cpu = certificates[certificates.device == "cpu"]
    assert set(cpu.status) == {"agrees", "declared"}
    assert set(cpu[cpu.status == "declared"].variant) == {"default"}


def drifted(rows):
    """Which rows have no ratio because a contender drifted: other tests run beside this study, and
    its turns are so few that a burst of theirs can be the whole last third."""
    return rows.ratio.isna() & rows.reason.astype(str).str.contains("last third of the rounds")


def test_a_caption_is_the_first_sentences_and_cannot_end_a_script(tmp_path):
    page = tmp_path / "report.html"
    long = f"Read it so: {'word ' * 60}."
    page.write_text(
        '<figure id="fig-ratios_a"><svg><text>no</text></svg><figcaption><b>Figure 3.</b> JAX is '
        f"1.9&lt;/script> ahead. Bars are intervals. {long} <a>SVG</a></figcaption></figure>"
        f'<table id="table-pairs"><caption><b>Table 1.</b> {long}</caption></table>'
    )
    assert caption(page, "fig", "ratios.a") == "JAX is 1.9< /script> ahead. Bars are intervals."
    assert caption(page, "table", "pairs").startswith("Read it so: word")
    assert caption(page, "table", "missing") == ""


@pytest.mark.all
def test_snakemakes_own_report_has_our_captions_and_needs_no_network(done):
    """pip's Snakemake brings the JavaScript of its report along."""
    closed = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")
    done.variables |= closed | {name.upper(): value for name, value in closed.items()}
    done.snakemake("--report", "own.html")
    page = (done.folder / "own.html").read_text()
    (found,) = re.findall(r"var results = (\{.*\});?$", page, re.M)
    results = {one["name"]: one for one in json.loads(found).values()}
    figures = {path.name for path in done.report.glob("figures/*.svg")}
    tables = {path.name for path in done.report.glob("tables/*.csv")}
    dark = {name for name in figures if name.endswith("-dark.svg")}
    assert {*results} == {"report.html"} | figures - dark | tables
    for name in tables | figures - dark:
        assert results[name]["labels"]["name"] == Path(name).stem
    shown = [one["labels"]["shows"] for one in results.values()]
    assert len(shown) - shown.count("not on the page") > len(figures - dark)
    assert "of the report" in results[min(figures)]["caption"]
    for text in ("same training step, timed in several frameworks", "Figures", "Tables"):
        assert text in page
