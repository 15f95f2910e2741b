"""How far a long job has come: one live line on a terminal, a few plain lines in a log.

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
from rich.text import Text

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]+")
LIVE_INTERVAL_S = 0.5
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


class Progress:
    """Shows how far a job is; use it in a `with` block.

    Args:
        total: how much there is to do, in the unit of `update`'s `done`.
        title: what is being done; it begins every line.
        stream: the stream to write to; standard error by default.
        log: a file that gets plain lines as well; it is begun anew.
        interval_s: least seconds between two plain lines, except for the first and the last.
    """

    def __init__(
        self,
        total: float,
        title: str,
        stream: TextIO | None = None,
        log: Path | None = None,
        interval_s: float = 10.0,
    ) -> None:
        self.title = plain(title)
        self.bar: Bar | None = None
        self.log: TextIO | None = None
        self.lines: list[Forgiving] = []
        out = Forgiving(sys.stderr if stream is None else stream)
        console = Console(file=cast(TextIO, out), force_terminal=True)
        if out.isatty() and not console.is_dumb_terminal:
            self.bar = Bar(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=20),
                TextColumn("{task.fields[text]}", markup=False),
                console=console,
                auto_refresh=False,  # it would draw from a thread, in the middle of a measurement
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self.task = self.bar.add_task(self.title, total=total, text="")
        else:
            self.lines.append(out)
        if log:
            with suppress(OSError):
                log.parent.mkdir(parents=True, exist_ok=True)
                self.log = log.open("w", encoding="utf-8")
                self.lines.append(Forgiving(self.log))
        self.displays = [Seldom(self.write, interval_s), Seldom(self.draw, LIVE_INTERVAL_S)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for display in self.displays:
            display.flush()
        if self.bar:
            self.bar.stop()
        if self.log:
            with suppress(OSError):
                self.log.close()

    def update(self, done: float, text: str, left_s: float | None = None) -> None:
        """How much is done, what is being done, and the seconds left if known."""
        left = "" if left_s is None else f"{duration(left_s)} left"
        for display in self.displays:
            display.show(done, " | ".join(filter(None, (plain(text), left))))

    def note(self, text: str) -> None:
        """Write a line that stays readable, for example a warning, at once."""
        self.write(0, plain(text))
        if self.bar:
            self.bar.console.print(Text(f"{self.title} | {plain(text)}"))

    def write(self, done: float, text: str) -> None:
        for stream in self.lines:
            stream.write(f"{self.title} | {text}\n")
            stream.flush()

    def draw(self, done: float, text: str) -> None:
        if self.bar:
            self.bar.start()
            self.bar.update(self.task, completed=done, text=text, refresh=True)


class Seldom:
    """Passes on the first of many updates, one every `interval_s`, and the last."""

    def __init__(self, draw: Callable[[float, str], None], interval_s: float) -> None:
        self.draw, self.interval_s = draw, interval_s
        self.drawn = -math.inf
        self.withheld: tuple[float, str] | None = None

    def show(self, done: float, text: str) -> None:
        self.withheld = done, text
        if time.monotonic() - self.drawn >= self.interval_s:
            self.flush()

    def flush(self) -> None:
        if self.withheld:
            self.draw(*self.withheld)
            self.drawn, self.withheld = time.monotonic(), None


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
