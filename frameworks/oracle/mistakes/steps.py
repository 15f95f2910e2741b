"""Gradients that are collected, left out, or applied in another step than their own."""

from typing import ClassVar

import numpy as np

from frameworks.oracle.mistakes.mistake import mistake
from frameworks.oracle.trainer import Batch, TruthTrainer
from frameworks.workloads import Weights

EVERY = "Apply the gradient of every step, once: look for accumulation and for step counters."
WARMING = "Look for a warm-up or tracing call that already trains."


@mistake(
    "gradients-not-zeroed",
    "adds each gradient to all those before it",
    "Set the gradients to zero in every step (zero_grad).",
)
class Accumulated(TruthTrainer):
    def forget(self) -> None:
        super().forget()
        self.sum: Weights = {n: np.zeros_like(w) for n, w in self.parameters.items()}

    def apply(self, gradients: Weights) -> None:
        self.sum = {n: self.sum[n] + g for n, g in gradients.items()}
        super().apply(self.sum)


class Counting(TruthTrainer):
    """Knows how many steps there have been, this one included."""

    def forget(self) -> None:
        super().forget()
        self.steps = 0

    def apply(self, gradients: Weights) -> None:
        self.steps += 1
        self.apply_at(self.steps, gradients)

    def apply_at(self, step: int, gradients: Weights) -> None:
        raise NotImplementedError


for often in (2, 3, 4, 5, 10):

    class Skipping(Counting):
        often: ClassVar[int] = often

        def apply_at(self, step: int, gradients: Weights) -> None:
            if step % self.often:
                TruthTrainer.apply(self, gradients)

    mistake(f"every-{often}-skipped", f"skips the update of every {often}. step", EVERY)(Skipping)

for often, average in ((2, False), (4, False), (2, True), (4, True)):

    class Collecting(Accumulated, Counting):
        often: ClassVar[int] = often
        share: ClassVar[float] = 1 / often if average else 1

        def apply(self, gradients: Weights) -> None:
            Counting.apply(self, gradients)

        def apply_at(self, step: int, gradients: Weights) -> None:
            self.sum = {n: self.sum[n] + self.share * g for n, g in gradients.items()}
            if step % self.often == 0:
                TruthTrainer.apply(self, self.sum)
                self.sum = {n: 0 * g for n, g in self.sum.items()}

    mistake(f"{'mean' if average else 'sum'}-of-{often}-steps",
            f"updates every {often}. step only, by the {'mean' if average else 'sum'} of their "
            "gradients", EVERY)(Collecting)  # fmt: skip


@mistake("first-update-only", "updates in the first step only", EVERY)
class Once(Counting):
    def apply_at(self, step: int, gradients: Weights) -> None:
        if step == 1:
            TruthTrainer.apply(self, gradients)


@mistake("first-update-skipped", "does not update in the first step", EVERY)
class Warming(Counting):
    def apply_at(self, step: int, gradients: Weights) -> None:
        if step > 1:
            TruthTrainer.apply(self, gradients)


@mistake("update-one-late", "applies the gradient of the step before", EVERY)
class Late(TruthTrainer):
    def forget(self) -> None:
        super().forget()
        self.waiting: Weights = {}

    def apply(self, gradients: Weights) -> None:
        super().apply(self.waiting)
        self.waiting = gradients


@mistake("no-update", "never updates", EVERY)
class Never(TruthTrainer):
    def apply(self, gradients: Weights) -> None:
        pass


@mistake("update-twice", "applies each gradient twice", EVERY)
class Twice(TruthTrainer):
    def apply(self, gradients: Weights) -> None:
        super().apply(gradients)
        super().apply(gradients)


@mistake("step-twice", "takes two steps on each mini-batch, and tells the second's loss", WARMING)
class StepTwice(TruthTrainer):
    def step(self, batch: Batch) -> None:
        super().step(batch)
        super().step(batch)


@mistake("first-step-twice", "takes its very first step twice", WARMING)
class FirstTwice(Counting):
    def step(self, batch: Batch) -> None:
        if not self.steps:
            super().step(batch)
        super().step(batch)

    def apply_at(self, step: int, gradients: Weights) -> None:
        TruthTrainer.apply(self, gradients)
