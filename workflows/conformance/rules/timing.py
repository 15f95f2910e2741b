"""Rules about time: synchronise() waits, step() need not, and as many threads compute as asked."""

from typing import Any

import psutil  # type: ignore[import-untyped]

from frameworks.contract import Unavailable
from frameworks.device import DEVICES
from frameworks.workloads import Workload
from workflows.conformance.engine import Finding, Rule, broken, does_not_apply, holds
from workflows.conformance.subject import Subject
from workflows.machine.fingerprint import available_cores
from workflows.records.thresholds import UNFENCED

TIMES = 16  # as much work
GROWTH = 4  # times as long, at least
MOST = 4 * TIMES  # times as long: if they take longer, the one step has not been done
HOST_WORK, DEVICE_WORK = (384, 128), (4096, 4096)  # size of the matrices, samples: a few ms
ATTEMPTS = 3
BLOCKING = 0.5  # share of a GPU's step in which step() may hold the caller up
SYNCHRONOUS = 0.1  # a smaller share of a step waited for in synchronise() is called synchronous

PRODUCTS = 1024  # size of the matrices, and samples, of the work that threads share
SECONDS = 0.7  # processor time of threads comes in ticks of 10 ms
MORE_THAN_ONE, NO_MORE_THAN_ONE = 1.5, 1.2
NONE = "n/a"
WAIT = (
    "wait in synchronise() until the device has done all its work, updates of the weights "
    "included: what is left to loss(), to a thread or to the next step is in nobody's time"
)
WHOLE = "do all of a step in step() and synchronise(), not in loss() nor when the next step begins"
READ = "read the number back from the framework: a setting that is written down says nothing"
MEND = (
    "set every pool of threads of the framework to Conditions.threads in Adapter.__init__; "
    "Framework.variables has variables that must be there before the import"
)


def work(subject: Subject) -> Workload:
    return subject.basis.wide(*(HOST_WORK if on_host(subject) else DEVICE_WORK))


def on_host(subject: Subject) -> bool:
    return DEVICES[subject.device].is_host


def fence(subject: Subject) -> Finding:
    """Broken only if every attempt says so: other programs may disturb one of them."""
    found = waited(subject)
    for _ in range(ATTEMPTS - 1):
        if found.status == "broken":
            found = waited(subject)
    return found


def waited(subject: Subject) -> Finding:
    seen = subject.ask("wait", work(subject), times=TIMES)
    growth, share = seen["many"] / max(seen["one"], 1), seen["share"]
    text = (
        f"{TIMES} steps took {growth:.1f} times as long as one in step() and synchronise(), and "
        f"{share:.0%} of them was left to be done"
    )
    if growth < GROWTH or share > UNFENCED:
        return broken(text, WAIT)
    if growth > MOST:
        return broken(text, WHOLE)
    return holds(text)


def returns(subject: Subject) -> Finding:
    seen = subject.ask("leave", work(subject))
    step, wait = seen["step_ns"], seen["wait_ns"]
    share = wait / max(step + wait, 1)
    text = f"{share:.0%} of a step of {(step + wait) / 1e6:.1f} ms is waited for in synchronise()"
    if not on_host(subject) and 1 - share > BLOCKING:
        return broken(
            f"{text}: step() holds the caller up",
            "read nothing back from the GPU in step() (no item(), no float(), no print): keep the "
            "loss there until loss() asks for it",
        )
    return holds(f"{'works synchronously: ' * (share < SYNCHRONOUS)}{text}")


def threads(subject: Subject) -> Finding:
    """How many threads computed: the processor time of all over that of the busiest."""
    if not on_host(subject):
        return does_not_apply("threads of the processor only wait for a GPU")
    one, ratio, says = worth(subject, 1)
    seen = f"asked for 1, {one:.2f} computed (processor time {ratio:.2f} times that passed)"
    if one > MORE_THAN_ONE:
        return broken(seen, MEND)
    if says not in (1, NONE):
        return broken(f"asked for 1, settings()['intra_threads'] is {says!r}", READ)
    cores = len(available_cores())
    if cores < 2:
        return holds(f"{seen}; a second core, to see more of them, is not here")
    try:
        every, ratio, says = worth(subject, cores)
    except Unavailable as reason:
        return holds(f"{seen}; asked for {cores}: {reason}")
    seen += f"; asked for {cores}, {every:.2f} ({ratio:.2f})"
    if every < NO_MORE_THAN_ONE:
        return broken(seen, MEND)
    if says not in (cores, NONE):
        return broken(f"asked for {cores}, settings()['intra_threads'] is {says!r}", READ)
    return holds(seen)


def worth(subject: Subject, count: int) -> tuple[float, float, Any]:
    """How many threads computed in a process that was asked for `count`, its processor time over
    the time that passed, and how many threads its settings name."""
    wide = subject.basis.wide(PRODUCTS, PRODUCTS)
    try:
        subject.ask("labour", wide, threads=count, seconds=0)  # which builds, and may compile
        process = psutil.Process(subject.opened("float32", subject.device, count).process.pid)
        before, begun = spent(process), process.cpu_times()
        wall = subject.ask("labour", wide, threads=count, seconds=SECONDS)["wall_s"]
        times = [time - before.get(thread, 0.0) for thread, time in spent(process).items()]
        ended = process.cpu_times()
        says = subject.ask("answer", subject.basis.dense(), threads=count)["intra_threads"]
    finally:
        if count != subject.threads:
            subject.end(subject.device, count)
    cpu = ended.user + ended.system - begun.user - begun.system
    if not times or max(times) <= 0:
        raise Unavailable("the kernel does not tell the processor time of threads")
    return sum(times) / max(times), cpu / wall, says


def spent(process: Any) -> dict[int, float]:
    """Seconds on a processor by thread."""
    return {one.id: one.user_time + one.system_time for one in process.threads()}


AFTER = ("description", "build")
RULES = (
    Rule("fence", "synchronise() returns when all the work is done.", fence, AFTER),
    Rule(
        "asynchronous",
        "On a GPU, step() returns before its work is done.",
        returns,
        (*AFTER, "fence"),
        advice=True,
    ),
    Rule(
        "threads",
        "As many threads compute as were asked for: one in a process for one, more than one in a "
        "process for all cores.",
        threads,
        (*AFTER, "fence", "settings"),
        isolated=True,
        advice=True,
    ),
)
