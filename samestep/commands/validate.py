"""`validate`: the report's method, judged on simulated studies whose ratios are known."""

import argparse

from benchmarks.simulation.__main__ import add_validation, validate
from samestep.terminal import Problem
from workflows.records.storage import RecordError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_validation(parser)


def run(arguments: argparse.Namespace) -> int:
    """0: the method does what is demanded of it; 1: it does not."""
    try:
        return validate(arguments)
    except (RecordError, OSError) as error:
        raise Problem(str(error)) from None
