"""Nothing of a study outlives it, whichever of its processes is killed."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from benchmarks.kills.study import marked
from tests.conftest import ROOT, python
from workflows.machine import guardian
from workflows.records.schema import Contender
from workflows.worker.process import WorkerProcess

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux' prctl and pidfd")

STAGE = """
import os, subprocess, sys, tempfile, time
from workflows.machine import guardian
what = sys.argv[1:]
if what:
    exec(what[0])
open(os.path.join(guardian.scratch(), "temporary"), "w").close()
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(90)"])
if not os.fork():  # a daemon, in the way of daemons
    os.setsid()
    if not os.fork():
        time.sleep(90)
    os._exit(0)
print(guardian.scratch(), flush=True)
time.sleep(90)
"""
STUDY = """
import subprocess, sys
from workflows.machine import guardian
guardian.announce()
command = f"set -e; {sys.executable} -m workflows.machine.guardian stage_of_a_test; true"
subprocess.run(command, shell=True, executable="/bin/bash")
"""


@pytest.fixture
def environment(tmp_path):
    (tmp_path / "stage_of_a_test.py").write_text(STAGE)
    return {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{tmp_path}", "GUARDED": str(tmp_path),
            "TMPDIR": str(tmp_path)}  # fmt: skip


@pytest.mark.parametrize("victim", ["study", "shell", "guardian", "stage", "everything"])
def test_whichever_is_killed_nothing_is_left(environment, tmp_path, victim):
    study = subprocess.Popen(
        [sys.executable, "-c", STUDY], env=environment, cwd=ROOT, text=True,
        stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    folder = Path(study.stdout.readline().strip())
    assert (folder / "temporary").exists()
    while len(marked("GUARDED", str(tmp_path))) < 6:  # the daemon is the last
        assert study.poll() is None
        time.sleep(0.02)
    chain = [psutil.Process(study.pid)]
    while chain[-1].children() and len(chain) < 4:
        chain.append(chain[-1].children()[0])
    if victim == "everything":
        os.killpg(study.pid, signal.SIGKILL)
    else:
        chain[["study", "shell", "guardian", "stage"].index(victim)].kill()
    deadline = time.monotonic() + 5
    while (left := marked("GUARDED", str(tmp_path))) and time.monotonic() < deadline:
        time.sleep(0.02)
    study.stdout.close()
    study.wait()
    assert [process.cmdline() for process in left] == []
    assert not folder.exists()


def guarded(environment, what):
    """A stage that does this, under a guardian, when both have ended."""
    stage = ("workflows.machine.guardian", "stage_of_a_test", what)
    return python("-m", *stage, env=environment, timeout=30)


@pytest.mark.parametrize(
    ("what", "status"),
    [
        ("sys.exit(0)", 0),
        ("sys.exit(3)", 3),
        ("raise KeyboardInterrupt", 130),
        ("os.kill(os.getpid(), 11)", 139),
        ("os.kill(os.getppid(), 15); time.sleep(9)", 143),
    ],
)
def test_the_exit_status_is_passed_on(environment, what, status):
    done = guarded(environment, what)
    assert (done.returncode, done.stderr) == (status, "")


def test_a_guardian_killed_after_its_stage_leaves_no_folder(environment, tmp_path):
    """Its own cleaning takes a moment, in which it may be killed."""
    stops = "print(guardian.scratch(), flush=True); os.kill(os.getppid(), 19); sys.exit(0)"
    alone = subprocess.Popen(
        [sys.executable, "-m", "workflows.machine.guardian", "stage_of_a_test", stops],
        env=environment, cwd=ROOT, text=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    folder = Path(alone.stdout.readline().strip())
    assert folder.parent == tmp_path
    while psutil.Process(alone.pid).children()[0].status() != psutil.STATUS_ZOMBIE:
        time.sleep(0.02)
    alone.kill()
    alone.wait()
    assert not folder.exists()


@pytest.mark.parametrize(
    ("changed", "status"), [({"started": "1"}, 137), ({"started": "1", "boot": "another"}, 4)]
)
def test_a_study_that_is_gone_already_is_seen_unless_it_is_elsewhere(environment, changed, status):
    study = guardian.Known.of(os.getpid())._replace(**changed)
    environment["SAMESTEP_STUDY"] = " ".join(map(str, study))
    assert guarded(environment, "sys.exit(4)").returncode == status


def test_what_hides_from_its_session_and_its_environment_is_not_left():
    starts = "import subprocess as s; s.Popen(['sleep', '90'], env={}, start_new_session=True)"
    before = subprocess.Popen(["sleep", "90"])
    others = {*guardian.below()}  # of this process of pytest
    with guardian.nothing_left():
        subprocess.run([sys.executable, "-c", starts], check=True)
        (hidden,) = {*guardian.below()} - others
    assert not psutil.pid_exists(hidden) and before.poll() is None
    before.kill()
    before.wait()


def test_what_a_worker_leaves_hidden_ends_with_it_and_nothing_else_does(tmp_path, monkeypatch):
    (tmp_path / "hides.py").write_text(
        "import subprocess\n"
        "print(subprocess.Popen(['sleep', '90'], env={}, start_new_session=True).pid)"
    )
    (tmp_path / "worker_of_a_test.py").write_text(
        "import os, subprocess, sys\n"
        "from workflows.worker.worker import die_with_the_coordinator\n"
        "die_with_the_coordinator()\n"
        "subprocess.run([sys.executable, '-m', 'hides'], check=True)\n"
        "os.read(0, 1)"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(WorkerProcess, "module", "worker_of_a_test")
    noop = Contender(framework="noop", variant="default", device="cpu", threads=1)
    child = subprocess.Popen(["sleep", "90"])
    with WorkerProcess(sys.executable, noop) as one, WorkerProcess(sys.executable, noop) as other:
        hidden, beside = (psutil.Process(int(own.written(30))) for own in (one, other))
        assert one.process.pid in {parent.pid for parent in hidden.parents()}
        one.end()
        assert not hidden.is_running() and beside.is_running() and child.poll() is None
        assert other.process.poll() is None
    assert not beside.is_running()
    child.kill()
    child.wait()


def test_a_worker_dies_with_a_coordinator_that_nobody_guards(tmp_path):
    program = """
