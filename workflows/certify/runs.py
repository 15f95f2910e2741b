"""The runs of a certificate: what is trained, for how long, and by which process.

Nothing here is timed. Variants that need the same environment variables may share a process.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from frameworks.contract import Unavailable
from frameworks.registry import own_variables, part_of
from frameworks.workloads import Weights, Workload, narrowed
from frameworks.workloads.optimisers import OPTIMISERS
from frameworks.workloads.parsing import parse_optimiser
from frameworks.workloads.smaller import large
from workflows.planning.entries import CertificateEntry
from workflows.planning.plan import Plan, PlannedContender
from workflows.records.folders import Folders
from workflows.records.schema import Float64Turns
from workflows.records.thresholds import UNFENCED
from workflows.records.whole_files import atomic
from workflows.worker import training
from workflows.worker.process import WorkerDied, WorkerProcess, left_by_a_worker

WEIGHTS_AT = (0, 1, 2, 5, 10, 100, 500)  # steps after which every tensor is compared
RESTARTED = 10  # steps repeated after a restart, and steps in float32
FLOAT32_AT = (2,)  # steps after which float32 weights are compared with float64's, and after all
# The step is so large that it is all there is to see in the weights. Their difference, divided
# by the learning rate, is the gradient to the last digit or two, in float32 too.
GRADIENT_SGD = {"sgd": {"learning_rate": 2.0**19}}
FOLLOWED = 2e10  # FLOP; a full-size run that costs more is not followed in NumPy
SLOWEST = 1e8  # FLOP/s; a run may take as long at this speed, and as long as an answer besides
# Threads that wait sleep, because other processes need their core. Numbers do not depend on it.
SHARING = {"OMP_WAIT_POLICY": "PASSIVE"}
FENCES = 3  # probes: what a fence leaves undone, it leaves every time
NEVER_WAITS = "trap-unsynchronised"
TWO_WORKERS, HALVES = "two-workers", 2  # of two halves of a mini-batch, each has a quarter
UNREAD = 100  # its steps that nobody waits for
FAILED = "failed.txt"  # why there are no results of the reference, in their place


@dataclass(frozen=True)
class Run:
    narrow: bool  # on the narrow copy of the workload
    steps: int
    weights_at: tuple[int, ...]
    optimiser: dict[str, Any] | None = None  # in place of the workload's own
    restart: int = 0  # steps to repeat after a restart
    first: int = 0  # mini-batch of the first step


def runs(workload: Workload, settings: CertificateEntry, others: Iterable[str]) -> dict[str, Run]:
    """The runs of a certificate, by name.

    `long` trains the narrow copy, and `full` the workload itself if the copy is another.
    `substituted` and `substituted_full` do the same with plain SGD. Each further run is `long`
    with one of the optimisers `others`, and has the name that `run_with` says.
    """
    narrow = narrowed(workload) != workload
    at = weights_at(settings.steps)
    found = {
        "long": Run(narrow, settings.steps, at, restart=min(RESTARTED, settings.steps)),
        "substituted": Run(narrow, settings.steps, at, exact("sgd")),
    }
    if narrow:
        steps = settings.full_steps
        found["full"] = Run(False, steps, (steps,))
        found["substituted_full"] = Run(False, steps, (steps,), exact("sgd"))
    found |= {run_with(kind): Run(narrow, settings.steps, at, exact(kind)) for kind in others}
    return found


def run_with(kind: str) -> str:
    """The name of the long run with another optimiser: plain SGD has one already."""
    return "substituted" if kind == "sgd" else kind


def exact(kind: str) -> dict[str, dict[str, float]]:
    """An optimiser with a learning rate that no framework can round."""
    return {kind: {"learning_rate": OPTIMISERS[kind].exact_rate}}


def float32_run(runs: dict[str, Run]) -> Run:
    """The first steps of the long run, for float32."""
    steps = runs["long"].restart
    at = (*(step for step in FLOAT32_AT if step < steps), steps)
    return Run(runs["long"].narrow, steps, at, restart=steps)


def weights_at(steps: int) -> tuple[int, ...]:
    return (*(step for step in WEIGHTS_AT if step < steps), steps)


class Result(NamedTuple):
    """What a run has computed."""

    losses: list[float]
    weights: dict[int, Weights]  # by the step after which they were taken
    again: list[float]  # losses of the steps after a restart
    strange: str = ""  # a tensor that was not as given before the first step
    changed: str = ""  # a tensor whose array changed after weights() had returned it

    @classmethod
    def read(cls, answer: dict[str, Any], file: Path) -> "Result":
        return cls(weights=training.read(arrays(file)), **answer)


class Runner:
    """Has contenders train the runs of a certificate; a context manager that ends their
    processes."""

    def __init__(self, plan: Plan, workload: str, folders: Folders) -> None:
        self.plan, self.study = plan, plan.study
        self.workload = self.study.workload(workload)
        self.kind = self.workload.optimiser.kind
        self.narrow = narrowed(self.workload) != self.workload
        self.large = large(self.workload)
        self.others = self.study.other_optimisers(workload)
        self.limits = self.study.certificate.allowed(self.workload)
        self.runs = runs(self.workload, self.limits, self.others)
        self.folder = (folders.data / workload).resolve()  # workers run in another folder
        self.logs = folders.logs / f"{workload}-certificate"
        self.workers: dict[tuple[object, ...], WorkerProcess] = {}
        self.started: list[WorkerProcess] = []
        self.exact: set[WorkerProcess] = set()  # processes that have computed in float64
        self.users: dict[WorkerProcess, set[str]] = {}
        self.parted: set[str] = set()  # contenders that share no process any more

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.dismiss()
        for worker in self.started:
            worker.close()

    def dismiss(self) -> None:
        """Let all processes that were started here end at the same time."""
        for worker in self.started:
            worker.dismiss()

    def fewest_threads(self, contender: PlannedContender) -> int:
        """The least number of threads that this framework, variant and device can run with."""
        key = (contender.framework, contender.variant, contender.device)
        return min(
            c.threads for c in self.plan.runnable if (c.framework, c.variant, c.device) == key
        )

    def part(self, contender: PlannedContender) -> bool:
        """Give a contender that has shared a process one of its own. Returns whether it had."""
        own = contender.name
        shared = any(own in users and len(users) > 1 for users in self.users.values())
        had = shared and own not in self.parted
        self.parted |= {own} if had else set()
        return had

    @contextmanager
    def process(
        self, contender: PlannedContender, precision: str = "float64"
    ) -> Iterator[WorkerProcess]:
        """A process under the contender's conditions.

        Variants that need the same environment variables share a process until it fails, or until
        `part` separates them. A process that has computed in float64 is not used for float32 any
        more.
        """
        own = [contender.variant] if contender.name in self.parted else []
        key = (contender.framework, contender.device, contender.threads,
               *own_variables(contender).values(), *own)  # fmt: skip
        if precision == "float32" and self.workers.get(key) in self.exact:
            self.workers.pop(key).close()
        if key not in self.workers:
            log = self.logs / f"{'-'.join(map(str, (*key, contender.variant)))}.log"
            self.workers[key] = WorkerProcess(
                contender.interpreter, contender, log, SHARING, self.study.contest.timeout_s
            )
            self.started.append(self.workers[key])
        worker = self.workers[key]
        self.users.setdefault(worker, set()).add(contender.name)
        if precision == "float64":
            self.exact.add(worker)
        try:
            worker.send_open(precision, tf32=precision == "float32" and self.study.tf32)
            if missing := worker.receive()["missing"]:
                raise Unavailable(missing)
            yield worker
            if worker.process.poll() is not None:  # it ended, and the caller made that an answer
                self.workers.pop(key).close()
        except WorkerDied:
            self.workers.pop(key, worker).close()
            raise

    def train(
        self, worker: WorkerProcess, contender: PlannedContender, run: Run, out: Path
    ) -> dict[str, Any]:
        """Train one run; its losses are the answer, its weights go to `out` (.npz)."""
        self.load(worker, run.narrow)
        flops = self.trained(run).flops_per_step
        return worker.ask(
            "train",
            timeout_s=worker.timeout_s + run.steps * flops / SLOWEST,
            variant=contender.variant,
            steps=run.steps,
            at=run.weights_at,
            restart=run.restart,
            optimiser=run.optimiser,
            first=run.first,
            out=str(out.resolve()),
        )

    @property
    def follows_full(self) -> bool:
        """Whether plain NumPy trains the run at full size in reasonable time."""
        run = self.runs["full"]
        return run.steps * self.trained(run).flops_per_step <= FOLLOWED

    @property
    def turns(self) -> list[tuple[int, int]]:
        """For each round of a contest, a turn's first mini-batch, and how many there are."""
        contest = self.study.contest
        return [contest.dealt(number) for number in range(contest.rounds + 1)]

    @property
    def read(self) -> int:
        """The round after whose turn the weights are compared."""
        study = self.study
        return training.compared_round(study.seed, self.workload.name, study.contest.rounds)

    @property
    def turns_flops(self) -> float:
        """The floating-point operations of all these turns."""
        return sum(count for _, count in self.turns) * float(self.workload.flops_per_step)

    def train_turns(
        self,
        worker: WorkerProcess,
        contender: PlannedContender,
        turns: Sequence[tuple[int, int]] = (),
    ) -> dict[str, Any]:
        """Train the turns of a contest, unless others are given, without timing, at full size."""
        self.load(worker, narrow=False)
        return worker.ask(
            "train_turns",
            timeout_s=worker.timeout_s + self.turns_flops / SLOWEST,
            variant=contender.variant,
            turns=turns or self.turns,
            read=0 if turns else self.read,
        )

    def initial_losses(
        self, worker: WorkerProcess, contender: PlannedContender
    ) -> list[list[float]]:
        """The losses of the same mini-batches, each at the initial weights."""
        single = [(first + step, 1) for first, count in self.turns for step in range(count)]
        losses = iter(self.train_turns(worker, contender, single)["losses"])
        return [[next(losses)[0] for _ in range(count)] for _, count in self.turns]

    def gradients(
        self,
        worker: WorkerProcess,
        contender: PlannedContender,
        out: Path,
        settings: bool = False,
        batch: int = 0,
    ) -> dict[str, Any]:
        """The gradients of a first step on this mini-batch, at full size, go to `out` (.npz): from
        a step of plain SGD, or as a part of a step gives them.

        The answer says whether the weights were as given and, if asked, which settings were in
        effect.
        """
        self.load(worker, narrow=False)
        return worker.ask(
            "gradients",
            variant=contender.variant,
            optimiser=GRADIENT_SGD,
            settings=settings,
            batch=batch,
            given=bool(part_of(contender)),
            out=str(out.resolve()),
        )

    def of_quarters(
        self, worker: WorkerProcess, contender: PlannedContender, out: Path
    ) -> Weights | None:
        """The gradients of two halves of the first mini-batch, averaged. Two workers share each, so
        that these are four shards. None for any other variant, and if there are no quarters."""
        if contender.variant != TWO_WORKERS or self.workload.batch % (2 * HALVES):
            return None
        self.load(worker, narrow=False)
        worker.ask(
            "gradients_of_parts",
            variant=contender.variant,
            optimiser=GRADIENT_SGD,
            parts=HALVES,
            out=str(out.resolve()),
        )
        return arrays(out)

    def unfenced(self, worker: WorkerProcess, contender: PlannedContender) -> float:
        """The share of work left after a fence. If it is too much, the least of a few probes,
        because other programs may disturb one of them."""
        self.load(worker, narrow=False)
        given = part_of(contender) == "gradient"
        least = math.inf
        for _ in range(FENCES):
            answer = worker.ask("fence", variant=contender.variant, given=given)
            least = min(float(answer["unfenced"]), least)
            if least <= UNFENCED:
                break
        return least

    def unread(self, worker: WorkerProcess, contender: PlannedContender) -> bool | None:
        """Whether steps of the variant that never waits compute what they do if each loss is
        read. None for any other variant, and if it cannot be told."""
        if contender.variant != NEVER_WAITS:
            return None
        self.load(worker, narrow=False)
        same: bool | None = worker.ask("unread", variant=contender.variant, steps=UNREAD)["same"]
        return same

    def load(self, worker: WorkerProcess, narrow: bool) -> None:
        worker.ask("load", folder=str(self.place(narrow)))

    def place(self, narrow: bool) -> Path:
        """The folder of mini-batches and initial weights, of the workload or its narrow copy."""
        return self.folder / "narrow" if narrow else self.folder

    def trained(self, run: Run) -> Workload:
        """The workload that a run trains."""
        workload = narrowed(self.workload) if run.narrow else self.workload
        if run.optimiser is None:
            return workload
        return replace(workload, optimiser=parse_optimiser(run.optimiser))


