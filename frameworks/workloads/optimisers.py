"""The optimisers, as published: what an update is, to the last bracket.

`g` is the gradient, `w` the weight, and every state starts at zero.
"""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Optimiser:
    """`exact_rate` is the learning rate for certificates.

    It is a power of two, which no framework can round, and so small that hundreds of steps do
    not magnify rounding.
    """

    learning_rate: float = 0.001
    kind: ClassVar[str]
    slots: ClassVar[int]  # state tensors per weight
    exact_rate: ClassVar[float]


@dataclass(frozen=True)
class SGD(Optimiser):
    """`w -= learning_rate * g`"""

    kind: ClassVar[str] = "sgd"
    slots: ClassVar[int] = 0
    exact_rate: ClassVar[float] = 2.0**-7


@dataclass(frozen=True)
class Momentum(Optimiser):
    """`b = momentum * b + g; w -= learning_rate * b`, without Nesterov (Polyak 1964)."""

    momentum: float = 0.9
    kind: ClassVar[str] = "momentum"
    slots: ClassVar[int] = 1
    exact_rate: ClassVar[float] = 2.0**-7


@dataclass(frozen=True)
class RMSprop(Optimiser):
    """`v = decay * v + (1 - decay) * g^2; w -= learning_rate * g / (sqrt(v) + epsilon)`
    (Hinton's lecture 6e; epsilon outside the root)."""

    decay: float = 0.9
    epsilon: float = 1e-8
    kind: ClassVar[str] = "rmsprop"
    slots: ClassVar[int] = 1
    exact_rate: ClassVar[float] = 2.0**-13  # the first steps are 3 times as long as the rate


@dataclass(frozen=True)
class Adam(Optimiser):
    """`w -= learning_rate * m_hat / (sqrt(v_hat) + epsilon)` (Kingma and Ba 2015,
    algorithm 1), `m_hat` and `v_hat` corrected for their start at zero."""

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    kind: ClassVar[str] = "adam"
    slots: ClassVar[int] = 2
    exact_rate: ClassVar[float] = 2.0**-10


OPTIMISERS: dict[str, type[Optimiser]] = {o.kind: o for o in (SGD, Momentum, RMSprop, Adam)}
