"""How many threads worked, by the processor time that Linux counts for each thread."""

import os
from contextlib import suppress
from pathlib import Path

TASKS = Path("/proc/self/task")


def processor_time(tasks: Path = TASKS) -> dict[str, int]:
    """Nanoseconds on a processor by thread, of this process and the processes that it has started;
    empty if the kernel does not count them."""
    found: dict[str, int] = {}
    for task in tasks.iterdir() if tasks.exists() else ():
        with suppress(OSError, ValueError, IndexError):  # ended meanwhile
            found[task.name] = int((task / "schedstat").read_text().split()[0])
            for pid in (task / "children").read_text().split():
                found |= processor_time(Path(f"/proc/{pid}/task"))
    return found


def working(before: dict[str, int], after: dict[str, int]) -> int | None:
    """The number of threads that did a fair share of the work in between; None if not known. It
    is at most the number of cores, because more threads than cores take turns."""
    spent = [time - before.get(thread, 0) for thread, time in after.items()]
    if not spent or max(spent) <= 0:
        return None
    # Half of the busiest thread's time on two cores, because dispatching alone takes up to a third.
    # Beside a thread that also works alone, the share of each is less if there are more of them.
    fair = max(spent) / max(cores(), 2)
    return min(sum(time >= fair for time in spent), cores())


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0))
