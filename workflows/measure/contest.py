"""A contest: one workload, one replicate, every contender in turns on the same cores.

`python -m workflows.measure.contest --study results/<machine>/<study> --workload mlp --replicate 1`
"""

import argparse
import sys
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from frameworks.registry import framework
from workflows.machine.lock import machine_lock
from workflows.machine.system_info import system_info
from workflows.measure.batches import Columns
from workflows.measure.interference import between, look
from workflows.measure.pool import Report, WorkerPool, cores_for
from workflows.measure.schedule import orders
from workflows.measure.time_left import TimeLeft
from workflows.planning.code import code, content_hash
from workflows.planning.plan import Plan, PlanError, load_plan
from workflows.progress import Progress
from workflows.records.folders import Folders
from workflows.records.schema import UNCOMPARED, ContestRecord, TurnRecord
from workflows.records.storage import RecordError, write_batches, write_json
from workflows.worker.probes import UNSUPPORTED
from workflows.worker.process import WorkerDied


class Contest(WorkerPool):
    """Runs the turns and keeps the results of each contender."""

    def __init__(self, plan: Plan, workload: str, replicate: int, folders: Folders) -> None:
        super().__init__(plan, workload, replicate, folders)
        self.deal = plan.study.contest
        self.built: set[int] = set()
        self.columns = Columns(plan.study.study, plan.machine, workload, replicate)
        self.orders: list[list[int]] = []
        self.dealt: list[TurnRecord] = []
        # All processes of a machine share one monotonic clock. This converts it to Unix time.
        self.offset_ns = time.time_ns() - time.perf_counter_ns()

    @property
    def turns(self) -> int:
        """The number of turns in the contest, including warm-up."""
        return (self.deal.rounds + 1) * len(self.running)

    def run(self, report: Report) -> None:
        """Start all contenders, warm them up, and run the rounds."""
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

    def deal_round(self, number: int, order: list[int], report: Report) -> None:
        """Run one turn of each contender in this order. Round 0 is warm-up."""
        for position, index in enumerate(order):
            record = self.records[index]
            if record.status != "ok":  # its position stays empty to keep the order balanced
                continue
            report(number * len(order) + position, f"{self.stage(number)} | {record.name}")
            begin = time.monotonic()
            with self.failing(index):
                rebuild = framework(record.framework).variants[record.built].rebuilds
                built = self.build(index)
                self.turn(index, number, position, None if built else rebuild)
            record.took_s = (record.took_s or 0.0) + time.monotonic() - begin

    def build(self, index: int) -> bool:
        """Build the network if its process has none yet. Returns whether it was built."""
        if self.hosts[index] in self.built:
            return False
        record = self.records[index]
        answer = self.ask(index, "build", variant=record.built, offset_ns=self.offset_ns)
        self.built.add(self.hosts[index])
        record.build_s = answer["build_s"]
        return True

    def turn(self, index: int, number: int, position: int, rebuild: bool | None) -> None:
        """Run one turn, and measure the interference during it.

        Every turn after a process's first restarts from the initial weights. All turns of a round
        use the same mini-batches.
        """
        record = self.records[index]
        first, count, discard = 0, self.deal.warmup, self.deal.warmup
        if number:
            first = self.deal.warmup + (number - 1) * self.deal.turn
            count, discard = self.deal.turn, self.deal.discard
        pid, cores = self.workers[index].process.pid, cores_for(record, self.cores)
        before = look(pid, cores)
        rows = self.ask(
            index, "turn", first=first, count=count, rebuild=rebuild,
            slowed_by=record.slowed_by,
        )  # fmt: skip
        after = look(pid, cores)
        self.columns.add(record, number, position, discard, rows)
        self.dealt.append(
            TurnRecord(
                round=number,
                position=position,
                contender=record.name,
                start_ns=before.now_ns + self.offset_ns,
                cores=len(cores),
                switches=sum(rows["switches"]),
                **between(before, after),
            )
        )

    def probe_behaviour(self, report: Report) -> None:
        """Probe what each contender really computes, after all timing.

        A failed probe is noted in the settings and does not change any measurement. Controls are
        not probed because they compute the same as their contenders.
        """
        for index in self.still(self.running):
            record = self.records[index]
            if record.runs or record.framework in UNCOMPARED:
                continue
            report(self.turns, f"probing {record.name}")
            try:
                answer = self.ask(index, "behaviour", variant=record.variant)
            except WorkerDied as death:
                answer = {"settings": {"behaviour": f"{UNSUPPORTED}: {death.reason}"}}
            record.settings |= answer["settings"]

    def stage(self, number: int) -> str:
        return f"round {number}/{self.deal.rounds}" if number else "warm-up"

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
            configuration=content_hash(self.plan.measuring),
            system_info=around,
            contenders=self.records,
            turns=self.dealt,
        )


def hold(
    plan: Plan, workload: str, replicate: int, folders: Folders, log: Path | None = None
) -> ContestRecord:
    """Run one contest, alone on this machine, and write its two records."""
    outlook = TimeLeft(plan, folders, workload, replicate)
    contest = Contest(plan, workload, replicate, folders)
    title = outlook.title
    with Progress(contest.turns, title, log=log) as progress, machine_lock(progress.note):
        begin = time.monotonic()
        started = datetime.now(UTC)

        def report(turn: int, text: str) -> None:
            done = turn / max(contest.turns, 1)
            progress.update(turn, text, outlook.left_s(done, time.monotonic() - begin))

        around = system_info()  # first, so that the load does not include this contest
        contest.run(report)
        record = contest.record(started, time.monotonic() - begin, around)
        for contender in record.contenders:
            if contender.status == "failed":
                progress.note(f"{contender.name} failed: {contender.reason}")
    write_batches(folders.batches(workload, replicate), contest.columns.values)
    write_json(folders.contest(workload, replicate), record)
    return record


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m workflows.measure.contest", description=__doc__
    )
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
