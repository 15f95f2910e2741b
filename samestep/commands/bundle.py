"""`bundle`: packs a study into one archive, for a machine without internet."""

import argparse
import platform
import sys
from pathlib import Path
from shlex import quote

from samestep.bundles import ROOM, TAGS, Target, write
from samestep.commands.workload import STUDY
from samestep.terminal import Problem
from workflows.output import explained, place
from workflows.planning.configfiles import ConfigurationError, read

PYTHONS = ("3.11", "3.12", "3.13")
ENDING = ".tar"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--configfile", type=Path, nargs="+", default=[], metavar="FILE",
        help="laid over config/study.yaml, as Snakemake does",
    )  # fmt: skip
    parser.add_argument(
        "--python", choices=PYTHONS, default=f"3.{sys.version_info.minor}",
        help="the other machine's version of Python (default: %(default)s, as here)",
    )  # fmt: skip
    parser.add_argument(
        "--platform", choices=tuple(TAGS), default="linux",
        help="its system: Linux on x86_64 with glibc 2.28 or later (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--gpu", choices=tuple(ROOM), default="none",
        help="cuda: wheels for NVIDIA's GPUs; no GPU has tried them (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=place, help="the file to write (default: the study's name, -bundle.tar)"
    )


def run(arguments: argparse.Namespace) -> int:
    target = Target(arguments.python, arguments.platform, arguments.gpu)
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise Problem("a bundle for Linux on x86_64 is made there, because pip asks the system")
    try:
        study = read([STUDY, *arguments.configfile])
        for key in ("interpreters", "machines"):
            if getattr(study, key):
                raise Problem(f"{key}: they are of this place: leave the key out of the study")
        out = arguments.out or Path(f"{study.study}-bundle{ENDING}")
        if out.suffix != ENDING:
            raise Problem(f"{out}: the name ends with {ENDING}")
        if out.exists():
            raise Problem(f"{out} is there already: remove it, or name another with --out")
        write(study, arguments.configfile, target, out, lambda line: print(f"  {line}", flush=True))
    except (ConfigurationError, ValueError, OSError) as error:
        raise Problem(explained(error)) from None
    print(
        f"{out}: {out.stat().st_size / 1e6:.0f} MB. On the other machine:\n"
        f"  tar xf {quote(f'./{out.name}')} && sh {quote(f'{out.stem}/run.sh')}\n"
        f"That leaves {out.stem}/{study.study}.zip. Here: samestep report {study.study}.zip"
    )
    return 0
