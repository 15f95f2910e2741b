"""Who is examined: one variant of a framework, and the processes in which it is tried."""

import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

from frameworks.contract import Framework, Unavailable
from frameworks.workloads import CATALOGUE, Workload, to_dict
from frameworks.workloads.workload import LOSSES
from workflows.conformance.networks import BASES, CONVOLUTION, IMAGE, ROUNDED, VECTOR, Basis
from workflows.records.schema import Contender
from workflows.worker.process import WorkerDied, WorkerProcess

TIMEOUT_S = 120
KEY = tuple[str, int]  # device and threads


class Process(WorkerProcess):
    module = "workflows.conformance.measuring"
    precision = ""


class Subject:
    """A context manager; leaving it ends the processes. `workloads` are those that need a
    certificate, as in a study's configuration."""

    def __init__(
        self,
        description: Framework,
        variant: str = "default",
        device: str = "cpu",
        threads: int = 1,
        workloads: Mapping[str, Any] | None = None,
        quick: bool = False,
        interpreter: str = sys.executable,
        timeout_s: float = TIMEOUT_S,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self.description, self.variant = description, variant
        self.device, self.threads = device, threads
        self.workloads = dict.fromkeys(CATALOGUE) if workloads is None else dict(workloads)
        self.quick, self.interpreter, self.timeout_s = quick, interpreter, timeout_s
        self.say = say
        self.processes: dict[KEY, Process] = {}
        self.refusals: dict[tuple[Workload, str], str | WorkerDied] = {}
        self.temporary = TemporaryDirectory(prefix="samestep-conformance-")
        self.folder = Path(self.temporary.name).resolve()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for key in list(self.processes):
            self.end(*key)
        self.temporary.cleanup()

    @property
    def name(self) -> str:
        return self.contender(self.device, self.threads).name

    def contender(self, device: str, threads: int) -> Contender:
        return Contender(
            framework=self.description.name, variant=self.variant, device=device, threads=threads
        )

    @property
    def finest(self) -> str:
        return "float64" if "float64" in self.description.precisions else "float32"

    def ask(
        self,
        do: str,
        workload: Workload,
        precision: str = "float32",
        threads: int | None = None,
        variant: str | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Have a worker try something out.

        Raises:
            WorkerDied: it raised, ended, or took too long; its last words are the reason.
            Unavailable: it refuses, or cannot be had under these conditions.
        """
        worker = self.opened(precision, self.device, threads or self.threads)
        asked = {"workload": to_dict(workload), "variant": variant or self.variant}
        try:
            return worker.ask(do, self.timeout_s, **asked, **more)
        finally:
            self.bury()

    def opened(self, precision: str, device: str, threads: int) -> Process:
        """A process under these conditions, the one that there is if it will do."""
        key = (device, threads)
        if key not in self.processes:
            self.processes[key] = Process(self.interpreter, self.contender(*key))
        worker = self.processes[key]
        if worker.precision != precision:
            try:
                worker.precision = ""
                worker.send_open(precision, tf32=False)
                answer = worker.receive(self.timeout_s)
                if "missing" in answer:
                    raise Unavailable(answer["missing"])
                worker.precision = precision
            finally:
                self.bury()
        return worker

    def bury(self) -> None:
        """Forget processes that have ended."""
        for key, worker in list(self.processes.items()):
            if worker.process.poll() is not None:
                self.end(*key)

    def end(self, device: str, threads: int) -> None:
        if worker := self.processes.pop((device, threads), None):
            worker.close()

    def missing(self) -> str:
        """Why it cannot be examined here, "" if it can. That it fails is no such reason."""
        try:
            self.opened("float32", self.device, self.threads)
        except Unavailable as reason:
            return str(reason) or "the adapter raises Unavailable, without a reason"
        except WorkerDied:
            pass
        return ""

    def refusal(self, workload: Workload, precision: str = "float32") -> str:
        """Why its adapter does not build this, "" if it does. Raises WorkerDied if it fails."""
        key = (workload, precision)
        if key not in self.refusals:
            try:
                self.refusals[key] = self.ask("accepts", workload, precision)["refused"]
            except WorkerDied as death:
                self.refusals[key] = death
        found = self.refusals[key]
        if isinstance(found, WorkerDied):
            raise WorkerDied(found.reason, found.where)
        return found

    def builds(self, workload: Workload, precision: str = "float32") -> bool:
        try:
            return not self.refusal(workload, precision)
        except WorkerDied:  # the vocabulary's rule says so
            return False

    @cached_property
    def basis(self) -> Basis:
        """A loss and an optimiser that it has. Raises Unavailable where it builds nothing."""
        found = next((basis for basis in BASES if self.builds(basis.dense())), None)
        if not found:
            reason = self.refusal(BASES[0].dense())
            raise Unavailable(f"it builds no network of dense layers: {reason}")
        return found

    @property
    def trained(self) -> list[Workload]:
        """Networks that it builds in every precision, among them weights of every rank and every
        loss."""
        basis = self.basis
        every = [Basis(loss, basis.optimiser).dense() for loss in LOSSES]
        every += [basis.network(VECTOR, ROUNDED), basis.network(IMAGE, CONVOLUTION)]
        both = dict.fromkeys(("float32", self.finest))
        return [n for n in every if all(self.builds(n, precision) for precision in both)]
