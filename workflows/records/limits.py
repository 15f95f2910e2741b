"""What names, texts and numbers of a record can be. Records of others are data, and not trusted.

Names become files, so they are letters, digits and few marks. Sizes are far above what a study
leaves: a study of a day has a million mini-batches and 10 MB of records.
"""

import math
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, Field

FILE = 2**28  # bytes of a file, and of what it unpacks to
ROWS = 2**24  # of a table that is read whole
TURNS = 2**19  # of a machine; the largest committed study has 5,700
LONGEST_TURN = 2**18  # rows; a configuration allows 10,000 mini-batches
TABLE, ALL_ROWS = 2**34, 2**28  # bytes and rows of a table that is read in parts
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

# A declared deviation grows chaotically later, so only the first steps are bounded.
DECLARED_STEPS = 10
# float64 rounds so much more finely than float32.
FINER = 2.0**-29
LOST = 1e-7  # relative; a run that rounding in float64 may move further cannot be compared
# A run reproduces a mistake if it is this close to NumPy's at every step, relative: more than
# rounding makes of a right run.
REPRODUCES = 1e-9
# Limit of relative errors in float32, of losses in the first steps: wide, because rounding grows
# from step to step. workflows/certify/reduced.py has the limits of a reduced precision.
FLOAT32_LOSS = 1e-3
# Sums that cancel are less exact. So gradients of float32 may be `MIDDLE` times the tolerance off
# in the median tensor and, if it is within that, `WORST` times in any tensor. In float64 any tensor
# has as much room if the median tensor is within the tolerance itself.
MIDDLE, WORST = 3, 10
# Relative, of losses in float32 after a restart, because kernels may add in another order; or so
# many times what float32 is off from float64 by then, because a deep network magnifies that.
AGAIN, MAGNIFIED = 1e-4, 3
# Share of a step's work that is left after its fence; certificates refuse more. A sound fence
# measures as noise around 0.
UNFENCED = 0.2
# The same of a single operation. A large result that was just written is read more slowly than
# later, as if work had been left. Without a fence all of it is left.
LEFT = 0.5
# The most that a study can allow its float32 gradients. A workload that allows its own more than
# this has ReLUs that float32 decides differently. After ten steps nearly all numbers of ResNet-50
# are far off, typically by half of their move, in every framework. Weights of a few steps are all
# that can be judged: after two, residual networks are typically up to 6e-3 of a move off.
UNDECIDED = 1e-2
# After `EARLY` steps in float32 and after more: the typical error of weights, in moves of the
# tensor, and the share of numbers that are far off. The same for gradients that are `UNDECIDED`,
# with products in a reduced precision, and for both.
EARLY, ASTRAY = 2, ((1e-4, 0.1), (5e-4, 0.1))
UNDECIDED_ASTRAY = ((0.05, 1.0), (math.inf, 1.0))
REDUCED_ASTRAY, UNDECIDED_REDUCED_ASTRAY = (0.3, 0.75), (0.5, 1.0)
HALF = 0.5  # no typical error of a half is allowed because of what plain NumPy attains
REDUCED = 0.4  # the most that a gradient or a loss may be off in a reduced precision
VANISHED = 1e-2  # of a first loss: a loss below it counts as this, because rounding stays
TINY = 1e-30  # replaces a loss of zero, because relative differences need a divisor


def allowed_moves(step: int, rounding: float, reduced: bool) -> tuple[float, float]:
    """The typical error of weights after this step that a certificate allows, and the share far
    away. `rounding` is what it allows float32 gradients."""
    if rounding > UNDECIDED:
        early, late = UNDECIDED_ASTRAY
        return late if step > EARLY else UNDECIDED_REDUCED_ASTRAY if reduced else early
    return REDUCED_ASTRAY if reduced else ASTRAY[step > EARLY]


def plain(name: str) -> str:
    """A name without what a reader does not see: case, space, and the form of characters."""
    return "".join(unicodedata.normalize("NFKC", name).casefold().split())


def roomier(typical: float, errors: Iterable[float], times: float) -> float:
    """A limit of tensors' typical errors: `times` as much if the median tensor is within it,
    because in a small network one sample whose ReLU float32 decides differently moves a whole
    kernel."""
    found = list(errors)
    return times * typical if found and np.median(found) <= typical else typical


def confused(titles: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each key that a reader, who sees keys and titles, confuses with an earlier one, and that."""
    owners: dict[str, str] = {}
    for key, name in (*zip(titles, titles, strict=True), *titles.items()):
        if (other := owners.setdefault(plain(name), key)) != key:
            yield key, other


def widened(limits: tuple[float, float], near: tuple[float, float]) -> tuple[float, float]:
    """The limits of weights, or ten times the typical error that plain NumPy attains. For numbers
    far away, the limit plus twice NumPy's share: in a small tensor one number is a large share."""
    return max(limits[0], min(WORST * near[0], HALF)), limits[1] + 2 * near[1]


STUDY = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$"
MACHINE = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
WORKLOAD = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,199}$"
GROUP = r"^([A-Za-z0-9][A-Za-z0-9_+-]{0,199})?$"  # workloads joined with +
FRAMEWORK = r"^[a-z][a-z0-9_.-]{0,99}$"
VARIANT = r"^[a-z][a-z0-9_.-]{0,99}(\+[a-z0-9_.%+-]{1,40})?$"  # a control's has a part more
DEVICE = r"^[a-z][a-z0-9_-]{0,39}$"
# Who prepares mini-batches during training: the step's own thread, or so many others ahead of it.
LOADER = r"^(inline|(threads|processes)-[1-9][0-9]?)$"
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


def allowed_again(float32: Sequence[float], step: int) -> float:
    """How far the loss of a step after a restart may be from before, relative, with what the
    losses of all steps in float32 are off from float64's."""
    return max(AGAIN, min(MAGNIFIED * max(float32[:step], default=0.0), FLOAT32_LOSS))
