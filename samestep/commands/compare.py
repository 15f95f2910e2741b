"""`compare`: compares studies of different times, machines or versions."""

import argparse
from pathlib import Path

import analysis.repeats.__main__
from samestep.commands import study
from samestep.studies import machines
from samestep.terminal import Problem
from workflows.output import place


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "studies", nargs="+", type=study, metavar="STUDY",
        help="the name of a study in reports/, its folder, or one machine's folder. Two stand side "
        "by side: what changed around them, and which ratios moved. Three or more are a series",
    )  # fmt: skip
    parser.add_argument(
        "--earlier", nargs="+", type=study, default=[], metavar="STUDY",
        help="of two studies: repeats of the first, which predict the second one's ratios better",
    )  # fmt: skip
    parser.add_argument("--out", type=place, help="a Markdown file to write as well")


def run(arguments: argparse.Namespace) -> int:
    """1: one study says faster and another slower; 2: they cannot be compared."""
    words: list[str] = arguments.studies
    if len(words) < 2:
        raise Problem("compare needs two studies or more: samestep compare --help has an example")
    if arguments.earlier and len(words) > 2:
        raise Problem("--earlier needs two studies: without it, three or more are a series")
    earlier = [str(machine(word)) for word in arguments.earlier]
    options = ["--earlier", *earlier] if earlier else []
    options += ["--out", str(arguments.out)] if arguments.out else []
    return analysis.repeats.__main__.main([*(str(machine(word)) for word in words), *options])


def machine(word: str) -> Path:
    """The study's only machine. Raises Problem if it has several."""
    found = machines(word)
    if len(found) > 1:
        paths = ", ".join(map(str, found))
        raise Problem(f"{word} was run on several machines: name one machine's folder ({paths})")
    return found[0]
