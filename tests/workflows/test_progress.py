"""Progress: a live line on a terminal, plain lines elsewhere, and never an error."""

import errno
import io
import os
import re
import threading

import pytest

from workflows import progress
from workflows.machine.guardian import interruptible
from workflows.output import explained
from workflows.progress import Progress, about, duration

TITLE = "contest mnist-cnn 3/14"
TEXT = "round 5/8 | tensorflow/tuned/cpu/2"
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as some continuous integration sets it
    monkeypatch.setattr(progress, "now", lambda: NOW)


@pytest.fixture
def clock(monkeypatch):
    """A clock that a test sets."""
    now = [1000.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (-3, "0 s"),
        (0.4, "0 s"),
        (40, "40 s"),
        (59.6, "1 min"),
        (130, "2 min 10 s"),
        (3600, "1 h"),
        (3905, "1 h 5 min"),
        (90000, "1 d 1 h"),
        (float("inf"), "unknown"),
        (float("nan"), "unknown"),
    ],
)
def test_duration(seconds, text):
    assert duration(seconds) == text


NOW = "[18:35:02]"


def lines(stream):
    """The lines of a file, each of which must begin with the time of day."""
    found = stream.getvalue().splitlines()
    assert all(line.startswith(f"{NOW} ") for line in found)
    return [line.removeprefix(f"{NOW} ") for line in found]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (2, "5 s"), (36, "35 s"), (91, "1 min 30 s"), (130, "2 min"), (170, "3 min"),
     (400, "7 min"), (3601, "1 h"), (float("inf"), "unknown")],
)  # fmt: skip
def test_an_estimate_has_few_digits(seconds, text):
    assert about(seconds) == text


def test_a_file_gets_plain_lines_with_the_time_of_day():
    stream = io.StringIO()
    with Progress(8, TITLE, stream) as shown:
        shown.update(5, TEXT, 130)
    assert lines(stream) == [f"{TITLE} · 2 min left · {TEXT}"]
    assert not CONTROL.search(stream.getvalue())


def test_a_long_line_is_cut_but_not_in_the_log_file(tmp_path):
    stream, log = io.StringIO(), tmp_path / "log"
    with Progress(8, TITLE, stream, log=log) as shown:
        shown.note("long " * 30)
    (line,) = stream.getvalue().splitlines()
    assert len(line) <= progress.WIDTH and line.endswith("...")
    assert log.read_text().count("long") == 30


def test_the_first_and_then_one_an_interval(clock):
    stream = io.StringIO()
    with Progress(100, "t", stream, interval_s=10) as shown:
        for second in range(25):
            shown.update(second, f"round {second}", None)
            clock[0] += 1
    assert lines(stream) == ["t · round 0", "t · round 10", "t · round 20"]


def test_the_time_left_of_a_stage_is_said_to_be_of_it(clock):
    stream = io.StringIO()
    estimates = {0: None, 40: 80}
    with Progress(9, "t", stream, interval_s=0, left_s=estimates.get, left_for="it") as shown:
        shown.update(0, "a")
        clock[0] += 40
        shown.update(1, "b")
    assert lines(stream) == ["t · a", "t · 1 min 20 s left for it · b"]


def test_a_job_that_says_nothing_writes_nothing():
    stream = io.StringIO()
    with Progress(0, "t", stream):
        pass
    assert stream.getvalue() == ""


def test_a_note_comes_at_once_on_one_line(clock):
    stream = io.StringIO()
    with Progress(3, "t", stream) as shown:
        shown.update(1, "one")
        shown.note("a \x1b[31mred\x1b[0m\nnote [bold]")
        written = stream.getvalue()
    assert written.startswith(f"{NOW} t · one\n{NOW} t · a") and written.endswith("note [bold]\n")
    assert not CONTROL.search(written)


