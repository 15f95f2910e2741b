"""Marks up the report's own text, and escapes text of others (names of hosts, messages of
frameworks)."""

import html
import json
import re
from collections.abc import Iterable
from typing import Any

from markupsafe import Markup

from analysis.format import QUOTED, quoted, unlinked
from analysis.report.layout import Rich

PAGES = r"\.\./\.\./docs/[\w-]+\.md(?:#[\w-]+)?"  # where links in rich text may go
LINK = rf"\[([^][<>]+)\]\(({PAGES})\)"


def for_html(value: Any) -> Any:
    """Keep `3 %`, `400 MB`, `1e-12` and † on one line, and turn the marks of rich text to tags."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    rich = isinstance(value, Rich)
    value = entities(html.escape(value)) if rich else value
    value = re.sub(r"(?<=\d) (?=(%|[kMGT]?B|[kMGT]?FLOP)\b|%)", "\u00a0", value)
    value = re.sub(r"(?<=\d)e-(?=\d)", "e-\u2060", value).replace(" †", "\u00a0†")
    if not rich:
        return value
    value = re.sub(r"`([^`]+)`", r"<code>\1</code>", value)
    value = re.sub(LINK, r'<a href="\2">\1</a>', value)
    value = re.sub(r"\*\*([^*<>]+)\*\*", r"<b>\1</b>", value)
    return Markup(re.sub(r"\*([A-Za-z ]+)\*", r"<i>\1</i>", value))


def for_markdown(value: Any) -> Any:
    """Text on one line. No tag, picture or link and, in rich text alone, marks of the report's own:
    those of others are shown as they are."""
    if isinstance(value, Markup):
        return value
    text = on_one_line(value)
    return unlinked(own_links(text) if isinstance(value, Rich) else quoted(text))


def for_fence(value: Any) -> Markup:
    """The same inside a fence, where nothing becomes a link by itself."""
    return Markup(on_one_line(value))


def fence(text: str) -> Markup:
    """A fence for this text in Markdown, longer than any fence in it."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    return Markup("`" * max(3, longest + 1))


def on_one_line(value: Any) -> str:
    return re.sub(r"\s*[\r\n]+\s*", " ", str(value)).replace("<", "&lt;")


def own_links(text: str) -> str:
    return re.sub(rf"\]\((?!{PAGES}\))", r"]\\(", text)


def entities(text: str) -> str:
    """Rich text in which quoted marks are entities, so that they become no tags."""
    return QUOTED.sub(lambda found: f"&#{ord(found[1])};", text)


def packed(text: str) -> Markup:
    """A CSV file for the page's script, which unpacks it: each cell and each row once. A row has
    the places of its cells, empty if a cell equals that of the row above. No parser can take it for
    a tag."""
    places: dict[str, int] = {}
    rows: dict[str, int] = {}
    order, above = [], list[int]()
    for line in text.split("\n"):
        row = [places.setdefault(cell, len(places)) for cell in line.split(",")]
        shown = ",".join("" if [at] == above[n : n + 1] else f"{at}" for n, at in enumerate(row))
        order.append(rows.setdefault(shown, len(rows)))
        above = row
    held = {"cells": [*places], "rows": [*rows], "order": order}
    return Markup(json.dumps(held, separators=(",", ":")).replace("<", "\\u003c"))


def anchor(title: str) -> str:
    """`what-differs-on-purpose`"""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def variable(colour: str) -> str:
    """A colour of a figure as the style sheet has it, where it suits light and dark pages."""
    return f"var(--c{colour[1:].lower()},{colour})"


def numbers(values: Iterable[float | None]) -> str:
    """Numbers for the page's script, with `-` for None."""
    return " ".join("-" if value is None else f"{value:.6g}" for value in values)
