"""Optimisers that are not the published ones."""

from collections.abc import Callable
from typing import Any

from planted.registry import defect, shows


def group(trainer: Any) -> dict[str, Any]:
    found: dict[str, Any] = trainer._optimiser.param_groups[0]
    return found


def updated_by(trainer: Any, rule: Callable[[Any, Any, Any, Any], Any]) -> None:
    """Subtract `rule(gradient, m, v, t)` from each weight; m and v are Adam's averages."""
    import torch

    @torch.no_grad()
    def step() -> None:
        numbers = group(trainer)
        beta1, beta2 = numbers.get("betas", (0.0, numbers.get("alpha", 0.0)))
        for weight in numbers["params"]:
            g, zero = weight.grad, torch.zeros_like(weight)
            t, m, v = trainer._optimiser.state.get(weight, (0, zero, zero))
            t, m, v = t + 1, beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
            trainer._optimiser.state[weight] = t, m, v
            weight -= numbers["lr"] * rule(g, m, v, t)

    trainer._optimiser.step = step


@shows("mlp", effective_epsilon=1e-07)
@defect("perceptron", "weights", "epsilon 1e-07")
def adam_epsilon(trainer):
    """Adam's epsilon is 1e-7, Keras' default"""
    group(trainer)["eps"] = 1e-7


@shows("mlp", epsilon_place="outside the root, before bias correction")
@defect("perceptron", "weights", "epsilon before the bias correction")
def epsilon_before_correction(trainer):
    """Adam adds epsilon to the root of v before v's bias is corrected, as Keras does"""
    if "betas" in group(trainer):
        corrected = lambda t: (1 - 0.999**t) ** 0.5 / (1 - 0.9**t)  # noqa: E731
        updated_by(trainer, lambda g, m, v, t: corrected(t) * m / (v.sqrt() + 1e-8))


@shows("rmsprop", epsilon_place="inside the root")
@defect("pooled", "weights", "epsilon inside")
def epsilon_inside_root(trainer):
    """RMSprop adds epsilon inside the root, as Keras does"""
    if "alpha" in group(trainer):
        updated_by(trainer, lambda g, m, v, t: g / (v + 1e-8).sqrt())


@shows("mlp", effective_rate=0.003162)
@defect("perceptron", "weights", "bias correction")
def no_bias_correction(trainer):
    """Adam's averages are not corrected for their start at zero"""
    if "betas" in group(trainer):
        updated_by(trainer, lambda g, m, v, t: m / (v.sqrt() + 1e-8))


@defect("perceptron", "weights", "beta1 rounded to float32")
def beta_in_float32(trainer):
    """Adam's first beta went through float32"""
    import numpy as np

    if "betas" in group(trainer):
        beta1, beta2 = group(trainer)["betas"]
        group(trainer)["betas"] = float(np.float32(beta1)), beta2


@shows("mlp", second_update=1)  # the first two updates do not depend on the betas
@defect("perceptron", "weights", "the update is not, first at step 2")
def betas(trainer):
    """Adam's betas are 0.8 and 0.99"""
    if "betas" in group(trainer):
        group(trainer)["betas"] = 0.8, 0.99


@defect("pooled", "weights", "centered RMSprop")
def centred(trainer):
    """RMSprop subtracts the squared mean gradient"""
    if "alpha" in group(trainer):
        group(trainer)["centered"] = True


@shows("rmsprop", effective_rate=0.01)
@defect("pooled", "weights", "decay 0.99")
def decay(trainer):
    """RMSprop's decay is 0.99, PyTorch's default"""
    if "alpha" in group(trainer):
        group(trainer)["alpha"] = 0.99


@defect("perceptron", "loss", "AMSGrad")
def amsgrad(trainer):
    """Adam divides by the largest v so far (AMSGrad)"""
    if "betas" in group(trainer):
        group(trainer)["amsgrad"] = True


@defect("images", "weights", "learning rate rounded to float32")
def rate_in_float32(trainer):
    """The learning rate went through float32"""
    import numpy as np

    group(trainer)["lr"] = float(np.float32(group(trainer)["lr"]))


@shows("mlp", effective_rate=0.01)
@defect("perceptron", "gradient", "learning rate 0.01")
def learning_rate(trainer):
    """The learning rate is ten times the one asked for: another library's default"""
    group(trainer)["lr"] *= 10


@shows("mlp", effective_rate=0.00101)
@defect("perceptron", "gradient", "every tensor is 1.01 times the right one")
def learning_rate_nearly_right(trainer):
    """The learning rate is 1 % too large"""
    group(trainer)["lr"] *= 1.01


@shows("momentum", effective_rate=0.0019)
@defect("images", "weights", "Nesterov")
def nesterov(trainer):
    """Nesterov's momentum for Polyak's"""
    if group(trainer).get("momentum"):
        group(trainer)["nesterov"] = True


@shows("momentum", second_update=1.502)
@defect("images", "weights", "the update is not, first at step 2")
def momentum(trainer):
    """The momentum is 0.5"""
    if group(trainer).get("momentum"):
        group(trainer)["momentum"] = 0.5


@defect("images", "weights", "dampen")
def dampened_momentum(trainer):
    """The velocity averages: the gradient enters it times one minus momentum"""
    if group(trainer).get("momentum"):
        group(trainer)["dampening"] = group(trainer)["momentum"]


@shows("momentum", weight_decay=1e-05)
@defect("perceptron", "gradient", "weight decay of 0.01")
def weight_decay(trainer):
    """Weight decay of 1e-2, added to the gradient"""
    group(trainer)["weight_decay"] = 1e-2


@defect("perceptron", "weights", "decoupled weight decay")
def decoupled_weight_decay(trainer):
    """Weight decay of 1e-2, apart from the gradient: AdamW's default"""
    if "betas" in group(trainer):
        group(trainer).update(weight_decay=1e-2, decoupled_weight_decay=True)
