"""An LSTM in JAX: a `lax.scan` over its steps, by hand as in JAX's tutorials."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def stepwise(x: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
    """The output of every step, each of which multiplies its own input."""
    return scan(x, lambda step: step @ kernel + bias, recurrent)


def hoisted(x: Any, kernel: Any, recurrent: Any, bias: Any) -> Any:
    """The same, with one product for the inputs of all steps before the loop."""
    return scan(x @ kernel + bias, lambda step: step, recurrent)


def scan(x: Any, gates: Callable[[Any], Any], recurrent: Any) -> Any:
    """`gates` makes of a step of `x` what its input adds to the four gates."""

    def step(state: Any, x: Any) -> Any:
        h, c = state
        i, f, g, o = jnp.split(gates(x) + h @ recurrent, 4, axis=1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    start = jnp.zeros((x.shape[0], recurrent.shape[0]), x.dtype)
    _, outputs = lax.scan(step, (start, start), x.swapaxes(0, 1))
    return outputs.swapaxes(0, 1)
