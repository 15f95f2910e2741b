"""Rules about waiting: synchronise() does, step() need not."""

from frameworks.workloads import Workload
from workflows.certify.judge import UNFENCED
from workflows.conformance.outcome import Finding, broken, holds
from workflows.conformance.rule import Rule
from workflows.conformance.subject import Subject

TIMES = 16  # as much work
GROWTH = 4  # times as long, at least
WORK = {"cpu": (384, 128), "gpu": (4096, 4096)}  # size of the matrices, samples: a few ms
BLOCKING = 0.5  # share of a GPU's step in which step() may hold the caller up
SYNCHRONOUS = 0.1  # share waited for in synchronise() from which on a processor is no such


def work(subject: Subject) -> Workload:
    return subject.basis.wide(*WORK[subject.device])


def fence(subject: Subject) -> Finding:
    seen = subject.ask("wait", work(subject), times=TIMES)
    growth, share = seen["many"][0] / max(seen["one"][0], 1), seen["share"]
    text = (
        f"{TIMES} steps took {growth:.1f} times as long as one in step() and synchronise(), and "
        f"{share:.0%} of them was left to be done"
    )
    if growth < GROWTH or share > UNFENCED:
        return broken(
            text,
            "wait in synchronise() for all that the device was asked for, updates of the weights "
            "included; what is read of an unfinished step belongs to nobody's time",
        )
    return holds(text)


def returns(subject: Subject) -> Finding:
    seen = subject.ask("leave", work(subject))
    step, wait = seen["step_ns"], seen["wait_ns"]
    share = wait / max(step + wait, 1)
    text = f"{share:.0%} of a step of {(step + wait) / 1e6:.1f} ms is waited for in synchronise()"
    if subject.device == "gpu" and 1 - share > BLOCKING:
        return broken(
            f"{text}: step() holds the caller up",
            "read nothing back from the GPU in step() (no item(), no float(), no print): keep the "
            "loss there until loss() asks for it",
        )
    return holds(f"{'works synchronously: ' * (share < SYNCHRONOUS)}{text}")


AFTER = ("description", "build")
RULES = (
    Rule("fence", "synchronise() returns when all the work is done.", fence, AFTER),
    Rule(
        "asynchronous",
        "On a GPU, step() returns before its work is done.",
        returns,
        (*AFTER, "fence"),
    ),
)
