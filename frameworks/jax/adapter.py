"""The JAX adapter: a training step is one jitted update function, and a single operation a call of
jax.numpy."""

import os
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from frameworks.conditions import WORKERS
from frameworks.contract import SETTINGS, Adapter, Conditions, Setting, Trainer, Unavailable
from frameworks.elementwise import ElementwiseTrainer, Operations
from frameworks.jax import network, optimisers, pitfalls, settings, tuned
from frameworks.jax.profiling import profiler
from frameworks.workloads import Weights, Workload
from frameworks.workloads.layers import Fill, first_trained

Batch = tuple[Any, Any]


# How a layer is made, and which arguments of the update are donated; memory and pages only set
# environment variables, and tf32 is a setting of the process. Parts are made of the default.
VARIANTS: dict[str, tuple[network.Function, tuple[int, ...]]] = {
    "default": (network.function, ()),
    "memory": (network.function, ()),
    "pages": (network.function, ()),
    "pooling": (tuned.pooled, ()),
    "products": (tuned.function, ()),
    "tuned": (tuned.function, (0, 1, 2)),  # parameters and state
    "bfloat16": (network.function, ()),
    "tf32": (network.function, ()),
    **dict.fromkeys(pitfalls.PITFALLS, (network.function, ())),
}


class JaxAdapter(Adapter):
    def __init__(self, conditions: Conditions) -> None:
        # XLA reads the size of its thread pool from this variable, once, with its first device.
        os.environ["NPROC"] = str(conditions.threads)
        if conditions.on_host:
            jax.config.update("jax_platforms", "cpu")
        configure(conditions)
        try:
            self._device = jax.devices(conditions.device)[0]
        except RuntimeError:
            found = ", ".join(sorted({device.platform for device in jax.devices()}))
            raise Unavailable(f"JAX {jax.__version__} sees no GPU (it has: {found})") from None
        jax.config.update("jax_default_device", self._device)
        self._conditions = conditions

    def trainer(self, workload: Workload, weights: Weights, variant: str) -> Trainer:
        conditions = self._conditions.in_format(variant)
        configure(conditions)  # the process may have made another adapter since
        if workload.elementwise:
            return Elementwise(workload, weights, conditions, variant)
        if variant == "two-workers":
            conditions.require_two_workers()
        return TRAINERS[variant](workload, weights, self._device, conditions, variant)


def configure(conditions: Conditions) -> None:
    """Apply the settings that JAX keeps for the whole process."""
    jax.config.update("jax_enable_x64", conditions.precision == "float64")
    # JAX's own default on a GPU is TF32.
    products = "tensorfloat32" if conditions.tf32 else "highest"
    jax.config.update("jax_default_matmul_precision", products)


