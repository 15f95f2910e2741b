"""Tracing: train without timing, and keep every loss and the final weights."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from frameworks.workloads import narrowed
from workflows.folders import Folders
from workflows.plan import Plan, PlannedContender
from workflows.process import WorkerDied, WorkerProcess


class Tracing:
    """Runs contenders through the steps of a certificate; a context manager, which ends
    their processes."""

    def __init__(self, plan: Plan, workload: str, folders: Folders) -> None:
        self.study = plan.study
        self.workload = self.study.workload(workload)
        self.narrow = narrowed(self.workload) != self.workload
        self.folder = (folders.data / workload).resolve()  # workers run in another folder
        self.logs = folders.logs / f"{workload}-certificate"
        asked = self.study.certificate
        self.lengths = {"long": asked.steps, "substituted": asked.steps}
        if self.narrow:
            self.lengths |= {"full": asked.full_steps, "substituted_full": asked.full_steps}
        self.workers: dict[tuple[str, str, int], WorkerProcess] = {}
        self.open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.open.close()

    @contextmanager
    def process(self, contender: PlannedContender) -> Iterator[WorkerProcess]:
        """A process under the contender's conditions; variants share one until it fails."""
        key = (contender.framework, contender.device, contender.threads)
        if key not in self.workers:
            log = self.logs / f"{'-'.join(map(str, key))}.log"
            worker = WorkerProcess(contender.interpreter, contender, log=log)
            self.open.enter_context(worker)
            worker.send_open(precision="float64", tf32=False)
            if missing := worker.receive().get("missing"):
                raise WorkerDied(missing)
            self.workers[key] = worker
        try:
            yield self.workers[key]
        except WorkerDied:
            self.workers.pop(key).close()
            raise

    def trace(
        self, worker: WorkerProcess, contender: PlannedContender, part: str, out: Path
    ) -> list[float]:
        """The losses of one part of the certificate; final weights go to `out` (.npz)."""
        narrow = self.narrow and not part.endswith("full")
        worker.ask("load", folder=str(self.folder / "narrow" if narrow else self.folder))
        answer = worker.ask(
            "trace",
            variant=contender.variant,
            steps=self.lengths[part],
            out=str(out.resolve()),
            plain_sgd=part.startswith("substituted"),
        )
        losses: list[float] = answer["losses"]
        return losses
