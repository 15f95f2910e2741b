"""One thing that a reader should know before believing the answer."""

from dataclasses import dataclass
from enum import IntEnum


class Severity(IntEnum):
    """A warning stands on the first screen, a note under "What weakens it"."""

    NOTE = 1
    WARNING = 2


@dataclass(frozen=True)
class Caveat:
    """A warning's `heading` is one or two words that also stand without colour; a note has
    no heading."""

    severity: Severity
    heading: str
    text: str


def warning(heading: str, text: str) -> Caveat:
    return Caveat(Severity.WARNING, heading, text)


def note(text: str) -> Caveat:
    return Caveat(Severity.NOTE, "", text)
