"""What options of benchmarks can be."""

import argparse
import math
from collections.abc import Callable


def at_least(least: int) -> Callable[[str], int]:
    """The type of an option: a whole number, and no smaller one."""

    def number(text: str) -> int:
        if int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is too few, {least} at least")
        return int(text)

    return number


def positive(text: str) -> float:
    """The type of an option: a number above 0, and an end to it."""
    if not 0 < float(text) < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return float(text)
