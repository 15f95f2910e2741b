"""A contest: one replicate of a group of workloads, every contender in turns on the same cores.

`python -m workflows.measure.contest --study results/<machine>/<study> --group mlp+mnist-cnn
--replicate 1`
"""

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from frameworks.contract import Unavailable
from frameworks.registry import framework, part_of
from frameworks.workloads.datasets import open_batches
from workflows.cluster.nodes import require_same
from workflows.machine.guardian import interruptible
from workflows.machine.lock import machine_lock
from workflows.machine.system_info import system_info
from workflows.measure.batches import Columns
from workflows.measure.believable import Asked, unbelievable, within
from workflows.measure.contest_file import ContestFile
from workflows.measure.interference import between, read_counters
from workflows.measure.pool import Report, WorkerPool, cores_for
from workflows.measure.schedule import orders
from workflows.measure.time_left import TimeLeft
from workflows.output import explained
from workflows.planning import names
from workflows.planning.code import code, content_hash
from workflows.planning.plan import Plan, PlanError, load_plan, require_known
from workflows.progress import Progress
from workflows.records.folders import Folders
from workflows.records.limits import REPLICATES
from workflows.records.schema import UNCOMPARED, ContestRecord, Status, TurnRecord
from workflows.records.storage import RecordError, write_batches, write_json
from workflows.worker.loading import digest
from workflows.worker.probes import UNSUPPORTED
from workflows.worker.process import WorkerDied
from workflows.worker.training import compared_round
from workflows.worker.written_down import written_down

# Replicates in which weights are read: a second process may find what the first has left, such as
# programs in a compiler's cache. Later ones do as the second; losses are compared in all.
SAMPLED = 2
ANOTHER = "its loader delivered other mini-batches, or in another order, than are stored"


