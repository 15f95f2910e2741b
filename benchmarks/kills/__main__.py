"""Kill small studies at random moments, and print what was lost and what was left.

`python -m benchmarks.kills --times 40` takes about 10 s a kill. It ends with 1 if anything was
lost, left or otherwise wrong.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from benchmarks.kills.study import STUDIES, KilledStudy, gone_within, role
from benchmarks.options import at_least
from workflows.output import printing
from workflows.stages.failures import OPENED

WITHIN_S = 5.0
AS_BEFORE = "delete *.failed"
EVERYTHING, CTRL_C = "everything at once", "Ctrl-C"
PATIENCE_S = 300.0
SHOWN = 2000  # characters of what a run printed


class Kills:
    """Runs a study again and again, each run killed once unless it is complete before."""

    def __init__(self, study: KilledStudy, seed: int) -> None:
        self.study, self.random = study, random.Random(seed)
        self.whole_s, self.results = 20.0, 1  # of a run from nothing to the end; learnt
        self.kept: dict[Path, int] = {}
        self.reopened = False  # whether detections of this study were deleted
        self.counts: Counter[str] = Counter()
        self.slowest = dict[str, float]()
        self.lost: list[str] = []
        self.left: list[str] = []
        self.other: list[str] = []
        self.unlocked = self.taken_for_failures = self.completed = 0

    def run(self, times: int) -> None:
        self.learn()
        while sum(self.counts.values()) < times:
            self.once()
        self.go_on()

    def learn(self) -> None:
        """How long a whole run takes, and what it makes."""
        begin = time.monotonic()
        process = self.study.start()
        output = process.communicate(timeout=PATIENCE_S)[0]
        if process.returncode:
            sys.exit(f"the study fails without being killed:\n{output[-SHOWN:]}")
        self.whole_s = time.monotonic() - begin
        self.results = len(self.study.finished())
        print(f"a whole study takes {self.whole_s:.0f} s", flush=True)
        self.study.forget()

    def once(self) -> None:
        """One run: killed, or complete before it could be."""
        process = self.study.start()
        left = max(1 - len(self.study.finished()) / self.results, 0.1)
        end = time.monotonic() + self.random.uniform(0.2, left * self.whole_s)
        while time.monotonic() < end and process.poll() is None:
            time.sleep(0.02)
        found = self.study.processes()
        if process.poll() is not None or not found:
            self.judge(process.communicate()[0], process.returncode)
            return
        self.same()
        self.kept |= self.watched(self.study.finished())
        who = self.random.choice([EVERYTHING, CTRL_C, *found])
        name = who if isinstance(who, str) else role_of(who)
        below = self.kill(who, process.pid, found)
        taken, there = gone_within(below, WITHIN_S)
        self.slowest[name] = max(taken, self.slowest.get(name, 0.0))
        self.left += [f"{name}: {role_of(one)} computes on" for one in there]
        self.counts[name] += 1
        number = sum(self.counts.values())
        print(f"{number}: {name}, {len(below)} ended in {taken:.2f} s", flush=True)
        output = process.communicate(timeout=PATIENCE_S)[0]
        if not process.returncode and not self.study.complete:
            self.other.append(f"exit status 0 after {name}:\n{output[-SHOWN:]}")
        _, there = gone_within(self.study.processes(), WITHIN_S)
        self.left += [f"{name}: {role_of(one)} is left" for one in there]
        for one in there:
            with suppress(psutil.Error):
                one.kill()
        self.left += [f"{name}: {text}" for text in self.study.left() if not text.startswith(".")]
        self.same()
        if self.study.complete:
            self.settle()

    def kill(
        self, who: psutil.Process | str, group: int, found: list[psutil.Process]
    ) -> list[psutil.Process]:
        """Kill, and return the processes that have to end as a result."""
        if isinstance(who, str):
            with suppress(ProcessLookupError):
                os.killpg(group, signal.SIGINT if who == CTRL_C else signal.SIGKILL)
            return [] if who == CTRL_C else found
        below = [who]
        with suppress(psutil.Error):
            below += who.children(recursive=True)
        with suppress(psutil.Error):
            who.kill()
        return below

    def judge(self, output: str, status: int) -> None:
        """A run that ended by itself."""
        if "locked" in output:
            self.unlocked += 1
            self.study.start("--unlock").communicate(timeout=PATIENCE_S)
        elif AS_BEFORE in output or OPENED in output:  # a worker was killed twice
            self.taken_for_failures += 1
            self.reopened |= OPENED in output
            self.study.repeat(detections=OPENED in output)
            self.kept = self.watched(self.kept)
        elif status and "Repeat only those" not in output:
            self.other.append(f"exit status {status}:\n{output[-SHOWN:]}")
        elif self.study.complete:
            self.settle()

    def watched(self, finished: dict[Path, int]) -> dict[Path, int]:
        """What must not be made again. Only data sets do not depend on detections."""
        if not self.reopened:
            return finished
        return {path: when for path, when in finished.items() if path.name == "dataset.json"}

    def settle(self) -> None:
        """The study is complete: look at it, and begin another."""
        self.same()
        self.lost += self.study.gaps()
        self.left += list(self.study.left())
        self.completed += 1
        self.kept, self.reopened = {}, False
        self.study.forget()

    def go_on(self) -> None:
        """Run the same command until the study is complete."""
        for _ in range(6):
            process = self.study.start()
            output = process.communicate(timeout=PATIENCE_S)[0]
            self.judge(output, process.returncode)
            if not self.kept and self.completed:
                return
        self.lost.append(f"the study never became complete:\n{output[-SHOWN:]}")

    def same(self) -> None:
        """Note as lost each finished result that is gone or was made again."""
        for path, when in list(self.kept.items()):
            if not path.exists() or path.stat().st_mtime_ns != when:
                done = "is gone" if not path.exists() else "was made again"
                self.lost.append(f"{path.relative_to(self.study.results)} {done}")
                del self.kept[path]

    def report(self) -> str:
        lines = ["", f"{'killed':22}{'times':>6}{'all below ended within':>26}"]
        for name, count in sorted(self.counts.items()):
            lines.append(f"{name:22}{count:6}{self.slowest[name]:24.2f} s")
        lines.append(f"{sum(self.counts.values())} kills, {self.completed} studies completed, "
                     f"--unlock asked for {self.unlocked} times, {self.taken_for_failures} times "
                     "two kills of a worker were taken for its own failure")  # fmt: skip
        for title, found in (("lost", self.lost), ("left", self.left), ("other", self.other)):
            lines.append(f"{title}: {'nothing' if not found else len(found)}")
            lines += [f"  {text}" for text in found]
        return "\n".join(lines)


def role_of(process: psutil.Process) -> str:
    try:
        return role(process)
    except psutil.Error:
        return "a process"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kills", description=__doc__)
    parser.add_argument("--times", type=at_least(1), default=40, help="kills (default: 40)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments and the victims")
    parser.add_argument(
        "--study", choices=STUDIES, default="plain", help="of what (default: plain)"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        study = KilledStudy(Path(folder).resolve() / "one", STUDIES[options.study])
        kills = Kills(study, options.seed)
        try:
            kills.run(options.times)
        finally:
            print(kills.report(), flush=True)
            study.end()
    return bool(kills.lost or kills.left or kills.other)


if __name__ == "__main__":
    sys.exit(printing("kills", main))
