"""What a worker is asked that nobody times: to load a workload, and to train for certificates."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from frameworks.contract import Adapter, Conditions
from frameworks.workloads import Workload, from_dict
from frameworks.workloads.datasets import open_batches
from frameworks.workloads.parsing import parse_optimiser
from workflows.worker import training
from workflows.worker.probes import probe
from workflows.worker.recorded_run import Script, perform


class Handlers:
    """One method for each request, as in `Worker`, which has the others."""

    adapter: Adapter
    conditions: Conditions
    workload: Workload

    def load(self, folder: str) -> dict[str, Any]:
        """Memory-map a prepared workload and read its initial weights."""
        place = Path(folder)
        self.workload = from_dict(json.loads((place / "workload.json").read_text()))
        self.inputs, self.targets = open_batches(place)
        with np.load(place / "weights.npz") as stored:
            self.initial = {name: stored[name] for name in self.workload.parameter_shapes}
        self.host_inputs = np.empty_like(self.inputs[0])
        self.host_targets = np.empty_like(self.targets[0])
        self.steps: Counter[tuple[float, float]] = Counter()  # controls in one process count apart
        return {}

    def behaviour(self, variant: str) -> dict[str, Any]:
        """What the probes see this contender do with the workload's loss and optimiser."""
        settings = probe(self.adapter, variant, self.workload)
        if not self.conditions.on_host:  # its threads only wait for the device
            settings["computing_threads"] = "n/a"
        return {"settings": settings}

    def trace(
        self,
        variant: str,
        steps: int,
        out: str,
        at: list[int],
        optimiser: Any = None,
        restart: int = 0,
    ) -> dict[str, Any]:
        """Train without timing, perhaps with another optimiser: the loss of every step, and of
        those repeated after a restart; weights after the steps `at` go to `out`."""
        trainer = self.adapter.trainer(self.altered(optimiser), self.initial, variant)
        trained = training.train(trainer, self.mini_batch, self.initial, steps, at, restart)
        np.savez(out, **training.stored(trained.weights))
        return {key: value for key, value in trained._asdict().items() if key != "weights"}

    def gradients(
        self, variant: str, out: str, optimiser: Any, settings: bool = False, batch: int = 0
    ) -> dict[str, Any]:
        """The gradients of a first step on this mini-batch, by plain SGD, go to `out`; answers
        with a tensor that was not as given, if any, and with the settings in effect."""
        workload = self.altered(optimiser)
        trainer = self.adapter.trainer(workload, self.initial, variant)
        rate = workload.optimiser.learning_rate
        found, strange = training.gradients(trainer, self.mini_batch(batch), self.initial, rate)
        np.savez(out, **found)  # type: ignore[arg-type]
        return {"strange": strange, "settings": trainer.settings() if settings else {}}

    def altered(self, optimiser: Any) -> Workload:
        if optimiser is None:
            return self.workload
        return replace(self.workload, optimiser=parse_optimiser(optimiser))

    def mini_batch(self, step: int) -> training.Batch:
        index = step % len(self.inputs)
        return self.inputs[index], self.targets[index]

    def record_run(
        self, workload: dict[str, Any], variant: str, script: str, out: str
    ) -> dict[str, Any]:
        """Train a miniature as a script (.npz) says; losses and weights go to `out` (.npz)."""
        read = Script.read(from_dict(workload), Path(script))
        seen = perform(lambda w, x: self.adapter.trainer(w, x, variant), read)
        seen.save(Path(out))
        return {"losses": [moment.loss for moment in seen.moments[1:]]}
