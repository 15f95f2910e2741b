"""Whether the number of threads asked for is what computes, by the processor time of each."""

from typing import Any

import psutil  # type: ignore[import-untyped]

from frameworks.contract import Unavailable
from workflows.conformance.outcome import Finding, broken, does_not_apply, holds
from workflows.conformance.rule import Rule
from workflows.conformance.subject import Subject
from workflows.machine.fingerprint import available_cores

SIZE = 1024  # of matrices, and samples
SECONDS = 0.7  # processor time of threads comes in ticks of 10 ms
MORE_THAN_ONE, NO_MORE_THAN_ONE = 1.5, 1.2
MEND = (
    "set every pool of threads of the framework to Conditions.threads in Adapter.__init__; "
    "Framework.environment has variables that must be there before the import"
)


def threads(subject: Subject) -> Finding:
    """Threads are worth the processor time of all over that of the busiest."""
    if subject.device != "cpu":
        return does_not_apply("threads of the processor only wait for a GPU")
    one, ratio = worth(subject, 1)
    seen = f"asked for 1, {one:.2f} computed (processor time {ratio:.2f} times that passed)"
    if one > MORE_THAN_ONE:
        return broken(seen, MEND)
    cores = len(available_cores())
    if cores < 2:
        return holds(f"{seen}; a second core, to see more of them, is not here")
    try:
        every, ratio = worth(subject, cores)
    except Unavailable as reason:
        return holds(f"{seen}; asked for {cores}: {reason}")
    seen += f"; asked for {cores}, {every:.2f} ({ratio:.2f})"
    return broken(seen, MEND) if every < NO_MORE_THAN_ONE else holds(seen)


def worth(subject: Subject, count: int) -> tuple[float, float]:
    """How many threads' work was done in a process that was asked for this many, and processor
    time over the time that passed."""
    wide = subject.basis.wide(SIZE, SIZE)
    try:
        subject.ask("labour", wide, threads=count, seconds=0)  # which builds, and may compile
        process = psutil.Process(subject.opened("float32", subject.device, count).process.pid)
        before, begun = spent(process), process.cpu_times()
        wall = subject.ask("labour", wide, threads=count, seconds=SECONDS)["wall_s"]
        times = [time - before.get(thread, 0.0) for thread, time in spent(process).items()]
        ended = process.cpu_times()
    finally:
        if count != subject.threads:
            subject.end(subject.device, count)
    cpu = ended.user + ended.system - begun.user - begun.system
    if not times or max(times) <= 0:
        raise Unavailable("the kernel does not tell the processor time of threads")
    return sum(times) / max(times), cpu / wall


def spent(process: Any) -> dict[int, float]:
    """Seconds on a processor by thread."""
    return {one.id: one.user_time + one.system_time for one in process.threads()}


RULES = (
    Rule(
        "threads",
        "As many threads compute as were asked for: one in a process for one, more than one in a "
        "process for all cores.",
        threads,
        ("description", "build", "fence"),
    ),
)
