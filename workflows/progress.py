"""How far a long job has come: one live line on a terminal, a few plain lines in a file.

Drawing happens within a call and never between calls, so that it takes no processor time from
what is being measured.
"""

import math
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Self, TextIO, cast

from rich.console import Console
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as Bar
from rich.table import Column
from rich.text import Text

from workflows.records.private import without_secrets

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
LIVE_INTERVAL_S = 0.5
LOG_INTERVAL_S = 10.0
WIDTH = 100  # of a line on the screen or in a file instead of it
UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


def duration(seconds: float) -> str:
    """Seconds for people, in its two largest units: `40 s`, `2 min 10 s`, `1 h 5 min`."""
    if not math.isfinite(seconds):
        return "unknown"
    whole = max(0, round(seconds))
    for (unit, size), (smaller, part) in pairwise(UNITS):
        if whole >= size:
            rest = whole % size // part
            return f"{whole // size} {unit}" + (f" {rest} {smaller}" if rest else "")
    return f"{whole} s"


def about(seconds: float) -> str:
    """An estimate, with no more digits than it deserves: `40 s`, `2 min 30 s`, `7 min`."""
    step = 5 if seconds <= 60 else 10 if seconds <= 120 else 30 if seconds <= 300 else 60
    if seconds <= 0 or not math.isfinite(seconds):
        return duration(seconds)
    return duration(step * max(1, round(seconds / step)))


class Progress:
    """Shows how far a job is; use it in a `with` block.

    The live line of a terminal goes when the block ends; a file that replaces the terminal gets
    the time of day on each line. Both get every note.

    Args:
        total: how much there is to do, in the unit of `update`'s `done`.
        title: what is being done; it begins every line.
        stream: the stream to write to; standard error by default.
        log: a file that gets plain, whole lines as well; it is begun anew.
        interval_s: least seconds between two lines of progress in a file.
        left_s: from the seconds since the first update, those left; for updates without them.
        left_for: what that time is for, if not for everything.
    """

    def __init__(
        self,
        total: float,
        title: str,
        stream: TextIO | None = None,
        log: Path | None = None,
        interval_s: float = 60.0,
        left_s: Callable[[float], float | None] = lambda elapsed_s: None,
        left_for: str = "",
    ) -> None:
        self.left_s, self.begun = left_s, math.nan
        self.left_for = f" for {left_for}" if left_for else ""
        self.title = plain(title)
        self.bar: Bar | None = None
        self.out: Forgiving | None = Forgiving(sys.stderr if stream is None else stream)
        self.log: Forgiving | None = None
        console = Console(file=cast(TextIO, self.out), force_terminal=True)
        if self.out.isatty() and not console.is_dumb_terminal:
            self.bar = Bar(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=12),
                TextColumn(
                    "{task.fields[text]}",
                    markup=False,
                    table_column=Column(no_wrap=True, overflow="ellipsis"),
                ),
                console=console,
                auto_refresh=False,  # it would draw from a thread, in the middle of a measurement
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self.task = self.bar.add_task(self.title, total=total, text="")
            self.out = None
        if log:
            with suppress(OSError):
                log.parent.mkdir(parents=True, exist_ok=True)
                self.log = Forgiving(log.open("w", encoding="utf-8"))
        self.outputs = [
            Seldom(lambda done, text: self.write(text), interval_s),
            Seldom(lambda done, text: self.detail(text), min(interval_s, LOG_INTERVAL_S)),
            Seldom(self.draw, LIVE_INTERVAL_S),
        ]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar:
            self.bar.stop()
        if self.log:
            with suppress(OSError):
                self.log.stream.close()

    def update(self, done: float, text: str, left_s: float | None = None) -> None:
        """How much is done, what is being done, and the seconds left if known."""
        if math.isnan(self.begun):
            self.begun = time.monotonic()
        if left_s is None:
            left_s = self.left_s(time.monotonic() - self.begun)
        left = "" if left_s is None else f"{about(left_s)} left{self.left_for}"
        for output in self.outputs:
            output.show(done, " · ".join(filter(None, (left, plain(text)))))

    def note(self, text: str) -> None:
        """Write a line that stays readable, for example a warning, at once."""
        self.detail(text)
        self.write(text)
        if self.bar:
            self.bar.console.print(Text(cut(self.line(text))), no_wrap=True, crop=False)

    def detail(self, text: str) -> None:
        """Write a line to the log file only."""
        if self.log:
            self.log.write(f"{now()} {self.line(text)}\n")
            self.log.flush()

    def write(self, text: str) -> None:
        if self.out:
            self.out.write(cut(f"{now()} {self.line(text)}") + "\n")
            self.out.flush()

    def draw(self, done: float, text: str) -> None:
        """Show on a terminal only what is being done."""
        if self.bar:
            self.bar.start()
            self.bar.update(self.task, completed=done, text=text, refresh=True)

    def line(self, text: str) -> str:
        """The title and the text, without secrets: a file may get it."""
        return without_secrets(" · ".join(filter(None, (self.title, plain(text)))))


class Seldom:
    """Passes on the first of many updates, and then one every `interval_s`."""

    def __init__(self, draw: Callable[[float, str], None], interval_s: float) -> None:
        self.draw, self.interval_s = draw, interval_s
        self.drawn = -math.inf

    def show(self, done: float, text: str) -> None:
        if time.monotonic() - self.drawn >= self.interval_s:
            self.draw(done, text)
            self.drawn = time.monotonic()


class Forgiving:
    """A stream that never raises: a closed terminal must not cost a measurement."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.encoding: str = getattr(stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError, AttributeError):
            self.stream.write(text.encode(self.encoding, "replace").decode(self.encoding))
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError, AttributeError):
            self.stream.flush()

    def isatty(self) -> bool:
        with suppress(OSError, ValueError, AttributeError):
            return self.stream.isatty()
        return False


def plain(text: str) -> str:
    """A text on one line and without control characters."""
    return CONTROL.sub(" ", text).strip()


def cut(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 3].rstrip()}..."


def now() -> str:
    return time.strftime("[%H:%M:%S]")