class Contest(WorkerPool):
    """Runs the turns and keeps the results of each contender on each workload."""

    def __init__(self, plan: Plan, group: str, replicate: int, folders: Folders) -> None:
        super().__init__(plan, group, replicate, folders)
        self.deal = plan.study.contest
        self.built: set[tuple[str, int]] = set()
        self.columns = Columns(plan.study.study, plan.machine, replicate)
        self.orders: dict[str, list[list[int]]] = {name: [] for name in self.workloads}
        self.dealt: dict[str, list[TurnRecord]] = {name: [] for name in self.workloads}
        self.spent_s = dict.fromkeys(self.workloads, 0.0)
        self.stored: dict[str, int] = {}  # how many mini-batches
        self.digests: dict[tuple[str, tuple[int, ...]], str] = {}
        self.steps: Counter[tuple[str, int]] = Counter()
        seed, rounds = plan.study.seed, self.deal.rounds
        self.compared = {name: compared_round(seed, name, rounds) for name in self.workloads}
        self.late_s: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
        self.passed = 0  # turns, including those of contenders that have failed

    @property
    def turns(self) -> int:
        """The number of turns in the contest, including warm-up."""
        return (self.deal.rounds + 1) * len(self.running) * len(self.workloads)

    def run(self, report: Report) -> None:
        """Start all contenders, warm them up, and run the rounds."""
        # All processes of a machine share one monotonic clock. This converts it to Unix time; now,
        # because the machine may have slept while the contest waited for it.
        self.offset_ns = time.time_ns() - time.perf_counter_ns()  # noqa: TID251, once
        self.began_s = (self.offset_ns + time.perf_counter_ns()) / 1e9
        with ExitStack() as stack:
            self.start(stack, report)
            self.deal_round(0, {name: self.shuffled() for name in self.workloads}, report)
            for name in self.workloads:
                drawn = orders(len(self.running), self.deal.rounds, self.random)
                self.orders[name] = [[self.running[place] for place in order] for order in drawn]
            for number in range(1, self.deal.rounds + 1):
                now = {name: self.orders[name][number - 1] for name in self.workloads}
                self.deal_round(number, now, report)
            once = self.replicate == 1  # the same code answers the same in every replicate
            for name in self.workloads:
                self.read_settings(name)
            if once:
                for name in self.workloads:
                    self.probe_behaviour(name, report)
            if once and self.plan.study.profile:
                for name in self.workloads:
                    self.profile(name, report)
            for worker in self.workers.values():  # all at once; the stack then waits for each
                worker.dismiss()

    def deal_round(self, number: int, now: dict[str, list[int]], report: Report) -> None:
        """Run one turn of each contender on each workload. Round 0 is warm-up.

        The workloads follow each other, and the contenders in the order that is given for the
        workload.
        """
        for workload in self.blocks(number):
            with self.charged(workload):
                self.deal_block(number, workload, now[workload], report)

    def blocks(self, number: int) -> list[str]:
        """The workloads in their order in a round: drawn anew, except in warm-up.

        What a process does only once falls on the first workload of the warm-up, so that each
        workload is the first one in its share of the replicates.
        """
        if number:
            return [self.workloads[place] for place in self.random.permutation(len(self.workloads))]
        first = (self.replicate - 1) % len(self.workloads)
        return self.workloads[first:] + self.workloads[:first]

    def deal_block(self, number: int, workload: str, order: list[int], report: Report) -> None:
        for position, index in enumerate(order):
            self.passed += 1
            self.notice_ended()
            record = self.records[workload][index]
            if record.status != "ok":  # its position stays empty to keep the order balanced
                continue
            where = f"{names.workload(workload)} · {self.labels[index]}"
            report(self.passed - 1, f"{self.stage(number)} · {where}")
            begin = time.monotonic()
            with self.failing(index, workload):
                rebuild = framework(record.framework).variants[record.built].rebuilds
                built = self.build(workload, index)
                self.turn(workload, index, number, position, None if built else rebuild)
                if number and self.replicate <= SAMPLED:
                    self.sample_weights(workload, index, number)
            record.took_s = (record.took_s or 0.0) + time.monotonic() - begin

    @contextmanager
    def charged(self, workload: str) -> Iterator[None]:
        """Count the time as this workload's own."""
        begin = time.monotonic()
        yield
        self.spent_s[workload] += time.monotonic() - begin

    def build(self, workload: str, index: int) -> bool:
        """Build the network if its process has none yet. Returns whether it was built."""
        key = (workload, self.hosts[index])
        if key in self.built:
            return False
        record, begin = self.records[workload][index], time.monotonic()
        answer = self.ask(
            index, "build", on=workload, variant=record.built, offset_ns=self.offset_ns
        )
        self.built.add(key)
        record.build_s = within(answer["build_s"], begin)
        return True

    def turn(
        self, workload: str, index: int, number: int, position: int, rebuild: bool | None
    ) -> None:
        """Run one turn, and measure the interference during it.

        Every turn after the first on this workload restarts from the initial weights. All turns of
        a round use the same mini-batches.
        """
        record = self.records[workload][index]
        first, count = self.deal.dealt(number)
        discard = self.deal.discard if number else count
        pid, cores = self.workers[index].process.pid, cores_for(record, self.cores)
        before = read_counters(pid, cores)
        rows = self.ask(
            index, "turn", on=workload, first=first, count=count, rebuild=rebuild,
            slowed_by=record.slowed_by, loader=record.loader,
        )  # fmt: skip
        after = read_counters(pid, cores)
        delivered = rows.pop("delivered")
        numbers = self.numbers(workload, first, count)
        if record.loader and delivered != self.expected(workload, numbers):
            record.status, record.reason = "failed", ANOTHER
        whole = {name: rows.pop(name) for name in ("peak_mib", "outside_s")}
        for name in ("minor_faults", "major_faults"):
            counted = rows.pop(name)[discard:]
            whole[name] = sum(counted) / len(counted) if counted else None
        turn = TurnRecord(
            round=number,
            position=position,
            contender=record.name,
            start_ns=before.now_ns + self.offset_ns,
            cores=len(cores),
            switches=sum(rows["switches"]),
            **between(before, after),
            **whole,
        )
        lasted_s = (after.now_ns + self.offset_ns) / 1e9 - self.began_s
        asked = Asked(numbers, self.steps[workload, index], bool(record.slowed_by), lasted_s)
        if wrong := unbelievable(rows, turn, asked):
            raise WorkerDied(wrong)
        self.steps[workload, index] += count
        self.columns.add(workload, record, number, position, discard, rows)
        self.dealt[workload].append(turn)

    def numbers(self, workload: str, first: int, count: int) -> list[int]:
        """A turn's mini-batches. MNIST's test split has fewer than a workload asks for."""
        if workload not in self.stored:
            self.stored[workload] = len(open_batches(self.folders.data / workload)[0])
        return [(first + place) % self.stored[workload] for place in range(count)]

    def expected(self, workload: str, numbers: list[int]) -> str:
        """The digest of a turn's mini-batches as they are stored."""
        key = workload, tuple(numbers)
        if key not in self.digests:
            inputs, targets = open_batches(self.folders.data / workload)
            self.digests[key] = digest((inputs[n], targets[n]) for n in numbers)
        return self.digests[key]

    def sample_weights(self, workload: str, index: int, number: int) -> None:
        """Read the weights after every turn, so that no adapter knows which are compared, and keep
        those of one round. Weights that cannot be read are left out, unless the process has ended.
        So are those of controls, because several share one trainer."""
        record = self.records[workload][index]
        if not record.runs and record.framework not in UNCOMPARED:
            try:
                found = self.ask(index, "weights", on=workload)
                late_s = self.late_s[workload, index]
                late_s.append(found["late_s"])
                record.late_s = round(median(late_s), 6)
                if number == self.compared[workload]:
                    record.weights = found["weights"]
            except WorkerDied as death:
                if death.ended:
                    raise
            except Unavailable:
                pass

    def read_settings(self, workload: str) -> None:
        for index in self.still(self.running, workload):
            with self.charged(workload), self.failing(index, workload):
                record, answer = (
                    self.records[workload][index],
                    self.ask(index, "settings", on=workload),
                )
                record.settings, record.cores = answer["settings"], answer["cores"]
                written = written_down(framework(record.framework), record.settings)
                record.stated = sorted({*answer["stated"], *written})

    def probe_behaviour(self, workload: str, report: Report) -> None:
        """Probe what each contender really computes, after all timing.

        A failed probe is noted in the settings and does not change any measurement. Controls are
        not probed because they compute the same as their contenders, nor are parts of a step or
        single operations, because probes watch weights change.
        """
        if self.plan.study.workload(workload).elementwise:
            return
        for index in self.still(self.running, workload):
            record = self.records[workload][index]
            if record.runs or record.framework in UNCOMPARED or part_of(record):
                continue
            where = f"{names.workload(workload)} · {self.labels[index]}"
            report(self.turns, f"probing · {where}")
            with self.charged(workload):
                try:
                    answer = self.ask(index, "behaviour", on=workload, variant=record.variant)
                except (WorkerDied, Unavailable) as failure:
                    answer = {"settings": {"behaviour": f"{UNSUPPORTED}: {failure}"}}
            record.settings |= answer["settings"]

    def profile(self, workload: str, report: Report) -> None:
        """Run each contender's steps under its framework's profiler, last of all: a profiler slows
        the steps, and may leave something in the process. Nothing of it is compared."""
        for index in self.still(self.running, workload):
            record = self.records[workload][index]
            if record.runs or record.framework in UNCOMPARED:
                continue
            report(self.turns, f"profiling · {names.workload(workload)} · {self.labels[index]}")
            with self.charged(workload):
                try:
                    answer = self.ask(index, "profile", on=workload, variant=record.variant)
                    record.operations = answer["operations"]
                except (WorkerDied, Unavailable) as failure:
                    record.unprofiled = str(failure)

    def gone(self, index: int, workload: str, status: Status, reason: str) -> None:
        super().gone(index, workload, status, reason)
        for name, records in self.records.items():
            measured = {turn.contender for turn in self.dealt[name]}
            for record in records:
                if record.status == "missing" and record.name in measured:
                    record.status = "failed"  # because it could meet the conditions before

    def stage(self, number: int) -> str:
        return f"round {number} of {self.deal.rounds}" if number else "warm-up"

    def result(self, started: datetime, duration_s: float, around: dict[str, Any]) -> ContestFile:
        """A record of each workload. Time that is no workload's own is shared equally."""
        shared_s = (duration_s - sum(self.spent_s.values())) / len(self.workloads)
        return ContestFile(
            contests=[
                ContestRecord(
                    study=self.plan.study.study,
                    machine=self.plan.machine,
                    workload=name,
                    group=self.group,
                    place=self.blocks(0).index(name),
                    replicate=self.replicate,
                    started=started.isoformat(timespec="seconds"),
                    duration_s=round(self.spent_s[name] + shared_s, 3),
                    seed=self.seed,
                    order=[
                        [self.entrants[index].name for index in order]
                        for order in self.orders[name]
                    ],
                    code=code(),
                    configuration=content_hash(self.plan.measuring),
                    system_info=around,
                    contenders=self.records[name],
                    turns=self.dealt[name],
                )
                for name in self.workloads
            ]
        )