class JaxTrainer(Trainer):
    def __init__(
        self,
        workload: Workload,
        weights: Weights,
        device: Any,
        conditions: Conditions,
        variant: str,
    ) -> None:
        function, donated = VARIANTS.get(variant, VARIANTS["default"])
        if function is tuned.function and not conditions.on_host:
            function = tuned.pooled  # patches were only tried on processors
        self._awaited = pitfalls.PITFALLS.get(variant, pitfalls.everything)
        self._workload, self._device, self._conditions = workload, device, conditions
        self._dtype = self._input_dtype = self._target_dtype = jnp.dtype(conditions.precision)
        if workload.dataset.words:
            self._input_dtype = jnp.dtype("int32")
        if workload.loss == "sparse_cross_entropy":
            self._target_dtype = jnp.dtype("int32")
        self._network = network.network(workload.stages, function)
        if variant == "bfloat16" and conditions.precision == "float32":
            self._network = network.in_bfloat16(self._network)
        self._value = partial(loss, self._network, network.loss(workload))
        self._value_and_grad = jax.value_and_grad(self._value, has_aux=True)
        self._optimiser = optimisers.build(workload.optimiser)
        self._update = jax.jit(
            partial(update, self._value_and_grad, self._optimiser), donate_argnums=donated
        )
        self._parameters: list[Any]
        self._state: Any  # of the optimiser
        self._running: list[Any]  # state of layers
        self._loss: Any
        self._batch: Batch | None = None
        self.restart(weights)

    def put(self, inputs: np.ndarray, targets: np.ndarray) -> Batch:
        # jnp.array copies; jnp.asarray and device_put may share the caller's memory.
        self._batch = jnp.array(inputs, self._input_dtype), jnp.array(targets, self._target_dtype)
        return self._batch

    def step(self, batch: Batch) -> None:
        self._parameters, self._state, self._running, self._loss = self._update(
            self._parameters, self._state, self._running, *batch
        )

    def synchronise(self) -> None:
        # JAX waits for arrays and not for a device. These are all that may be unfinished.
        own = (self._parameters, self._state, self._running)
        jax.block_until_ready(self._awaited(self._batch, own, self._loss))

    def _call(self, batch: Batch) -> tuple[Any, ...]:
        """The compiled function of a step, and its arguments."""
        return self._update, self._parameters, self._state, self._running, *batch

    def loss(self) -> float:
        assert self._loss is not None, "no step taken yet"
        return float(self._loss)

    def weights(self) -> Weights:
        tensors = [*self._parameters, *self._running]
        pairs = zip(self._workload.tensor_shapes, tensors, strict=True)
        return {name: np.array(value) for name, value in pairs}

    def restart(self, weights: Weights) -> None:
        # NumPy converts them, because JAX would compile a conversion for each shape.
        self._parameters, self._running = (
            [jnp.array(np.asarray(weights[name], self._dtype)) for name in names]
            for names in (self._workload.parameter_shapes, self._workload.state_shapes)
        )
        self._state = self._optimiser.init(self._parameters)
        self._loss = None

    def profile(self, run: Callable[[], None]) -> dict[str, float]:
        return profiler.seconds(run, self._program(*self.put(*self._workload.zeros())))

    def _program(self, *batch: Any) -> str:
        return settings.compiled(*self._call(batch))

    def settings(self) -> dict[str, Setting]:
        stages = self._workload.stages
        batch = self.put(*self._workload.zeros())
        parameters, running = self._parameters, self._running
        program = self._program(*batch)
        spared = sum(stage.multiply_adds > 0 for stage in first_trained(stages))
        process = settings.process(parameters[0], program)
        optimiser = optimisers.settings(self._workload.optimiser)
        return {
            **process,
            "layout": settings.layout(self._network, parameters, running, batch[0]),
            "compilation": settings.compilation(self._update),
            "mode": "n/a",
            "input_gradient": settings.input_gradient(
                self._value_and_grad, parameters, running, *batch, spared=spared
            ),
            **settings.pooling(self._network, parameters, running, batch[0]),
            "weights_memory": settings.weights_memory(program, (parameters, self._state, running)),
            **optimiser,
            "stated": f"{process['stated']} {optimiser['stated']}",
        }


class Forward(JaxTrainer):
    """The forward pass of the default step alone. XLA then keeps nothing for a backward pass."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._part = jax.jit(self._value)

    def step(self, batch: Batch) -> None:
        self._loss, self._running = self._part(self._parameters, self._running, *batch)

    def _call(self, batch: Batch) -> tuple[Any, ...]:
        return self._part, self._parameters, self._running, *batch

    def settings(self) -> dict[str, Setting]:
        return {**super().settings(), "optimiser": "n/a", "weights_memory": "n/a"}


class Gradient(Forward):
    """Loss and gradients of the default step. All are outputs, because XLA omits what is not."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._part = jax.jit(self._value_and_grad)
        self._gradients: list[Any] = []

    def step(self, batch: Batch) -> None:
        (self._loss, self._running), self._gradients = self._part(
            self._parameters, self._running, *batch
        )

    def synchronise(self) -> None:
        super().synchronise()
        jax.block_until_ready(self._gradients)

    def gradients(self) -> Weights:
        pairs = zip(self._workload.parameter_shapes, self._gradients, strict=True)
        return {name: np.array(value) for name, value in pairs}


