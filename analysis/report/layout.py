"""The building blocks of a report: sections, and the blocks in them.

A block defines content, not presentation: `templates/blocks.html.j2` and `blocks.md.j2` have a
macro for each class of blocks, under the class's name in lower case.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from analysis.findings.findings import Findings
from analysis.format import file_name
from analysis.report.figures.style import Figure, Theme
from analysis.report.tables import Table


class Rich(str):
    """Text written by the report itself, in which `code` and *emphasis* are marked as in Markdown.
    Texts of others in it are `quoted`."""


class Severity(IntEnum):
    """A warning stands on the first screen, a note under "Threats to validity"."""

    NOTE = 1
    WARNING = 2


@dataclass(frozen=True)
class Caveat:
    """A fact that the reader should know before trusting the answer: what was `seen`, and what to
    `do` about it. The `heading` of a warning is one or two words that also stand without colour; a
    note has none. Texts of others in them are `quoted`."""

    severity: Severity
    heading: str
    seen: str
    do: str

    @property
    def text(self) -> Rich:
        return Rich(f"{self.seen} {self.do}")


def warning(heading: str, seen: str, do: str) -> Caveat:
    return Caveat(Severity.WARNING, heading, seen, do)


def note(seen: str, do: str) -> Caveat:
    return Caveat(Severity.NOTE, "", seen, do)


class Content:
    """A block that is left out of the report if its first field is empty."""

    def __bool__(self) -> bool:
        return bool(next(iter(vars(self).values())))


@dataclass(frozen=True)
class Paragraph(Content):
    """`opening` is bold; `style`, in HTML, is "lead", "soft" or neither."""

    text: str
    opening: str = ""
    style: str = ""


@dataclass(frozen=True)
class Bullets(Content):
    items: Sequence[str]


@dataclass(frozen=True)
class Terms(Content):
    """Terms, each with the text that explains it."""

    items: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Commands(Content):
    """Commands to type, one per line."""

    lines: Sequence[str]


@dataclass(frozen=True)
class File:
    """A link to the file that has all rows of a table."""

    name: str


Block = Paragraph | Bullets | Terms | Commands | File | Table | Figure
Blocks = Sequence[Block | None]  # None if there is nothing to show
Draw = Callable[[Findings, Theme, str], Figure | None]


SELF_TEST_FAILED = "Self-test failed"  # the heading of caveats about controls


@dataclass(frozen=True)
class Chapter:
    """One machine's part of a report about `machines` machines."""

    findings: Findings
    theme: Theme
    machines: int
    caveats: Sequence[Caveat]

    @property
    def name(self) -> str:
        return self.findings.machine.name

    @property
    def warnings(self) -> list[Caveat]:
        return [caveat for caveat in self.caveats if caveat.severity is Severity.WARNING]

    @property
    def notes(self) -> list[Caveat]:
        return [caveat for caveat in self.caveats if caveat.severity is Severity.NOTE]

    @property
    def self_test_failed(self) -> bool:
        return any(one.heading == SELF_TEST_FAILED for one in self.warnings)

    def figure(self, draw: Draw, file: str = "") -> Figure | None:
        """The figure that `draw` draws, for files with its name or the name `file`, and with the
        machine's name if there are several machines."""
        suffix = f"-{file_name(self.name)}" if self.machines > 1 else ""
        return draw(self.findings, self.theme, (file or draw.__name__) + suffix)


@dataclass(frozen=True)
class Section:
    """A section with the same blocks for every machine. `about` is printed once for all machines.

    A section without a block is left out of the report. With `inside` it is folded, and `inside`
    gives the line on the closed section. `in_markdown`: whether report.md, which has only the
    answer and the main tables, has the section, too.
    """

    title: str
    blocks: Callable[[Chapter], Blocks]
    about: str = ""
    inside: Callable[[Chapter], str] | None = None
    in_markdown: bool = False


@dataclass(frozen=True)
class StudySection:
    """A section about the study, not about each machine; folded if it has a line `inside`. A
    `first` section comes before the machines' first screens, on both pages."""

    title: str
    blocks: Callable[[Sequence[Chapter]], Blocks]
    inside: str = ""
    first: bool = False
