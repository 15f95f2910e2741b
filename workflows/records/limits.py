"""What names, texts and numbers of a record can be. Records of others are data, and not trusted.

Names become files, so they are letters, digits and few marks. Sizes are far above what a study
leaves: a study of a day has a million mini-batches and 10 MB of records.
"""

import math
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated, Any

from pydantic import AfterValidator, Field

FILE = 2**28  # bytes of a file, and of what it unpacks to
ROWS = 2**24  # of a table that is read whole
TURNS = 2**19  # of a machine; the largest committed study has 5,700
LONGEST_TURN = 2**18  # rows; a configuration allows 10,000 mini-batches
TABLE, ALL_ROWS = 2**34, 2**28  # bytes and rows of a table that is read in chunks
TEXT = 20_000  # characters
DEPTH, VALUES = 20, 100_000  # of values in no fixed form
MOST = 2**63  # numbers beyond fit into no table
REPLICATES = 2**15 - 1
THREADS = 9999
DAY_S = 86_400
TIMEOUT_S = 600.0  # for an answer of a contender, unless configured

# Turns are stored in whole microseconds, and their clock is read elsewhere; the grain of processor
# time.
SLACK_NS, TICK_NS = 1_000_000, 100_000_000
EVENTS = 1e7  # that a kernel counts in a second of a core, such as page faults: more than any does


BLANK = "\u115f\u1160\u2800"  # letters and a pattern that leave no ink
# Cyrillic and Greek letters and digits that look like Latin letters, small or capital.
LOOK_ALIKE = str.maketrans(
    "\u0430\u0432\u0435\u043a\u043c\u043d\u043e\u0440\u0441\u0442\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u051b\u051d\u04cf"
    "\u03b1\u03b2\u03b5\u03b6\u03b7\u03b9\u03ba\u03bc\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u03f2\u03f3"
    "01",
    "abekmhopctyxijsdhqwlabezhikmnoptyxcjol",
)


def plain(name: str) -> str:
    """A name without what a reader does not see: case, space, marks without a shape, the form of
    characters, and the alphabet of letters that look the same in several."""
    seen = unicodedata.normalize("NFKC", name).casefold().translate(LOOK_ALIKE)
    return "".join(c for c in seen if c.isprintable() and c not in BLANK and not c.isspace())


def confused(titles: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each key that a reader, who sees keys and titles, confuses with an earlier one, and that."""
    owners: dict[str, str] = {}
    for key, name in (*zip(titles, titles, strict=True), *titles.items()):
        if (other := owners.setdefault(plain(name), key)) != key:
            yield key, other


STUDY = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$"
MACHINE = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
WORKLOAD = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,199}$"
GROUP = r"^([A-Za-z0-9][A-Za-z0-9_+-]{0,199})?$"  # workloads joined with +
FRAMEWORK = r"^[a-z][a-z0-9_.-]{0,99}$"
VARIANT = r"^[a-z][a-z0-9_.-]{0,99}(\+[a-z0-9_.%+-]{1,40})?$"  # a control's has a part more
DEVICE = r"^[a-z][a-z0-9_-]{0,39}$"
# Who prepares mini-batches during training: the step's own thread, or so many others ahead of it,
# ours or those of the framework's own loader.
LOADER = r"^(inline|(threads|processes|framework)-[1-9][0-9]?)$"
NUMBER = r"[1-9][0-9]{0,3}"
CONTENDER = rf"^{FRAMEWORK[1:-1]}/{VARIANT[1:-1]}/{DEVICE[1:-1]}/{NUMBER}$"

Study = Annotated[str, Field(pattern=STUDY)]
MachineName = Annotated[str, Field(pattern=MACHINE)]
WorkloadName = Annotated[str, Field(pattern=WORKLOAD)]
GroupName = Annotated[str, Field(pattern=GROUP)]
FrameworkName = Annotated[str, Field(pattern=FRAMEWORK)]
RunsName = Annotated[str, Field(pattern=rf"^({VARIANT[1:-1]})?$")]  # "": no control
LoaderName = Annotated[str, Field(pattern=rf"^(stored|{LOADER[1:-1]})?$")]  # "": no loader
VariantName = Annotated[str, Field(pattern=VARIANT)]
DeviceName = Annotated[str, Field(pattern=DEVICE)]
ContenderName = Annotated[str, Field(pattern=CONTENDER)]

Threads = Annotated[int, Field(ge=1, le=THREADS)]
Replicate = Annotated[int, Field(ge=1, le=REPLICATES)]
Count = Annotated[int, Field(ge=0, lt=MOST)]
Steps = Annotated[int, Field(ge=0, le=10**7)]
Seconds = Annotated[float, Field(ge=0, le=1000 * DAY_S, allow_inf_nan=False)]
# A difference of two counters; that of a busy machine may be below zero by a tick.
Difference = Annotated[float, Field(ge=-DAY_S, le=1000 * DAY_S, allow_inf_nan=False)]
Amount = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=1e-6, lt=1)]
Confidence = Annotated[float, Field(gt=0.5, le=0.9999)]  # of intervals; nearer to 1 overflows


def moment(text: str) -> str:
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError("not a time as ISO 8601 has it") from None
    if at.tzinfo is None or not 1970 <= at.year < 2200:
        raise ValueError("not a time until 2200, with its zone")
    return text


Moment = Annotated[str, AfterValidator(moment)]


def distance(value: float) -> float:
    """Tables show six significant digits; more than ten only take space. It may be NaN."""
    if value < 0:
        raise ValueError("a distance is not negative")
    return float(f"{value:.10g}")


Distance = Annotated[float, AfterValidator(distance)]


def ten_digits(value: float) -> float:
    return float(f"{value:.10g}")


# Of training, in as many digits as a distance. It may have any sign, and be NaN.
Number = Annotated[float, AfterValidator(ten_digits)]


def bounded(value: Any) -> Any:
    """A value in no fixed form, as JSON or YAML has it. Raises ValueError if it is too deep or too
    large, if it contains itself, or if a number is not finite."""
    left, waiting = VALUES, [(value, 1)]
    while waiting:
        one, depth = waiting.pop()
        left -= 1
        if depth > DEPTH:
            raise ValueError(f"more than {DEPTH} levels deep")
        if left < 0:
            raise ValueError(f"more than {VALUES:,} values")
        if isinstance(one, str) and len(one) > TEXT:
            raise ValueError(f"a text of {len(one):,} characters, {TEXT:,} are read")
        if isinstance(one, int) and abs(one) >= MOST:
            raise ValueError("a number of more than 18 digits")
        if isinstance(one, float) and not math.isfinite(one):
            raise ValueError("a number that is not finite")
        if isinstance(one, dict):
            waiting += [(item, depth + 1) for pair in one.items() for item in pair]
        elif isinstance(one, list | tuple | set | frozenset):
            waiting += [(item, depth + 1) for item in one]
    return value


Anything = Annotated[dict[str, Any], AfterValidator(bounded)]


def hasty(schema: Any) -> Any:
    """A schema of pydantic-core that stops at the first fault of a list or a dictionary."""
    if isinstance(schema, list | tuple):
        return type(schema)(map(hasty, schema))
    if not isinstance(schema, dict):
        return schema
    stops = {"fail_fast": True} if schema.get("type") in ("list", "dict") else {}
    return {key: hasty(value) for key, value in schema.items()} | stops
