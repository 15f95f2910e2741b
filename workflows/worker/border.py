"""Converts what an adapter gives before it leaves its worker, or refuses it.

An adapter may return, raise and say anything. What leaves the worker is plain: texts of bounded
length, Python's own numbers, arrays of floating point.
"""

import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from frameworks.contract import MiniBatch, Setting, Unavailable
from frameworks.workloads import Weights
from workflows.records.private import KNOWN, UNPRINTABLE, cut

REASON = 400  # characters
TEXT = 200  # of a setting
MOST_SETTINGS, MOST_TENSORS = 300, 100  # of tensors, so many beside those of the network
LARGEST = 2**63  # numbers beyond do not fit into the tables


@contextmanager
def supported() -> Iterator[None]:
    """Turn a late refusal into a failure: an adapter supports what it has built, and frameworks
    raise NotImplementedError for faults, too."""
    try:
        yield
    except (Unavailable, NotImplementedError) as error:
        reason = f"{explain(error)}, from a network that was built"
        raise RuntimeError(reason).with_traceback(error.__traceback__) from error


def as_loss(value: Any) -> float:
    """A loss as Python's own float. It may be NaN."""
    if not isinstance(value, str | bytes | bytearray | bool | complex | np.complexfloating):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    raise TypeError(f"loss() gave {kind(value)}, a float is asked for")


def as_mini_batch(given: Any) -> MiniBatch:
    """The inputs and the targets that a loader of the framework's own gives."""
    pair = given if isinstance(given, tuple | list) else [given]
    if wrong := [kind(array) for array in pair if not isinstance(array, np.ndarray)]:
        raise TypeError(f"its loader gave {wrong[0]}, inputs and targets as arrays are asked for")
    inputs, targets = pair
    return inputs, targets


def as_settings(given: Any) -> dict[str, Setting]:
    """Settings as texts and Python's own numbers."""
    if not isinstance(given, Mapping):
        raise TypeError(f"settings() gave {kind(given)}, a dict is asked for")
    if len(given) > MOST_SETTINGS:
        raise ValueError(f"settings() gave {len(given)} settings, at most {MOST_SETTINGS} are read")
    found: dict[str, Setting] = {}
    for name, value in given.items():
        if not isinstance(name, str):
            raise TypeError(f"settings() names a setting by {kind(name)}, a text is asked for")
        if (seen := shown(name)[:TEXT]) in found or not seen:
            raise ValueError(f"settings() names {'two settings' if seen else 'a setting'} {seen!r}")
        found[seen] = as_setting(seen, value)
    return found


def as_setting(name: str, value: Any) -> Setting:
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return cut(str(value), TEXT)
    if isinstance(value, int):
        return int(value) if abs(value) < LARGEST else "too large a number"
    if isinstance(value, float):
        return float(value) if np.isfinite(value) else "not finite"
    raise TypeError(
        f"settings() gave {name} as {kind(value)}; a text, a number or a truth value is asked for"
    )


def as_seconds(given: Any) -> dict[str, float]:
    """Seconds by name, as Python's own numbers."""
    if not isinstance(given, Mapping):
        raise TypeError(f"profile() gave {kind(given)}, a dict is asked for")
    found = {str(name): float(value) for name, value in given.items()}
    if not all(np.isfinite(value) and value >= 0 for value in found.values()):
        raise ValueError("profile() gave seconds that are negative or not finite")
    return found


def as_weights(given: Any, network: Weights, what: str = "weights()") -> Weights:
    """Weights as a dict of plain arrays of floating point, not much larger than the `network`.

    Names and shapes are left to whoever compares them.
    """
    if not isinstance(given, Mapping):
        raise TypeError(f"{what} gave {kind(given)}, a dict of arrays is asked for")
    found = {}
    for name, array in given.items():
        if not isinstance(name, str):
            raise TypeError(f"{what} names a tensor by {kind(name)}, a text is asked for")
        if len(name) > TEXT:
            raise ValueError(f"{what} names a tensor by {len(name):,} characters")
        plain = np.asarray(array) if isinstance(array, np.ndarray) else array
        if not isinstance(plain, np.ndarray) or plain.dtype.kind != "f":
            raise TypeError(f"{what} gave {name} as {kind(array)}, not as an array of floats")
        found[name] = plain
        if len(found) > MOST_TENSORS + 2 * len(network):
            raise ValueError(f"{what} gave more than {len(found):,} tensors")
    numbers, asked = (sum(array.size for array in one.values()) for one in (found, network))
    if numbers > 2 * asked + 1000:
        raise ValueError(f"{what} gave {numbers:,} numbers, the network has {asked:,}")
    return found


def kind(value: Any) -> str:
    """What a value is, for a reason: `list`, `ndarray (int64)`."""
    name = str(getattr(type(value), "__name__", "something"))
    return f"{name} ({value.dtype})" if isinstance(value, np.ndarray | np.generic) else name


def explain(error: BaseException) -> str:
    """One line for the record, never empty; the whole traceback goes to the log."""
    name = shown(type(error).__name__) or "an exception without a name"
    try:
        text = cut(shown(str(error)), REASON)
    except BaseException as another:
        text = f"(its text cannot be had: {type(another).__name__})"
    if isinstance(error, MemoryError) or name in ("OutOfMemoryError", "ResourceExhaustedError"):
        return f"out of memory: {name}: {text}"
    return f"{name}: {text}" if text else name


def shown(text: str) -> str:
    """What is seen of a text, on one line."""
    return " ".join(UNPRINTABLE.sub(" ", text[:KNOWN]).split())


def where(error: BaseException) -> str:
    """The last line of an adapter that an exception came through: `adapter.py:41`."""
    ours = str(Path(__file__).parents[1])
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not frame.filename.startswith(ours) and "site-packages" not in frame.filename:
            return f"{Path(frame.filename).name}:{frame.lineno}"
    return ""
