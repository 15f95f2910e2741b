"""Keras on JAX."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from frameworks.contract import Conditions, Setting
from frameworks.jax import settings
from frameworks.jax.adapter import JaxAdapter
from frameworks.keras.backends import keep


class Backend:
    adapter = JaxAdapter
    labels = "int32"

    def __init__(self, conditions: Conditions) -> None:
        keep(conditions.precision)
        self._put: Any = None

    def tensor(self, array: np.ndarray, dtype: str) -> Any:
        self._put = jnp.array(array, dtype)
        return self._put

    def synchronise(self, model: Any) -> None:
        values = [v.value for v in (*model.variables, *model.optimizer.variables)]
        jax.block_until_ready((self._put, values))

    def settings(self, model: Any, batch: Any) -> dict[str, Setting]:
        parts = (model.trainable_variables, model.non_trainable_variables,
                 model.metrics_variables, model.optimizer.variables)  # fmt: skip
        weights, others, metrics, state = ([v.value for v in part] for part in parts)

        def loss(weights: Any, inputs: Any, targets: Any) -> Any:
            return model.compute_loss_and_updates(
                weights, others, metrics, inputs, targets, None,
                training=True, optimizer_variables=state,
            )  # fmt: skip

        gradient = jax.value_and_grad(loss, has_aux=True)
        program = settings.compiled(jax.jit(gradient), weights, *batch)
        return {
            **settings.process(weights[0], program),
            "compilation": compilation(model),
            "input_gradient": settings.input_gradient(gradient, weights, *batch),
        }


def compilation(model: Any) -> str:
    """How Keras makes its train function, whose jitted step nobody else can reach."""
    jitted = model.jit_compile and not model.run_eagerly and not jax.config.jax_disable_jit
    return "jax.jit (XLA)" if jitted else "eager"