def test_a_terminal_gets_one_live_line():
    stream = Terminal()
    before = threading.active_count()
    with Progress(8, TITLE, stream) as shown:
        shown.update(5, TEXT, 130)
        assert threading.active_count() == before
        shown.note("odd [/markup] {here}")
    written = stream.getvalue()
    assert TITLE in written and f"2 min left · {TEXT}" in written
    assert f"{TITLE} · odd [/markup] {{here}}" in written
    assert "\x1b[2K" in written  # the line is cleared and drawn anew
    assert "\x1b[?25h" in written  # and the cursor comes back
    assert written.endswith("\x1b[2K")  # the line goes when the job ends


def test_a_terminal_is_not_drawn_more_often_than_can_be_seen(clock):
    stream = Terminal()
    with Progress(8, "t", stream) as shown:
        shown.update(0, "first")
        size = len(stream.getvalue())
        shown.update(1, "second")
        assert len(stream.getvalue()) == size
        clock[0] += progress.LIVE_INTERVAL_S
        shown.update(2, "third")
        assert "third" in stream.getvalue()
        shown.update(3, "last")
    assert "second" not in stream.getvalue() and "last" not in stream.getvalue()


def test_a_dumb_terminal_gets_plain_lines(monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    stream = Terminal()
    with Progress(8, "t", stream) as shown:
        shown.update(1, "one")
    assert lines(stream) == ["t · one"]


@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
def test_a_log_file_gets_the_plain_lines_as_well(tmp_path, kind):
    log = tmp_path / "logs/contest.log"
    for _ in range(2):
        with Progress(8, TITLE, kind(), log=log) as shown:
            shown.note("a note")
            shown.update(5, TEXT, 130)
    note, update = log.read_text().splitlines()
    assert note == f"{NOW} {TITLE} · a note"
    assert update == f"{NOW} {TITLE} · 2 min left · {TEXT}"


def test_a_log_file_that_cannot_be_written_is_done_without(tmp_path):
    stream = io.StringIO()
    with Progress(8, "t", stream, log=tmp_path) as shown:
        shown.update(1, "one")
    assert lines(stream) == ["t · one"]


def use(stream, end):
    with Progress(3, "t", stream) as shown:
        shown.update(1, "one", 1)
        end()
        shown.note("note")
        shown.update(2, "two", 1)


@pytest.mark.parametrize("kind", [io.StringIO, Terminal])
def test_a_stream_that_is_closed_raises_nothing(kind):
    stream = kind()
    use(stream, stream.close)
    use(stream, lambda: None)


@pytest.mark.parametrize("terminal", [False, True])
def test_a_broken_pipe_raises_nothing(terminal):
    reading, writing = os.pipe()
    stream = os.fdopen(writing, "w", buffering=1)
    stream_isatty = (lambda: True) if terminal else (lambda: False)

    class Pipe:
        encoding = "utf-8"
        write = staticmethod(stream.write)
        flush = staticmethod(stream.flush)
        isatty = staticmethod(stream_isatty)

    use(Pipe(), lambda: os.close(reading))
    with pytest.raises(BrokenPipeError):
        stream.close()


def test_no_standard_error_at_all(monkeypatch):
    monkeypatch.setattr("sys.stderr", None)
    use(None, lambda: None)


def test_a_stream_that_lacks_a_letter_gets_a_question_mark():
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    with Progress(3, "t", stream) as shown:
        shown.update(1, "café")
    assert raw.getvalue() == f"{NOW} t ? caf?\n".encode()


def test_standard_error_is_the_default(capsys):
    with Progress(3, "t") as shown:
        shown.update(1, "one")
    assert capsys.readouterr().err == f"{NOW} t · one\n"


def test_errors_of_the_file_system_say_what_to_do(tmp_path):
    full = OSError(errno.ENOSPC, "No space left on device", "/data/x")
    assert explained(full) == (
        "/data/x: No space left on device: make room, then run the same command again"
    )
    assert "writable" in explained(PermissionError(errno.EACCES, "Permission denied", "/data"))
    assert explained(FileNotFoundError(errno.ENOENT, "No such file", "/x")) == "/x: No such file"
    assert explained(ValueError("as it is")) == "as it is"


def test_an_interrupted_stage_ends_without_a_traceback():
    def main():
        raise KeyboardInterrupt

    assert interruptible(main) == 130
    assert interruptible(lambda: 3) == 3
