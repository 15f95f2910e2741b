"""A worker's process ends for the reason that is said, and leaves nothing behind."""

import json
import sys
from pathlib import Path

import pytest

from tests.conftest import python
from tests.workflows.worker.conftest import CONDITIONS
from workflows.records.schema import Contender
from workflows.worker.process import WorkerDied, WorkerProcess


def test_the_reason_of_an_end_stays_the_reason(study):
    """Though the process is killed for it, and is asked for more."""
    contender = Contender(framework="abacus", variant="default", device="cpu", threads=1)
    with WorkerProcess(sys.executable, contender) as process:
        assert process.ended_for("no answer within 3 s").reason == "no answer within 3 s"
        with pytest.raises(WorkerDied, match="no answer within 3 s"):
            process.ask("pin", cores=[])


class Starting(WorkerProcess):
    module = "tests.workflows.worker.starting"

    def answer(self, do, **arguments):
        self.send(do, **arguments)
        return json.loads(self.written(60))["answer"]


def test_what_a_killed_worker_has_started_ends_while_another_computes():
    contender = Contender(framework="noop", variant="default", device="cpu", threads=1)
    with Starting(sys.executable, contender) as killed, Starting(sys.executable, contender) as busy:
        started = killed.answer("start")["started"]
        assert busy.answer("wait", started=started, seconds=0.0) == {"there": True}
        killed.process.kill()
        assert busy.answer("wait", started=started, seconds=5.0) == {"there": False}
        with pytest.raises(WorkerDied, match="SIGKILL"):
            killed.ask("pin", cores=[])


def test_a_worker_ends_at_once_and_leaves_all_that_was_printed():
    """Frameworks register much that is to be done at exit."""
    program = """
import atexit, ctypes, time
from workflows.worker.handlers import Handlers
from workflows.worker.process import WorkerProcess
from workflows.worker.worker import main

class Talkative(Handlers):
    def talk(self):
        atexit.register(time.sleep, 60)
        print("printed", end="")
        ctypes.CDLL(None).printf(b" in C")
        return {}

main(Talkative())
"""
    done = python("-c", program, input='{"do": "talk"}\n', timeout=30)
    assert (done.returncode, done.stderr) == (0, "printed in C")
    assert done.stdout == '{"number": 0, "answer": {}}\n'


def test_temporary_files_go_with_the_process():
    contender = Contender(framework="noop", variant="default", device="cpu", threads=1)
    with WorkerProcess(sys.executable, contender) as process:
        process.ask("open", framework="noop", **CONDITIONS)
        scratch = Path(process.scratch.name)
        (scratch / "left by a framework").touch()
        seen = Path(f"/proc/{process.process.pid}/environ").read_text()
    assert f"TMPDIR={scratch}\0" in seen
    assert not scratch.exists()
