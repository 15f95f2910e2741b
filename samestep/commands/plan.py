"""`plan`: says what a study would do, how long that takes, and whether it fits here."""

import argparse
from pathlib import Path

from frameworks.workloads.datasets import DataError
from samestep.commands.workload import STUDY
from samestep.terminal import Problem
from workflows.machine.fingerprint import fingerprint
from workflows.output import explained
from workflows.planning import names
from workflows.planning.configfiles import ConfigurationError, located
from workflows.planning.configuration import Configuration
from workflows.planning.opening import NotReady, opening, require_ready, wrapped
from workflows.planning.plan import contenders_here, running
from workflows.records.folders import Folders
from workflows.records.storage import RecordError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--configfile", type=Path, nargs="+", default=[], metavar="FILE",
        help="laid over config/study.yaml, as Snakemake does",
    )  # fmt: skip


def run(arguments: argparse.Namespace) -> int:
    """Print the plan; measure and write nothing. Raises Problem if the study cannot run here."""
    try:
        study, where = located([STUDY, *arguments.configfile])
        folders = Folders(Path("results") / fingerprint() / study.study)
        require_ready(study, where)
        lines = opening(study, folders, where, f"reports/{study.study}/report.html")
    except (ConfigurationError, NotReady, RecordError, DataError, ValueError, OSError) as error:
        raise Problem(explained(error)) from None
    print(*lines[:-1], sep="\n")
    for name, text in details(study).items():
        if text:
            print(*wrapped(name, text), sep="\n")
    return 0


def details(study: Configuration) -> dict[str, str]:
    """Details that the opening lines of a study leave out, by heading."""
    own, deal = contenders_here(study), study.contest
    able = [one for one in running(study) if not one.missing]
    groups = [" and ".join(map(names.workload, group)) for group in study.groups.values()]
    steps = deal.warmup + deal.rounds * deal.turn
    return {
        "contests": f"of {'; of '.join(groups)}: {names.counted(len(able), 'contender')}, "
        f"{steps} mini-batches of each and workload, in {names.counted(deal.rounds, 'round')}",
        "proof": f"{study.certificate.steps} steps in float64 of each contender and network",
        "without": "; ".join(f"{one.name}: {one.missing}" for one in own if one.missing),
    }