def hold(
    plan: Plan, group: str, replicate: int, folders: Folders, log: Path | None = None
) -> list[ContestRecord]:
    """Run one contest, alone on this machine, and write its two files.

    Raises:
        PlanError: the study does not have the group, or no study can have the replicate.
    """
    require_known("group", group, plan.study.groups)
    if not 1 <= replicate <= REPLICATES:
        raise PlanError(f"--replicate {replicate}: from 1 to {REPLICATES:,}")
    time_left = TimeLeft(plan, folders, group, replicate)
    contest = Contest(plan, group, replicate, folders)
    with Progress(contest.turns, time_left.title, log=log) as progress, machine_lock(progress.note):
        begin = time.monotonic()
        started = datetime.now(UTC)

        def report(turn: int, text: str) -> None:
            done = turn / max(contest.turns, 1)
            progress.update(turn, text, time_left.left_s(done, time.monotonic() - begin))

        around = system_info()  # first, so that the load does not include this contest
        contest.run(report)
        result = contest.result(started, time.monotonic() - begin, around)
        for record in result.contests:
            for contender in record.contenders:
                if contender.status == "failed":
                    who = f"{names.workload(record.workload)} · {names.contender(contender)}"
                    progress.note(f"{who} failed: {contender.reason}")
    write_batches(folders.batches(group, replicate), contest.columns.values)
    write_json(folders.contest(group, replicate), result)
    return result.contests


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m workflows.measure.contest", description=__doc__
    )
    parser.add_argument("--study", type=Path, required=True, help="results/<machine>/<study>")
    parser.add_argument("--group", required=True, help="workloads, joined with +")
    parser.add_argument("--replicate", type=int, required=True)
    parser.add_argument("--log", type=Path, help="also write the progress there")
    arguments = parser.parse_args()
    try:
        folders = Folders(arguments.study)
        plan = load_plan(folders)
        require_same(plan.machine)
        hold(plan, arguments.group, arguments.replicate, folders, arguments.log)
    except (RecordError, PlanError, OSError) as error:
        where = f"contest {arguments.group} {arguments.replicate}"
        print(f"{where}: {explained(error)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(interruptible(main))
