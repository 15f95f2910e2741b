"""The examination of a part of a step, which leaves the weights as they are.

The reference is its whole step. With plain SGD, the gradients of a part and the initial weights
give the reference's weights after the step; the reference's gradients are read off such a step.

In its row, `long` is the first step, after which the weights must be the initial weights, and state
must be the reference's. `full` has the distances of the losses of all mini-batches of the turns,
and `turns` the reference's losses at the initial weights. `gradients` and `rounding` are about the
gradients that the part gives.
"""

from itertools import chain
from pathlib import Path
from typing import Any

from frameworks.contract import Unavailable
from frameworks.registry import framework, part_of
from frameworks.workloads import Weights
from frameworks.workloads.distance import relative
from workflows.certify.as_timed import wrong_fence, wrong_rounding
from workflows.certify.certificate import Examination
from workflows.certify.judge import (
    NotComparable,
    distances,
    judge_state,
    set_aside,
    wrong_gradients,
    wrong_run,
)
from workflows.certify.runs import Result, Run
from workflows.records.schema import Float64Turns, Measured
from workflows.worker.process import WorkerDied, WorkerProcess
from workflows.worker.training import different

STILL = "a part of a step leaves the weights as they are"


class PartExamination(Examination):
    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.part = part_of(self.contender)
        workload = self.runner.workload
        self.parameters = [n for n in workload.tensor_shapes if n not in workload.state_shapes]

    def in_float32(self, scratch: Path) -> None:
        """The pass as it is timed: how exact gradients are, and whether the fence waits."""
        described = framework(self.contender.framework)
        if not described.has_float64(self.contender.device):
            raise Unavailable(f"parts are certified in float64, which {described.title} lacks here")
        self.say("float32")
        with self.runner.process(self.contender, "float32") as worker:
            if self.part == "gradient":
                self.compare_rounding(worker, scratch / "result.npz")
            else:
                self.result.unfenced = self.runner.unfenced(worker, self.contender)

    def in_float64(self, scratch: Path) -> None:
        if not self.reference.initial_losses:
            raise WorkerDied("the reference gave no losses at the initial weights")
        with self.runner.process(self.contender) as worker:
            moved = self.compare_step(worker, scratch / "result.npz")
            if self.part == "gradient":
                self.compare_gradients(worker, scratch / "result.npz")
            self.say("turns")
            found = self.runner.train_turns(worker, self.contender)
        wrong = self.compare_turns(found)
        self.judge(f"{moved} changed: {STILL}" if moved else "", wrong)
        judge_state(self.result, self.limits.tolerance, self.state)

    def compare_step(self, worker: WorkerProcess, file: Path) -> str:
        """Compare a step of the long run's network with the reference's first. Returns a parameter
        that it has changed, "" for none. State moves as in any forward pass."""
        self.say("step")
        right = self.reference.result("long")
        run = Run(self.runner.runs["long"].narrow, 1, (0, 1))
        own = Result.read(self.runner.train(worker, self.contender, run, file), file)
        if own.strange:
            raise NotComparable(f"{own.strange} does not start as given")
        expected = {**right.weights[1], **self.kept(right.weights[0])}
        found = Measured(
            loss=[relative(own.losses[0], right.losses[0])],
            weights={
                0: distances(own.weights[0], right.weights[0]),
                1: distances(own.weights[1], expected),
            },
        )
        set_aside(found, self.runner.workload.idle)
        self.result.state = set_aside(found, self.state)
        self.result.long = found
        return different(self.kept(own.weights[1]), own.weights[0])

    def kept(self, weights: Weights) -> Weights:
        """The weights without the state."""
        return {name: weights[name] for name in self.parameters}

    def compare_turns(self, found: dict[str, Any]) -> str:
        """Compare the loss of each mini-batch of the turns with the reference's at the initial
        weights. Returns what is wrong first, "" if nothing is."""
        right = self.reference.initial_losses
        start, after = ({n: found[of][n] for n in self.parameters} for of in ("start", "weights"))
        self.result.turns = Float64Turns(
            read=self.runner.read, losses=right, start=start, weights=start
        )
        pairs = list(zip(chain(*found["losses"]), chain(*right), strict=True))
        off = [relative(own, wanted) for own, wanted in pairs]
        self.result.full = Measured(loss=off, weights={})
        tolerance = self.limits.tolerance
        for number, error in enumerate(off, 1):
            if not error <= tolerance:
                return (
                    f"at the initial weights, the loss of mini-batch {number} of the turns differs "
                    f"by {error:.1e} from the reference's (allowed {tolerance:.0e})"
                )
        changed = [name for name in self.parameters if after[name] != start[name]]
        return f"{changed[0]} changed in the turns: {STILL}" if changed else ""

    def judge(self, moved: str, turns: str) -> None:
        """Set the row's status and reason from what was measured."""
        row, tolerance = self.result, self.limits.tolerance
        row.reason = (
            moved
            or wrong_run(row.long, tolerance)
            or turns
            or wrong_gradients(row, tolerance)
            or wrong_rounding(row, self.limits.rounding)
            or wrong_fence(row)
        )
        row.status = "refused" if row.reason else "agrees"
