"""The contenders' processes in one contest, and a record of each contender on each workload."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from pydantic import ValidationError

from frameworks.contract import Unavailable
from frameworks.registry import own_variables
from workflows.machine.fingerprint import available_cores
from workflows.measure.believable import too_much, within
from workflows.planning import names
from workflows.planning.plan import Plan, PlannedContender
from workflows.records.folders import Folders
from workflows.records.schema import UNCOMPARED, ContenderRecord, Entrant, Status
from workflows.records.storage import what
from workflows.worker.process import WorkerDied, WorkerProcess

Report = Callable[[int, str], None]


class WorkerPool:
    """Starts the processes, sends them requests, and records their failures.

    A contender has one process for all workloads of the contest. Contenders are known by their
    index in `entrants`; `records` has a list in the same order for each workload.
    """

    def __init__(self, plan: Plan, group: str, replicate: int, folders: Folders) -> None:
        self.plan, self.group, self.replicate, self.folders = plan, group, replicate, folders
        self.workloads = plan.study.groups[group]
        self.seed = contest_seed(plan.study.seed, group, replicate)
        self.random = np.random.default_rng(self.seed)
        self.cores = available_cores()
        self.entrants = plan.entrants
        self.labels = [names.contender(one) for one in self.entrants]
        self.records = {name: [unmeasured(one) for one in self.entrants] for name in self.workloads}
        self.running = [i for i, contender in enumerate(self.entrants) if not contender.missing]
        self.hosts = hosts(self.entrants)
        self.workers: dict[int, WorkerProcess] = {}

    def start(self, stack: ExitStack, report: Report) -> None:
        """Start all processes in random order.

        The first process for each framework, device and set of variables imports alone, and its
        import is timed. The others start side by side to save time, and so do the frameworks that
        are not compared.
        """
        order = [index for index in self.shuffled() if self.hosts[index] == index]
        names = [self.imports(index) for index in order]
        first = [
            index
            for place, index in enumerate(order)
            if names.index(names[place]) == place
            and self.entrants[index].framework not in UNCOMPARED
        ]
        for index in first:
            self.open(stack, [index], report, alone=True)
        rest, most = [index for index in order if index not in first], 2 * len(self.cores)
        for start in range(0, len(rest), most):  # many at once would keep each other waiting
            self.open(stack, rest[start : start + most], report)
        for index in self.running:
            host = self.hosts[index]
            for records in self.records.values():
                records[index].versions = records[host].versions
            if host in self.workers:
                self.workers[index] = self.workers[host]

    def imports(self, index: int) -> tuple[object, ...]:
        """A key that is equal for contenders with the same import."""
        contender = self.entrants[index]
        return contender.framework, contender.device, own_variables(contender)

    def open(
        self, stack: ExitStack, started: list[int], report: Report, alone: bool = False
    ) -> None:
        """Start these processes side by side and make them ready.

        Each contender is charged for a part of the elapsed time, by its processor time, and each
        of its workloads for an equal part of that.
        """
        begin = time.monotonic()
        for index in started:
            contender = self.entrants[index]
            log = self.folders.logs / f"{self.group}-{self.replicate}" / log_name(contender)
            with self.failing(index):
                timeout_s = self.plan.study.contest.timeout_s
                worker = WorkerProcess(contender.interpreter, contender, log, timeout_s=timeout_s)
                self.workers[index] = stack.enter_context(worker)
                worker.send_open(precision="float32", tf32=self.plan.study.tf32)
        for index in self.still(started):
            report(0, f"starting {self.labels[index]}")
            with self.failing(index):
                answer = self.workers[index].receive()
                if answer.get("missing"):
                    raise WorkerDied(answer["missing"])
                if wrong := too_much(answer["idle_mib"]):
                    raise WorkerDied(wrong)
                for records in self.records.values():
                    records[index].versions = answer["versions"]
                    records[index].import_s = within(answer["import_s"], begin) if alone else None
                    records[index].idle_mib = answer["idle_mib"]
                    records[index].caches = answer["caches"]
                self.ask(index, "pin", cores=cores_for(self.entrants[index], self.cores))
                for name in self.workloads:
                    folder = self.folders.data / name
                    self.ask(index, "load", on=name, folder=str(folder.resolve()))
        spent = {index: self.workers[index].cpu_s() for index in self.still(started)}
        seconds = (time.monotonic() - begin) / len(self.workloads)
        for index, cpu_s in spent.items():
            for records in self.records.values():
                records[index].took_s = seconds * cpu_s / (sum(spent.values()) or 1)

    def ask(self, index: int, do: str, **arguments: Any) -> dict[str, Any]:
        return self.workers[index].ask(do, **arguments)

    @contextmanager
    def failing(self, index: int, workload: str = "") -> Iterator[None]:
        """Record a failure for this contender and all others in its process.

        It counts for this workload only if the process is still there, else for all of them.
        Without a workload it counts for all. The remaining contenders continue.
        """
        try:
            yield
        except WorkerDied as death:
            self.gone(index, workload, "failed", death.reason)
        except Unavailable as reason:
            self.gone(index, workload, "missing", str(reason))
        except ValidationError as error:  # what a record cannot hold
            self.gone(index, workload, "failed", f"it gives {what(error)}")

    def notice_ended(self) -> None:
        """Notice processes that have ended or printed without end while others had their turns, and
        end what they have started, which would disturb the others."""
        for index in self.still(self.running):
            worker = self.workers[index]
            if worker.printed_too_much or worker.process.poll() is not None:
                with self.failing(index):
                    raise worker.obituary()

    def gone(self, index: int, workload: str, status: Status, reason: str) -> None:
        host = self.hosts[index]
        lost = host not in self.workers or self.workers[host].process.poll() is not None
        for name, records in self.records.items():
            if workload and name != workload and not lost:
                continue
            text = reason if name == workload or not workload else f"{reason} (on {workload})"
            for record, other in zip(records, self.hosts, strict=True):
                if other == host and record.status == "ok":
                    record.status, record.reason = status, text
        if host in self.workers and not list(self.still(self.sharing(host))):
            self.workers[host].end()  # it, and what it has started, would only disturb the others

    def sharing(self, host: int) -> list[int]:
        """The contenders in one process."""
        return [index for index, other in enumerate(self.hosts) if other == host]

    def still(self, indices: list[int], workload: str = "") -> Iterator[int]:
        """The contenders that have not failed on a workload (on all of them, if none is named),
        each checked just before it is returned."""
        names = [workload] if workload else self.workloads
        return (i for i in indices if any(self.records[name][i].status == "ok" for name in names))

    def shuffled(self) -> list[int]:
        return [self.running[place] for place in self.random.permutation(len(self.running))]


def unmeasured(contender: PlannedContender) -> ContenderRecord:
    return ContenderRecord(
        **contender.identity(),
        runs=contender.runs,
        slowed_by=contender.slowed_by,
        loader=contender.loader,
        status="missing" if contender.missing else "ok",
        reason=contender.missing,
        versions=contender.versions,
    )


def hosts(entrants: Sequence[PlannedContender]) -> list[int]:
    """The index of the contender whose process each contender runs in."""
    first: dict[tuple[object, ...], int] = {}
    keys = [one.process for one in entrants]
    return [first.setdefault(key, index) for index, key in enumerate(keys)]


def contest_seed(study_seed: int, group: str, replicate: int) -> int:
    """A different seed for each contest, the same on every machine."""
    words = [study_seed, replicate, *group.encode()]
    return int(np.random.SeedSequence(words).generate_state(1)[0])


def cores_for(contender: Entrant, cores: list[int]) -> list[int]:
    """Contenders with the same number of threads share the last cores, because the first cores
    serve most interrupts. A contender that drives another device, or has a loader, may use all."""
    alone = contender.on_host and not contender.loader
    return cores[-contender.threads :] if alone else cores


def log_name(contender: PlannedContender) -> str:
    return contender.name.replace("/", "-") + ".log"
