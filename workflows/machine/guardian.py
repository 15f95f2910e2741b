"""Nothing that a stage starts outlives the stage, and no stage outlives its study.

`python -m workflows.machine.guardian MODULE ...` runs a module as `python -m MODULE ...` would, in
a child process. The guardian itself only waits. If the child ends, if Snakemake does or the shell
between them, however that is, the guardian ends everything below itself, daemons too. If the
guardian is killed, the child ends everything below itself instead. Afterwards no file of the
folders that the module was given is from the future.

Elsewhere than on Linux the guardian only waits for its child.
"""

import ctypes
import importlib.util
import os
import runpy
import secrets
import select
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from workflows.machine import clock
from workflows.output import INTERRUPTED, REFUSED, explained, printing

STUDY = "SAMESTEP_STUDY"  # an environment variable: the process of Snakemake
SCRATCH = "SAMESTEP_SCRATCH"  # another: the folder for what only this stage needs
SET_PDEATHSIG, SET_CHILD_SUBREAPER = 1, 36  # of Linux' prctl
LINUX = sys.platform == "linux"
ENDED_BY_SIGNAL = 128  # plus its number: the exit status, as shells have it
LOOK_S = 1.0
PATIENCE_S = 4.0  # for processes that the kernel has been told to end
stopping = False  # whether this process ends, and must start nothing


class Known(NamedTuple):
    """A process that no other is mistaken for, though numbers are used again."""

    boot: str
    namespace: str  # of process numbers: containers have their own
    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> "Known":
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return cls(boot, str(Path("/proc/self/ns/pid").readlink()), pid, started(pid))

    @classmethod
    def parse(cls, text: str) -> "Known | None":
        boot, namespace, pid, when, *_ = [*text.split(), "", "", "", ""]
        return cls(boot, namespace, int(pid), when) if pid.isdecimal() else None


def started(pid: int) -> str:
    """When a process began, in ticks since the machine did; "" if there is none."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return ""


def announce() -> None:
    """Have all stages that this process starts end with it. Snakemake's process calls this."""
    if LINUX:
        os.environ[STUDY] = " ".join(map(str, Known.of(os.getpid())))


def adopt() -> None:
    """Become the parent of descendants whose own parents end, so that they can be found."""
    if LINUX:
        ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1)


def scratch() -> str | None:
    """The folder for temporary files that goes with the stage; None without a guardian."""
    return os.environ.get(SCRATCH) or None


def end(found: Callable[[], Iterable[int]]) -> None:
    """Kill all processes that `found` finds, until it finds none. It must find only processes
    that this one may wait for, or whose end somebody else waits for."""
    deadline = time.monotonic() + PATIENCE_S
    while (pids := list(found())) and time.monotonic() < deadline:
        for pid in pids:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pid in pids:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.01)


def parents() -> dict[int, tuple[int, str]]:
    """The parent and the state of each process. None are known elsewhere than on Linux."""
    found: dict[int, tuple[int, str]] = {}
    for place in Path("/proc").iterdir() if LINUX else ():
        if place.name.isdecimal():
            with suppress(OSError):
                state, parent = (place / "stat").read_text().rpartition(")")[2].split()[:2]
                found[int(place.name)] = (int(parent), state)
    return found


def below(known: Mapping[int, tuple[int, str]] | None = None) -> list[int]:
    """The descendants of this process, now or when `known` was read."""
    known = parents() if known is None else known
    found, new = list[int](), [os.getpid()]
    while new:
        new = [pid for pid, (parent, _) in known.items() if parent in new]
        found += new
    # A dead child of ours is waited for; that of another is its parent's affair.
    return [pid for pid in found if known[pid][1] not in "ZX" or known[pid][0] == os.getpid()]


def inherited(known: Mapping[int, tuple[int, str]], own: Container[int]) -> list[int]:
    """The children of this process that other processes started before they ended: all in another
    session, except `own`. So a process with workers must start nothing else in a new session."""
    here = os.getsid(0)
    return [
        pid
        for pid, (parent, _) in known.items()
        if parent == os.getpid() and pid not in own and session(pid) not in (here, 0)
    ]


