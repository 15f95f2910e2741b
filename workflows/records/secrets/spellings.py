"""The spellings of a secret, or of a name with accents."""

import base64
import html
import re
from collections.abc import Iterator
from math import ceil
from unicodedata import normalize

CLEAR = 8  # characters that no honest text has by chance
LONGEST = 500  # characters of a piece of a secret, which is looked for as a whole
WORDS = 40  # in a piece that is looked for in other spellings, too
# What may replace characters other than letters and digits, when a message escapes a text, encodes
# it for a URL or a page, or joins its lines.
BETWEEN = r"(?:%[\dA-Fa-f]{2}|\\+(?:[nrt]|x[\da-fA-F]{2}|u[\da-fA-F]{4})|&#?\w{1,8};|[^A-Za-z0-9])*"


def composed(text: str) -> Iterator[str]:
    """As it stands, with accents as parts of their letters, and with accents apart."""
    yield from (text, normalize("NFC", text), normalize("NFD", text))


def spelled(secret: str) -> Iterator[re.Pattern[str]]:
    """Patterns of a secret in any spelling. Those of a long one are of pieces of the same length,
    and of many words as they stand, because others would take minutes."""
    size = ceil(len(secret) / ceil(len(secret) / LONGEST))
    for start in range(0, len(secret), size):
        piece = secret[start : start + size]
        forms, others = [piece], list[str]()
        if piece == secret:
            forms = [case(one) for one in composed(secret) for case in (str, str.upper, str.lower)]
            others = [*encoded(secret)]
        exact = map(apart, [*forms, *map(html.escape, forms)])
        patterns = [*exact, *map(re.escape, others), *filter(None, map(words, forms))]
        yield re.compile("|".join(dict.fromkeys(patterns)))


def apart(text: str) -> str:
    """A pattern of a text as it stands. A short word is none as a part of a longer one."""
    exact = re.escape(text)
    if len(text) < CLEAR and (text.isalpha() or text.isdigit()):
        return rf"(?<![A-Za-z0-9]){exact}(?![A-Za-z0-9])"
    return exact


def words(text: str) -> str:
    """A pattern of the words of a text, whatever is between them, if it has enough of them."""
    found = re.findall("[A-Za-z0-9]+", text)
    many = sum(map(len, found)) >= CLEAR and len(found) <= WORDS
    return BETWEEN.join(found) if many else ""


def encoded(secret: str) -> Iterator[str]:
    """A secret in hexadecimal digits, and what base64 makes of it wherever it begins, without the
    characters that its neighbours change."""
    own = secret.encode(errors="replace")
    yield from (own.hex(), own.hex().upper())
    for before in range(3):
        text = base64.b64encode(bytes(before) + own).decode()
        text = text[ceil(before * 4 / 3) : (before + len(own)) * 4 // 3]
        if len(text) >= CLEAR:
            yield from (text, text.replace("+", "-").replace("/", "_"))