class TwoWorkers(JaxTrainer):
    """The default step as one program for two devices. Each has all weights and half of the
    mini-batch. XLA adds up the gradients and all else that the program takes over the batch."""

    def __init__(
        self,
        workload: Workload,
        weights: Weights,
        device: Any,
        conditions: Conditions,
        variant: str,
    ) -> None:
        devices = jax.devices()
        if len(devices) != WORKERS:
            raise Unavailable(f"two workers need two devices, and XLA's flags give {len(devices)}")
        workers = Mesh(np.array(devices), ("workers",))
        self._whole = NamedSharding(workers, PartitionSpec())
        self._halves = NamedSharding(workers, PartitionSpec("workers"))
        super().__init__(workload, weights, device, conditions, "default")
        step = partial(update, self._value_and_grad, self._optimiser)
        self._update = jax.jit(step, out_shardings=self._whole)

    def put(self, inputs: np.ndarray, targets: np.ndarray) -> Batch:
        # What cannot be divided in equal parts, like a single sample, goes to both.
        sharding = self._whole if len(inputs) % WORKERS else self._halves
        self._batch = jax.device_put(super().put(inputs, targets), sharding)
        return self._batch

    def restart(self, weights: Weights) -> None:
        super().restart(weights)
        own = self._parameters, self._state, self._running
        self._parameters, self._state, self._running = jax.device_put(own, self._whole)

    def settings(self) -> dict[str, Setting]:
        found = super().settings()
        workers = len(self._whole.device_set)
        each = int(found["intra_threads"]) // workers
        return {**found, "intra_threads": each, "workers": workers}


TRAINERS: dict[str, type[JaxTrainer]] = {
    **dict.fromkeys(VARIANTS, JaxTrainer), "part-forward": Forward, "part-gradient": Gradient,
    "two-workers": TwoWorkers,
}  # fmt: skip


class Elementwise(ElementwiseTrainer):
    operations: ClassVar[Operations] = {
        "divide": jnp.divide,
        "copy": lambda x, y: jnp.copy(x),
        "fill": lambda x, y: jnp.full_like(x, Fill.value),
    }
    _unfinished: list[Any]

    def put(self, inputs: np.ndarray, targets: np.ndarray) -> Batch:
        batch = jnp.array(inputs), jnp.array(targets)
        self._unfinished = [*batch]
        return batch

    def step(self, batch: Batch) -> None:
        # JAX promises no order among results that do not depend on each other.
        self._unfinished = [self._operation(*batch) for _ in range(self._repeat)]
        self._result = self._unfinished[-1]

    def synchronise(self) -> None:
        jax.block_until_ready(self._unfinished)
        self._unfinished = []

    def restart(self, weights: Weights) -> None:
        super().restart(weights)
        self._unfinished = []

    def on_host(self, result: Any) -> np.ndarray:
        return np.asarray(result)

    def settings(self) -> dict[str, Setting]:
        x, y = self.put(*np.ones((2, 1), np.float32))
        program = settings.compiled(jax.jit(self._operation), x, y)
        own = {"compilation": settings.compilation(self._operation)}
        return {**dict.fromkeys(SETTINGS, "n/a"), **settings.process(x, program), **own}


def loss(
    apply: Any, measure: Any, parameters: Any, running: Any, inputs: Any, targets: Any
) -> tuple[Any, Any]:
    outputs, running = apply(parameters, running, inputs)
    return measure(outputs, targets), running


def update(
    value_and_grad: Any,
    optimiser: Any,
    parameters: Any,
    state: Any,
    running: Any,
    inputs: Any,
    targets: Any,
) -> tuple[Any, Any, Any, Any]:
    """The update function of JAX's and optax's tutorials."""
    (value, running), gradients = value_and_grad(parameters, running, inputs, targets)
    updates, state = optimiser.update(gradients, state, parameters)
    return optax.apply_updates(parameters, updates), state, running, value