@contextmanager
def nothing_left() -> Iterator[None]:
    """End whatever the block has started and left, also in another session or with other
    environment variables. For a process without a guardian."""
    adopt()
    before = set(below())
    try:
        yield
    finally:
        end(lambda: [pid for pid in below() if pid not in before])


def session(pid: int) -> int:
    """The process that a process's session began with; 0 if it has ended."""
    with suppress(ProcessLookupError):
        return os.getsid(pid)
    return 0


def variables(pid: int) -> bytes:
    """The environment variables that a process was started with; none if they may not be read."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/environ").read_bytes()
    return b""


def guard(run: Callable[[], None]) -> int:
    """Run this in a child process and wait. Returns its exit status."""
    study = Known.parse(os.environ.get(STUDY, "")) if LINUX else None
    here = study and study[:2] == Known.of(os.getpid())[:2]
    shell = os.getppid()
    folder = str(Path(scratch() or tempfile.gettempdir()) / f"samestep-{secrets.token_hex(8)}")
    os.environ[SCRATCH] = folder
    adopt()
    guardian = os.getpid()
    child = os.fork()
    if not child:
        follow(guardian, folder)
        # The child makes the folder and removes it, so that a guardian that is killed before or
        # after the child's life leaves none.
        try:
            Path(folder).mkdir(0o700)
        except OSError as error:
            print(f"temporary files: {explained(error)}", file=sys.stderr, flush=True)
            os._exit(REFUSED)
        try:
            run()
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        raise AssertionError("a stage ends by itself")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, frame: forward(child, number))
    with suppress(OSError):
        os.setpgid(0, 0)  # what ends all the other processes of a terminal leaves this one
    try:
        return wait(child, [study.pid, shell] if study and here else [], study if here else None)
    finally:
        end(below)
        shutil.rmtree(folder, ignore_errors=True)


def interruptible(main: Callable[[], int]) -> int:
    """Run a stage. Ctrl-C ends it, and first whatever it has started, without a traceback and as
    a shell expects."""

    def stop(number: int, frame: object) -> None:
        global stopping
        stopping = True
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # once is enough
        end(below)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        signal.signal(signal.SIGINT, stop)
    return printing(Path(sys.argv[0]).stem, main)


def forward(child: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(child, number)


def follow(guardian: int, folder: str) -> None:
    """In the child: end with the guardian, and take everything below along."""

    def last(number: int, frame: object) -> None:
        end(below)
        shutil.rmtree(folder, ignore_errors=True)
        os._exit(ENDED_BY_SIGNAL + number)

    signal.signal(signal.SIGTERM, last)
    if LINUX:
        adopt()
        ctypes.CDLL(None).prctl(SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != guardian:
            last(signal.SIGTERM, None)


def wait(child: int, others: list[int], study: Known | None) -> int:
    """Wait until the child ends or one of the others does. Returns the exit status."""
    handles = []
    with suppress(OSError, AttributeError):  # no such process; not Linux
        handles = [os.pidfd_open(pid) for pid in others]
    gone = study is not None and (started(study.pid) != study.started or not handles)
    own = [os.pidfd_open(child)] if LINUX else []
    while not gone:
        ready, _, _ = select.select([*handles, *own], [], [], None if own else LOOK_S)
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else ENDED_BY_SIGNAL - code
        gone = any(handle in ready for handle in handles)
    return ENDED_BY_SIGNAL + signal.SIGKILL


def module_exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def main() -> int:
    if not sys.argv[1:]:
        print("usage: python -m workflows.machine.guardian MODULE ...", file=sys.stderr)
        return REFUSED
    module, *words = sys.argv[1:]
    if not module_exists(module):
        print(f"guardian: no module {module!r}", file=sys.stderr)
        return REFUSED

    def run() -> None:
        sys.argv = [module, *words]
        try:
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        except KeyboardInterrupt:  # while it was still importing
            os._exit(INTERRUPTED)
        sys.exit(0)

    status = guard(run)
    with suppress(OSError):  # a word that is too long for a name
        clock.set_right([path for path in map(Path, words) if path.is_dir()])
    return status


if __name__ == "__main__":
    # Under its own name, which is also that of what the module to run imports.
    from workflows.machine import guardian

    sys.exit(printing("guardian", guardian.main))
