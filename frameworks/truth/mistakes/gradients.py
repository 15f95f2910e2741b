"""Gradients that are changed, or not applied, on their way to the optimiser."""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import numpy as np

from frameworks.truth.mistakes.mistake import mistake
from frameworks.truth.trainer import Array, TruthTrainer
from frameworks.workloads import Weights, Workload
from frameworks.workloads.miniature import BATCH
from frameworks.workloads.optimisers import SGD

CLIPPING = "Switch gradient clipping off (clipnorm, clipvalue, clip_grad_norm_)."
DECAY = "Switch weight decay and regularisers off."
TRAINED = "Hand every kernel and bias of parameter_shapes to the optimiser."
EVERY = "Apply the gradient of every step, once: look for accumulation and for step counters."


class Changed(TruthTrainer):
    """The gradients, by name, are changed before the optimiser has them."""

    @staticmethod
    def change(gradients: Weights, weights: Weights) -> Weights:
        raise NotImplementedError

    def apply(self, gradients: Weights) -> None:
        super().apply(self.change(gradients, self.parameters))


def changed(name: str, says: str, mend: str, how: Callable[[Weights, Weights], Weights]) -> None:
    mistake(name, says, mend)(type("Changing", (Changed,), {"change": staticmethod(how)}))


def norm(gradients: Weights) -> float:
    return float(np.sqrt(sum(np.sum(g**2) for g in gradients.values())))


def clipped(gradients: Weights) -> Weights:
    return {n: g / max(norm(gradients), 1) for n, g in gradients.items()}


def but(g: Weights, names: Callable[[list[str]], list[str]]) -> Weights:
    """Without the tensors that `names` picks."""
    left_out = names(list(g))
    return {n: x for n, x in g.items() if n not in left_out}


changed("clipped-by-norm", "clips the norm of the whole gradient to 1", CLIPPING,
        lambda g, w: clipped(g))  # fmt: skip
changed("clipped-by-norm-of-pytorch",
        "clips the norm of the whole gradient to 1 as PyTorch does, by 1 / (norm + 1e-6)", CLIPPING,
        lambda g, w: {n: x * min(1, 1 / (norm(g) + 1e-6)) for n, x in g.items()})  # fmt: skip
changed("clipped-by-tensor", "clips the norm of each tensor's gradient to 1", CLIPPING,
        lambda g, w: {n: clipped({n: x})[n] for n, x in g.items()})  # fmt: skip
changed("clipped-by-value", "clips each entry of the gradient to [-0.5, 0.5]", CLIPPING,
        lambda g, w: {n: x.clip(-0.5, 0.5) for n, x in g.items()})  # fmt: skip
changed("ascent", "goes up the gradient", "Look at the sign of the loss and of the update.",
        lambda g, w: {n: -x for n, x in g.items()})  # fmt: skip
changed("gradient-summed-over-batch",
        "has gradients as many times too large as a mini-batch has samples, at the right loss",
        "Differentiate the mean over the mini-batch, and not the sum.",
        lambda g, w: {n: BATCH * x for n, x in g.items()})  # fmt: skip
changed("bias-not-trained", "does not train its biases", TRAINED,
        lambda g, w: but(g, lambda names: [n for n in names if n.endswith(".bias")])
        )  # fmt: skip
changed("first-layer-not-trained", "does not train its first layer", TRAINED,
        lambda g, w: but(g, lambda names: names[:2]))  # fmt: skip
changed("last-layer-not-trained", "does not train its last layer", TRAINED,
        lambda g, w: but(g, lambda names: names[-2:]))  # fmt: skip
changed("only-last-layer-trained", "trains its last layer only", TRAINED,
        lambda g, w: but(g, lambda names: names[:-2]))  # fmt: skip

for decay in (0.01, 1e-3, 5e-4, 1e-4):

    def decayed(g: Weights, w: Weights, decay: float = decay) -> Weights:
        return {n: x + decay * w[n] for n, x in g.items()}

    def kernels(g: Weights, w: Weights, decay: float = decay) -> Weights:
        return {**g, **{n: x for n, x in decayed(g, w, decay).items() if n.endswith(".kernel")}}

    class Decoupled(TruthTrainer):
        decay: ClassVar[float] = decay

        def update(self, name: str, gradient: Array) -> Array:
            shrink = self.workload.optimiser.learning_rate * self.decay
            return super().update(name, gradient) + shrink * self.parameters[name]

    changed(f"l2-{decay:g}", f"has an L2 weight decay of {decay:g}", DECAY, decayed)
    changed(f"l2-kernels-{decay:g}", f"has an L2 penalty of {decay:g} w on its kernels", DECAY,
            kernels)  # fmt: skip
    mistake(f"decoupled-decay-{decay:g}", f"has a decoupled weight decay of {decay:g} (AdamW)",
            DECAY)(Decoupled)  # fmt: skip


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


@mistake(
    "step-twice",
    "takes two steps on each mini-batch, and tells the second's loss",
    "Look for a warm-up or tracing call that already trains.",
)
class StepTwice(TruthTrainer):
    def step(self, batch: tuple[Array, Array]) -> None:
        super().step(batch)
        super().step(batch)


@mistake(
    "first-step-twice",
    "takes its very first step twice",
    "Look for a warm-up or tracing call that already trains.",
)
class FirstTwice(Counting):
    def step(self, batch: tuple[Array, Array]) -> None:
        if not self.steps:
            super().step(batch)
        super().step(batch)

    def apply_at(self, step: int, gradients: Weights) -> None:
        TruthTrainer.apply(self, gradients)


@mistake("plain-sgd", "updates by plain SGD", "Build the optimiser of the workload's kind.")
def plain(workload: Workload) -> Workload:
    return replace(workload, optimiser=SGD(workload.optimiser.learning_rate))
