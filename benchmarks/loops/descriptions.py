"""Descriptions of the loops. Their variant is named `tuned`, as the variant that they challenge."""

from dataclasses import replace

from frameworks.contract import Framework
from frameworks.jax import FRAMEWORK as JAX_ITSELF
from frameworks.pytorch import FRAMEWORK as PYTORCH_ITSELF
from frameworks.tensorflow import FRAMEWORK as TENSORFLOW_ITSELF
from frameworks.workloads import Workload, layers

BLOCKS = "gradients of dense kernels in blocks, each applied at once"
POOLED = "the backward pass of a ReLU on what was pooled"


def loop(itself: Framework) -> Framework:
    tuned = itself.variants["tuned"]
    summary = BLOCKS if itself.name == "jax" else f"{BLOCKS}; {POOLED}"
    return replace(
        itself,
        name=f"{itself.name}-loop",
        title=f"{itself.title} loop",
        adapter=f"benchmarks.loops.{itself.name}:LoopAdapter",
        requirements="",
        variants={"tuned": replace(tuned, summary=summary, change="", compared_with="default")},
    )


def is_perceptron(workload: Workload) -> bool:
    """Whether it is dense layers with ReLUs between, a mean squared error, and SGD or Adam."""
    kinds = [type(layer) for layer in workload.layers]
    between = [layers.ReLU] * (len(kinds) // 2)
    return (
        kinds[::2] == [layers.Dense] * (len(between) + 1)
        and kinds[1::2] == between
        and workload.loss == "mean_squared_error"
        and workload.optimiser.kind in ("sgd", "adam")
    )


def pooled(workload: Workload, index: int) -> layers.MaxPool | None:
    """The unpadded max-pooling after a ReLU at `index`; None if windows overlap or it is absent."""
    here, after = (*workload.layers, None, None)[index : index + 2]
    if not (isinstance(here, layers.ReLU) and isinstance(after, layers.MaxPool)):
        return None
    return after if after.step >= after.size and not after.padding else None


def block_starts(rows: int, row_bytes: int, size: int) -> list[tuple[int, int]]:
    """The first row of each block, of at most `size` bytes, and the row after its last."""
    most = max(1, size // row_bytes)
    return [(start, min(start + most, rows)) for start in range(0, rows, most)]


PYTORCH, TENSORFLOW, JAX = map(loop, (PYTORCH_ITSELF, TENSORFLOW_ITSELF, JAX_ITSELF))
