"""`report`: writes a study's report again, from its records; needs no framework."""

import argparse
from pathlib import Path

import analysis.__main__
from samestep.archives import SUFFIX, unpack
from samestep.commands import study
from samestep.studies import MACHINES, machines
from workflows.output import place


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "studies", nargs="+", type=study, metavar="FOLDER",
        help="the name of a study in reports/, its folder, its machines' folders, or an archive "
        "that `samestep share` wrote",
    )  # fmt: skip
    parser.add_argument(
        "--earlier", nargs="+", type=study, default=[], metavar="STUDY",
        help="other studies of the same machines: the report says how far ratios have moved",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=place, help="the folder to write to (default: the study's own)"
    )


def run(arguments: argparse.Namespace) -> int:
    """2: the records cannot be used, and `analysis` has printed why."""
    folders = [
        folder
        for word in arguments.studies
        for folder in (unpack(Path(word)) if word.endswith(SUFFIX) else machines(word))
    ]
    homes = {folder.parents[1] for folder in folders if folder.parent.name == MACHINES}
    out = arguments.out or (homes.pop() if len(homes) == 1 else None)
    options = ["--out", str(out)] if out else []
    earlier = [str(folder) for word in arguments.earlier for folder in machines(word)]
    options += ["--earlier", *earlier] if earlier else []
    return 2 if analysis.__main__.main([*map(str, folders), *options]) else 0
