"""The contract: everything that an adapter writes, and what samestep expects of it.

`samestep new NAME` writes the first lines, `samestep check NAME` says what is missing or wrong,
and docs/extending.md shows an example from the first line to the report.

An adapter reads no clock, reads and writes no file, prints nothing and has no command line: the
harness does all of this. An adapter has these parts, in this order:

1. `FRAMEWORK`, a `Framework`: its name, how to install it, its devices and variants. samestep
   reads this description even if the framework is not installed.
2. `Adapter.__init__` puts the process into the conditions asked for, or raises `Unavailable`
   with the reason. A worker process calls it, under the framework's own interpreter.
3. `Adapter.trainer` builds the network of a workload, or raises `NotImplementedError` that names
   the layer, loss or optimiser that the adapter does not support. frameworks/workloads/ lists all
   fields and shapes: workload.py (`stages`, `parameter_shapes`, `state_shapes`), layers.py
   (`Conv2D.pads`, `Stage.paths`), residual.py, sequences.py (the formula of `LSTM`) and
   optimisers.py (the published formulas).
4. `Trainer.restart` and `Trainer.weights`: weights in, weights out, in canonical layout.
5. `put`, `step`, `synchronise`, `loss`. For every mini-batch the harness calls, and times, `put`
   with `synchronise` and then `step` with `synchronise`.
6. `settings`, read back from the framework. frameworks/reading.py helps if a setting has no getter.
7. `gradients`, optional: only the trainer of a variant that is the `gradient` part of a step has
   it (`Variant.part`).
8. `Adapter.loader`, optional: the framework's own loader of mini-batches, if `Framework.loader`
   says that there is one.

The smallest complete adapter, for a single dense layer in NumPy:

    FRAMEWORK = Framework(
        name="linear",
        title="Linear",
        distributions=("samestep-linear",),
        install="pip install -e samestep-linear",
        adapter="samestep_linear:LinearAdapter",
        variants={"default": Variant("a dense layer by hand")},
        devices=("cpu",),
    )


    class LinearAdapter(Adapter):
        def __init__(self, conditions):
            if conditions.device != "cpu":
                raise Unavailable("NumPy computes on the processor")
            self.precision = conditions.precision

        def trainer(self, workload, weights, variant):
            layers = [stage.layer.kind for stage in workload.stages]
            for asked, supported in (
                (layers, ["dense"]),
                (workload.loss, "mean_squared_error"),
                (workload.optimiser.kind, "sgd"),
            ):
                if asked != supported:
                    raise NotImplementedError(f"linear: {asked}, but only {supported} is supported")
            return LinearTrainer(weights, workload.optimiser.learning_rate, self.precision)


    class LinearTrainer(Trainer):
        def __init__(self, weights, rate, precision):
            self.rate, self.precision = rate, precision
            self.restart(weights)

        def restart(self, weights):
            self.kernel, self.bias = (
                weights[name].astype(self.precision) for name in ("dense1.kernel", "dense1.bias")
            )

        def weights(self):
            return {"dense1.kernel": self.kernel.copy(), "dense1.bias": self.bias.copy()}

        def put(self, inputs, targets):
            return inputs.astype(self.precision), targets.astype(self.precision)

        def step(self, batch):
            inputs, targets = batch
            error = inputs @ self.kernel + self.bias - targets
            self.last = float((error**2).mean())
            slope = 2 * error / error.size
            self.kernel -= self.rate * (inputs.T @ slope)
            self.bias -= self.rate * slope.sum(0)

        def synchronise(self):
            pass

        def loss(self):
            return self.last

        def settings(self):
            return {**dict.fromkeys(SETTINGS, "n/a"), "precision": self.kernel.dtype.name}

What goes wrong most often:

- **Copies.** The harness fills the same two arrays for every mini-batch. `np.asarray`,
  `torch.from_numpy` and similar functions share memory with them: `put` must copy. `restart` and
  `weights` must copy, too.
- **Layout.** Arrays are exchanged as images `(batch, height, width, channels)`, dense kernels
  `(in, out)` and convolution kernels `(height, width, in, out)`. If the network is channels
  first, permute also the kernel of the dense layer after `flatten`.
- **State.** `weights` and `restart` include the running mean and variance of batch normalisation,
  which no optimiser may have among its parameters. Training uses the mini-batch's own values. It
  uses the stored ones, and leaves them, if a layer is without `batch_statistics`.
- **Sequences.** Arrays are exchanged as `(batch, time, features)`; PyTorch's LSTM has the time
  first unless it is told otherwise. Only one bias of an LSTM is trained: two of them move twice
  as fast.
- **The fence.** `step` may return before the work is done. `synchronise` must not, and the update
  of the weights is part of the work. `pass` is right only if every call waits for its own work.
- **Epsilon.** Adam's epsilon is outside the root, and both moments are corrected for their bias
  first (frameworks/workloads/optimisers.py). If the framework's own Adam differs, write the
  update by hand or declare a `Deviation`.
- **float64.** Certificates train in float64. A number that the framework keeps in float32 (a
  learning rate, a beta), or an operation that falls back to float32, causes a difference of 1e-8
  there. A framework without float64 says `precisions=("float32",)` in its `Framework` and raises
  `Unavailable` for float64. Its certificate then holds in float32 only, which is a weaker claim,
  and every row says so. A framework that is exact in float64 for some layers only either declines
  the other layers or goes without float64.
- **float32.** A single float64 array makes a whole network compute in float64 and take twice as
  long. Read `settings()["precision"]` off the weights themselves.
- **Threads.** Environment variables (OMP_NUM_THREADS and others) set the number of threads before
  the framework is imported, so the description must not import it. If the framework has a setting
  of its own, pass `conditions.threads` to it in `Adapter.__init__`.
- **Settings.** Read each one off what runs: the callable that is stepped, the framework's
  configuration, the weights. A value that stands in the source says nothing, and the report marks
  it. Answer "n/a" if the framework does not have the setting. If it has, and nothing tells its
  value, name it in `"stated": "optimiser, epsilon"`, or `samestep check` advises you to.
- **What is not supported.** `NotImplementedError` from `Adapter.trainer` becomes a row with the
  reason. The same error from the first `step` is a failure.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from frameworks.conditions import SETTINGS, Conditions, Setting, Unavailable
from frameworks.description import Cache, Deviation, Framework, Variant
from frameworks.workloads import Weights, Workload

__all__ = [
    "AHEAD", "SETTINGS", "Adapter", "Cache", "Conditions", "Deliver", "Deviation", "Framework",
    "MiniBatch", "Setting", "Trainer", "Unavailable", "Variant",
]  # fmt: skip

AHEAD = 2  # mini-batches that each worker of a loader may prepare before they are asked for

MiniBatch = tuple[np.ndarray, np.ndarray]  # inputs and targets, as `Trainer.put` takes them
Deliver = Callable[[Sequence[int]], Iterator[MiniBatch]]  # with these numbers, in this order


class Trainer(ABC):
    """One network with its optimiser on one device."""

    @abstractmethod
    def put(self, inputs: np.ndarray, targets: np.ndarray) -> Any:
        """Copy a mini-batch to the device and return it as `step` needs it.

        `inputs` is `(batch, *shape)`, float32, or int32 if it holds words; `targets` is int32
        `(batch,)` or float32 `(batch, outputs)`, with the time after the batch if the outputs are
        a sequence. Keep no reference to them, because the caller reuses both arrays, or
        overwrites them with NaN. Change type and layout here, not in `step`.
        """

    @abstractmethod
    def step(self, batch: Any) -> None:
        """Take one training step on a mini-batch that `put` returned."""

    @abstractmethod
    def synchronise(self) -> None:
        """Wait until the device has finished all work, including updates of the weights. The
        harness also calls this before the first `put`."""

    @abstractmethod
    def loss(self) -> float:
        """The last step's loss: the mean over the mini-batch, before that step's update."""

    @abstractmethod
    def weights(self) -> Weights:
        """Copies of all weights and state, in canonical layout and the trainer's precision."""

    @abstractmethod
    def restart(self, weights: Weights) -> None:
        """Load these weights and state, and forget the optimiser's state, without building a new
        network."""

    @abstractmethod
    def settings(self) -> dict[str, Setting]:
        """The values of `SETTINGS` in effect, read back from the framework, and any others.
        `stated` names settings that are only written down."""

    def profile(self, run: Callable[[], None]) -> dict[str, float]:
        """Optional: call `run`, which trains, under the framework's own profiler, and return the
        seconds of each operation by its name there (frameworks/operations.py). The description's
        `operations` says what each name stands for. Nothing of this is compared."""
        raise NotImplementedError("its adapter offers no profile")

    def gradients(self) -> Weights:
        """Copies of the last step's gradients of all parameters, in canonical layout.

        Only for a variant with `part="gradient"`, whose `step` has computed them: this method
        must leave nothing to be computed.
        """
        raise NotImplementedError(f"{type(self).__name__} gives no gradients")


class Adapter(ABC):
    """A framework in one process, under one set of conditions."""

    @abstractmethod
    def __init__(self, conditions: Conditions) -> None:
        """Apply the conditions. Raises Unavailable if they cannot be met.

        A certificate makes several adapters in one process, which differ only in precision and
        tf32.
        """

    @abstractmethod
    def trainer(self, workload: Workload, weights: Weights, variant: str) -> Trainer:
        """Build the workload's network with these initial weights (canonical, float32). Raises
        Unavailable if the variant does not apply to the workload."""

    def loader(self, prepare: Callable[[int], MiniBatch], workers: int) -> Deliver:
        """Optional: the framework's own loader, as its users write it, with so many workers.

        `prepare(number)` makes a mini-batch, in arrays of its own, in any thread or process. The
        harness calls what is returned once a turn, with the numbers of its mini-batches. That call
        begins to prepare them and returns. Its iterator gives each mini-batch in that order, as
        NumPy arrays in memory of their own, and then ends. Each worker prepares at most `AHEAD`
        mini-batches before they are asked for, and none is kept for another turn.
        """
        raise NotImplementedError("its adapter offers no loader")
