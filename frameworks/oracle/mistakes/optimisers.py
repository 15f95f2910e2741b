"""Optimisers with other numbers, other formulas, or weight decay."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from frameworks.oracle.mistakes.mistake import mistake
from frameworks.oracle.optimisers import UPDATES, Array, State, Update, averages
from frameworks.oracle.trainer import OracleTrainer
from frameworks.workloads import Weights, Workload

GIVEN = "Hand the workload's {} to the optimiser: the framework's own default is another."
ROUNDED = "Hand the {} over in the weights' type (np.float64): a Python float may become float32."
ROOT = "Add epsilon outside the root: sqrt(v) + epsilon."
KERAS = "Multiply epsilon by sqrt(1 - beta2^t), or divide by sqrt(v_hat) + epsilon."
CORRECTION = "Look at the bias correction: m / (1 - beta1^t), v / (1 - beta2^t), t from 1."
DECAY = "Switch weight decay and regularisers off."

# Defaults of PyTorch, Keras and Optax.
DEFAULTS = {"learning_rate": 0.01, "decay": 0.99, "epsilon": 1e-7}
IN_FLOAT32 = ("learning_rate", "beta1")  # numbers that a framework may round


def with_number(key: str, change: Callable[[float], float]) -> Callable[[Workload], Workload]:
    """A workload whose optimiser has `change(number)` in place of this number, if it has one."""

    def how(workload: Workload) -> Workload:
        numbers = {k: change(v) for k, v in vars(workload.optimiser).items() if k == key}
        return replace(workload, optimiser=replace(workload.optimiser, **numbers))

    return how


def always(value: float) -> Callable[[float], float]:
    return lambda number: value


def single(number: float) -> float:
    return float(np.float32(number))


for key, value in DEFAULTS.items():
    title = key.replace("_", " ")
    mistake(f"{key.replace('_', '-')}-{value:g}", f"has {title} {value:g}", GIVEN.format(title))(
        with_number(key, always(value))
    )

for key in IN_FLOAT32:
    title = key.replace("_", " ")
    mistake(
        f"{key.replace('_', '-')}-in-float32",
        f"has its {title} rounded to float32",
        ROUNDED.format(title),
    )(with_number(key, single))


def updating(kind: str, name: str, says: str, mend: str) -> Callable[[Update], Update]:
    """Add the decorated update as a mistake of the optimiser of that kind."""

    def add(update: Update) -> Update:
        changed = {"updates": {**UPDATES, kind: update}}
        mistake(name, says, mend)(type("Updating", (OracleTrainer,), changed))
        return update

    return add


@updating("momentum", "nesterov", "takes Nesterov's momentum", "Switch Nesterov's momentum off.")
def nesterov(o: Any, s: State, g: Array) -> Any:
    s.b = o.momentum * s.b + g
    return o.learning_rate * (g + o.momentum * s.b)


@updating(
    "momentum",
    "dampened",
    "dampens each gradient but the first by 1 - momentum, as PyTorch's dampening does",
    "Set dampening to 0.",
)
def dampened(o: Any, s: State, g: Array) -> Any:
    s.b = o.momentum * s.b + (g if s.t == 1 else (1 - o.momentum) * g)
    return o.learning_rate * s.b


@updating("rmsprop", "rmsprop-epsilon-inside-the-root", "adds epsilon inside RMSprop's root", ROOT)
def rmsprop_inside(o: Any, s: State, g: Array) -> Any:
    s.v = o.decay * s.v + (1 - o.decay) * g**2
    return o.learning_rate * g / np.sqrt(s.v + o.epsilon)


@updating(
    "rmsprop",
    "rmsprop-centred",
    "subtracts the squared mean gradient (centered RMSprop)",
    "Switch centered off.",
)
def rmsprop_centred(o: Any, s: State, g: Array) -> Any:
    s.v = o.decay * s.v + (1 - o.decay) * g**2
    s.m = o.decay * s.m + (1 - o.decay) * g
    return o.learning_rate * g / (np.sqrt(s.v - s.m**2) + o.epsilon)


def keras(o: Any, s: State, g: Array, epsilon: float) -> Any:
    averages(o, s, g)
    rate = o.learning_rate * np.sqrt(1 - o.beta2**s.t) / (1 - o.beta1**s.t)
    return rate * s.m / (np.sqrt(s.v) + epsilon)


@updating(
    "adam",
    "adam-of-keras",
    "adds Adam's epsilon before the bias correction of v, as Keras does",
    KERAS,
)
def adam_of_keras(o: Any, s: State, g: Array) -> Any:
    return keras(o, s, g, o.epsilon)


@updating(
    "adam",
    "adam-of-keras-by-default",
    "adds an epsilon of 1e-7 before the bias correction of v: Keras' Adam as it comes",
    KERAS,
)
def adam_of_keras_by_default(o: Any, s: State, g: Array) -> Any:
    return keras(o, s, g, 1e-7)


@updating("adam", "no-bias-correction", "leaves out Adam's bias corrections", CORRECTION)
def uncorrected(o: Any, s: State, g: Array) -> Any:
    averages(o, s, g)
    return o.learning_rate * s.m / (np.sqrt(s.v) + o.epsilon)


@updating("adam", "amsgrad", "divides by the largest v so far (AMSGrad)", "Switch amsgrad off.")
def amsgrad(o: Any, s: State, g: Array) -> Any:
    averages(o, s, g)
    s.b = np.maximum(s.b, s.v)
    m, v = s.m / (1 - o.beta1**s.t), s.b / (1 - o.beta2**s.t)
    return o.learning_rate * m / (np.sqrt(v) + o.epsilon)


@mistake("l2-0.01", "has an L2 weight decay of 0.01", DECAY)
class Decayed(OracleTrainer):
    def apply(self, gradients: Weights) -> None:
        super().apply({n: g + 0.01 * self.parameters[n] for n, g in gradients.items()})


@mistake("decoupled-decay-0.01", "has a decoupled weight decay of 0.01 (AdamW)", DECAY)
class Decoupled(OracleTrainer):
    def update(self, name: str, gradient: Array) -> Array:
        shrink = self.workload.optimiser.learning_rate * 0.01
        return super().update(name, gradient) + shrink * self.parameters[name]
