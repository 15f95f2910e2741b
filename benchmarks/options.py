"""Types of the benchmarks' options."""

import argparse
import math
from collections.abc import Callable


def at_least(least: int) -> Callable[[str], int]:
    """The type of an option: a whole number from `least`."""

    def number(text: str) -> int:
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is too few, {least} at least")
        return int(text)

    return number


def positive(text: str) -> float:
    """The type of an option: a finite number above 0."""
    if not 0 < float(text) < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return float(text)
