"""The right numbers in other formulas."""

from collections.abc import Callable
from typing import Any

import numpy as np

from frameworks.oracle.mistakes.mistake import mistake
from frameworks.oracle.optimisers import UPDATES, Array, State, Update, averages
from frameworks.oracle.trainer import TruthTrainer

FORMULA = "Hold the update against the workload's optimiser (frameworks/workloads/optimisers.py)."
KERAS = "Multiply epsilon by sqrt(1 - beta2^t), or divide by sqrt(v_hat) + epsilon."
ROOT = "Add epsilon outside the root: sqrt(v) + epsilon."
CORRECTION = "Look at the bias correction: m / (1 - beta1^t), v / (1 - beta2^t), t from 1."


def updating(kind: str, name: str, says: str, mend: str = FORMULA) -> Callable[[Update], Update]:
    """Enter an update in place of the right one of that kind."""

    def enter(update: Update) -> Update:
        parts = {"updates": {**UPDATES, kind: update}}
        mistake(name, says, mend)(type("Updating", (TruthTrainer,), parts))
        return update

    return enter


@updating("momentum", "nesterov", "takes Nesterov's momentum", "Switch Nesterov's momentum off.")
def nesterov(o: Any, s: State, g: Array) -> Any:
    s.b = o.momentum * s.b + g
    return o.learning_rate * (g + o.momentum * s.b)


@updating("momentum", "dampened", "dampens each gradient by 1 - momentum", "Set dampening to 0.")
def dampened(o: Any, s: State, g: Array) -> Any:
    s.b = o.momentum * s.b + (1 - o.momentum) * g
    return o.learning_rate * s.b


@updating("momentum", "dampened-but-first",
          "dampens each gradient but the first by 1 - momentum, as PyTorch's dampening does",
          "Set dampening to 0.")  # fmt: skip
def dampened_but_first(o: Any, s: State, g: Array) -> Any:
    s.b = o.momentum * s.b + (g if s.t == 1 else (1 - o.momentum) * g)
    return o.learning_rate * s.b


@updating("rmsprop", "rmsprop-epsilon-inside-the-root", "adds epsilon inside RMSprop's root", ROOT)
def rmsprop_inside(o: Any, s: State, g: Array) -> Any:
    s.v = o.decay * s.v + (1 - o.decay) * g**2
    return o.learning_rate * g / np.sqrt(s.v + o.epsilon)


@updating("rmsprop", "rmsprop-from-ones", "starts RMSprop's mean square at 1, as TF1's did",
          "Start the mean square at 0.")  # fmt: skip
def rmsprop_from_ones(o: Any, s: State, g: Array) -> Any:
    s.v = o.decay * (s.v if s.t > 1 else np.ones_like(g)) + (1 - o.decay) * g**2
    return o.learning_rate * g / (np.sqrt(s.v) + o.epsilon)


@updating("rmsprop", "rmsprop-centred", "subtracts the squared mean gradient (centered RMSprop)")
def rmsprop_centred(o: Any, s: State, g: Array) -> Any:
    s.v = o.decay * s.v + (1 - o.decay) * g**2
    s.m = o.decay * s.m + (1 - o.decay) * g
    return o.learning_rate * g / (np.sqrt(s.v - s.m**2) + o.epsilon)


@updating("rmsprop", "adagrad", "sums the squared gradients (Adagrad)")
def adagrad(o: Any, s: State, g: Array) -> Any:
    s.v = s.v + g**2
    return o.learning_rate * g / (np.sqrt(s.v) + o.epsilon)


@updating("rmsprop", "rmsprop-corrected", "corrects RMSprop's mean square for its start at zero")
def rmsprop_corrected(o: Any, s: State, g: Array) -> Any:
    s.v = o.decay * s.v + (1 - o.decay) * g**2
    return o.learning_rate * g / (np.sqrt(s.v / (1 - o.decay**s.t)) + o.epsilon)


@updating("adam", "adam-epsilon-inside-the-root", "adds epsilon inside Adam's root", ROOT)
def adam_inside(o: Any, s: State, g: Array) -> Any:
    averages(o, s, g)
    m, v = s.m / (1 - o.beta1**s.t), s.v / (1 - o.beta2**s.t)
    return o.learning_rate * m / np.sqrt(v + o.epsilon)


def keras(o: Any, s: State, g: Array, epsilon: float) -> Any:
    averages(o, s, g)
    rate = o.learning_rate * np.sqrt(1 - o.beta2**s.t) / (1 - o.beta1**s.t)
    return rate * s.m / (np.sqrt(s.v) + epsilon)