class Reference:
    """The results that the reference has left in a folder.

    They are read one at a time, because they are large at full size. `initial_losses`, of the
    turns' mini-batches at the initial weights, are computed only for parts of a step.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.initial_losses: list[list[float]] = []

    def file(self, name: str) -> Path:
        return self.folder / f"{name}.npz"

    def keep(self, name: str, answer: dict[str, Any]) -> None:
        with atomic(self.folder / f"{name}.json") as temporary:
            temporary.write_text(json.dumps(answer))

    def has(self, name: str) -> bool:
        return (self.folder / f"{name}.json").exists()

    def result(self, name: str) -> Result:
        answer = json.loads((self.folder / f"{name}.json").read_text("utf-8"))
        return Result.read(answer, self.file(name))

    def gradients(self) -> Weights:
        return arrays(self.file("gradients"))

    @property
    def turns(self) -> Float64Turns:
        return Float64Turns(**json.loads((self.folder / "turns.json").read_text("utf-8")))

    @property
    def failure(self) -> str:
        """Why there are no results, "" if there are."""
        place = self.folder / FAILED
        return place.read_text("utf-8") if place.exists() else ""


def arrays(file: Path) -> Weights:
    """What a worker has left in a file (.npz). Raises WorkerDied if that cannot be read."""
    with left_by_a_worker(), np.load(file) as stored:
        return dict(stored)
