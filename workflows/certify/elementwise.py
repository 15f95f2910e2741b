"""The examination of a single operation: its results beside NumPy's, in float32, as it is timed.

NumPy divides as IEEE 754 has it, and a processor has to give the same bits. The distance is in
units in the last place. No framework is the reference here: the turns of a contest, which a report
compares with the timed turns, are NumPy's, too.

In a row, `long` has the distances of the first steps, and `ulp` the largest.
"""

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from frameworks.workloads import Workload
from frameworks.workloads.datasets import open_batches
from frameworks.workloads.distance import relative
from frameworks.workloads.layers import Fill
from workflows.certify.as_timed import wrong_fence
from workflows.certify.certificate import Examination
from workflows.certify.judge import require_shapes
from workflows.certify.runs import Result, Run, Runner
from workflows.records.schema import Measured
from workflows.records.thresholds import LEFT
from workflows.worker.training import sample

STEPS = 3
CHECKSUM = 1e-12  # relative; a sum may be in any order

OPERATIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "divide": np.divide,
    "copy": lambda x, y: x,
    "fill": lambda x, y: np.full_like(x, Fill.value),
}


class ElementwiseExamination(Examination):
    def in_float32(self, scratch: Path) -> None:
        """Everything: float64 would add nothing."""
        self.over = True
        self.say("results")
        steps = min(STEPS, self.runner.workload.batches)
        run = Run(False, steps, tuple(range(1, steps + 1)))
        file = scratch / "result.npz"
        with self.runner.process(self.contender, "float32") as worker:
            own = Result.read(self.runner.train(worker, self.contender, run, file), file)
            self.say("fence")
            self.result.unfenced = self.runner.unfenced(worker, self.contender)
        wrong = self.compare_results(own)
        self.result.reason = wrong or wrong_fence(self.result, LEFT)
        self.result.status = "refused" if self.result.reason else "agrees"

    def compare_results(self, own: Result) -> str:
        """What is wrong first with the results of the steps, "" if nothing is."""
        workload, host = self.runner.workload, self.contender.on_host
        operation = workload.elementwise
        assert operation
        (name,) = workload.tensor_shapes
        allowed = 0 if host else operation.ulps
        found, off = Measured(loss=[], weights={}), 0.0
        wrong = ""
        for step, weights in own.weights.items():
            right = truth(workload, self.runner.folder, step - 1)
            require_shapes(weights, {name: right})
            result, checksum = weights[name], own.losses[step - 1]
            found.weights[step] = {name: relative(result, right)}
            found.loss.append(relative(checksum, mean(right)))
            here = ulps(result, right)
            off = max(off, here)
            if here > allowed:
                wrong = wrong or (
                    f"{operation.kind}: in step {step} a number is {here:g} units in the last "
                    f"place from NumPy's (allowed {allowed})"
                )
            elif not relative(checksum, mean(result)) <= CHECKSUM:
                wrong = wrong or f"loss() is not the mean of the result of step {step}"
        self.result.long, self.result.ulp = found, off
        return wrong


@lru_cache(maxsize=2)  # no more, because results can be large
def truth(workload: Workload, folder: Path, number: int) -> np.ndarray:
    """NumPy's result on a mini-batch."""
    operation = workload.elementwise
    assert operation
    x, y = (np.array(column[number % len(column), 0]) for column in open_batches(folder))
    return OPERATIONS[operation.kind](x, y)


def mean(result: np.ndarray) -> float:
    return float(result.mean(dtype=np.float64))


def ulps(result: np.ndarray, right: np.ndarray) -> float:
    """The largest distance from the right numbers, in units of their last place; infinite if one is
    not finite."""
    distance = np.abs(np.subtract(result, right, dtype=np.float64)) / np.spacing(np.abs(right))
    return float(distance.max()) if np.isfinite(distance).all() else float("inf")


def right_turns(runner: Runner) -> dict[str, Any]:
    """NumPy's turns of a contest, as `Float64Turns` has them."""
    workload = runner.workload
    ((name, shape),) = workload.tensor_shapes.items()
    first, count = runner.turns[runner.read]
    last = truth(workload, runner.folder, first + count - 1)
    return {
        "read": runner.read,
        "losses": [
            [mean(truth(workload, runner.folder, first + step)) for step in range(count)]
            for first, count in runner.turns
        ],
        "start": sample({name: np.zeros(shape, np.float32)}),
        "weights": sample({name: last}),
    }
