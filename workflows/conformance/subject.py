"""The subject of the rules: one variant of a framework, and the processes that try it."""

import os
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

from frameworks.contract import Framework, Unavailable
from frameworks.device import HOST
from frameworks.registry import own_variables
from frameworks.workloads import SMALL, Workload, load, to_dict
from frameworks.workloads.optimisers import OPTIMISERS
from frameworks.workloads.workload import LOSSES
from workflows.certify.elementwise import OPERATIONS
from workflows.conformance.networks import BASES, CONVOLUTION, IMAGE, Basis
from workflows.conformance.worker import Requests
from workflows.records.limits import TIMEOUT_S
from workflows.records.schema import Contender
from workflows.worker.border import explain, where
from workflows.worker.process import WorkerDied, WorkerProcess

KEY = tuple[str, int]  # device and threads


class Process(WorkerProcess):
    """A process of the adapter's own; `precision` is what its adapter was opened for."""

    module = "workflows.conformance.worker"
    precision = ""

    @property
    def ended(self) -> bool:
        return self.process.poll() is not None


class InProcess(Process):
    """The same requests, answered in this process."""

    def __init__(self, contender: Contender) -> None:
        self.contender, self.worker = contender, Requests()
        self.request: tuple[str, dict[str, Any]] = ("", {})

    def send(self, do: str, **arguments: Any) -> None:
        self.request = (do, arguments)

    def receive(self, timeout_s: float | None = None) -> dict[str, Any]:
        do, arguments = self.request
        try:
            answer: dict[str, Any] = getattr(self.worker, do)(**arguments)
        except (Unavailable, NotImplementedError) as reason:
            raise Unavailable(str(reason)) from reason
        except Exception as error:
            raise WorkerDied(explain(error), where(error)) from error
        return answer

    @property
    def ended(self) -> bool:
        return False

    def close(self) -> None:
        self.worker = Requests()  # which frees its trainers


class Subject:
    """One variant of a framework under one device and number of threads; a context manager.

    Args:
        workloads: the workloads to certify, in the form of a study's configuration; by
            default the small ones of the catalogue, or the single operations of an adapter that
            builds no network.
        quick: whether certificates take few steps.
        timeout_s: how long an answer may take; by default as long as in a study.
        say: is called with what is being tried.
        isolated: whether the adapter runs in processes of its own. In this process the rules are
            quicker and a debugger can stop in the adapter, but an adapter that hangs or ends its
            process takes this one with it, and `Rule.isolated` rules do not apply.
    """

    def __init__(
        self,
        description: Framework,
        variant: str = "default",
        device: str = HOST.name,
        threads: int = 1,
        workloads: Mapping[str, Any] | None = None,
        quick: bool = False,
        interpreter: str = sys.executable,
        timeout_s: float = TIMEOUT_S,
        say: Callable[[str], None] = lambda text: None,
        isolated: bool = True,
    ) -> None:
        self.description, self.variant = description, variant
        self.device, self.threads = device, threads
        self.asked = workloads
        self.quick, self.interpreter, self.timeout_s = quick, interpreter, timeout_s
        self.say, self.isolated = say, isolated
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

    @property
    def precisions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(("float32", self.finest)))

    def ask(
        self,
        do: str,
        workload: Workload,
        precision: str = "float32",
        threads: int | None = None,
        variant: str | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Have a worker try something.

        Raises:
            WorkerDied: the adapter raised, ended or took too long; its last words are the reason.
            Unavailable: the adapter refuses this, or these conditions.
        """
        worker = self.opened(precision, self.device, threads or self.threads)
        asked = {"workload": to_dict(workload), "variant": variant or self.variant}
        try:
            return worker.ask(do, self.timeout_s, **asked, **more)
        finally:
            self.bury()

    def opened(self, precision: str, device: str, threads: int) -> Process:
        """A process under these conditions: a new one only if there is none.

        Raises as `ask`.
        """
        key = (device, threads)
        if key not in self.processes:
            contender = self.contender(*key)
            self.processes[key] = (
                Process(self.interpreter, contender) if self.isolated else InProcess(contender)
            )
        worker = self.processes[key]
        if worker.precision != precision:
            try:
                worker.precision = ""
                worker.send_open(precision, tf32=False)
                answer = worker.receive(self.timeout_s)
                if answer.get("missing"):
                    raise Unavailable(answer["missing"])
                worker.precision = precision
            finally:
                self.bury()
        return worker

    def bury(self) -> None:
        """Forget processes that have ended."""
        for key, worker in list(self.processes.items()):
            if worker.ended:
                self.end(*key)

    def end(self, device: str, threads: int) -> None:
        if worker := self.processes.pop((device, threads), None):
            worker.close()

    def missing(self) -> str:
        """Why the adapter cannot be tried under these conditions, "" if it can or fails."""
        contender = self.contender(self.device, self.threads)
        wanted = {} if self.isolated else own_variables(contender)
        if lacking := [f"{n}={v}" for n, v in wanted.items() if os.environ.get(n) != v]:
            return f"needs a process of its own, with {', '.join(lacking)}"
        try:
            self.opened("float32", self.device, self.threads)
        except Unavailable as reason:
            return str(reason) or "the adapter raises Unavailable, without a reason"
        except WorkerDied:
            pass
        return ""

    def refusal(self, workload: Workload, precision: str = "float32") -> str:
        """Why the adapter refuses to build this, "" if it does not. Raises WorkerDied."""
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
        """A loss and an optimiser that the adapter has. Raises Unavailable if it builds nothing."""
        found = next((basis for basis in BASES if self.builds(basis.dense())), None)
        if not found:
            reason = self.refusal(BASES[0].dense())
            raise Unavailable(f"it builds no network of dense layers: {reason}")
        return found

    @cached_property
    def operations(self) -> list[str]:
        """The single operations that the adapter performs."""
        return [kind for kind in OPERATIONS if self.builds(load(kind, None))]

    @cached_property
    def workloads(self) -> dict[str, Any]:
        """The workloads to certify, by name."""
        if self.asked is not None:
            return dict(self.asked)
        networks = any(self.builds(basis.dense()) for basis in BASES)
        return dict.fromkeys(SMALL if networks else self.operations)

    @property
    def trained(self) -> list[Workload]:
        """Networks with weights of every rank and every loss, if the adapter builds them."""
        basis = self.basis
        every = [Basis(loss, basis.optimiser).dense() for loss in LOSSES]
        return self.buildable([*every, basis.network(IMAGE, CONVOLUTION)])

    @property
    def optimised(self) -> list[Workload]:
        """One small network with each other optimiser, if the adapter builds it."""
        loss, own = self.basis
        return self.buildable([Basis(loss, kind).dense() for kind in OPTIMISERS if kind != own])

    def buildable(self, networks: list[Workload]) -> list[Workload]:
        """The networks that the adapter builds in every precision."""
        for precision in self.precisions:
            networks = [network for network in networks if self.builds(network, precision)]
        return networks
