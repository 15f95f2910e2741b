"""One measurement at a time: held against other processes, and gone with its holder."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from workflows.machine import lock
from workflows.machine.lock import machine_lock
from workflows.planning.code import ROOT

TURN = """
import sys, time
from workflows.machine.lock import machine_lock
with machine_lock(lambda text: None, every_s=0.02):
    with open(sys.argv[1], "a") as file:
        file.write("in\\n"); file.flush(); time.sleep(0.1); file.write("out\\n")
"""
HOLD = """
import sys, time
from workflows.machine.lock import machine_lock
with machine_lock(lambda text: print(text, flush=True), every_s=0.05):
    print("held", flush=True)
    time.sleep(60)
"""
BECOME_NOBODY = (
    "import os, workflows.machine.lock; os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
)


@pytest.fixture
def path(tmp_path, monkeypatch):
    monkeypatch.setenv("SAMESTEP_LOCK", str(tmp_path / "machine.lock"))
    return tmp_path / "machine.lock"


@pytest.fixture
def start():
    """Start Python programs, and end them with the test."""
    started = []

    def program(text, *arguments):
        process = subprocess.Popen(
            [sys.executable, "-c", text, *map(str, arguments)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield program
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_processes_take_turns(path, tmp_path, start):
    diary = tmp_path / "diary"
    for process in [start(TURN, diary) for _ in range(3)]:
        assert process.wait(timeout=20) == 0
    assert diary.read_text().split() == ["in", "out"] * 3


def test_who_waits_is_told_who_holds_it_until_it_is_killed(path, start):
    process = start(HOLD)
    assert process.stdout.readline() == "held\n"
    notes = []

    def on_wait(text):
        notes.append(text)
        if len(notes) == 2:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()

    with machine_lock(on_wait, every_s=0.05):
        assert lock.note(path).read_text().startswith(f"{os.getpid()} ")
    assert len(notes) == 2
    assert all(f"process {process.pid} has been measuring since 20" in text for text in notes)
    assert lock.note(path).read_text() == ""


def test_nobody_is_told_anything_when_it_is_free(path):
    for _ in range(2):
        with machine_lock(pytest.fail):
            pass


def test_an_error_inside_releases_it(path):
    with pytest.raises(KeyError), machine_lock(pytest.fail):
        raise KeyError
    with machine_lock(pytest.fail):
        pass


@pytest.mark.parametrize("left", ["", "999999999 2026-01-01 00:00:00 UTC", "rubbish\0", "\udcff"])
def test_a_note_that_is_out_of_date_is_not_believed(path, left):
    assert lock.holder(path) == "another process is measuring"
    lock.note(path).write_bytes(left.encode(errors="surrogateescape"))
    assert lock.holder(path) == "another process is measuring"


def test_the_temporary_folder_by_default(tmp_path, monkeypatch):
    monkeypatch.delenv("SAMESTEP_LOCK", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with machine_lock(pytest.fail):
        pass
    made = tmp_path / "samestep.lock"
    assert made.stat().st_mode & 0o777 == lock.note(made).stat().st_mode & 0o777 == 0o666


def test_a_file_that_cannot_be_opened_gives_way_to_one_of_this_user(path, tmp_path, monkeypatch):
    path.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    notes = []
    with machine_lock(notes.append):
        assert (tmp_path / f"samestep-{os.getuid()}.lock").exists()
    assert len(notes) == 1
    assert f"cannot open {path}" in notes[0] and notes[0].startswith("other users")
    (tmp_path / f"samestep-{os.getuid()}.lock").unlink()
    (tmp_path / f"samestep-{os.getuid()}.lock").mkdir()
    with pytest.raises(OSError, match="set SAMESTEP_LOCK to a file"), machine_lock(notes.append):
        pass


def test_a_note_that_cannot_be_written_does_no_harm(path):
    lock.note(path).mkdir()
    with machine_lock(pytest.fail):
        pass


@pytest.mark.skipif(os.name != "posix" or os.getuid() != 0, reason="only root can be two users")
def test_another_user_is_kept_out_and_then_let_in(monkeypatch, start):
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o1777)
    path = folder / "machine.lock"
    monkeypatch.setenv("SAMESTEP_LOCK", str(path))
    try:
        with machine_lock(pytest.fail):
            process = start(BECOME_NOBODY + HOLD)
            waiting = process.stdout.readline()
            assert f"process {os.getpid()} has been measuring" in waiting
        while (line := process.stdout.readline()) == waiting:
            pass
        assert line == "held\n"
        assert lock.note(path).read_text().startswith(f"{process.pid} ")
    finally:
        shutil.rmtree(folder)
