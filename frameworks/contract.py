"""What an adapter writes: the whole contract between samestep and a framework.

A framework is described by a `Framework` (readable where it is not installed) that points
to an `Adapter` class (imported only in a worker process, under the framework's own
interpreter, after the thread counts are in its environment):

1. `Adapter.__init__` puts the process into the conditions asked for, or raises
   `Unavailable` with the reason.
2. `Adapter.trainer` builds the network of a workload and loads the canonical weights.
3. The harness then calls, and times, `put` -> `synchronise` and `step` -> `synchronise`
   for every mini-batch. `step` may return before the work is done; `synchronise` may not.

An adapter never looks at a clock, opens a file or prints. Arrays cross the border in
canonical layout: images `(batch, height, width, channels)`, dense kernels `(in, out)`,
convolution kernels `(height, width, in, out)`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from frameworks.workloads import Weights, Workload

Setting = str | int | float | bool

# What every trainer reads back from its running framework, so that contenders can be
# compared setting by setting (frameworks/traps.py). "n/a" where a framework has no such thing.
# What can be seen from outside is not asked: workflows/behaviour finds that out by itself.
SETTINGS = (
    "precision",  # type of the weights as stored
    "intra_threads",  # threads inside one operation
    "inter_threads",  # operations side by side
    "tf32_matmul",
    "tf32_convolution",
    "cudnn_autotune",
    "layout",  # of images inside the network
    "compilation",
    "denormals",  # kept or flushed, by probe
    "optimiser",  # the implementation used
    "onednn",
    "blas",  # the library behind matrix products on the processor
    "mode",  # training or inference
    "input_gradient",  # computed or not computed, of the first trained layer
    "relu_and_pool",  # relu first or pool first, where one follows the other
    "gpu_memory",  # how memory is taken on a GPU
)


class Unavailable(Exception):
    """The conditions cannot be met here (no such device, say), or a variant has nothing to do
    with the workload; the message is the reason. A layer, loss or optimiser that an adapter
    has not is a NotImplementedError, which counts as the same."""


@dataclass(frozen=True)
class Conditions:
    """How a contender is to run."""

    device: str = "cpu"  # "cpu" or "gpu"
    threads: int = 1
    precision: str = "float32"  # "float32" or "float64"
    tf32: bool = False  # matrix products and convolutions both

    def require_gpu(self, what: str) -> None:
        """Raise Unavailable on a processor, for what is a GPU's."""
        if self.device != "gpu":
            raise Unavailable(f"does not apply to a processor: {what} is a GPU's")


@dataclass(frozen=True)
class Deviation:
    """Something a variant is known not to compute as the workload says.

    `component` is the part that deviates (`optimiser.adam`). The certificate measures the
    size, demands that it stays within `loss_within` (relative, over the first ten steps),
    and demands full agreement once that part is replaced by plain SGD. Where `mistake` names
    one of `frameworks.truth.mistakes`, a miniature must train exactly as that one does.
    """

    component: str
    reason: str
    loss_within: float
    mistake: str = ""


@dataclass(frozen=True)
class Variant:
    """One way to write the workload in a framework.

    `rebuilds`: building afresh costs about one step, so the harness may do it at every turn.
    False where it traces or compiles; the harness then restores the weights instead.

    `trap`: what the variant falls into, in a few words for the figure's label. Such a variant
    is named `trap-...`, is run only where a study lists it, has no obligation to agree, and
    is only ever held against `beside`, a variant of the same framework that avoids it.
    """

    summary: str
    rebuilds: bool = True
    deviations: tuple[Deviation, ...] = ()
    trap: str = ""
    beside: str = "default"


@dataclass(frozen=True)
class Framework:
    """A framework as seen from outside; nothing here needs it installed."""

    name: str
    title: str
    distributions: tuple[str, ...]  # any of them, as pip names it, means installed
    install: str
    adapter: str  # "module:Class"
    variants: Mapping[str, Variant]
    devices: tuple[str, ...] = ("cpu", "gpu")
    companions: tuple[str, ...] = ()  # more distributions whose versions belong on record
    environment: Mapping[str, str] = field(default_factory=dict)  # set before the import
    # For `isolate: true`: a file of all that has to be installed, beside the adapter's module, with
    # the versions of everything in a .lock of the same name. "": the package itself and the first
    # of `distributions`, by name.
    requirements: str = ""

    def __post_init__(self) -> None:
        for name, variant in self.variants.items():
            if bool(variant.trap) != name.startswith("trap-"):
                raise ValueError(f"{self.name}: variant {name!r}: traps are named trap-..., all")
            if variant.trap and self.variants.get(variant.beside, variant).trap:
                raise ValueError(
                    f"{self.name}: variant {name!r} is beside {variant.beside!r}, which is "
                    "no variant without a trap"
                )


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
        """Wait until the device has done everything asked of it, updates of weights included."""

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
