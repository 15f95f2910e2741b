"""`gpu`: runs the tasks of a first hour on a GPU machine in order, each with its own time limit."""

import argparse
from pathlib import Path

from samestep.first_hour import FirstHour, Task
from samestep.terminal import Problem, console, table, unknown
from workflows.machine.fingerprint import fingerprint, gpu_names
from workflows.output import place
from workflows.progress import duration
from workflows.records.storage import RecordError


def check(name: str, *rules: str) -> Task:
    words = ("samestep", "check", name, "--device", "gpu", "--quick", *rules)
    return Task(f"check-{name}", 5, words, f"whether {name} keeps the contract", absent=2)


def study(name: str, minutes: float, settles: str, *files: str, until: str = "contests") -> Task:
    asked = ("--configfile", *files) if files else ()
    return Task(name, minutes, ("workflows.stages.run", *asked, "--until", until), settles, files)


TESTS = (
    "pytest", "tests/adapters", "-k", "gpu", "-m", "not all", "-p", "no:cacheprovider", "-n", "8"
)  # fmt: skip
ON_GPU = "config/on-gpu.yaml"
TASKS = (
    Task("tests", 6, TESTS, "whether the adapters agree on the GPU"),
    *map(check, ("pytorch", "tensorflow", "jax")),
    study("certificates", 6, "whether all compute the same on the GPU", until="certificates"),
    study("tf32", 4, "whether TF32 is used if it is asked for", "config/tf32.yaml"),
    study("fence", 8, "what a clock shows without synchronisation", "config/fence.yaml", ON_GPU),
    study("operations", 10, "what single operations take", "config/operations.yaml", ON_GPU),
    study("transfer", 10, "what it takes to bring numbers there", "config/transfer.yaml", ON_GPU),
    study("default", 20, "who is faster in the default study"),
    study("networks", 10, "who is faster on the networks of 2016",
          "config/networks.yaml", "config/published.yaml"),
    study("sweep", 10, "from which size on a GPU is faster", "config/sweep.yaml", ON_GPU),
)  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--only", nargs="+", metavar="TASK", help="these tasks alone (--list shows all)"
    )
    parser.add_argument(
        "--minutes", type=float, metavar="M",
        help="end the whole run after so long, and keep what there is (default: no limit)",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=place, default=Path("first-hour.zip"), metavar="FILE",
        help="the archive, written anew after every task (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--list", action="store_true", help="show the tasks, and how they ended")


def run(arguments: argparse.Namespace) -> int:
    """0: nothing is left to be run; 1: something is."""
    known = {task.name: task for task in TASKS}
    for name in arguments.only or []:
        if name not in known:
            raise unknown("task", name, known)
    if arguments.minutes is not None and not arguments.minutes > 0:
        raise Problem(f"--minutes {arguments.minutes:g}: leave it out for no limit")
    tasks = [known[name] for name in arguments.only or known]
    try:
        hour = FirstHour(tasks, fingerprint(), arguments.out, arguments.minutes)
        if arguments.list:
            show(hour)
            return 0
        if not Path("config", "study.yaml").exists():
            raise Problem("the tests and configurations are in the clone of samestep: run it there")
        if not gpu_names():
            print("No GPU was found here. Its rows will say so.")
        left = hour.run()
    except (RecordError, ValueError, OSError) as error:
        raise Problem(str(error)) from None
    show(hour)
    print(f"{arguments.out}: {arguments.out.stat().st_size / 1e6:.1f} MB")
    if left:
        print("The same command goes on.")
    return left


def show(hour: FirstHour) -> None:
    out = console()
    rows = table(out, "task", "limit", "ended", "after", "runs", "its last line")
    for task in hour.tasks:
        one = hour.ended(task)
        how = [one.how, duration(one.seconds), str(one.runs), one.said] if one else ["", "", "", ""]
        rows.add_row(task.name, f"{task.minutes:g} min", *how)
    out.print(rows)
