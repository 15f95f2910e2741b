"""Formats names and numbers for people."""

import io
import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType

from frameworks.device import DEVICES

# Names of frameworks, for records without names of their own.
KNOWN = MappingProxyType(
    {"pytorch": "PyTorch", "tensorflow": "TensorFlow", "jax": "JAX", "keras": "Keras"}
)
LINKED = r":(?=(\\?/){2})|(?i:www)(?=\\?\.)|@(?=\S)"
CUT = "<!-- -->"
QUOTED = re.compile(r"\\([`*(_~])")  # a mark that `quoted` shows as it is
DOLLAR = "<span>$</span>"  # as GitHub advises, because a bare one would begin a formula
TITLES: ContextVar[Mapping[str, str]] = ContextVar("titles", default=KNOWN)


@contextmanager
def titled(titles: Mapping[str, str]) -> Iterator[None]:
    """Use one machine's `titles` as framework names until the block ends, without Markdown's marks:
    they stand in texts with marks of the report's own."""
    named = {name: re.sub(r"[`*]|\](?=\()", "", title) for name, title in titles.items()}
    before = TITLES.set(named)
    try:
        yield
    finally:
        TITLES.reset(before)


def title(framework: str) -> str:
    return TITLES.get().get(framework, framework)


def device(name: str) -> str:
    return DEVICES[name].title if name in DEVICES else name


def count(number: int, noun: str, several: str = "") -> str:
    """`1 thread`, `2 threads`; `several` is the plural if it adds more than an s."""
    return f"{number} {noun if number == 1 else several or noun + 's'}"


def listing(items: Iterable[object], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    words = [str(item) for item in items]
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def few(names: Sequence[str], most: int) -> str:
    """`a, b and 3 more`, which names `most` at most."""
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return listing([*names[:most], *more])


def runs(numbers: Iterable[int]) -> str:
    """`1 to 3 and 6`"""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    parts = [[f"{run[0]} to {run[-1]}"] if len(run) > 2 else run for run in found]
    return listing(part for run in parts for part in run)


def three(value: float | None) -> str:
    """Three significant digits, without an exponent: `0.580`, `12.3`, `1,230`."""
    return alike(value)[0]


def alike(*values: float | None) -> list[str]:
    """All values with the number of decimals that gives the smallest three significant digits, so
    that an interval reads `0.951 to 1.009`. The first value sets the scale: values far below it
    add no decimals, and a value that these decimals would not show gets an exponent."""
    known = [abs(value) for value in values if value and math.isfinite(value)]
    scale = min([size for size in known if size >= known[0] / 3], default=100.0)
    decimals = 2 - math.floor(math.log10(float(f"{scale:.2e}")))
    return ["" if value is None else decimal(value, decimals) for value in values]


def with_ends(value: float | None, low: float | None, high: float | None) -> str:
    """`51.2 (50.1 to 52.3)`; without an interval the value alone."""
    middle, *ends = alike(value, low, high)
    return f"{middle} ({' to '.join(ends)})" if ends[0] else middle


def decimal(value: float, decimals: int) -> str:
    if not math.isfinite(value) or (value and not 10 ** (-decimals) <= abs(value) < 1e7):
        return scientific(value)
    return f"{round(value, decimals) or 0:,.{max(decimals, 0)}f}"


def scientific(value: float) -> str:
    """`3.1e-15`; plain `0` for zero."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


def short(value: float) -> str:
    """`0.001`, `1e-8`."""
    return f"{value:g}".replace("e-0", "e-")


def percent(share: float) -> str:
    """`3 %`, `6.1 %`, `0.42 %`; above a thousand only `over 1,000 %`."""
    if share > 10:
        return "over 1,000 %"
    digits = three(100 * share)
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits} %"


def probability(p: float | None) -> str:
    if p is None:
        return ""
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def large(number: float, unit: str) -> str:
    """`1.05 GFLOP`, `400 MB`, `512 B`."""
    for scale, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= scale:
            return f"{three(number / scale)} {prefix}{unit}"
    return f"{number:g} {unit}"


def crossed(keys: Sequence[tuple[object, ...]]) -> str:
    """A short description of many keys: `mlp and mnist-cnn, default, CPU, 1 and 2 threads`.

    If the keys are all combinations of their parts, they become one phrase. Otherwise they are
    split by the part that gives the fewest phrases.
    """
    return "; ".join(phrases(list(dict.fromkeys(keys))))


def phrases(keys: list[tuple[object, ...]]) -> list[str]:
    axes = [list(dict.fromkeys(values)) for values in zip(*keys, strict=True)]
    if len(keys) == math.prod(map(len, axes)):
        return [", ".join(listing(named(axis)) for axis in axes)]
    splits = [
        [[key for key in keys if key[place] == value] for value in axis]
        for place, axis in enumerate(axes)
        if len(axis) > 1
    ]
    found = [[phrase for group in split for phrase in phrases(group)] for split in splits]
    return min(found, key=len)


def named(values: Sequence[object]) -> list[str]:
    """Thread counts with their unit, frameworks and devices by their names."""
    if all(isinstance(value, int) for value in values):
        words = [str(value) for value in values]
        words[-1] += " thread" if values == [1] else " threads"
        return words
    names = map(str, values)
    return [device(name) if name in DEVICES else title(name) for name in names]


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    made = (f"| {' | '.join(map(markdown_cell, cells))} |" for cells in lines)
    return unlinked("\n".join(made))


def markdown_cell(text: str) -> str:
    """The text as one cell of a table: on one line, without a tag or a link of its own."""
    text = re.sub(r"\s*[\r\n]+\s*", " ", text).replace("](", "]\\(")
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", re.sub(r"\\*\|", r"\\|", text))


def quoted(text: str) -> str:
    """A text of others in Markdown or in rich text: a backslash before each mark of code, emphasis
    or a link shows it as it is. An underscore inside a word is no mark, nor is the tilde of a
    path."""
    text = re.sub(r"\\*([`*]|(?<![^\W_])_(?=\S)|~(?=[^\s/]))", r"\\\1", text)
    return re.sub(r"\]\\*\(", r"]\\(", text)


def unquoted(text: str) -> str:
    """Rich text for a terminal: texts of others as they were."""
    return QUOTED.sub(r"\1", text)


def unlinked(text: str) -> str:
    """The text without GitHub's formulas and automatic links: an invisible comment cuts addresses
    of pages and mail in two. Entities, which could hide addresses, are shown as they are."""
    text = re.sub(r"&(?!(lt|amp);)(?=#?\w+;)", "&amp;", text)
    return re.sub(LINKED, rf"\g<0>{CUT}", text).replace("$", DOLLAR)


def line(text: str) -> str:
    """The text on one line; frameworks break the lines of their errors."""
    return " ".join(text.split())


def capital(name: str) -> str:
    """`batch_norm.variance` as `Batch norm variance`."""
    return name.replace("_", " ").replace(".", " ").capitalize()


def sentence(text: str) -> str:
    """The text with a full stop. It gets no capital, because it may start with a name like
    `jax/default`."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def file_name(text: str) -> str:
    """The text as a part of a file's name or of an id: letters, digits and `. _ -` only."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".-") or "unnamed"


def any_encoding() -> None:
    """Let a terminal that has no sign for a character show a question mark instead."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
