"""What differs between Keras' backends: arrays, the fence, and settings read back.

The module of a backend has a class `Backend`, which uses the backend's own adapter.
"""

from keras.src.backend.common import dtypes


def keep(precision: str) -> None:
    """Let operations on float64 return float64.

    On PyTorch and JAX, Keras makes float32 of it, like JAX without x64. Matrix products are among
    these operations, so a float64 model would compute in float32. Nothing changes for float32.
    """
    dtypes.BIT64_TO_BIT32_DTYPE["float64"] = "float64" if precision == "float64" else "float32"
