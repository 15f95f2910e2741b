"""The requests that a worker answers, one method each. clock.py times what is timed."""

import contextlib
import json
import os
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from platform import python_version
from typing import Any

import numpy as np

from frameworks import caches, registry
from frameworks.contract import SETTINGS, Adapter, Conditions, Framework, Trainer, Unavailable
from frameworks.workloads import Weights, Workload, from_dict
from frameworks.workloads.datasets import open_batches
from frameworks.workloads.parsing import parse_optimiser
from workflows.worker import training
from workflows.worker.border import as_loss, as_settings, as_weights, explain, supported
from workflows.worker.clock import Asleep, Turns, computed_again, timed, unfenced, when_dropped
from workflows.worker.probes import probe
from workflows.worker.profiling import profiled
from workflows.worker.recorded_run import Script, perform

PROCESS = Path("/proc/self")
MIB = 1024  # in the kernel's kB


class Handlers:
    """A contender's state, and one method for each request. A subclass may add requests.

    Arguments and answers have a JSON form. Unavailable and NotImplementedError mean that the
    request cannot be met here; any other exception is a failure of the contender.
    """

    description: Framework
    adapter: Adapter
    conditions: Conditions
    workload: Workload
    initial: Weights
    turns: Turns
    trainer: Trainer
    variant: str
    last: int  # mini-batch of the latest turn
    asleep = Asleep()  # of the process, for all workloads
    process = os.getpid()

    def open(self, framework: str, variant: str = "", **conditions: Any) -> dict[str, Any]:
        """Import the framework and apply the conditions; `missing` if that cannot be done."""
        description = self.description = registry.framework(framework)
        found = registry.versions(description)
        installed = {name: str(version) for name, version in found.items()}
        if not installed:
            return {"missing": f"{description.title} is not installed ({description.install})"}
        found = caches.states(description.variants[variant].caches if variant else ())
        self.conditions = Conditions(**conditions)
        try:
            self.adapter, seconds = timed(
                lambda: registry.open_adapter(description, self.conditions)
            )
        except Unavailable as reason:
            return {"missing": explain(reason).removeprefix("Unavailable: "), "versions": installed}
        return {
            "versions": {**installed, "numpy": np.__version__, "python": python_version()},
            "import_s": seconds,
            "idle_mib": resident_mib(),
            "caches": found,
        }

    def pin(self, cores: list[int]) -> dict[str, Any]:
        """Keep all present and later threads of this process on these cores.

        Comes after the import, which may use any core. Does nothing if the system cannot pin.
        """
        for thread in threads():
            with contextlib.suppress(ProcessLookupError):  # the thread has ended meanwhile
                os.sched_setaffinity(thread, cores)
        return {}

    def load(self, folder: str) -> dict[str, Any]:
        """Memory-map a prepared workload and read its initial weights."""
        place = Path(folder)
        self.workload = from_dict(json.loads((place / "workload.json").read_text()))
        self.turns = Turns(*open_batches(place), place, self.adapter.loader)
        if self.workload.elementwise:  # zeros, which take no memory if nobody writes to them
            shapes = self.workload.tensor_shapes
            self.initial = {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}
            return {}
        with np.load(place / "weights.npz") as stored:
            self.initial = {name: stored[name] for name in self.workload.tensor_shapes}
        return {}

    def build(self, variant: str, offset_ns: int = 0) -> dict[str, Any]:
        """Build the network from the initial weights. `offset_ns` as in `Turns`."""
        self.variant, self.turns.offset_ns = variant, offset_ns
        self.trainer, seconds = timed(self.built)
        return {"build_s": seconds}

    def new_trainer(self, workload: Workload, weights: Weights, variant: str) -> Trainer:
        trainer = self.adapter.trainer(workload, weights, variant)
        if trainer is None or isinstance(trainer, type):
            given = "None" if trainer is None else f"the class {trainer.__name__}"
            raise TypeError(f"Adapter.trainer gave {given}, a trainer is asked for")
        return trainer

    def built(self) -> Trainer:
        trainer = self.new_trainer(self.workload, self.initial, self.variant)
        trainer.synchronise()
        return trainer

    def turn(
        self, first: int, count: int, rebuild: bool | None, slowed_by: float = 0.0, loader: str = ""
    ) -> dict[str, Any]:
        """Train on `count` mini-batches from number `first` on, each timed. A control
        takes `1 + slowed_by` times as long, or has a `loader` prepare them (loading.py).

        A turn begins with the initial weights, in a new network if `rebuild` is True and in the
        same one if it is False. If it is None, training continues. The answer has a list for
        each column, and `peak_mib` of the whole turn. `outside_s` is processor time: of the turn
        outside the timed region, and of waiting for requests since the turn before.
        `delivered` is the digest of what a loader has prepared.
        """
        forget_peak()
        self.last = first + count - 1
        outside_ns = self.asleep.taken_ns()
        if rebuild:
            del self.trainer  # first, so that the new one can have its memory
            self.trainer = self.built()
        with supported():
            if rebuild is False:
                self.trainer.restart(self.initial)
            self.trainer.synchronise()
            unread = self.description.variants[self.variant].unread
            if unread:
                self.trainer.weights()  # waits for what building or restarting has left to do
            columns = self.turns.turn(self.trainer, first, count, slowed_by, loader, unread)
        outside_ns += self.turns.between_ns
        return {
            **columns,
            "peak_mib": peak_mib(),
            "outside_s": outside_ns / 1e9,
            "delivered": self.turns.delivered,
        }

    def settings(self) -> dict[str, Any]:
        """The settings in effect, read back from the framework; the names of settings that its
        adapter only states; and the cores pinned to."""
        with supported():
            settings = as_settings(self.trainer.settings())
        stated = str(settings.pop("stated", "")).replace(",", " ").split()
        if lacking := [name for name in SETTINGS if name not in settings]:
            raise ValueError(
                f"settings() lacks {', '.join(lacking)}: an adapter answers everything in "
                'SETTINGS (frameworks/contract.py), with "n/a" for what the framework does not have'
            )
        return {"settings": settings, "stated": stated, "cores": pinned()}

    def behaviour(self, variant: str) -> dict[str, Any]:
        """What the probes see this contender do with the workload's loss and optimiser."""
        settings = as_settings(probe(self.adapter, variant, self.workload))
        if not self.conditions.on_host:  # its threads only wait for the device
            settings["computing_threads"] = "n/a"
        return {"settings": settings}

    def fence(self, variant: str, given: bool = False) -> dict[str, Any]:
        """The share of the work that is left to be done when `synchronise` has returned. `given`:
        the work is about gradients, which the trainer gives, and not about weights. The checksum of
        a single operation needs all of its result, and reading it takes less than that."""
        trainer = self.new_trainer(self.workload, self.initial, variant)
        read: Callable[[], Any] = trainer.gradients if given else trainer.weights

        def results() -> Any:
            if self.workload.elementwise:
                return as_loss(trainer.loss())
            return as_weights(read(), self.initial)

        with supported():
            batches = map(self.turns.fetch, cycle(range(len(self.turns.inputs))))
            shares = [unfenced(trainer, batches, results, not self.conditions.on_host)]
            if not self.workload.elementwise:  # freeing vectors takes as long as using them once
                shares.append(when_dropped(trainer, batches))
            if given:
                shares.append(computed_again(trainer, batches, results))
            return {"unfenced": max(shares)}

    def unread(self, variant: str, steps: int) -> dict[str, Any]:
        """Whether steps that nobody waits for compute the same."""
        trainer = self.new_trainer(self.workload, self.initial, variant)
        return {"same": training.unread(trainer, self.mini_batch, self.initial, steps)}

    def train(
        self,
        variant: str,
        steps: int,
        out: str,
        at: list[int],
        optimiser: Any = None,
        restart: int = 0,
        first: int = 0,
    ) -> dict[str, Any]:
        """Train without timing from mini-batch `first` on, with another optimiser if one is given:
        the loss of every step, and the losses of `restart` steps repeated after a restart. The
        weights after the steps `at` go to the file `out`."""
        trainer = self.new_trainer(self.altered(optimiser), self.initial, variant)

        def mini_batch(step: int) -> training.Batch:
            return self.mini_batch(first + step)

        trained = training.train(trainer, mini_batch, self.initial, steps, at, restart)
        self.require_original()
        np.savez(out, **training.stored(trained.weights))
        return {key: value for key, value in trained._asdict().items() if key != "weights"}

    def gradients(
        self,
        variant: str,
        out: str,
        optimiser: Any,
        settings: bool = False,
        batch: int = 0,
        given: bool = False,
    ) -> dict[str, Any]:
        """The gradients of a first step of plain SGD on this mini-batch go to the file `out`.
        `strange` names a tensor that was not as given before the step, "" for none; `settings`
        are the settings in effect, if asked for. `given`: the trainer gives them and takes no
        step."""
        workload = self.altered(optimiser)
        trainer = self.new_trainer(workload, self.initial, variant)
        if given:
            found, strange = training.given_gradients(trainer, self.mini_batch(batch), self.initial)
        else:
            rate = workload.optimiser.learning_rate
            found, strange = training.gradients(trainer, self.mini_batch(batch), self.initial, rate)
        self.save_gradients(out, found, workload)
        return {"strange": strange, "settings": as_settings(trainer.settings() if settings else {})}

    def gradients_of_parts(
        self, variant: str, out: str, optimiser: Any, parts: int
    ) -> dict[str, Any]:
        """The gradients of equal parts of the first mini-batch, each of a new trainer and taken as
        in `gradients`: their mean goes to the file `out`."""
        whole, mean = self.altered(optimiser), dict[str, np.ndarray]()
        workload, rate = replace(whole, batch=whole.batch // parts), whole.optimiser.learning_rate
        for batch in zip(*(np.split(array, parts) for array in self.mini_batch(0)), strict=True):
            trainer = self.new_trainer(workload, self.initial, variant)
            found, _ = training.gradients(trainer, batch, self.initial, rate)
            mean = {name: mean.get(name, 0.0) + value / parts for name, value in found.items()}
        self.save_gradients(out, mean, workload)
        return {}

    def save_gradients(self, out: str, found: Weights, workload: Workload) -> None:
        """Write the gradients to the file `out`, without weights that have none in this network."""
        self.require_original()
        own = {n: value for n, value in found.items() if n not in workload.without_gradient}
        np.savez(out, **own)  # type: ignore[arg-type]

    def train_turns(self, variant: str, turns: list[list[int]], read: int) -> dict[str, Any]:
        """Take turns without timing, each from the initial weights: the loss of every step, and
        samples of the weights before a turn and after the turn in place `read`.

        Of each turn, `turns` has the number of its first mini-batch, and how many there are.
        """
        trainer = self.new_trainer(self.workload, self.initial, variant)
        losses = []
        with supported():
            for place, (first, count) in enumerate(turns):
                trainer.restart(self.initial)
                batches = [self.mini_batch(first + step) for step in range(count)]
                losses.append([training.one_step(trainer, batch) for batch in batches])
                if place == read:
                    inputs, _ = batches[-1]
                    weights = training.sample(as_weights(trainer.weights(), self.initial), inputs)
        self.require_original()
        return {
            "read": read,
            "losses": losses,
            "start": training.sample(self.initial, inputs),
            "weights": weights,
        }

    @supported()
    def weights(self) -> dict[str, Any]:
        """A sample of the weights after the latest turn; `late_s`: by how much reading them takes
        longer than reading them again."""
        inputs, _ = self.mini_batch(self.last)

        def read() -> dict[str, list[float]]:
            return training.sample(as_weights(self.trainer.weights(), self.initial), inputs)

        # Taking new memory may last a second for 250 MB: it comes before the first reading.
        np.ones(sum(array.nbytes for array in self.initial.values()), np.uint8)
        weights, first_s = timed(read)
        _, again_s = timed(read)
        return {"weights": weights, "late_s": first_s - again_s}

    def record_run(
        self, workload: dict[str, Any], variant: str, script: str, out: str
    ) -> dict[str, Any]:
        """Train a miniature by the script in a file (.npz); losses and weights go to `out`."""
        read = Script.read(from_dict(workload), Path(script))
        seen = perform(lambda w, x: self.new_trainer(w, x, variant), read)
        self.require_original()
        seen.save(Path(out))
        return {"losses": [moment.loss for moment in seen.moments[1:]]}

    def profile(self, variant: str) -> dict[str, Any]:
        """What a step's time goes to, under the framework's own profiler. Nothing is timed
        afterwards, because a profiler may leave something in the process."""
        if not self.conditions.on_host:
            raise Unavailable("only processors are profiled")
        self.trainer = self.new_trainer(self.workload, self.initial, variant)
        operations = profiled(self.trainer, self.mini_batch, self.description.operations)
        self.require_original()
        return {"operations": operations}

    def require_original(self) -> None:
        """End here if this process is a copy that the adapter has forked and that came back."""
        if os.getpid() != self.process:
            os._exit(0)

    def altered(self, optimiser: Any) -> Workload:
        if optimiser is None:
            return self.workload
        return replace(self.workload, optimiser=parse_optimiser(optimiser))

    def mini_batch(self, step: int) -> training.Batch:
        number = step % len(self.turns.inputs)
        return self.turns.inputs[number], self.turns.targets[number]


def threads() -> list[int]:
    """The kernel's numbers of this process's threads; none if the kernel is not Linux."""
    if not hasattr(os, "sched_setaffinity"):
        return []
    return [int(task.name) for task in (PROCESS / "task").iterdir()]


def pinned() -> list[int]:
    """All cores that any thread of this process may run on."""
    cores: set[int] = set()
    for thread in threads():
        with contextlib.suppress(ProcessLookupError):
            cores |= os.sched_getaffinity(thread)
    return sorted(cores)


def forget_peak() -> None:
    """Let `peak_mib` be about what comes now."""
    with contextlib.suppress(OSError):
        (PROCESS / "clear_refs").write_text("5")


def peak_mib() -> float | None:
    """The most memory that was resident at one time, in MiB."""
    return status("VmHWM")


def resident_mib() -> float | None:
    return status("VmRSS")


def status(name: str) -> float | None:
    """MiB of memory that this process takes, as the kernel counts them (`man 5 proc`);
    None if the system does not say."""
    with contextlib.suppress(OSError, ValueError):
        for line in (PROCESS / "status").read_text().splitlines():
            key, _, value = line.partition(":")
            if key == name:
                return round(int(value.split()[0]) / MIB, 1)
    return None
