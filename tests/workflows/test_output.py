"""What a person sees of an error: one line, whatever went wrong, and nothing after Ctrl-C."""

import os
import signal
import subprocess
import sys

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
