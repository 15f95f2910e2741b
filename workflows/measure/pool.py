"""The contenders' processes in one contest, and a record of each contender."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from frameworks.contract import Unavailable
from frameworks.device import DEVICES
from frameworks.registry import own_variables
from workflows.machine.fingerprint import available_cores
from workflows.planning.plan import Plan, PlannedContender
from workflows.records.folders import Folders
from workflows.records.schema import Contender, ContenderRecord, Entrant, Status
from workflows.worker.process import WorkerDied, WorkerProcess

Report = Callable[[int, str], None]


class WorkerPool:
    """Starts the processes, sends them requests, and records their failures."""

    def __init__(self, plan: Plan, workload: str, replicate: int, folders: Folders) -> None:
        self.plan, self.workload, self.replicate, self.folders = plan, workload, replicate, folders
        self.seed = contest_seed(plan.study.seed, workload, replicate)
        self.random = np.random.default_rng(self.seed)
        self.cores = available_cores()
        self.entrants = plan.entrants
        self.records = [
            ContenderRecord(
                **contender.parts(),
                runs=contender.runs,
                slowed_by=contender.slowed_by,
                status="missing" if contender.missing else "ok",
                reason=contender.missing,
                versions=contender.versions,
            )
            for contender in self.entrants
        ]
        self.running = [i for i, record in enumerate(self.records) if record.status == "ok"]
        self.hosts = hosts(self.entrants)
        self.workers: dict[int, WorkerProcess] = {}

    def start(self, stack: ExitStack, report: Report) -> None:
        """Start all processes in random order.

        The first process for each framework, device and set of variables imports alone, and its
        import is timed. The others start side by side to save time.
        """
        order = [index for index in self.shuffled() if self.hosts[index] == index]
        names = [self.imports(index) for index in order]
        first = [index for place, index in enumerate(order) if names.index(names[place]) == place]
        for index in first:
            self.open(stack, [index], report, alone=True)
        self.open(stack, [index for index in order if index not in first], report)
        for index in self.running:
            self.records[index].versions = self.records[self.hosts[index]].versions
            if self.records[index].status == "ok":
                self.workers[index] = self.workers[self.hosts[index]]

    def imports(self, index: int) -> tuple[object, ...]:
        """A key that is equal for contenders with the same import."""
        contender = self.entrants[index]
        return contender.framework, contender.device, own_variables(contender)

    def open(
        self, stack: ExitStack, started: list[int], report: Report, alone: bool = False
    ) -> None:
        """Start these processes side by side and make them ready.

        Each contender is charged for a part of the elapsed time, by its processor time.
        """
        begin = time.monotonic()
        for index in started:
            contender = self.entrants[index]
            log = self.folders.logs / f"{self.workload}-{self.replicate}" / log_name(contender)
            with self.failing(index):
                worker = WorkerProcess(contender.interpreter, contender, log)
                self.workers[index] = stack.enter_context(worker)
                worker.send_open(precision="float32", tf32=self.plan.study.tf32)
        for index in self.still(started):
            report(0, f"starting {self.records[index].name}")
            with self.failing(index):
                answer = self.workers[index].receive(self.plan.study.contest.timeout_s)
                if "missing" in answer:
                    raise WorkerDied(answer["missing"])
                self.records[index].versions = answer["versions"]
                self.records[index].import_s = answer["import_s"] if alone else None
                self.ask(index, "pin", cores=cores_for(self.records[index], self.cores))
                self.ask(index, "load", folder=str((self.folders.data / self.workload).resolve()))
        spent = {index: self.workers[index].cpu_s() for index in self.still(started)}
        seconds = time.monotonic() - begin
        for index, cpu_s in spent.items():
            self.records[index].took_s = seconds * cpu_s / (sum(spent.values()) or 1)

    def ask(self, index: int, do: str, **arguments: Any) -> dict[str, Any]:
        return self.workers[index].ask(do, self.plan.study.contest.timeout_s, **arguments)

    @contextmanager
    def failing(self, index: int) -> Iterator[None]:
        """Record a failure for this contender and all others in its process.

        The remaining contenders continue.
        """
        try:
            yield
        except WorkerDied as death:
            self.gone(index, "failed", death.reason)
        except Unavailable as reason:
            self.gone(index, "missing", str(reason))

    def gone(self, index: int, status: Status, reason: str) -> None:
        for record, host in zip(self.records, self.hosts, strict=True):
            if host == self.hosts[index] and record.status == "ok":
                record.status, record.reason = status, reason

    def still(self, indices: list[int]) -> Iterator[int]:
        """The contenders that have not failed, each checked just before it is returned."""
        return (index for index in indices if self.records[index].status == "ok")

    def shuffled(self) -> list[int]:
        return [self.running[place] for place in self.random.permutation(len(self.running))]


def hosts(entrants: Sequence[Entrant]) -> list[int]:
    """The index of the contender whose process each contender runs in.

    Most contenders have their own process. The controls of one contender share a process because
    starting each of them would take longer than all their mini-batches.
    """
    first: dict[tuple[Any, ...], int] = {}
    keys = [(e.framework, e.built, e.device, e.threads, bool(e.runs)) for e in entrants]
    return [first.setdefault(key, index) for index, key in enumerate(keys)]


def contest_seed(study_seed: int, workload: str, replicate: int) -> int:
    """A different seed for each contest, the same on every machine."""
    words = [study_seed, replicate, *workload.encode()]
    return int(np.random.SeedSequence(words).generate_state(1)[0])


def cores_for(contender: Contender, cores: list[int]) -> list[int]:
    """Contenders with the same number of threads share the last cores, because the first cores
    serve most interrupts. A contender that drives another device may use all cores."""
    return cores[-contender.threads :] if DEVICES[contender.device].is_host else cores


def log_name(contender: PlannedContender) -> str:
    return contender.name.replace("/", "-") + ".log"
