"""Tracing: the runs of a certificate, without timing, each in its contender's own process."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from frameworks.contract import Unavailable
from frameworks.registry import own_environment
from frameworks.workloads import Weights, narrowed
from workflows.certify.runs import GRADIENT_SGD, Part, parts
from workflows.planning.plan import Plan, PlannedContender
from workflows.records.folders import Folders
from workflows.worker import training
from workflows.worker.process import WorkerDied, WorkerProcess

LEAST_S = 600  # to wait for a run, and what it may take beyond that
SLOWEST = 1e8  # FLOP/s


class Trace(NamedTuple):
    """What one part of a certificate left behind."""

    losses: list[float]
    weights: dict[int, Weights]
    again: list[float]
    strange: str = ""
    changed: str = ""

    @classmethod
    def read(cls, answer: dict[str, Any], file: Path) -> "Trace":
        with np.load(file) as arrays:
            weights = training.read(arrays)
        return cls(weights=weights, **answer)


class Tracing:
    """Runs contenders through the parts of a certificate; a context manager, which ends
    their processes."""

    def __init__(self, plan: Plan, workload: str, folders: Folders) -> None:
        self.plan, self.study = plan, plan.study
        self.workload = self.study.workload(workload)
        self.kind = self.workload.optimiser.kind
        self.narrow = narrowed(self.workload) != self.workload
        self.parts = parts(self.workload, self.study.certificate)
        self.folder = (folders.data / workload).resolve()  # workers run in another folder
        self.logs = folders.logs / f"{workload}-certificate"
        self.workers: dict[tuple[object, ...], WorkerProcess] = {}
        self.open = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.open.close()

    def fewest(self, contender: PlannedContender) -> int:
        """Threads of the contender like this one that has fewest, of those that can run."""
        alike = [
            c.threads for c in self.plan.runnable
            if (c.framework, c.variant, c.device)
            == (contender.framework, contender.variant, contender.device)
        ]  # fmt: skip
        return min(alike)

    @contextmanager
    def process(
        self, contender: PlannedContender, precision: str = "float64"
    ) -> Iterator[WorkerProcess]:
        """A process under the contender's conditions; variants that want the same environment
        share one until it fails."""
        key = (contender.framework, contender.device, contender.threads,
               *own_environment(contender).values())  # fmt: skip
        if key not in self.workers:
            log = self.logs / f"{'-'.join(map(str, (*key, contender.variant)))}.log"
            self.workers[key] = WorkerProcess(contender.interpreter, contender, log=log)
            self.open.enter_context(self.workers[key])
        worker = self.workers[key]
        try:
            worker.send_open(precision, tf32=precision == "float32" and self.study.tf32)
            if missing := worker.receive().get("missing"):
                raise Unavailable(missing)
            yield worker
            if worker.process.poll() is not None:  # ended, and somebody made that an answer
                self.workers.pop(key).close()
        except WorkerDied:
            self.workers.pop(key, worker).close()
            raise

    def trace(
        self, worker: WorkerProcess, contender: PlannedContender, part: Part, out: Path
    ) -> dict[str, Any]:
        """Run one part; its losses are the answer, its weights go to `out` (.npz)."""
        self.load(worker, part.narrow)
        flops = (narrowed(self.workload) if part.narrow else self.workload).flops_per_step
        return worker.ask(
            "trace",
            timeout_s=LEAST_S + part.steps * flops / SLOWEST,
            variant=contender.variant,
            steps=part.steps,
            at=part.weights_at,
            restart=part.restart,
            optimiser=part.optimiser,
            out=str(out.resolve()),
        )

    def gradients(
        self,
        worker: WorkerProcess,
        contender: PlannedContender,
        out: Path,
        settings: bool = False,
        batch: int = 0,
    ) -> dict[str, Any]:
        """The gradients of a first step on this mini-batch, at full size, go to `out` (.npz); the
        answer says whether the weights were as given and, if asked, which settings were in
        effect."""
        self.load(worker, narrow=False)
        return worker.ask(
            "gradients",
            variant=contender.variant,
            optimiser=GRADIENT_SGD,
            settings=settings,
            batch=batch,
            out=str(out.resolve()),
        )

    def unfenced(self, worker: WorkerProcess, contender: PlannedContender) -> float:
        self.load(worker, narrow=False)
        return float(worker.ask("fence", variant=contender.variant)["unfenced"])

    def load(self, worker: WorkerProcess, narrow: bool) -> None:
        worker.ask("load", folder=str(self.folder / "narrow" if narrow else self.folder))


class Reference:
    """The traces that the reference has left in a folder, read one at a time: at full size
    they are large."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, name: str) -> Path:
        return self.folder / f"{name}.npz"

    def keep(self, name: str, answer: dict[str, Any]) -> None:
        (self.folder / f"{name}.json").write_text(json.dumps(answer))

    def has(self, name: str) -> bool:
        return (self.folder / f"{name}.json").exists()

    def trace(self, name: str) -> Trace:
        answer = json.loads((self.folder / f"{name}.json").read_text())
        return Trace.read(answer, self.file(name))

    def gradients(self) -> Weights:
        return arrays(self.file("gradients"))


def arrays(file: Path) -> Weights:
    with np.load(file) as stored:
        return dict(stored)
