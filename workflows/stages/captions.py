"""The captions of a written report, by which `snakemake --report` labels its figures and tables."""

import re
import textwrap
from functools import cache
from html.parser import HTMLParser
from pathlib import Path

CAPTIONS = ("figcaption", "caption")
LONGEST = 200  # characters of a label


class Captions(HTMLParser):
    """The text of each caption by the id of its figure or table (`fig-ratios`)."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self.id, self.inside = "", False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        name = dict(attrs).get("id") or ""
        if name.startswith(("fig-", "table-")):
            self.id = name
        self.inside = self.inside or tag in CAPTIONS

    def handle_endtag(self, tag: str) -> None:
        if tag in CAPTIONS:
            self.id, self.inside = "", False

    def handle_data(self, data: str) -> None:
        if self.id and self.inside:
            self.found[self.id] = self.found.get(self.id, "") + data


def caption(report: Path, kind: str, name: str) -> str:
    """What the figure (`fig`) or table of this name shows, in its first sentences; "" if the page
    does not have it."""
    anchor = re.sub(r"[^A-Za-z0-9_-]", "_", f"{kind}-{name}")
    text = " ".join(captions(report).get(anchor, "").split()).removesuffix(" SVG")
    text = re.sub(r"^(Figure|Table) \d+\.\s*", "", text)
    text = re.sub(r"<(?=[/!])", "< ", text)  # Snakemake writes it into a script as it is
    first, *more = re.split(r"(?<=[.!?]) (?=[A-Z])", text)
    for sentence in more:
        if len(first) + len(sentence) >= LONGEST:
            break
        first += f" {sentence}"
    return textwrap.shorten(first, 2 * LONGEST, placeholder=" ...")


@cache
def captions(report: Path) -> dict[str, str]:
    return Captions(report.read_text("utf-8")).found
