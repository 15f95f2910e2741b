"""The published optimisers.

An update takes the optimiser's numbers, the state of one tensor and its gradient. It returns what
to subtract from the tensor. The state's step `t` counts from 1.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from frameworks.workloads.optimisers import SGD, Adam, Momentum, RMSprop

Array = np.ndarray
Update = Callable[[Any, "State", Array], Array]


class State:
    """What an optimiser keeps of one tensor. Everything starts at zero."""

    def __init__(self, like: Array) -> None:
        self.t = 0
        self.b, self.m, self.v = (np.zeros_like(like) for _ in range(3))


def sgd(o: SGD, s: State, g: Array) -> Array:
    return o.learning_rate * g


def momentum(o: Momentum, s: State, g: Array) -> Array:
    s.b = o.momentum * s.b + g
    return o.learning_rate * s.b


def rmsprop(o: RMSprop, s: State, g: Array) -> Array:
    s.v = o.decay * s.v + (1 - o.decay) * g**2
    return o.learning_rate * g / (np.sqrt(s.v) + o.epsilon)


def adam(o: Adam, s: State, g: Array) -> Array:
    averages(o, s, g)
    m, v = s.m / (1 - o.beta1**s.t), s.v / (1 - o.beta2**s.t)
    return o.learning_rate * m / (np.sqrt(v) + o.epsilon)


def averages(o: Adam, s: State, g: Array) -> None:
    s.m = o.beta1 * s.m + (1 - o.beta1) * g
    s.v = o.beta2 * s.v + (1 - o.beta2) * g**2


UPDATES: dict[str, Update] = {"sgd": sgd, "momentum": momentum, "rmsprop": rmsprop, "adam": adam}