@updating("adam", "adam-of-keras",
          "adds Adam's epsilon before the bias correction of v, as Keras does", KERAS)  # fmt: skip
def adam_of_keras(o: Any, s: State, g: Array) -> Any:
    return keras(o, s, g, o.epsilon)


@updating("adam", "adam-of-keras-by-default",
          "adds an epsilon of 1e-7 before the bias correction of v: Keras' Adam as it comes",
          KERAS)  # fmt: skip
def adam_of_keras_by_default(o: Any, s: State, g: Array) -> Any:
    return keras(o, s, g, 1e-7)


def corrected(name: str, says: str, first: Callable[[State], int], second: Callable[[State], int],
              mend: str = CORRECTION) -> None:  # fmt: skip
    """Adam whose bias corrections count other steps; 10^9 of them are none at all."""

    def update(o: Any, s: State, g: Array) -> Any:
        averages(o, s, g)
        m, v = s.m / (1 - o.beta1 ** first(s)), s.v / (1 - o.beta2 ** second(s))
        return o.learning_rate * m / (np.sqrt(v) + o.epsilon)

    updating("adam", name, says, mend)(update)


def late(s: State) -> int:
    return 10**9


corrected("no-bias-correction", "leaves out Adam's bias corrections", late, late)
corrected("no-first-correction", "leaves out the bias correction of Adam's m", late, lambda s: s.t)
corrected("no-second-correction", "leaves out the bias correction of Adam's v", lambda s: s.t, late)
corrected("correction-from-0", "counts Adam's steps from 0",
          lambda s: s.t - 1, lambda s: s.t - 1)  # fmt: skip
corrected("correction-from-2", "counts Adam's steps from 2",
          lambda s: s.t + 1, lambda s: s.t + 1)  # fmt: skip
corrected("correction-stuck-at-1", "never counts Adam's steps up", lambda s: 1, lambda s: 1,
          "Let the step counter live outside what is traced or compiled once.")  # fmt: skip


@updating("adam", "amsgrad", "divides by the largest v so far (AMSGrad)", "Switch amsgrad off.")
def amsgrad(o: Any, s: State, g: Array) -> Any:
    averages(o, s, g)
    s.b = np.maximum(s.b, s.v)
    m, v = s.m / (1 - o.beta1**s.t), s.b / (1 - o.beta2**s.t)
    return o.learning_rate * m / (np.sqrt(v) + o.epsilon)


@updating("adam", "nadam", "looks ahead as Nesterov does (Nadam)", "Build Adam, not Nadam.")
def nadam(o: Any, s: State, g: Array) -> Any:
    averages(o, s, g)
    m = o.beta1 * s.m / (1 - o.beta1 ** (s.t + 1)) + (1 - o.beta1) * g / (1 - o.beta1**s.t)
    return o.learning_rate * m / (np.sqrt(s.v / (1 - o.beta2**s.t)) + o.epsilon)


@updating("adam", "adamax", "divides by the largest gradient (Adamax)", "Build Adam, not Adamax.")
def adamax(o: Any, s: State, g: Array) -> Any:
    s.m = o.beta1 * s.m + (1 - o.beta1) * g
    s.v = np.maximum(o.beta2 * s.v, abs(g))
    return o.learning_rate / (1 - o.beta1**s.t) * s.m / (s.v + o.epsilon)


@updating("adam", "gradient-not-squared", "averages absolute gradients in v, and not their squares")
def absolute(o: Any, s: State, g: Array) -> Any:
    s.m = o.beta1 * s.m + (1 - o.beta1) * g
    s.v = o.beta2 * s.v + (1 - o.beta2) * abs(g)
    m, v = s.m / (1 - o.beta1**s.t), s.v / (1 - o.beta2**s.t)
    return o.learning_rate * m / (np.sqrt(v) + o.epsilon)


class Shared(TruthTrainer):
    """One counter of steps for all tensors, counted up at each."""

    def forget(self) -> None:
        super().forget()
        self.calls = 0

    def update(self, name: str, gradient: Array) -> Array:
        self.states[name].t = self.calls
        self.calls += 1
        return super().update(name, gradient)


mistake(
    "steps-counted-per-tensor",
    "counts a step for each tensor that it updates, and not for each mini-batch",
    "Count Adam's steps once in a mini-batch.",
)(Shared)
