"""`share`: writes a study's records into one file, for others to report on."""

import argparse
import re
import shlex
import tempfile
from pathlib import Path

from analysis.format import count
from samestep.archives import NAMED, SUFFIX, pack
from samestep.commands import study
from samestep.studies import machines
from samestep.terminal import Problem
from workflows.output import explained, place, visible
from workflows.records.limits import STUDY
from workflows.records.storage import RecordError
from workflows.records.whole_files import atomic


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", type=study, help="the name of a study in reports/, or its folder")
    parser.add_argument(
        "--out", type=place, help="the file to write (default: the study's name, .zip)"
    )


def run(arguments: argparse.Namespace) -> int:
    folders = machines(arguments.study)
    out = arguments.out or Path(named(Path(arguments.study)) + SUFFIX)
    if out.suffix != SUFFIX:
        raise Problem(f"{out}: the name ends with {SUFFIX}, so that `samestep report` reads it")
    if not re.fullmatch(STUDY, out.stem):
        raise Problem(f"{out}: {NAMED}, for `samestep report` to read it: name it with --out")
    require_absent(out)
    try:
        with tempfile.TemporaryDirectory() as scratch, atomic(out) as temporary:
            pack(folders, temporary, Path(scratch))
            require_absent(out)  # still
    except (RecordError, OSError) as error:
        raise Problem(f"{out} was not written: {explained(error)}") from None
    size = f"{out.stat().st_size / 1e3:,.0f} kB"
    print(
        f"{visible(out)}: {count(len(folders), 'machine')}, {size}. It says nothing about who "
        f"measured. Others read it with: samestep report {shlex.quote(out.name)}"
    )
    return 0


def named(folder: Path) -> str:
    """The last part of its path, also of the current folder."""
    return folder.name or folder.resolve().name or "study"


def require_absent(out: Path) -> None:
    if out.exists() or out.is_symlink():
        raise Problem(f"{out} is there already: remove it, or name another with --out")
