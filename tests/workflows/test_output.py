"""What a person sees of an error: one line, whatever went wrong, and nothing after Ctrl-C."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from workflows.output import FAILED, INTERRUPTED, REFUSED, explained, printing
from workflows.planning.plan import PlanError
from workflows.records.storage import RecordError


def raising(error: BaseException):
    def main() -> int:
        raise error

    return main


def test_what_nobody_has_foreseen_is_a_line_with_its_place(capsys):
    def main() -> int:
        return int({}["a\nb"])

    assert printing("study", main) == FAILED
    said = capsys.readouterr().err
    assert said.startswith("study: KeyError: 'a\\nb' in tests/workflows/test_output.py:")
    assert "PYTHONDEVMODE=1 shows" in said and said.count("\n") == 1


def test_too_little_memory_is_said(capsys):
    for error in (MemoryError(), ImportError("x.so: failed to map segment from shared object")):
        assert printing("samestep", raising(error)) == FAILED
        assert capsys.readouterr().err.startswith("samestep: there is not enough memory for this")


def test_a_folder_that_is_gone_is_said(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    tmp_path.rmdir()
    assert printing("samestep", lambda: bool(Path.cwd())) == REFUSED
    assert "the current folder does not exist any more" in capsys.readouterr().err


def test_no_backend_of_figures_is_asked_for():
    words = [sys.executable, "-c", "import analysis.report.figures.style"]
    subprocess.run(words, cwd=ROOT, env={**os.environ, "MPLBACKEND": "nope"}, check=True)


@pytest.mark.parametrize("error", [RecordError("one.json: key: wrong"), PlanError("not here")])
def test_our_own_errors_are_said_in_their_words(capsys, error):
    assert printing("keep", raising(error)) == FAILED
    assert capsys.readouterr().err == f"keep: {error}\n"


def test_ctrl_c_says_nothing(capsys):
    assert printing("study", raising(KeyboardInterrupt())) == INTERRUPTED == 130
    assert capsys.readouterr() == ("", "")


def test_a_command_that_is_interrupted_has_no_traceback(tmp_path):
    code = (
        "import sys, time, samestep.commands.list as asked\n"
        "from samestep.__main__ import command\n"
        "asked.run = lambda _: print('begun', flush=True) or time.sleep(60)\n"
        "sys.argv[1:] = ['list']\nsys.exit(command())"
    )
    words = [sys.executable, "-c", code]
    process = subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout and process.stdout.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (INTERRUPTED, "")


def test_names_of_files_steer_no_terminal():
    error = FileNotFoundError(2, os.strerror(2), "a\x1b[31m\nb")
    assert explained(error) == "a\\x1b[31m\nb: No such file or directory"


@pytest.mark.parametrize("size", [10, 10**6])
def test_whoever_reads_no_more_gets_no_message(size):
    """Also of one long text, which Python does not try to write again."""
    code = (
        "import sys\nfrom workflows.output import printing\nsys.stdin.read()\n"
        f"sys.exit(printing('long', lambda: print('x' * {size}) or 0))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin and process.stdout and process.stderr
    process.stdout.close()
    process.stdin.close()
    assert (process.stderr.read(), process.wait()) == (b"", REFUSED)
