"""Requests for which a worker looks at its clock or keeps the processor busy."""

import gc
from typing import Any

import numpy as np

from frameworks.contract import Trainer
from frameworks.workloads import from_dict
from workflows.conformance.requests import Requests, drawn, losses
from workflows.worker.worker import clock, main

REPEATS = 3


class Measuring(Requests):
    busy: tuple[Trainer, Any]

    def wait(self, workload: dict[str, Any], variant: str, times: int) -> dict[str, Any]:
        """Nanoseconds of one step and of `times` steps with their fence, and of what was left to
        be done after it: the quickest of some repeats."""
        asked = from_dict(workload)
        trainer = self.made(asked, variant)
        batch = trainer.put(*drawn(asked, 1)[0])
        self.fenced(trainer, batch, 1)  # which may compile
        found = {}
        for name, count in (("one", 1), ("many", times)):
            pairs = [self.fenced(trainer, batch, count) for _ in range(REPEATS)]
            found[name] = min(pairs, key=lambda pair: pair[0] + abs(pair[1]))
        share = min(late / (work + late) if late > 0 else 0.0 for work, late in pairs)
        return {**found, "share": share}

    def leave(self, workload: dict[str, Any], variant: str) -> dict[str, Any]:
        """Nanoseconds in `step`, and in `synchronise` behind it; medians."""
        asked = from_dict(workload)
        trainer = self.made(asked, variant)
        batch = trainer.put(*drawn(asked, 1)[0])
        taken = []
        for _ in range(REPEATS + 1):
            trainer.synchronise()
            begin = clock()
            trainer.step(batch)
            returned = clock()
            trainer.synchronise()
            taken.append((returned - begin, clock() - returned))
        step_ns, wait_ns = np.median(taken[1:], axis=0)  # the first may compile
        return {"step_ns": float(step_ns), "wait_ns": float(wait_ns)}

    def labour(self, workload: dict[str, Any], variant: str, seconds: float) -> dict[str, Any]:
        """Train for so long, on one network; 0 seconds build it and take one step."""
        if not seconds:
            trainer = self.made(asked := from_dict(workload), variant)
            self.busy = trainer, trainer.put(*drawn(asked, 1)[0])
        trainer, batch = self.busy
        begin, steps = clock(), 0
        while not steps or clock() - begin < seconds * 1e9:
            trainer.step(batch)
            trainer.synchronise()
            steps += 1
        return {"wall_s": (clock() - begin) / 1e9, "steps": steps}

    def drop(self, workload: dict[str, Any], variant: str) -> dict[str, Any]:
        """Build a trainer, train it, and forget it."""
        asked = from_dict(workload)
        trainer = self.made(asked, variant)
        losses(trainer, drawn(asked, 1) * 2)
        del trainer
        gc.collect()
        return {}


if __name__ == "__main__":
    main(Measuring)
