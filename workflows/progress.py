"""How far a long job has come: one live line on a terminal, a few plain ones in a log.

Nothing is drawn but within a call, so that between calls it takes no processor time from
what is being measured.
"""

import math
import re
import sys
import time
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
    """Tells people how far a job is; use it in a `with` block.

    Args:
        total: how much there is to do, in the unit of `update`'s `done`.
        title: what is being done; it begins every line.
        stream: where to; standard error unless given.
        log: a file that gets the plain lines as well; it is begun anew.
        interval_s: least seconds between two plain lines, but for the first and the last.
    """

    def __init__(
        self,
        total: float,
        title: str,
        stream: TextIO | None = None,
        log: Path | None = None,
        interval_s: float = 10.0,
    ) -> None:
        out, title = Forgiving(sys.stderr if stream is None else stream), plain(title)
        live = out.isatty() and not out.console().is_dumb_terminal
        self.shown = [
            LiveLine(out, title, LIVE_INTERVAL_S, total) if live else Lines(out, title, interval_s)
        ]
        self.file: TextIO | None = None
        if log:
            with suppress(OSError):
                log.parent.mkdir(parents=True, exist_ok=True)
                self.file = log.open("w", encoding="utf-8")
                self.shown.append(Lines(Forgiving(self.file), title, interval_s))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for lines in self.shown:
            lines.close()
        if self.file:
            with suppress(OSError):
                self.file.close()

    def update(self, done: float, text: str, left_s: float | None = None) -> None:
        """How much is done, what is being done, and the seconds left where known."""
        left = "" if left_s is None else f"{duration(left_s)} left"
        for lines in self.shown:
            lines.update(done, " | ".join(filter(None, (plain(text), left))))

    def note(self, text: str) -> None:
        """Something that should stay readable, like a warning, at once and on its own line."""
        for lines in self.shown:
            lines.note(plain(text))


class Lines:
    """Whole plain lines, for a log."""

    def __init__(self, stream: "Forgiving", title: str, interval_s: float) -> None:
        self.stream, self.title, self.interval_s = stream, title, interval_s
        self.drawn = -math.inf
        self.withheld = False

    def update(self, done: float, text: str) -> None:
        self.done, self.text, self.withheld = done, text, True
        if time.monotonic() - self.drawn >= self.interval_s:
            self.flush()

    def flush(self) -> None:
        """Draw the last update, if that has not been done."""
        if self.withheld:
            self.drawn, self.withheld = time.monotonic(), False
            self.draw()

    def draw(self) -> None:
        self.note(self.text)

    def note(self, text: str) -> None:
        self.stream.write(f"{self.title} | {text}\n")
        self.stream.flush()

    def close(self) -> None:
        self.flush()


class LiveLine(Lines):
    """One line that is drawn over and over, for a terminal."""

    def __init__(self, stream: "Forgiving", title: str, interval_s: float, total: float) -> None:
        super().__init__(stream, title, interval_s)
        self.bar = Bar(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[text]}", markup=False),
            console=stream.console(),
            auto_refresh=False,  # would draw from a thread, in the middle of a measurement
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self.task = self.bar.add_task(title, total=total, text="")

    def draw(self) -> None:
        self.bar.start()
        self.bar.update(self.task, completed=self.done, text=self.text, refresh=True)

    def note(self, text: str) -> None:
        self.bar.console.print(Text(f"{self.title} | {text}"))

    def close(self) -> None:
        self.flush()
        self.bar.stop()


def plain(text: str) -> str:
    """A text on one line and without control characters."""
    return CONTROL.sub(" ", text).strip()


class Forgiving:
    """A stream that never raises: a closed terminal is no reason to lose a measurement."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.encoding: str = getattr(stream, "encoding", None) or "utf-8"

    def console(self) -> Console:
        return Console(file=cast(TextIO, self), force_terminal=True)

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
