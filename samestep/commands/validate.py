"""`validate`: judges the report's method by simulated studies whose ratios are known."""

import argparse

from benchmarks.simulation.__main__ import add_arguments as add_options
from benchmarks.simulation.__main__ import validate
from samestep.terminal import Problem
from workflows.records.storage import RecordError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """0: the intervals contain the truth as often as their confidence says; 1: they do not."""
    try:
        return validate(arguments)
    except (RecordError, OSError) as error:
        raise Problem(str(error)) from None
