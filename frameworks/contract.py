"""What an adapter writes: the whole contract between samestep and a framework.

`samestep new NAME` writes the first lines, `samestep check NAME` says
what is missing or wrong, and frameworks/README.md shows it once from start to report.

An adapter is one file, or a few of 150 lines at most. It has no clock, reads and writes no
file, prints nothing and has no command line: all that is the harness's. In this order:

1. `FRAMEWORK`, a `Framework`: what it is called, how it is installed, which devices and
   variants it has. It is read where the framework is not installed.
2. `Adapter.__init__` puts the process into the conditions asked for, or raises `Unavailable`
   with the reason. A worker process under the framework's own interpreter calls it.
3. `Adapter.trainer` builds the network of a workload, or raises `NotImplementedError` naming
   the layer, loss or optimiser that it has not. What there is, with all fields and shapes, is in
   frameworks/workloads/: workload.py (`stages`, `parameter_shapes`), layers.py (`Conv2D.pads`),
   optimisers.py (the published formulas).
4. `Trainer.restart` and `Trainer.weights`: weights in, weights out, in canonical layout.
5. `put`, `step`, `synchronise`, `loss`. The harness calls, and times, `put` -> `synchronise`
   and `step` -> `synchronise` for every mini-batch.
6. `settings`, read back from the framework.

The smallest complete one, which does a single dense layer in NumPy:

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
            for found, known in (
                (layers, ["dense"]),
                (workload.loss, "mean_squared_error"),
                (workload.optimiser.kind, "sgd"),
            ):
                if found != known:
                    raise NotImplementedError(f"linear: {found}, where only {known} is written")
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
  `torch.from_numpy` and the like share them: `put` must copy, `restart` and `weights` too.
- **Layout.** Arrays cross the border as images `(batch, height, width, channels)`, dense
  kernels `(in, out)`, convolution kernels `(height, width, in, out)`. Where the network is
  channels first, the kernel of the dense layer behind `flatten` must be permuted as well.
- **The fence.** `step` may return before the work is done, `synchronise` may not, and the
  update of the weights is part of the work. `pass` is right only where every call waits.
- **Epsilon.** Adam's is outside the root and inside the bias correction of both moments
  (frameworks/workloads/optimisers.py). Where a framework's own is elsewhere, write the update
  yourself or declare a `Deviation`.
- **float64.** The certificate trains in it. Numbers that a framework keeps in float32 (a
  learning rate, a beta), or a type it falls back to, show there at 1e-8. A framework without
  float64 says `precisions=("float32",)` in its `Framework` and raises `Unavailable` for it: its
  certificate then holds in float32 only, claims less, and says so in every row. One that is
  exact in float64 for some layers only either declines the others, or does without float64.
- **float32.** A single float64 array makes a whole network compute in float64, and take twice
  as long. `settings()["precision"]` is to be read off the weights, as they have become.
- **Threads.** They are in the environment (OMP_NUM_THREADS ...) before the framework is
  imported, so nothing may import it with the description. A framework that has a setting of
  its own is told `conditions.threads` in `Adapter.__init__`.
- **What it has not.** `NotImplementedError` from `Adapter.trainer` is a row with a reason. A
  failure in the first `step` is a failure.
"""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from frameworks.conditions import SETTINGS, Conditions, Setting, Unavailable
from frameworks.description import Deviation, Framework, Variant
from frameworks.workloads import Weights, Workload

__all__ = [
    "SETTINGS", "Adapter", "Conditions", "Deviation", "Framework", "Setting", "Trainer",
    "Unavailable", "Variant",
]  # fmt: skip


class Trainer(ABC):
    """One network with its optimiser, on one device."""

    @abstractmethod
    def put(self, inputs: np.ndarray, targets: np.ndarray) -> Any:
        """Copy a mini-batch to the device and return it in the framework's own terms.

        `inputs` float32 `(batch, *shape)`; `targets` int32 `(batch,)` or float32
        `(batch, outputs)`. The caller reuses both arrays (a certificate overwrites them with
        NaN): keep no reference to them.
        Changes of type and layout belong here.
        """

    @abstractmethod
    def step(self, batch: Any) -> None:
        """One training step on what `put` returned."""

    @abstractmethod
    def synchronise(self) -> None:
        """Wait until the device has done everything asked of it, updates of weights included.
        Called right after building, too, before anything was put."""

    @abstractmethod
    def loss(self) -> float:
        """The last step's loss: mean over the mini-batch, taken before that step's update."""

    @abstractmethod
    def weights(self) -> Weights:
        """Copies of all weights, in canonical layout and the trainer's precision."""

    @abstractmethod
    def restart(self, weights: Weights) -> None:
        """Back to the beginning without building anew: load these, forget optimiser state."""

    @abstractmethod
    def settings(self) -> dict[str, Setting]:
        """The values of `SETTINGS` in effect, read back from the framework; more are welcome."""


class Adapter(ABC):
    """A framework in one process, under one set of conditions."""

    @abstractmethod
    def __init__(self, conditions: Conditions) -> None:
        """Apply the conditions. Raises Unavailable where they cannot be met.

        A certificate makes several in one process, which differ in precision and tf32 only.
        """

    @abstractmethod
    def trainer(self, workload: Workload, weights: Weights, variant: str) -> Trainer:
        """Build the workload, starting from these weights (canonical, float32). Raises
        Unavailable where the variant does not apply to it."""
