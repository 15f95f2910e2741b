"""A contest: one workload, one replicate, every contender in turns on the same cores.

`python -m workflows.contest --study results/<machine>/<study> --workload mlp --replicate 1`
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from frameworks.contract import Unavailable
from frameworks.registry import framework
from workflows.behaviour import UNSUPPORTED
from workflows.code import code, content_hash
from workflows.columns import Columns
from workflows.environment import environment
from workflows.folders import Folders
from workflows.lock import machine_lock
from workflows.machine import available_cores
from workflows.outlook import Outlook
from workflows.plan import Plan, PlanError, PlannedContender, load_plan
from workflows.process import WorkerDied, WorkerProcess
from workflows.progress import Progress
from workflows.records import Contender, ContenderRecord, ContestRecord
from workflows.storage import RecordError, write_batches, write_json
from workflows.turns import orders

Report = Callable[[int, str], None]


class Contest:
    """Deals the turns and keeps what comes back, contender by contender."""

    def __init__(self, plan: Plan, workload: str, replicate: int, folders: Folders) -> None:
        self.plan, self.workload, self.replicate, self.folders = plan, workload, replicate, folders
        self.deal = plan.study.contest
        self.seed = contest_seed(plan.study.seed, workload, replicate)
        self.random = np.random.default_rng(self.seed)
        self.records = [
            ContenderRecord(
                **contender.parts(),
                status="missing" if contender.missing else "ok",
                reason=contender.missing,
                versions=contender.versions,
            )
            for contender in plan.contenders
        ]
        self.running = [i for i, record in enumerate(self.records) if record.status == "ok"]
        self.workers: dict[int, WorkerProcess] = {}
        self.imported: dict[int, float] = {}  # seconds
        self.columns = Columns(plan.study.study, plan.machine, workload, replicate)
        self.orders: list[list[int]] = []
        # The monotonic clock is one for all processes of a machine; this makes it Unix time.
        self.offset_ns = time.time_ns() - time.perf_counter_ns()

    @property
    def turns(self) -> int:
        """Turns of the whole contest, the warm-up one included."""
        return (self.deal.rounds + 1) * len(self.running)

    def run(self, report: Report) -> None:
        """Start everybody, warm everybody up, deal the rounds."""
        with ExitStack() as stack:
            self.start(stack, report)
            self.deal_round(0, self.shuffled(), report)
            self.orders = [
                [self.running[place] for place in order]
                for order in orders(len(self.running), self.deal.rounds, self.random)
            ]
            for number, order in enumerate(self.orders, 1):
                self.deal_round(number, order, report)
            for index in self.still(self.running):
                with self.failing(index):
                    answer = self.ask(index, "settings")
                    self.records[index].settings = answer["settings"]
                    self.records[index].cores = answer["cores"]
            if self.replicate == 1:  # the same code answers the same in every replicate
                self.probe_behaviour(report)
            for worker in self.workers.values():  # all at once; the stack then waits for each
                worker.dismiss()

    def start(self, stack: ExitStack, report: Report) -> None:
        """All processes, in random order. The first of each framework imports alone, which is
        timed; all others side by side, or starting would take as long as measuring."""
        order = self.shuffled()
        names = [self.records[index].framework for index in order]
        first = [index for place, index in enumerate(order) if names.index(names[place]) == place]
        for index in first:
            self.open(stack, [index], report)
            self.records[index].import_s = self.imported.get(index)
        self.open(stack, [index for index in order if index not in first], report)

    def open(self, stack: ExitStack, started: list[int], report: Report) -> None:
        """Start these processes side by side and make them ready."""
        cores = available_cores()
        for index in started:
            contender = self.plan.contenders[index]
            log = self.folders.logs / f"{self.workload}-{self.replicate}" / log_name(contender)
            with self.failing(index):
                worker = WorkerProcess(contender.interpreter, contender, log)
                self.workers[index] = stack.enter_context(worker)
                worker.send_open(precision="float32", tf32=self.plan.study.tf32)
        for index in self.still(started):
            report(0, f"starting {self.records[index].name}")
            with self.failing(index):
                answer = self.workers[index].receive(self.deal.timeout_s)
                if "missing" in answer:
                    raise WorkerDied(answer["missing"])
                self.records[index].versions = answer["versions"]
                self.imported[index] = answer["import_s"]
                self.ask(index, "pin", cores=cores_for(self.records[index], cores))
                self.ask(index, "load", folder=str((self.folders.data / self.workload).resolve()))

    def deal_round(self, number: int, order: list[int], report: Report) -> None:
        """One turn for each. Round 0 builds and warms up; the others start from the initial
        weights again, all on the same mini-batches."""
        for position, index in enumerate(order):
            record = self.records[index]
            if record.status != "ok":  # its position stays empty, the balance of others holds
                continue
            report(number * len(order) + position, f"{self.stage(number)} | {record.name}")
            with self.failing(index):
                if number == 0:
                    answer = self.ask(
                        index, "build", variant=record.variant, offset_ns=self.offset_ns
                    )
                    record.build_s = answer["build_s"]
                    first, count, rebuild, settle = 0, self.deal.warmup, None, self.deal.warmup
                else:
                    first = self.deal.warmup + (number - 1) * self.deal.turn
                    count, settle = self.deal.turn, self.deal.settle
                    rebuild = framework(record.framework).variants[record.variant].rebuilds
                rows = self.ask(index, "turn", first=first, count=count, rebuild=rebuild)
                self.columns.add(record, number, position, settle, rows)

    def probe_behaviour(self, report: Report) -> None:
        """What each contender really computes, after all timing. A probe that it does not
        survive says so in the settings, and takes nothing back of what was measured."""
        for index in self.still(self.running):
            record = self.records[index]
            report(self.turns, f"probing {record.name}")
            try:
                answer = self.ask(index, "behaviour", variant=record.variant)
            except WorkerDied as death:
                answer = {"settings": {"behaviour": f"{UNSUPPORTED}: {death.reason}"}}
            record.settings |= answer["settings"]

    def stage(self, number: int) -> str:
        return f"round {number}/{self.deal.rounds}" if number else "warm-up"

    def ask(self, index: int, do: str, **arguments: Any) -> dict[str, Any]:
        return self.workers[index].ask(do, self.deal.timeout_s, **arguments)

    @contextmanager
    def failing(self, index: int) -> Iterator[None]:
        """What goes wrong with one contender becomes its record; the others play on."""
        try:
            yield
        except WorkerDied as death:
            self.records[index].status, self.records[index].reason = "failed", death.reason
        except Unavailable as reason:
            self.records[index].status, self.records[index].reason = "missing", str(reason)

    def still(self, indices: list[int]) -> Iterator[int]:
        """Those of them that have not failed, looked at one by one."""
        return (index for index in indices if self.records[index].status == "ok")

    def shuffled(self) -> list[int]:
        return [self.running[place] for place in self.random.permutation(len(self.running))]

    def record(self, started: datetime, duration_s: float, around: dict[str, Any]) -> ContestRecord:
        return ContestRecord(
            study=self.plan.study.study,
            machine=self.plan.machine,
            workload=self.workload,
            replicate=self.replicate,
            started=started.isoformat(timespec="seconds"),
            duration_s=round(duration_s, 3),
            seed=self.seed,
            order=[[self.records[index].name for index in order] for order in self.orders],
            code=code(),
            configuration=content_hash(self.plan.configuration),
            environment=around,
            contenders=self.records,
        )


def contest_seed(study_seed: int, workload: str, replicate: int) -> int:
    """A seed of its own for each contest, the same on every machine."""
    words = [study_seed, replicate, *workload.encode()]
    return int(np.random.SeedSequence(words).generate_state(1)[0])


def cores_for(contender: Contender, cores: list[int]) -> list[int]:
    """Contenders with as many threads share the same cores: the last ones, since the first
    serve most interrupts. What drives a GPU may use all."""
    return cores[-contender.threads :] if contender.device == "cpu" else cores


def log_name(contender: PlannedContender) -> str:
    return contender.name.replace("/", "-") + ".log"


def hold(
    plan: Plan, workload: str, replicate: int, folders: Folders, log: Path | None = None
) -> ContestRecord:
    """Hold one contest, alone on this machine, and write its two records."""
    outlook = Outlook(plan, folders, workload, replicate)
    contest = Contest(plan, workload, replicate, folders)
    title = outlook.title
    with Progress(contest.turns, title, log=log) as progress, machine_lock(progress.note):
        begin = time.monotonic()
        started = datetime.now(UTC)

        def report(turn: int, text: str) -> None:
            done = turn / max(contest.turns, 1)
            progress.update(turn, text, outlook.left_s(done, time.monotonic() - begin))

        around = environment()  # first, or its load would be our own
        contest.run(report)
        record = contest.record(started, time.monotonic() - begin, around)
        for contender in record.contenders:
            if contender.status == "failed":
                progress.note(f"{contender.name} failed: {contender.reason}")
    write_batches(folders.batches(workload, replicate), contest.columns.values)
    write_json(folders.contest(workload, replicate), record)
    return record


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m workflows.contest", description=__doc__)
    parser.add_argument("--study", type=Path, required=True, help="results/<machine>/<study>")
    parser.add_argument("--workload", required=True)
    parser.add_argument("--replicate", type=int, required=True)
    parser.add_argument("--log", type=Path, help="also write the progress there")
    arguments = parser.parse_args()
    try:
        folders = Folders(arguments.study)
        plan = load_plan(folders)
        hold(plan, arguments.workload, arguments.replicate, folders, arguments.log)
    except (RecordError, PlanError, OSError) as error:
        print(f"contest {arguments.workload} {arguments.replicate}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
