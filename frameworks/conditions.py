"""The conditions that a contender runs under, and the settings that it reads back."""

from dataclasses import dataclass, replace

from frameworks.device import DEVICES, GPU, HOST
from frameworks.formats import BFLOAT16, TF32, computes_bfloat16

Setting = str | int | float | bool
WORKERS = 2  # that share a mini-batch in the variants of that name

# Every trainer reads these back from its running framework, so that contenders can be compared
# setting by setting (analysis/findings/fairness/checklist.py). The answer is "n/a" if a framework
# does not have the setting. workflows/worker/probes finds out by itself what can be seen from
# outside.
SETTINGS = (
    "precision",  # type of the weights as stored
    "intra_threads",  # threads inside one operation
    "inter_threads",  # operations side by side
    "tf32_matmul",
    "tf32_convolution",
    "cudnn_autotune",
    "layout",  # of images inside the network
    "compilation",  # what runs a step: eager, traced, compiled
    "debugging",  # modes that check or trace what runs; "off" if none is on
    "denormals",  # kept or flushed (frameworks/reading.py)
    "optimiser",  # the implementation used
    "onednn",
    "blas",  # the library behind matrix products on the processor
    "mode",  # training or inference
    "input_gradient",  # computed or not computed, of the first trained layer
    "relu_and_pool",  # which comes first, if one follows the other
    "gpu_memory",  # how memory is taken on a GPU
)


class Unavailable(Exception):
    """The conditions cannot be met here, or a variant does not apply to the workload. The message
    is the reason. NotImplementedError, for a layer, loss or optimiser that an adapter does not
    support, is treated alike. From a network that was built, either is a failure."""


@dataclass(frozen=True)
class Conditions:
    """How a contender is to run."""

    device: str = HOST.name  # a name in frameworks.device.DEVICES
    threads: int = 1
    precision: str = "float32"  # "float32" or "float64"
    tf32: bool = False  # for matrix products and convolutions

    @property
    def on_host(self) -> bool:
        """Whether the processor computes, and no other device has to be waited for."""
        return DEVICES[self.device].is_host

    def require_gpu(self, what: str) -> None:
        """Raise Unavailable on any device but a GPU, because only GPUs have `what`."""
        if self.device != GPU.name:
            title = "processor" if self.on_host else DEVICES[self.device].title
            raise Unavailable(f"does not apply to a {title}: {what} is a GPU's")

    def require_two_workers(self) -> None:
        """Raise Unavailable unless two workers of the processor have one thread each."""
        if not self.on_host or self.threads != WORKERS:
            asked = f"{self.threads} on the {DEVICES[self.device].title}"
            raise Unavailable(f"two workers need a thread of the processor each, not {asked}")

    def in_format(self, name: str) -> "Conditions":
        """The conditions of the variant `name`: `tf32` computes float32 products in TF32.

        Raises Unavailable if the device does not support the format that a variant is named after.
        """
        if name == TF32.name:
            self.require_gpu(TF32.title)
            return replace(self, tf32=self.precision == "float32")
        if name == BFLOAT16.name and self.on_host and not computes_bfloat16():
            raise Unavailable(
                "this processor has no instructions for bfloat16 (avx512_bf16 or amx_bf16)"
            )
        return self
