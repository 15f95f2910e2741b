"""The loop in JAX. It has no convolutions of its own: none is known that is faster than those of
`tuned`. A ReLU and its pooling in one function, with the ReLU's backward pass on pooled values,
took longer."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.loops.descriptions import block_starts, is_perceptron
from frameworks.contract import Setting, Trainer, Unavailable
from frameworks.jax.adapter import JaxAdapter, JaxTrainer, configure
from frameworks.workloads import Weights, Workload
from frameworks.workloads.optimisers import Adam, Optimiser

ROWS = 500  # of a kernel in one block


class LoopAdapter(JaxAdapter):
    def trainer(self, workload: Workload, weights: Weights, variant: str) -> Trainer:
        configure(self._conditions)
        if not is_perceptron(workload):
            raise Unavailable("no loop is known that is faster than tuned")
        return Blocks(workload, weights, self._device, self._conditions, "tuned")


class Blocks(JaxTrainer):
    """Kernels are kept in blocks of rows. A block's gradient is computed after the block before was
    updated, so that it is applied while it is in the cache."""

    def __init__(self, workload: Workload, *arguments: Any) -> None:
        self._shapes = workload.parameter_shapes
        super().__init__(workload, *arguments)
        self._update = jax.jit(partial(one_step, workload.optimiser), donate_argnums=(0, 1))

    def step(self, batch: Any) -> None:
        self._parameters, self._state, self._loss = self._update(
            self._parameters, self._state, *batch
        )

    def _call(self, batch: Any) -> tuple[Any, ...]:
        return self._update, self._parameters, self._state, *batch

    def restart(self, weights: Weights) -> None:
        values = [jnp.array(weights[name], self._dtype) for name in self._shapes]
        self._parameters = [
            ([kernel[a:b] for a, b in block_starts(len(kernel), 1, ROWS)], bias)
            for kernel, bias in zip(values[::2], values[1::2], strict=True)
        ]
        count = self._workload.optimiser.slots
        slots = [jax.tree.map(jnp.zeros_like, self._parameters) for _ in range(count)]
        self._state = jnp.zeros((), jnp.int32), slots
        self._running = []
        self._loss = None

    def weights(self) -> Weights:
        values = [
            one for blocks, bias in self._parameters for one in (jnp.concatenate(blocks), bias)
        ]
        return {
            name: jax.device_get(one).copy() for name, one in zip(self._shapes, values, strict=True)
        }

    def settings(self) -> dict[str, Setting]:
        plain = JaxTrainer(self._workload, self.weights(), self._device, self._conditions, "tuned")
        return plain.settings()


def one_step(
    published: Optimiser, parameters: Any, state: Any, inputs: Any, targets: Any
) -> tuple[Any, Any, Any]:
    steps, slots = state
    steps = steps + 1
    given = [inputs]
    for blocks, bias in parameters[:-1]:
        given.append(jax.nn.relu(product(given[-1], blocks) + bias))
    blocks, bias = parameters[-1]
    error = product(given[-1], blocks) + bias - targets
    loss = jnp.mean(error**2)
    gradient = error * (2 / error.size)
    new: list[Any] = [None] * len(parameters)
    kept: list[Any] = [None] * len(parameters)
    before: Any = gradient
    for place in reversed(range(len(parameters))):
        (blocks, bias), own = parameters[place], given[place]
        below = jnp.concatenate([gradient @ one.T for one in blocks], 1) if place else None
        held = [slot[place] for slot in slots]
        changed, after, start = [], [], 0
        for index, one in enumerate(blocks):
            rows, before = lax.optimization_barrier((own[:, start : start + len(one)], before))
            value, moments = apply(
                published, steps, one, rows.T @ gradient, [slot[0][index] for slot in held]
            )
            before = value
            changed.append(value)
            after.append(moments)
            start += len(one)
        value, moments = apply(published, steps, bias, gradient.sum(0), [slot[1] for slot in held])
        new[place] = (changed, value)
        kept[place] = [([m[n] for m in after], moments[n]) for n in range(len(slots))]
        if below is not None:
            gradient = jnp.where(own > 0, below, 0)
    slots = [[layer[n] for layer in kept] for n in range(len(slots))]
    return new, (steps, slots), loss


def product(rows: Any, blocks: list[Any]) -> Any:
    ends = [sum(map(len, blocks[: n + 1])) for n in range(len(blocks))]
    parts = jnp.split(rows, ends[:-1], 1)
    return sum(part @ block for part, block in zip(parts, blocks, strict=True))


def apply(published: Optimiser, steps: Any, weight: Any, gradient: Any, slots: list[Any]) -> Any:
    """The new weight and moments of a block."""
    if not isinstance(published, Adam):
        return weight - published.learning_rate * gradient, []
    mean, square = slots
    mean = published.beta1 * mean + (1 - published.beta1) * gradient
    square = published.beta2 * square + (1 - published.beta2) * gradient**2
    powers = [
        1 - jnp.array(beta, weight.dtype) ** steps for beta in (published.beta1, published.beta2)
    ]
    root = jnp.sqrt(square / powers[1]) + published.epsilon
    return weight - published.learning_rate * (mean / powers[0]) / root, [mean, square]
