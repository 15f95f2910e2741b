"""What a person sees of a study: the opening, one line per stage, and how it ends."""

import os
import re
import signal
import subprocess
import time
from contextlib import suppress

import psutil
import pytest

from tests.studies import FINISHED, MEASURE, OUTPUT, Clone
from tests.test_study import finished as finished_study

finished = finished_study
SNAKEMAKE = ("Select jobs", "Execute", "jobid", "steps (", "Building DAG", "Provided cores",
             "RuleException", "CalledProcessError", "Shutting down", "rule ")  # fmt: skip
STAMP = re.compile(r"\[\d\d:\d\d:\d\d\] ")


@pytest.fixture
def clone(tmp_path):
    return lambda **changes: Clone(tmp_path / "a clone", {**FINISHED, **changes})


def started(clone: Clone, *arguments: str) -> subprocess.Popen:
    return subprocess.Popen(
        clone.command(*arguments), cwd=clone.folder, env=clone.variables, text=True,
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def contest_of(process: subprocess.Popen) -> psutil.Process:
    """The process of the contest that runs, once it runs."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()[0]
        for child in psutil.Process(process.pid).children(recursive=True):
            try:
                words = child.cmdline()
            except psutil.Error:
                continue
            if "workflows.measure.contest" in words and "bash" not in words[0]:
                return child
        time.sleep(0.02)
    raise AssertionError("no contest has begun")


def test_it_begins_with_what_will_happen(finished):
    opening = (finished / OUTPUT).read_text().partition("\n\n")[0]
    assert "Study small: Abacus on MLP" in opening
    for row in ("contenders  Abacus (default)", "on          1 thread, CPU and GPU",
                "for 2 replicates, roughly estimated", "report      reports/small/report.html",
                "Ctrl-C stops it; `snakemake --cores 1` goes on from there."):  # fmt: skip
        assert row in opening, row


def test_each_stage_has_a_line_and_snakemake_none(finished):
    output = (finished / OUTPUT).read_text()
    assert [word for word in SNAKEMAKE if word in output] == []
    stages = [line for line in output.splitlines() if STAMP.match(line)]
    assert max(map(len, stages)) <= 100
    texts = [STAMP.sub("", line) for line in stages]
    order = ["data · MLP", "found Abacus", "certificate 1 of 2", "certificate 2 of 2",
             "contest 1 of 2", "contest 2 of 2", "report"]  # fmt: skip
    first = [next(i for i, text in enumerate(texts) if text.startswith(name)) for name in order]
    assert sorted(first[2:]) == first[2:]
    assert len(stages) <= 14
    assert output.count("no GPU here") == 1
    assert "Select jobs" in next((finished / ".snakemake" / "log").glob("*.log")).read_text()


def test_missing_data_end_a_study_before_anything_runs(clone, tmp_path):
    (tmp_path / "t10k-images-idx3-ubyte.gz").touch()
    mnist = {"from": "mnist-cnn", "filters": [2, 2], "samples": 64}
    study = clone(workloads={"digits": mnist})
    study.variables["SAMESTEP_MNIST"] = str(tmp_path)
    output = study.snakemake(fails=True)
    assert f"SAMESTEP_MNIST: {tmp_path}: train-images-idx3-ubyte is missing" in output
    assert "config/mnist-test.yaml" in output and "unset SAMESTEP_MNIST" in output
    assert not study.results.exists()
    assert [word for word in SNAKEMAKE if word in output] == [] and "Traceback" not in output


def test_an_interpreter_that_does_not_start_ends_a_study_at_once(clone):
    study = clone(interpreters={"abacus": "/bin/false"})
    assert "interpreters.abacus: /bin/false: it does" in study.snakemake(fails=True)
    assert not study.results.exists()


def test_a_damaged_number_of_replicates_ends_a_study_in_a_line(clone):
    study = clone(minutes=5, replicates=None)
    study.results.mkdir(parents=True)
    (study.results / "replicates.json").write_text("garbage")
    output = study.snakemake(fails=True)
    assert "replicates.json: file: Invalid JSON" in output
    assert "Traceback" not in output and "InputFunctionException" not in output


def worker(process):
    with suppress(psutil.Error):
        return "workflows.worker.worker" in process.cmdline()
    return False


def test_ctrl_c_ends_it_with_the_command_that_goes_on(finished, tmp_path):
    study = Clone(tmp_path / "a clone", FINISHED, of=finished)
    # On a busy machine all contests may end before the signal comes.
    for replicates in range(4, 40, 6):
        study.change(replicates=replicates)
        process = started(study)
        contest = contest_of(process)
        while not any(
            worker(child) for child in contest.children(recursive=True)
        ):  # it is past its imports
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGINT)
        output, _ = process.communicate(timeout=120)
        if process.returncode:
            break
    assert process.returncode != 0
    assert output.endswith(
        "\nStopped. What is finished is kept; go on with:\n  snakemake --cores 1\n"
    )
    assert "Traceback" not in output and [word for word in SNAKEMAKE if word in output] == []
    study.snakemake(*MEASURE)
    assert len(study.contests()) == replicates


def test_a_job_that_is_killed_says_so_and_how_to_go_on(finished, tmp_path):
    study = Clone(tmp_path / "a clone", FINISHED, of=finished)
    study.change(replicates=3)
    study.variables["SAMESTEP_AGAIN"] = "make study"
    process = started(study)
    contest_of(process).kill()
    output, _ = process.communicate(timeout=120)
    assert process.returncode != 0
    last = output.rpartition("The job `contest` was killed (")[2]
    assert "often because the memory was full" in last
    assert last.endswith("When the cause is mended, go on with:\n  make study\n")
    assert [word for word in SNAKEMAKE if word in output] == []