import sys, time
from workflows.records.schema import Contender
from workflows.worker.process import WorkerProcess
noop = Contender(framework="noop", variant="default", device="cpu", threads=1)
worker = WorkerProcess(sys.executable, noop)
worker.send_open("float32", False)
worker.receive()
print(worker.process.pid, flush=True)
time.sleep(90)
"""
    coordinator = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    worker = psutil.Process(int(coordinator.stdout.readline()))
    worker.suspend()  # so that it cannot notice by itself
    coordinator.kill()
    coordinator.wait()
    coordinator.stdout.close()
    deadline = time.monotonic() + 5
    while worker.is_running() and worker.status() != "zombie" and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not worker.is_running() or worker.status() == "zombie"


def test_threads_that_end_workers_leave_those_that_others_start_alone():
    noop = Contender(framework="noop", variant="default", device="cpu", threads=1)

    def start_and_end(number: int) -> None:
        for _ in range(4):
            with WorkerProcess(sys.executable, noop) as worker:
                worker.send_open("float32", False)
                worker.receive()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(start_and_end, range(4)))


def started_with(environment, *words):
    done = subprocess.run(
        [sys.executable, "-m", "workflows.machine.guardian", *words],
        env=environment, cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.parametrize("place", ["nowhere", "stage_of_a_test.py"])
def test_without_room_for_temporary_files_it_says_so(environment, tmp_path, place):
    elsewhere = {**environment, "SAMESTEP_SCRATCH": str(tmp_path / place)}
    status, said = started_with(elsewhere, "platform")
    assert status == 2 and said.startswith("temporary files: ") and said.count("\n") == 1


def test_without_a_module_it_says_how_it_is_used(environment):
    usage = "usage: python -m workflows.machine.guardian MODULE ...\n"
    assert started_with(environment) == (2, usage)
    for name in ("no_such.module", "", ".x"):
        assert started_with(environment, name) == (2, f"guardian: no module {name!r}\n")
