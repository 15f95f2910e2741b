"""The first hour on a GPU machine, rehearsed without a GPU: stopped, carried to another folder, and
gone on with there."""

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest
import yaml

from analysis.data.reading import load
from samestep.__main__ import main
from samestep.commands.gpu import TASKS, check, study
from samestep.first_hour import FirstHour, Task
from tests.conftest import PACKAGES, ROOT, SMALL
from workflows.machine.fingerprint import fingerprint
from workflows.planning.configfiles import DEFAULT, read

OTHERS = {"mnist-cnn": False}
QUICK = {**SMALL, "minutes": None, "workloads": {**SMALL["workloads"], **OTHERS}}
STUDIES = {
    "small": {**QUICK, "replicates": 3, "contest": {"rounds": 40, "turn": 10},
              "contenders": [{"framework": "abacus", "variants": ["default", "slow"]}]},
    "imaginary": {
        **QUICK, "study": "imaginary", "replicates": 3, "devices": ["cpu", "gpu"],
        "reference": "imaginary",
        "contenders": [
            {"framework": "imaginary", "variants": ["default", "trap-unsynchronised"]},
            {"framework": "abacus"},  # which has no GPU
        ],
    },
}  # fmt: skip
LISTS = {
    "small": [Task("platform", 1, ("platform",), "which machine it is"),
              study("small", 2, "who is faster", "small.yaml")],
    "imaginary": [
        # Others, like that of the fence, have a GPU's work.
        check("imaginary", "--rule", "repeats", "--rule", "interleaving"),
        study("imaginary", 4, "who is faster", "imaginary.yaml"),
    ],
    "limits": [
        Task("endless", 0.03, ("timeit", "-n", "1", "import time; time.sleep(60)"), "nothing"),
        Task("absent", 1, ("samestep", "check", "absent"), "nothing", absent=2),
        Task("failing", 1, ("json.tool", "no-such-file"), "nothing"),
        Task("platform", 1, ("platform",), "which machine it is"),
    ],
}  # fmt: skip


def hour(name: str) -> FirstHour:
    return FirstHour(LISTS[name], "here", Path("first-hour.zip"))


def start(folder: Path, name: str) -> subprocess.Popen:
    packages = [str(PACKAGES / package) for package in ("abacus", "imaginary")]
    for file, values in STUDIES.items():
        (folder / f"{file}.yaml").write_text(yaml.safe_dump(values))
    code = f"import sys; from tests.test_first_hour import hour; sys.exit(hour({name!r}).run())"
    path = os.pathsep.join([str(ROOT), *packages])
    return subprocess.Popen(
        [sys.executable, "-c", code], cwd=folder, text=True,
        env={**os.environ, "PYTHONPATH": path, "SAMESTEP_MACHINE": "here"},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip


def finished(process: subprocess.Popen, status: int) -> str:
    output = process.communicate(timeout=600)[0]
    assert process.returncode == status, output
    return output


def ended(folder: Path) -> dict[str, tuple[str, int]]:
    tasks = json.loads((folder / "results/here/first-hour/state.json").read_text())["tasks"]
    return {name: (one["how"], one["runs"]) for name, one in tasks.items()}


def wait_for(result: str, place: Path, process: subprocess.Popen) -> None:
    """Until a study has noted that a result is finished."""
    while not place.exists() or result not in place.read_text():
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)


def carried(folder: Path, to: Path) -> Path:
    to.mkdir()
    with zipfile.ZipFile(folder / "first-hour.zip") as archive:
        assert not [name for name in archive.namelist() if name.endswith((".npy", ".npz"))]
        archive.extractall(to)
    return to


def stopped_and_gone_on_with(tmp_path: Path, name: str) -> Path:
    """The folder in which the tasks of a list were finished, after they had been stopped within
    the study in another one."""
    here = tmp_path / "one"
    here.mkdir()
    root, first = Path("results/here") / name, "contests/mlp/1.parquet"
    process = start(here, name)
    wait_for(first, here / root / "made.json", process)
    process.send_signal(signal.SIGTERM)
    finished(process, 1)
    one = LISTS[name][0].name
    assert ended(here) == {one: ("done", 1), name: ("stopped", 1)}
    there = carried(here, tmp_path / "another")
    finished(start(there, name), 0)
    assert ended(there) == {one: ("done", 1), name: ("done", 2)}
    assert (there / root / first).read_bytes() == (here / root / first).read_bytes()
    return there


@pytest.mark.all
def test_what_is_stopped_goes_on_in_another_folder(tmp_path, monkeypatch, abacus):
    there = stopped_and_gone_on_with(tmp_path, "small")
    # What is finished needs neither data sets nor the reference's weights.
    last = carried(there, tmp_path / "last")
    (last / "results/here/first-hour/state.json").unlink()
    finished(start(last, "small"), 0)
    assert not list(last.rglob("*.np[yz]"))
    assert ended(last)["small"] == ("done", 1)
    monkeypatch.chdir(last)
    assert main(["report", "results/here/first-hour/archives/gpu-small.zip"]) == 0
    assert Path("reports/gpu-small/report.html").exists()


def test_limits_failures_and_what_is_not_there(tmp_path):
    output = finished(start(tmp_path, "limits"), 1)
    assert ended(tmp_path) == {"endless": ("cut off", 1), "absent": ("left out", 1),
                               "failing": ("failed", 1), "platform": ("done", 1)}  # fmt: skip
    assert "endless: cut off after 2 s" in output
    finished(start(tmp_path, "limits"), 1)
    assert ended(tmp_path) == {"endless": ("cut off", 2), "absent": ("left out", 2),
                               "failing": ("failed", 2), "platform": ("done", 1)}  # fmt: skip


@pytest.mark.all
def test_on_an_imaginary_gpu(tmp_path, monkeypatch):
    pytest.importorskip("jax")
    there = stopped_and_gone_on_with(tmp_path, "imaginary")
    monkeypatch.chdir(there)
    monkeypatch.syspath_prepend(PACKAGES / "imaginary")
    assert main(["report", "results/here/first-hour/archives/gpu-imaginary.zip"]) == 0
    (machine,) = load([*Path("reports/gpu-imaginary/machines").iterdir()])
    statuses = {row.name: row.status for one in machine.records.certificates for row in one.rows}
    assert statuses["imaginary/default/gpu/1"] == "agrees"


def test_the_studies_can_be_read():
    for task in TASKS:
        if task.files is not None:
            read([DEFAULT, *(ROOT / file for file in task.files)])


def test_what_a_log_says_is_no_markup(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    place = FirstHour(TASKS, fingerprint(), Path("first-hour.zip")).home
    place.mkdir(parents=True)
    said = "no [/usr/lib] in [link=https://evil.example]here[/link] :smile:"
    ended = {"how": "failed", "key": TASKS[0].key, "said": said}
    (place / "state.json").write_text(json.dumps({"tasks": {TASKS[0].name: ended}}))
    assert main(["gpu", "--list"]) == 0
    assert said in capsys.readouterr().out


@pytest.mark.parametrize("minutes", ["0", "-1", "nan"])
def test_no_time_is_not_all_time(minutes, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["gpu", "--minutes", minutes]) == 2
    assert "leave it out for no limit" in capsys.readouterr().err
