"""Gradients that are changed, or not applied, on their way to the optimiser."""

from collections.abc import Callable
from dataclasses import replace
from typing import ClassVar

import numpy as np

from frameworks.oracle.mistakes.mistake import mistake
from frameworks.oracle.trainer import Array, TruthTrainer
from frameworks.workloads import Weights, Workload
from frameworks.workloads.miniature import BATCH
from frameworks.workloads.optimisers import SGD

CLIPPING = "Switch gradient clipping off (clipnorm, clipvalue, clip_grad_norm_)."
DECAY = "Switch weight decay and regularisers off."
TRAINED = "Hand every kernel and bias of parameter_shapes to the optimiser."


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


@mistake("plain-sgd", "updates by plain SGD", "Build the optimiser of the workload's kind.")
def plain(workload: Workload) -> Workload:
    return replace(workload, optimiser=SGD(workload.optimiser.learning_rate))
