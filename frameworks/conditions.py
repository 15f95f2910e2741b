"""How a contender is asked to run, and what it says about how it does."""

from dataclasses import dataclass

Setting = str | int | float | bool

# What every trainer reads back from its running framework, so that contenders can be
# compared setting by setting (analysis/findings/fairness/checklist.py). "n/a" where a
# framework has no such thing.
# What can be seen from outside is not asked: workflows/worker/probes finds that out by itself.
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
